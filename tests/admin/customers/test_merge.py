"""Merging a duplicate account: everything moves to the survivor once, and nothing of the other person remains."""

import asyncio
import json
from typing import Any
from uuid import UUID, uuid4

import httpx2
import pytest

from tests.accounts import new_email, sign_in
from tests.admin.customers.test_customer_forms import CUSTOMERS, create, seen_in
from tests.admin.customers.test_erasure import KEEPS_AS_ISSUED, columns_with, fill_account, has_no_report, order_with
from tests.admin.dashboard import Dashboard, backdate_session, new_dashboard
from tests.checkout_builders import ADDRESS, CheckoutSetup, SignedInBuyer
from tests.db.processes import until
from tests.platform.client import Machine

TABLES = ("orders", "addresses", "wishlists", "store_credits", "store_credit_events", "payment_sources", "sessions")
DETAILS = "select email, first_name, last_name, phone, disabled_at is null from users where id = $1"
UNBALANCED = """select count(*) from store_credits c where amount - amount_used <>
    (select sum(amount) from store_credit_events e where e.store_credit_id = c.id) and c.user_id = $1"""


async def preview(dashboard: Dashboard, path: str, email: str) -> str:
    answer = await dashboard.post(f"{path}/merge", email=email)
    assert answer.status_code == 200, answer.text
    return answer.text


async def merge(dashboard: Dashboard, path: str, email: str) -> httpx2.Response:
    return await dashboard.post(f"{path}/merge", email=email, seen=seen_in(await preview(dashboard, path, email)))


async def count_rows(db: Any, user_id: UUID) -> dict[str, int]:
    return {
        table: await db.fetchval(f"select count(*) from {table} where user_id = $1", user_id)
        for table in (*TABLES, "customer_group_members", "price_list_users")
    }


@pytest.mark.torture
async def test_everything_moves_and_the_other_account_is_closed(
    dashboard: Dashboard, http: httpx2.AsyncClient, checkout_setup: CheckoutSetup, db: Any
) -> None:
    marker = f"zq{uuid4().hex[:16]}"
    email = f"{marker}@shoppers.example"
    survivor, duplicate = await sign_in(http, new_email()), await sign_in(http, email, first_name=marker)
    path = f"{CUSTOMERS}/{await survivor.id()}"
    await survivor.post("/wishlists", wishlist={"name": "Own", "is_default": True})
    await dashboard.post(f"{path}/credit/grant", amount="3", currency="USD", memo="Own")
    buyer = SignedInBuyer(http, checkout_setup, duplicate)
    duplicate_path = await fill_account(dashboard, buyer, marker)
    order = await order_with(buyer, dashboard, db, marker, email)
    survivor_id, duplicate_id = UUID(path[-36:]), UUID(duplicate_path[-36:])
    for user_id in (survivor_id, duplicate_id):
        group = f"Group {uuid4().hex}"
        await dashboard.post("/admin/customer-groups", name=group)
        group_id = await db.fetchval("select id from customer_groups where name = $1", group)
        await dashboard.post(f"{CUSTOMERS}/{user_id}/groups", **{"group_ids[]": [str(group_id)]})
    before = await count_rows(db, survivor_id), await count_rows(db, duplicate_id)

    page = await preview(dashboard, path, email.upper())
    answer = await merge(dashboard, path, email.upper())

    for text in ("1 order<", "$5.00 of store credit", "1 group<", f"tags: {marker}"):
        assert text in page
    assert answer.status_code == 303, answer.text
    assert answer.headers["location"] == f"{path}?done=merged"
    moved, remaining = await count_rows(db, survivor_id), await count_rows(db, duplicate_id)
    own = {"sessions": before[0]["sessions"]}
    assert moved == {name: count + before[1][name] for name, count in before[0].items()} | own
    assert set(remaining.values()) == {0}
    assert not await duplicate.is_signed_in()
    assert await survivor.is_signed_in()
    balances = await db.fetch(
        "select user_total_amount from store_credit_events where user_id = $1 order by created_at, id", survivor_id
    )
    assert [row[0] for row in balances] == [300, 800]
    assert await db.fetchval(UNBALANCED, survivor_id) == 0
    row = await db.fetchrow("select note, tags, phone, email from users where id = $1", survivor_id)
    assert tuple(row) == (marker, [marker], marker, survivor.email)
    assert await db.fetchval("select count(*) from wishlists where user_id = $1 and is_default", survivor_id) == 1
    assert ("users", "email") not in await columns_with(db, email)
    for shown in (path, duplicate_path, f"/admin/orders/{order['number']}"):
        assert (await dashboard.get(shown)).status_code == 200
    assert path in (await dashboard.get(duplicate_path)).text
    count_events = "select count(*) from events where type = $1 and subject_id = $2"
    assert await db.fetchval(count_events, "customer.merged", duplicate_id) == 1
    audit = "select actor_id, detail::text from audit_events where action = 'customer_merged' and subject_id = $1"
    actor_id, detail = await db.fetchrow(audit, survivor_id)
    assert actor_id == dashboard.id
    assert str(duplicate_id) in detail

    # Whoever erases the survivor erases what came from the other account too.
    erased = await dashboard.post(f"{path}/erase", email=survivor.email)
    assert erased.status_code == 303, erased.text
    await until(lambda: has_no_report(db, marker))
    assert await columns_with(db, marker) == KEEPS_AS_ISSUED
    assert await (await sign_in(http, email)).id() not in {survivor_id, duplicate_id}


