"""Erasing the personal data of a customer: nothing that the customer entered remains in any table."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import httpx2
import pytest

from shop.queries.accounts.erasures import _FORGET_ACCOUNT
from shop.rules.accounts.erasures import REMAINS
from shop.rules.personal_data import PERSONAL
from tests.accounts import sign_in
from tests.admin.catalog_forms import redirect_path, saved_message
from tests.admin.customers.test_customer_forms import CUSTOMERS, seen_in
from tests.admin.dashboard import Dashboard, backdate_session, new_dashboard
from tests.admin.drafts.builders import CASH, new_draft, new_ready_draft
from tests.admin.imports.test_csv_imports import run as run_csv
from tests.admin.imports.test_csv_imports import upload as upload_csv
from tests.admin.order_builders import shipment_of
from tests.admin.order_edits.forms import read_forms
from tests.admin.order_edits.test_refunds import preview as preview_refund
from tests.checkout_builders import ADDRESS, Buyer, CheckoutSetup, SignedInBuyer
from tests.concurrency import wait_for_locks
from tests.db.processes import kill, until
from tests.service import KEYS, Service
from tests.shopper import Answer

COLUMNS = """select table_name, column_name, data_type from information_schema.columns
    join information_schema.tables using (table_schema, table_name)
    where table_schema = 'public' and table_type = 'BASE TABLE'
    and data_type in ('text', 'jsonb', 'json', 'ARRAY', 'bytea', 'tsvector', 'character varying')"""
KEEPS_AS_ISSUED = {("invoices", "content")}
"""An invoice remains as it was issued: the law requires it."""


async def columns_with(db: Any, marker: str) -> set[tuple[str, str]]:
    """The columns of all tables that contain a text, in any case."""
    columns = set()
    for table, column, kind in await db.fetch(COLUMNS):
        text = f"encode({column}, 'escape')" if kind == "bytea" else f'"{column}"::text'
        if await db.fetchval(f"select exists (select from {table} where {text} ilike '%' || $1 || '%')", marker):
            columns.add((table, column))
    return columns


async def has_no_report(db: Any, marker: str) -> bool:
    """Whether the worker has calculated the figures again whose rows had the marker."""
    query = """select not exists (select from refund_days where reason like $1)
        and not exists (select from adjustment_days where label like $1)"""
    return bool(await db.fetchval(query, f"%{marker}%"))


async def order_with(buyer: Buyer, dashboard: Dashboard, db: Any, marker: str, email: str) -> Answer:
    """Orders with the marker in each field, and ships it; the operator adds a note and an invoice."""
    address = {name: f"{marker} {name}" for name in ("firstname", "lastname", "address1", "address2", "company")}
    product = await buyer.checkout_setup.product()
    await buyer.add_items((product, 1))
    await buyer.enter_address(**address, city=marker, phone=marker)
    details = {"special_instructions": marker, "public_metadata": {"gift": marker}, "private_metadata": {"x": marker}}
    await buyer.update_checkout(email=email, **details)
    await buyer.pay()
    order = await buyer.complete()
    assert order.status == 200, order
    await dashboard.post(f"{await shipment_of(db, order)}/ship", tracking="")
    path = f"/admin/orders/{order['number']}"
    await dashboard.post(f"{path}/details", email=email, tags="gift")
    await db.execute("update orders set internal_note = $2 where id = $1", UUID(order.id), marker)
    await dashboard.post(f"{path}/notes", note=marker)
    await db.execute(
        """insert into refund_requests (id, order_id, requester_id, reason, amount, created_at, updated_at)
        values (gen_random_uuid(), $1, $2, $3, 1, now(), now())""",
        UUID(order.id),
        dashboard.id,
        marker,
    )
    await dashboard.post(f"{path}/messages", message=marker)
    reason = {"reason": "damaged", "reason_text": marker}
    _, refund = await preview_refund(dashboard, f"{path}/refund", other="1.00", **reason)
    saved_message(await dashboard.post(f"{path}/refund", **refund, do="refund"))
    await dashboard.post(f"{path}/invoice")
    await db.execute(
        "update payments set public_metadata = $2 where order_id = $1", UUID(order.id), f'{{"x": "{marker}"}}'
    )
    return order


async def order_with_discounts(dashboard: Dashboard, setup: CheckoutSetup, db: Any, marker: str, user_id: UUID) -> str:
    """Places an order with a discount, whose reason contains the marker, and cancels one of its items."""
    draft, _ = await new_ready_draft(dashboard, setup, quantity=3)
    await draft.save("customer", user_id=str(user_id))
    await draft.enter_address(firstname=marker)
    await draft.save("discount", kind="amount", value="1", reason=f"{marker} is a friend")
    assert (await draft.place(CASH)).status_code == 303
    path, order_id = f"/admin/orders/{draft.number}", (await draft.row(db))["id"]
    line = await db.fetchval("select id from line_items where order_id = $1", order_id)
    fields = {f"cancel[{line}]": "1", "reason": "customer", "reason_text": f"{marker} called"}
    _, cancellation = await preview_refund(dashboard, f"{path}/cancel-items", **fields)
    redirect_path(await dashboard.post(f"{path}/cancel-items", **cancellation, do="save"))
    _, refund = await preview_refund(dashboard, f"{path}/refund", **owed_fields(await dashboard.get(f"{path}/refund")))
    saved_message(await dashboard.post(f"{path}/refund", **refund, do="refund"))
    shipment = await db.fetchval("select id from shipments where order_id = $1", order_id)
    saved_message(await dashboard.post(f"{path}/shipments/{shipment}/ship", tracking=""))
    note = "select text from order_notes where order_id = $1"
    assert await db.fetchval(note, order_id) == f"Items canceled. Customer changed their mind: {marker} called"
    return path


def owed_fields(page: httpx2.Response) -> dict[str, str]:
    """The form of a refund, with what is owed to the customer."""
    return {"other": read_forms(page.text, page.url.path)[-1]["other"]}


async def fill_account(dashboard: Dashboard, buyer: SignedInBuyer, marker: str) -> str:
    """Enters the marker into everything that belongs to an account; returns the path of the customer."""
    member = buyer.member
    path = f"{CUSTOMERS}/{await member.id()}"
    await member.patch("/account", user={"first_name": marker, "last_name": marker, "public_metadata": {"x": marker}})
    for _ in range(2):
        address = {**ADDRESS, "firstname": marker, "address1": marker, "label": marker, "company": marker}
        answer = await member.post("/account/addresses", address=address)
    await member.delete(f"/account/addresses/{answer.id}")
    wishlist = await member.post("/wishlists", wishlist={"name": marker})
    assert wishlist.status in {200, 201}, wishlist
    seen = seen_in((await dashboard.get(f"{path}/edit")).text)
    details = {"first_name": marker, "last_name": marker, "phone": marker, "note": marker, "tags": marker}
    saved = await dashboard.post(f"{path}/edit", email=member.email, seen=seen, **details)
    assert saved.status_code == 303
    await dashboard.post(f"{path}/credit/grant", amount="5", currency="USD", memo=marker)
    return path


@pytest.mark.torture
async def test_nothing_that_a_customer_entered_remains(
    dashboard: Dashboard, http: httpx2.AsyncClient, checkout_setup: CheckoutSetup, db: Any
) -> None:
    marker = f"zq{uuid4().hex[:16]}"
    email = f"{marker}@shoppers.example"
    member = await sign_in(http, email, first_name=marker)
    buyer = SignedInBuyer(http, checkout_setup, member)
    path = await fill_account(dashboard, buyer, marker)
    order = await order_with(buyer, dashboard, db, marker, email)
    # An order of the account can have another address.
    await order_with(SignedInBuyer(http, checkout_setup, member), dashboard, db, marker, f"other.{email}")
    await order_with_discounts(dashboard, checkout_setup, db, marker, UUID(path[-36:]))
    draft = await new_draft(dashboard, user_id=path[-36:])
    await draft.add(await checkout_setup.product())
    await draft.save("discount", kind="percent", value="5", reason=marker)
    guest_order = await order_with(Buyer(http, checkout_setup), dashboard, db, marker, email.upper())
    # A file that is stored, and one that was imported, with an error about the customer.
    await upload_csv(dashboard, f"email,note\n{email},{marker}\n", "customers")
    result = await run_csv(
        dashboard, db, f"email,note,zipcode\n{email},{marker} 2,x\n{email},{marker} 3,\n", "customers"
    )
    assert (result["updated"], result["failed"]) == (1, 1)
    before = await db.fetch(
        "select id, total, number from orders where id = any($1)", [UUID(order.id), UUID(guest_order.id)]
    )
    assert {
        ("users", "email"),
        ("orders", "email"),
        ("addresses", "firstname"),
        ("order_notes", "text"),
        ("refunds", "reason"),
        ("adjustments", "label"),
        ("draft_discounts", "reason"),
        ("outbox_mails", "recipient"),
    } <= await columns_with(db, marker)

    await db.execute("update order_notes set file = $1 where order_id = $2", marker.encode(), UUID(order.id))

    answer = await dashboard.post(f"{path}/erase", email=email.upper())

    assert answer.headers["location"] == f"{path}?done=erased", answer.text
    # The figures of reports follow the orders.
    await until(lambda: has_no_report(db, marker), 30)
    assert await columns_with(db, marker) == KEEPS_AS_ISSUED
    assert await db.fetchval("select count(file) from order_notes where order_id = $1", UUID(order.id)) == 0
    after = await db.fetch("select id, total, number from orders where id = any($1)", [row["id"] for row in before])
    assert sorted(map(tuple, after)) == sorted(map(tuple, before))
    assert not await member.is_signed_in()
    for page in (path, f"/admin/orders/{order['number']}", f"/admin/orders/{guest_order['number']}"):
        shown = await dashboard.get(page)
        assert shown.status_code == 200
        assert marker not in shown.text
    erasure = await db.fetchrow(
        "select email, ended_at, order_count from erasures where user_id::text = $1", path[-36:]
    )
    assert (erasure["email"], erasure["ended_at"] is not None, erasure["order_count"]) == (None, True, 5)
    user_id = UUID(path[-36:])
    action = """select actor_id, detail::text, changes::text from audit_events
        where action = 'customer_erased' and subject_id = $1"""
    assert tuple(await db.fetchrow(action, user_id)) == (dashboard.id, "{}", "{}")
    assert (
        await db.fetchval("select count(*) from events where type = 'customer.erased' and subject_id = $1", user_id)
        == 1
    )
    assert await (await sign_in(http, email)).id() != user_id


async def test_erasing_needs_the_address_and_a_recent_password(
    dashboard: Dashboard, http: httpx2.AsyncClient, db: Any
) -> None:
    member = await sign_in(http)
    path = f"{CUSTOMERS}/{await member.id()}"

    for email in ("", "someone@else.example", "x" * 10_000, "\x07"):
        answer = await dashboard.post(f"{path}/erase", email=email)
        assert answer.status_code == 422
    await backdate_session(db, dashboard, "authenticated_at", "11 minutes")
    answer = await dashboard.post(f"{path}/erase", email=member.email)

    assert answer.status_code == 401
    assert "Confirm it is you" in answer.text
    assert await member.is_signed_in()


async def test_a_customer_with_unfinished_orders_is_not_erased(
    dashboard: Dashboard, http: httpx2.AsyncClient, checkout_setup: CheckoutSetup
) -> None:
    member = await sign_in(http)
    buyer = SignedInBuyer(http, checkout_setup, member)
    order = await buyer.buy(await checkout_setup.product(), "approve")
    path = f"{CUSTOMERS}/{await member.id()}"

    page = (await dashboard.get(f"{path}/erase")).text
    answer = await dashboard.post(f"{path}/erase", email=member.email)

    assert order["number"] in page
    assert "Erase for good" not in page
    assert answer.status_code == 422
    assert await member.is_signed_in()


async def insert_carts(db: Any, user_id: UUID, email: str, count: int) -> None:
    """Gives a customer more orders than one batch of an erasure has."""
    await db.execute(
        """insert into orders (id, number, user_id, currency, email, state, created_at, updated_at)
        select gen_random_uuid(), 'E' || $2 || n, $1, 'USD', $3, 'cart', now(), now() from generate_series(1, $4) n""",
        user_id,
        uuid4().hex[:8],
        email,
        count,
    )


HAS_ENDED = "select email is null from erasures where user_id = $1"
REMAINING = "select count(*) from orders where user_id = $1 and email is not null"


async def test_the_worker_erases_what_the_request_did_not(
    dashboard: Dashboard, http: httpx2.AsyncClient, db: Any
) -> None:
    member = await sign_in(http)
    user_id = await member.id()
    await insert_carts(db, user_id, member.email, 450)

    await dashboard.post(f"{CUSTOMERS}/{user_id}/erase", email=member.email)

    await until(lambda: db.fetchval(HAS_ENDED, user_id), 60)
    assert await db.fetchval(REMAINING, user_id) == 0


@pytest.mark.torture
async def test_an_erasure_continues_after_a_crash(own_data_dir: Callable[[], tuple[Path, str]]) -> None:
    data_dir, url = own_data_dir()
    environ = {"SHOP_DATA_DIR": str(data_dir), "SHOP_SECRET_KEYS": KEYS, "SHOP_DRAIN_SECONDS": "0"}
    service, db = Service(**environ, TMPDIR=str(data_dir)), await asyncpg.connect(url)
    try:
        async with service.client() as http:
            dashboard, member = await new_dashboard(http, db), await sign_in(http)
            user_id = await member.id()
            await insert_carts(db, user_id, member.email, 250)
            # The second batch waits for this order when the process is killed.
            order_id = await db.fetchval("select id from orders where user_id = $1 order by id offset 150", user_id)
            async with db.transaction():
                await db.execute("select from orders where id = $1 for update", order_id)
                request = asyncio.create_task(dashboard.post(f"{CUSTOMERS}/{user_id}/erase", email=member.email))
                await wait_for_locks(db, 1)
                await asyncio.to_thread(kill, *service.worker_pids())
                count = await db.fetchval("select order_count from erasures where user_id = $1", user_id)
                remaining_count = await db.fetchval(REMAINING, user_id)
            with pytest.raises(httpx2.TransportError):
                await request
        await until(lambda: db.fetchval(HAS_ENDED, user_id), 60)

        assert (count, remaining_count) == (100, 150)
        assert await db.fetchval(REMAINING, user_id) == 0
        assert await db.fetchval("select order_count from erasures where user_id = $1", user_id) == 250
    finally:
        await db.close()
        await asyncio.to_thread(service.stop)


@pytest.mark.torture
async def test_erasing_covers_guest_orders_of_merged_accounts(
    dashboard: Dashboard, http: httpx2.AsyncClient, checkout_setup: CheckoutSetup, db: Any
) -> None:
    markers = [f"zq{uuid4().hex[:16]}" for _ in range(4)]
    members = [await sign_in(http, f"{marker}@shoppers.example") for marker in markers]
    paths = [f"{CUSTOMERS}/{await member.id()}" for member in members]
    for marker, member in zip(markers, members, strict=True):
        await order_with(Buyer(http, checkout_setup), dashboard, db, marker, member.email)
    # The first account is merged into the second and that one into the third, and so is the fourth.
    for survivor, duplicate in ((1, 0), (2, 1), (2, 3)):
        preview = await dashboard.post(f"{paths[survivor]}/merge", email=members[duplicate].email)
        fields = {"email": members[duplicate].email, "seen": seen_in(preview.text)}
        assert (await dashboard.post(f"{paths[survivor]}/merge", **fields)).status_code == 303
    # Someone has an account with the address of the fourth by now.
    await sign_in(http, members[3].email)

    answer = await dashboard.post(f"{paths[2]}/erase", email=members[2].email)

    assert answer.headers["location"] == f"{paths[2]}?done=erased", answer.text
    has_ended = "select email is null from erasures where user_id = $1"
    await until(lambda: db.fetchval(has_ended, UUID(paths[2][-36:])), 60)
    for marker in markers[:3]:
        await until(lambda marker=marker: has_no_report(db, marker), 30)  # type: ignore[misc]
        assert await columns_with(db, marker) == KEEPS_AS_ISSUED
    assert ("orders", "email") in await columns_with(db, markers[3])


def test_every_personal_attribute_is_erased_or_deleted() -> None:
    bookkeeping = {"response_code", "reference", "state_id"}
    other_types = {"wishlist", "operator", "stock_location", "user"}
    for name, attributes in PERSONAL.items():
        if attributes and name not in other_types:
            assert attributes - bookkeeping <= REMAINS[name].keys(), name


async def test_events_about_deleted_records_of_an_account_are_found_by_an_index(db: Any) -> None:
    """Reading the whole log would take longer than a statement may."""
    user_id = uuid4()
    async with db.transaction():
        await db.execute("set local enable_seqscan = off")
        _, *statements = _FORGET_ACCOUNT
        for statement in statements:
            arguments = statement.arguments({"user_id": user_id, "owner": str(user_id), "replacement": "{}"})
            plan = [row[0] for row in await db.fetch(f"explain {statement.sql}", *arguments)]
            assert any("Index Cond" in line and "user_id" in line for line in plan), plan
