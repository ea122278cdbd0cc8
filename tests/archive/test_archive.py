"""Old finished orders move to the archive, remain visible to everybody who could see them, and can be brought back."""

from typing import Any
from uuid import UUID

import pytest

from tests.admin.order_builders import refund_payment, text_of
from tests.archive.conftest import ArchiveShop
from tests.db.processes import until
from tests.promotion_builders import TENTH, create_promotion, for_products


async def read_figures(shop: ArchiveShop) -> dict[str, Any]:
    """The figures of all days before this week."""
    tables = ("sales_days", "product_days", "payment_days", "refund_days")
    return {
        table: [
            tuple(row) for row in await shop.db.fetch(f"select * from {table} where day < now() - interval '7 days'")
        ]
        for table in tables
    }


@pytest.mark.torture
async def test_an_archived_order_is_gone_from_the_tables_and_looks_the_same(archive_shop: ArchiveShop) -> None:
    shop = archive_shop
    buyer = await shop.new_buyer()
    order = await shop.buy_and_ship(buyer)
    other = await shop.buy_and_ship(await shop.new_buyer())
    await shop.age(order)
    number, user_id = order["number"], await buyer.member.id()

    async def ask_everybody() -> list[Any]:
        answers = [
            await shop.machine.get(f"/orders/{order.id}?include=line_items,shipments,payments"),
            await shop.machine.get(f"/orders/{number}"),
            await shop.machine.get(f"/users/{user_id}"),
            await buyer.member.get(f"/account/orders/{number}?include=line_items,shipments,payments,billing_address"),
            await buyer.member.get(f"/order_status/{number}"),
            await buyer.member.get("/account"),
        ]
        assert {answer.status for answer in answers} == {200}
        return [answer.json for answer in answers]

    answers = await ask_everybody()
    figures = await read_figures(shop)
    assert shop.run("archive", "run").returncode == 0
    assert await shop.is_archived(order)
    assert not await shop.is_archived(other)
    assert await ask_everybody() == answers
    assert figures["sales_days"]
    assert await read_figures(shop) == figures
    (line_item,) = answers[0]["data"]["relationships"]["line_items"]["data"]
    assert (await shop.machine.get(f"/line_items/{line_item['id']}")).status == 404
    stranger = await shop.new_buyer()
    assert (await stranger.member.get(f"/account/orders/{number}")).status == 404
    assert (await shop.http.get(f"/api/v2/storefront/order_status/{number}")).status_code == 401
    shop.verify()


@pytest.mark.torture
async def test_operators_find_an_archived_order_and_restore_it(archive_shop: ArchiveShop) -> None:
    shop = archive_shop
    buyer = await shop.new_buyer()
    order, dashboard = await shop.buy_and_ship(buyer), await shop.dashboard()
    number, user_id = order["number"], await buyer.member.id()
    spending = text_of((await dashboard.get(f"/admin/customers/{user_id}")).text).partition("Bought in")[2][:40]
    await shop.age(order)
    rows = await shop.read_rows(order)
    await shop.archive()
    assert await shop.is_archived(order)
    path = f"/admin/archive/{order.id}"
    for words in (number, "ADA@example.org"):
        assert path in (await dashboard.get(f"/admin/orders?q={words}")).text
    customer = (await dashboard.get(f"/admin/customers/{user_id}")).text
    assert path in customer
    assert text_of(customer).partition("Bought in")[2][:20] == spending[:20]
    assert (await dashboard.get(f"/admin/orders/{number}")).headers["location"] == path
    page = text_of((await dashboard.get(path)).text)
    assert "moved to the archive" in page
    assert "Shipment H" in page
    assert "Payment P" in page
    answer = await dashboard.post(f"{path}/restore")
    assert answer.status_code == 303, answer.text
    assert await shop.read_rows(order) == {
        **rows,
        "timeline_entries": (await shop.read_rows(order))["timeline_entries"],
    }
    assert "Order restored" in (await dashboard.get(answer.headers["location"])).text
    assert path not in (await dashboard.get(f"/admin/orders?q={number}")).text
    assert (await dashboard.get(path)).status_code == 404
    payment_id = await shop.db.fetchval("select id from payments where order_id = $1", UUID(order.id))
    refund = await refund_payment(dashboard, f"/admin/orders/{number}/payments/{payment_id}", amount="1.00")
    assert refund.status_code == 303, refund.text
    actions = await shop.db.fetch("select action from audit_events where subject_id = $1", UUID(order.id))
    assert "order_restored" in {row["action"] for row in actions}
    await shop.wait_for_reports()
    shop.verify()


@pytest.mark.torture
async def test_a_customer_with_an_archived_order_has_ordered_before(archive_shop: ArchiveShop) -> None:
    shop = archive_shop
    buyer, newcomer = await shop.new_buyer(), await shop.new_buyer()
    await shop.archive(await shop.buy_and_ship(buyer))
    product = await shop.setup.product()
    await create_promotion(shop.setup.make, TENTH, conditions=[for_products(product), ("first_order", {})])
    buyer.order_token = None
    assert (await buyer.add_items((product, 1)))["promo_total"] == "0.0"
    assert (await newcomer.add_items((product, 1)))["promo_total"] == "-1.0"


@pytest.mark.torture
async def test_a_day_with_an_archived_order_is_not_calculated_again(archive_shop: ArchiveShop) -> None:
    shop = archive_shop
    await shop.archive(await shop.buy_and_ship(await shop.new_buyer()))
    figures = await read_figures(shop)
    await shop.db.execute("update report_states set time_zone = null")
    await shop.wait_for_reports()
    assert figures["sales_days"]
    assert await read_figures(shop) == figures
    shop.verify()


@pytest.mark.torture
async def test_erasing_a_customer_reaches_archived_orders(archive_shop: ArchiveShop) -> None:
    shop = archive_shop
    buyer = await shop.new_buyer()
    order, dashboard = await shop.buy_and_ship(buyer), await shop.dashboard()
    user_id = await buyer.member.id()
    await shop.archive(order)
    key = await shop.db.fetchval("select encryption_key from archived_orders where id = $1", UUID(order.id))
    answer = await dashboard.post(f"/admin/customers/{user_id}/erase", email=buyer.member.email)
    assert answer.status_code == 303, answer.text
    await until(lambda: shop.db.fetchval("select ended_at is not null from erasures where user_id = $1", user_id))
    assert not await shop.is_archived(order)
    row = await shop.db.fetchrow(
        "select o.email, a.lastname from orders o join addresses a on a.id = o.bill_address_id where o.id = $1",
        UUID(order.id),
    )
    assert tuple(row) == (None, "customer")
    assert not await shop.db.fetchval("select exists (select from archived_orders where encryption_key = $1)", key)
    await shop.wait_for_reports()
    shop.verify()