async def test_an_account_that_changed_after_the_preview_is_not_merged(dashboard: Dashboard, db: Any) -> None:
    path, duplicate_path = await create(dashboard), await create(dashboard, tags="", note="")
    duplicate_id = UUID(duplicate_path[-36:])
    email = await db.fetchval("select email from users where id = $1", duplicate_id)
    seen = seen_in(await preview(dashboard, path, email))
    await dashboard.post(f"{duplicate_path}/credit/grant", amount="7", currency="USD", memo="Late")

    answer = await dashboard.post(f"{path}/merge", email=email, seen=seen)

    assert answer.status_code == 409
    assert "changed while you were reading" in answer.text
    assert "$7.00" in answer.text
    assert await db.fetchval("select erased_at from users where id = $1", duplicate_id) is None


async def test_merging_needs_a_recent_password_and_another_open_account(
    dashboard: Dashboard, http: httpx2.AsyncClient, db: Any
) -> None:
    member, path = await sign_in(http), await create(dashboard)
    own_email = await db.fetchval("select email from users where id = $1", UUID(path[-36:]))
    member_path = f"{CUSTOMERS}/{await member.id()}"

    for email in ("", own_email, new_email(), "x" * 10_000, "\x07@", "ä@ö.example"):
        assert (await dashboard.post(f"{path}/merge", email=email)).status_code == 422
        assert (await dashboard.post(f"{path}/merge", email=email, seen="0")).status_code == 422
    await dashboard.post(f"{member_path}/disable")
    # A merge would free the address of a blocked customer.
    assert (await dashboard.post(f"{path}/merge", email=member.email)).status_code == 422
    await dashboard.post(f"{member_path}/enable")
    seen = seen_in(await preview(dashboard, path, member.email))
    await backdate_session(db, dashboard, "authenticated_at", "11 minutes")
    answer = await dashboard.post(f"{path}/merge", email=member.email, seen=seen)

    assert answer.status_code == 401
    assert "Confirm it is you" in answer.text
    assert await db.fetchval("select erased_at from users where email = $1", member.email) is None


async def test_of_two_operators_who_merge_in_both_directions_one_succeeds(
    dashboard: Dashboard, http: httpx2.AsyncClient, db: Any
) -> None:
    other_dashboard = await new_dashboard(http, db)
    paths = [await create(dashboard, tags="", note="") for _ in range(2)]
    emails = [await db.fetchval("select email from users where id = $1", UUID(path[-36:])) for path in paths]
    forms = [(dashboard, paths[0], emails[1]), (other_dashboard, paths[1], emails[0])]
    seen = [seen_in(await preview(*form)) for form in forms]

    answers = await asyncio.gather(
        *(
            each.post(f"{path}/merge", email=email, seen=text)
            for (each, path, email), text in zip(forms, seen, strict=True)
        )
    )

    assert sorted(answer.status_code for answer in answers) in ([303, 409], [303, 422])
    closed = "select count(*) from users where id = any($1) and merged_into_id is not null"
    assert await db.fetchval(closed, [UUID(path[-36:]) for path in paths]) == 1


async def test_an_order_that_completes_during_a_merge_belongs_to_the_survivor_or_is_refused(
    dashboard: Dashboard, http: httpx2.AsyncClient, checkout_setup: CheckoutSetup, db: Any
) -> None:
    duplicate, path = await sign_in(http), await create(dashboard, tags="", note="")
    duplicate_id, survivor_id = await duplicate.id(), UUID(path[-36:])
    await dashboard.post(f"{CUSTOMERS}/{duplicate_id}/credit/grant", amount="5", currency="USD", memo="Sorry")
    buyer = SignedInBuyer(http, checkout_setup, duplicate)
    await buyer.ready((await checkout_setup.product(), 1))
    assert (await buyer.post("/checkout/add_store_credit")).status == 200
    seen = seen_in(await preview(dashboard, path, duplicate.email))

    order, merged = await asyncio.gather(
        buyer.complete(), dashboard.post(f"{path}/merge", email=duplicate.email, seen=seen)
    )

    if merged.status_code == 409:
        merged = await merge(dashboard, path, duplicate.email)
    assert merged.status_code == 303, merged.text
    assert order.status in {200, 401, 403, 404, 422}, order
    owners = await db.fetch("select user_id from orders where user_id = any($1)", [duplicate_id, survivor_id])
    assert {row[0] for row in owners} == {survivor_id}
    left = await db.fetchval("select sum(amount_used) from store_credits where user_id = $1", survivor_id)
    assert left == (500 if order.status == 200 else 0)
    assert await db.fetchval(UNBALANCED, survivor_id) == 0


