"""Roles: what each of them may open and do, who may change them, and that the last owner remains."""

import asyncio
import re
from typing import Any
from uuid import UUID, uuid4

import httpx2
import pytest

from shop.admin.routes import admin_routes
from shop.app.routes import describe_platform_events
from shop.base.ids import new_id
from shop.cli.routes import every_route
from shop.rules.access.permissions import ALL, BUILT_IN, OWNER, OWNER_ID, PERMISSIONS, SELF
from tests.admin.dashboard import UNKNOWN_ID, Dashboard, new_dashboard, new_operator, new_role
from tests.sampling import common_cases

ROUTES = [
    route for route in admin_routes(has_mailbox=False, events=describe_platform_events()) if route.who == "operator"
]
STAFF = "/admin/settings/operators"
ROLES = "/admin/settings/roles"
SUPPORT_ID = BUILT_IN["support"].id


def fill(path: str) -> str:
    return re.sub(r"\{\w+\}", UNKNOWN_ID, path)


async def role_of(db: Any, operator_id: UUID) -> UUID:
    role_id: UUID = await db.fetchval("select role_id from operators where id = $1", operator_id)
    return role_id


@pytest.mark.security("D-15")
def test_every_route_of_the_dashboard_and_the_platform_names_a_permission() -> None:
    routes = [
        route
        for route in every_route()
        if route.path.startswith(("/admin", "/api/v2/platform")) and route.who != "anyone"
    ]

    assert routes
    assert not [route.path for route in routes if route.permission not in {*PERMISSIONS, SELF}]
    assert not [route.path for route in routes if route.permission == SELF and not route.path.startswith("/admin")]


def test_only_the_start_page_and_the_own_account_need_no_permission() -> None:
    confirmation = {"/admin/confirm", "/admin/confirm/passkey", "/admin/confirm/passkey/options"}
    own = {"/admin", "/admin/sign-out", "/admin/settings", *confirmation}

    paths = {route.path for route in ROUTES if route.permission == SELF}

    assert {path for path in paths if not path.startswith("/admin/account")} == own


@pytest.mark.security("D-15")
@pytest.mark.parametrize("code", common_cases(BUILT_IN, lambda code: code == "support"))
@pytest.mark.torture
async def test_a_role_opens_the_pages_that_it_permits_and_no_others(
    http: httpx2.AsyncClient, db: Any, code: str
) -> None:
    role = BUILT_IN[code]
    dashboard = await new_dashboard(http, db, role_id=role.id)

    for route in ROUTES:
        is_permitted = route.permission in {*role.permissions, SELF}
        if route.method == "GET" and "{" not in route.path:
            status = (await dashboard.get(route.path)).status_code
            assert status in ({200, 303, 400, 422} if is_permitted else {403}), route.path
        elif not is_permitted:
            path = fill(route.path)
            answer = await (dashboard.get(path) if route.method == "GET" else dashboard.post(path))
            assert answer.status_code == 403, route.path
            assert route.permission in answer.text, route.path


async def test_the_start_page_of_a_role_without_figures_is_a_page_that_it_may_open(
    http: httpx2.AsyncClient, db: Any
) -> None:
    fulfilment = await new_dashboard(http, db, role_id=BUILT_IN["fulfilment"].id)
    nobody = await new_dashboard(http, db, role_id=await new_role(db))

    assert (await fulfilment.get("/admin")).headers["location"] == "/admin/orders"
    assert (await nobody.get("/admin")).headers["location"] == "/admin/account"


async def test_the_stock_value_needs_the_permission_to_read_costs(http: httpx2.AsyncClient, db: Any) -> None:
    dashboard = await new_dashboard(http, db, role_id=await new_role(db, "reports:read"))

    answers = [(await dashboard.get(f"/admin/reports/{path}")).status_code for path in ("stock", "stock/csv", "sales")]

    assert answers[:2] == [403, 403]
    assert "/admin/reports/stock" not in (await dashboard.get("/admin/reports")).text


async def test_a_changed_role_counts_with_the_next_request(http: httpx2.AsyncClient, db: Any) -> None:
    owner = await new_dashboard(http, db)
    role_id = await new_role(db, "orders:read")
    dashboard = await new_dashboard(http, db, role_id=role_id)
    before = (await dashboard.get("/admin/promotions")).status_code

    answer = await owner.post(
        f"{ROLES}/{role_id}", name=f"Changed {uuid4()}", **{"permissions[]": ["promotions:write"]}
    )

    assert (before, answer.status_code) == (403, 303)
    assert (await dashboard.get("/admin/promotions")).status_code == 200
    assert (await dashboard.get("/admin/orders")).status_code == 403


async def test_a_custom_role_is_created_changed_and_deleted(http: httpx2.AsyncClient, db: Any) -> None:
    owner, name = await new_dashboard(http, db), f"Night {uuid4()}"

    created = await owner.post(
        f"{ROLES}/new", name=name, **{"permissions[]": ["orders:write", "refunds:write"]}, refund_limit="50"
    )
    role = await db.fetchrow("select * from roles where name = $1", name)
    page = (await owner.get(f"{ROLES}/{role['id']}")).text
    deleted = await owner.post(f"{ROLES}/{role['id']}/delete")

    assert created.headers["location"] == f"{ROLES}?done=created"
    assert role["permissions"] == ["orders:read", "orders:write", "refunds:write"]
    assert role["refund_limit"] == 50
    assert re.search(r'value="refunds:write"[^>]* checked', page)
    assert deleted.headers["location"] == f"{ROLES}?done=deleted"
    actions = await db.fetch("select action from audit_events where subject_id = $1 order by at, id", role["id"])
    assert [row["action"] for row in actions] == ["role_created", "role_deleted"]


@pytest.mark.parametrize(
    "fields",
    [
        {"name": ""},
        {"name": "x" * 61},
        {"name": "a\u0000b"},
        {"name": "OWNER"},
        {"name": "Fine", "permissions[]": ["everything:write"]},
        {"name": "Fine", "refund_limit": "-1"},
        {"name": "Fine", "refund_limit": "1e400"},
        {"name": "Fine", "refund_limit": "much"},
        {"name": "Fine", "refund_limit": "9" * 18},
    ],
)
async def test_an_invalid_role_is_refused(dashboard: Dashboard, db: Any, fields: dict[str, Any]) -> None:
    answer = await dashboard.post(f"{ROLES}/new", **fields)

    assert answer.status_code in {400, 422}
    assert await db.fetchval("select count(*) from roles where name = 'Fine'") == 0


async def test_a_role_in_use_and_a_built_in_role_cannot_be_deleted(dashboard: Dashboard, db: Any) -> None:
    role_id = await new_role(db, "orders:read")
    await new_operator(db, role_id=role_id)

    answers = [await dashboard.post(f"{ROLES}/{each}/delete") for each in (role_id, SUPPORT_ID)]

    assert [answer.status_code for answer in answers] == [409, 409]
    page = (await dashboard.get(f"{ROLES}/{role_id}")).text
    assert '<a href="/admin/settings/operators">Operators</a>: 1' in page
    assert f"{ROLES}/{role_id}/delete" not in page


async def test_only_the_refund_limit_of_a_built_in_role_can_change(dashboard: Dashboard, db: Any) -> None:
    role_id = BUILT_IN["manager"].id

    answer = await dashboard.post(f"{ROLES}/{role_id}", name="Boss", **{"permissions[]": []}, refund_limit="999999")
    role = await db.fetchrow("select * from roles where id = $1", role_id)
    await dashboard.post(f"{ROLES}/{role_id}", refund_limit="")
    owner_answer = await dashboard.post(f"{ROLES}/{OWNER_ID}", name="x", refund_limit="1")

    assert answer.status_code == 303
    assert (role["name"], role["permissions"], role["refund_limit"]) == ("Manager", [], 999999)
    assert owner_answer.status_code == 409


@pytest.fixture
async def helper(http: httpx2.AsyncClient, db: Any) -> Dashboard:
    """An operator with `staff:write` and little else."""
    words = ("staff:read", "staff:write", "orders:read", "refunds:write", "integrations:read", "integrations:write")
    return await new_dashboard(http, db, role_id=await new_role(db, *words, refund_limit=10))


@pytest.mark.security("D-15")
async def test_a_helper_cannot_create_or_widen_a_role_beyond_the_own(helper: Dashboard, db: Any) -> None:
    small_role, own_role = await new_role(db, "orders:read"), await role_of(db, helper.id)
    wide = {"name": f"Wide {uuid4()}", "permissions[]": ["settings:write"]}
    limitless = {"name": f"Rich {uuid4()}", "permissions[]": ["refunds:write"]}

    answers = [await helper.post(f"{ROLES}/{each}", **wide) for each in ("new", small_role, own_role, SUPPORT_ID)]
    answers.append(await helper.post(f"{ROLES}/new", **limitless))
    allowed = await helper.post(f"{ROLES}/new", **limitless, refund_limit="10")

    assert [answer.status_code for answer in answers] == [403] * 5
    assert allowed.status_code == 303