async def test_many_orders_move_in_several_transactions(dashboard: Dashboard, db: Any) -> None:
    paths = [await create(dashboard, tags="", note="") for _ in range(2)]
    survivor_id, duplicate_id = (UUID(path[-36:]) for path in paths)
    email = await db.fetchval("select email from users where id = $1", duplicate_id)
    await db.execute(
        """insert into orders (id, number, state, currency, email, user_id, created_at, updated_at, completed_at)
        select gen_random_uuid(), 'M' || n || '-' || $1::uuid, 'complete', 'USD', $2, $1, now(), now(),
            case when n > 2 then now() end from generate_series(1, 250) n""",
        duplicate_id,
        email,
    )

    answer = await merge(dashboard, paths[0], email)

    assert answer.status_code == 303, answer.text
    await until(
        lambda: db.fetchval("select not exists (select from customer_merges where duplicate_id = $1)", duplicate_id)
    )
    orders = await db.fetch(
        "select id, xmin::text as transaction_id, completed_at, token_version from orders where user_id = $1",
        survivor_id,
    )
    assert len(orders) == 250
    # A transaction has 100 orders, so that no request waits for long; open carts move with the account.
    assert len({row["transaction_id"] for row in orders}) == 4
    closed = await db.fetchrow(
        "select merged_into_id, xmin::text as transaction_id from users where id = $1", duplicate_id
    )
    carts = [row for row in orders if row["completed_at"] is None]
    assert {(row["transaction_id"], row["token_version"]) for row in carts} == {(closed["transaction_id"], 1)}
    assert closed["merged_into_id"] == survivor_id
    event_count = "select count(*) from events where type = 'order.updated' and subject_id = any($1)"
    assert await db.fetchval(event_count, [row["id"] for row in orders]) == 248
    detail = await db.fetchval(
        "select detail from audit_events where action = 'customer_merged' and subject_id = $1", survivor_id
    )
    assert json.loads(detail) == {"duplicate_id": str(duplicate_id), "orders": 248}


async def test_a_closed_account_cannot_be_changed(
    dashboard: Dashboard, http: httpx2.AsyncClient, writer: Machine, db: Any
) -> None:
    member, other = await sign_in(http, new_email()), await sign_in(http, new_email())
    erased, merged = [f"{CUSTOMERS}/{await each.id()}" for each in (await sign_in(http), other)]
    erased_email = await db.fetchval("select email from users where id::text = $1", erased[-36:])
    assert (await dashboard.post(f"{erased}/erase", email=erased_email)).status_code == 303
    assert (await merge(dashboard, f"{CUSTOMERS}/{await member.id()}", other.email)).status_code == 303

    for path in (erased, merged):
        user_id = path[-36:]
        page, credit = (await dashboard.get(path)).text, (await dashboard.get(f"{path}/credit")).text
        assert "Grant credit" not in page + credit
        before = await count_rows(db, UUID(user_id)), tuple(await db.fetchrow(DETAILS, UUID(user_id)))
        seen = seen_in((await dashboard.get(f"{path}/edit")).text)
        answers = [
            await dashboard.post(f"{path}/edit", email=new_email(), first_name="Ada", seen=seen),
            await dashboard.post(f"{path}/addresses/new", **ADDRESS),
            await dashboard.post(f"{path}/credit/grant", amount="5", currency="USD", memo="Sorry"),
            await dashboard.post(f"{path}/groups", **{"group_ids[]": []}),
            await dashboard.post(f"{path}/enable"),
        ]
        assert [answer.status_code for answer in answers] == [422] * 5
        assert all("erased, or merged into another one" in answer.text for answer in answers)
        grant = {"user_id": user_id, "amount": "5", "currency": "USD", "memo": "Sorry"}
        replies = [
            await writer.patch(f"/users/{user_id}", {"user": {"first_name": "Ada"}}),
            await writer.post("/addresses", {"address": {**ADDRESS, "user_id": user_id}}),
            await writer.post("/store_credits", {"store_credit": grant}),
        ]
        assert [reply.status for reply in replies] == [422] * 3, replies
        assert (await count_rows(db, UUID(user_id)), tuple(await db.fetchrow(DETAILS, UUID(user_id)))) == before