@pytest.mark.security("D-15")
async def test_a_helper_cannot_give_a_wider_role_to_anyone(helper: Dashboard, db: Any) -> None:
    small_role = await new_role(db, "orders:read")
    other_id, _ = await new_operator(db, role_id=small_role)

    answers = [await helper.post(f"{STAFF}/{each}/role", role_id=str(OWNER_ID)) for each in (helper.id, other_id)]
    answers.append(await helper.post(f"{STAFF}/new", email=f"{uuid4()}@x.example", role_id=str(SUPPORT_ID)))

    assert [answer.status_code for answer in answers] == [403] * 3
    assert await role_of(db, other_id) == small_role


@pytest.mark.security("D-15")
async def test_a_helper_cannot_change_or_disable_a_more_powerful_operator(helper: Dashboard, db: Any) -> None:
    owner_id, _ = await new_operator(db)
    invited_id, invited_email = await new_operator(db, password_hash=None)
    small_role = str(await new_role(db, "orders:read"))

    answers = [
        await helper.post(f"{STAFF}/{owner_id}/disable"),
        await helper.post(f"{STAFF}/{owner_id}/role", role_id=small_role),
        # The link of an invitation would give the role to whoever sees it.
        await helper.post(f"{STAFF}/{invited_id}/resend"),
        await helper.post(f"{STAFF}/{invited_id}/withdraw"),
        await helper.post(f"{STAFF}/new", email=invited_email, role_id=small_role),
    ]

    assert [answer.status_code for answer in answers] == [403] * 5
    assert await role_of(db, owner_id) == OWNER_ID


@pytest.mark.security("D-15")
async def test_a_helper_cannot_get_the_secret_of_a_more_powerful_application(helper: Dashboard, db: Any) -> None:
    def fields(**others: Any) -> dict[str, Any]:
        return {"id": str(new_id()), "name": "x", "access_level": "write", "step": "create", **others}

    path, small = "/admin/integrations/api", fields(**{"permissions[]": ["orders:read"]})
    refusals = [
        await helper.post(f"{path}/new", **fields()),
        await helper.post(f"{path}/new", **fields(**{"permissions[]": ["settings:write"]})),
    ]
    allowed = await helper.post(f"{path}/new", **small)
    application_id = UUID(small["id"])
    secret_id = await db.fetchval("select id from application_secrets where application_id = $1", application_id)
    await db.execute("update applications set permissions = '{}' where id = $1", application_id)
    rotation = await helper.post(f"{path}/{application_id}/rotate", replaces=str(secret_id), overlap="0")

    assert [answer.status_code for answer in refusals] == [403, 403]
    assert allowed.status_code == 200
    assert rotation.status_code == 403


async def test_the_last_owner_keeps_the_role(empty_client: httpx2.AsyncClient, empty_db: Any) -> None:
    owner = await new_dashboard(empty_client, empty_db)
    await new_operator(empty_db, password_hash=None)

    answer = await owner.post(f"{STAFF}/{owner.id}/role", role_id=str(SUPPORT_ID))

    assert answer.status_code == 409
    assert "last owner" in answer.text
    assert await role_of(empty_db, owner.id) == OWNER_ID


@pytest.mark.security("D-15")
@pytest.mark.parametrize("action", ["role", "disable"])
async def test_of_two_owners_who_demote_each_other_one_remains(
    empty_client: httpx2.AsyncClient, empty_db: Any, action: str
) -> None:
    one, two = [await new_dashboard(empty_client, empty_db) for _ in range(2)]
    fields = {"role_id": str(SUPPORT_ID)}

    answers = await asyncio.gather(
        one.post(f"{STAFF}/{two.id}/{action}", **fields), two.post(f"{STAFF}/{one.id}/{action}", **fields)
    )

    assert sorted(answer.status_code for answer in answers)[0] == 303
    assert sorted(answer.status_code for answer in answers)[1] in {401, 403, 409}
    owners = "select count(*) from operators where role_id = $1 and disabled_at is null"
    assert await empty_db.fetchval(owners, OWNER_ID) == 1


async def test_the_role_of_an_operator_is_changed_with_event_and_audit(dashboard: Dashboard, db: Any) -> None:
    operator_id, _ = await new_operator(db)

    answer = await dashboard.post(f"{STAFF}/{operator_id}/role", role_id=str(SUPPORT_ID))

    assert answer.headers["location"] == f"{STAFF}?done=role"
    assert await role_of(db, operator_id) == SUPPORT_ID
    audit = await db.fetchrow("select * from audit_events where subject_id = $1", operator_id)
    assert audit["action"] == "operator_role_changed"
    assert await db.fetchval("select type from events where subject_id = $1", operator_id) == "operator.updated"


def test_built_in_roles_have_permissions_of_the_table() -> None:
    assert BUILT_IN[OWNER].permissions == ALL
    assert all(role.permissions <= ALL for role in BUILT_IN.values())
