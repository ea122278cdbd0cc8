"""Refunds whose parts succeed or fail: shipping costs, units and stock are returned once."""

from typing import Any
from uuid import UUID, uuid4

import httpx2

from tests.admin.catalog_forms import error_messages, saved_message
from tests.admin.dashboard import Dashboard
from tests.admin.order_builders import ORDERS, buy, shipment_of, text_of
from tests.admin.order_edits.forms import find_problems, line_ids
from tests.admin.order_edits.test_refunds import preview, refunded
from tests.checkout_builders import Buyer, on_hand
from tests.platform.client import Machine
from tests.platform.orders.test_shipment_contents import new_sale, patch_shipment, stock_counts
from tests.shopper import Answer

SECOND_PAYMENT = """insert into payments (id, order_id, payment_method_id, source_id, number, state, amount,
        captured_amount, response_code, created_at, updated_at)
    select $2, order_id, payment_method_id, source_id, number || 'B', state, 1000, 1000, response_code || 'B', now(),
        now() from payments where order_id = $1"""


async def refuse_refunds(db: Any, *payment_ids: UUID) -> UUID:
    """Lets the provider of these payments decline: it has no keys. Returns the id of their former payment method."""
    method_id, former_id = (
        uuid4(),
        await db.fetchval("select payment_method_id from payments where id = $1", payment_ids[0]),
    )
    await db.execute(
        """insert into payment_methods (id, name, type, created_at, updated_at, deleted_at)
        values ($1, 'Card', 'stripe', now(), now(), now())""",
        method_id,
    )
    await db.execute("update payments set payment_method_id = $1 where id = any($2)", method_id, list(payment_ids))
    return UUID(str(former_id))


async def ids_of_payments(db: Any, order: Answer) -> list[UUID]:
    rows = await db.fetch("select id from payments where order_id = $1 order by created_at", UUID(order.id))
    return [row["id"] for row in rows]


async def submit(dashboard: Dashboard, path: str, **fields: str) -> httpx2.Response:
    _, form = await preview(dashboard, path, **fields)
    return await dashboard.post(path, **form, do="refund")


async def test_shipping_costs_are_refunded_once(dashboard: Dashboard, buyer: Buyer, db: Any) -> None:
    order, _ = await buy(buyer)
    path = f"{ORDERS}/{order['number']}/refund"

    assert saved_message(await submit(dashboard, path, shipping="3.00")) == "refunded"

    assert "At most $2.00. $3.00 was refunded." in text_of((await dashboard.get(path)).text)
    more = await dashboard.post(path, shipping="2.01", reason="damaged", do="preview")
    assert error_messages(more) == ["Refund of shipping is more than the shipping costs that are not refunded yet."]
    assert saved_message(await submit(dashboard, path, shipping="2.00")) == "refunded"
    page = (await dashboard.get(path)).text
    assert "All shipping costs were refunded." in page
    assert 'name="shipping"' not in page
    again = await dashboard.post(path, shipping="0.01", reason="damaged", do="preview")
    assert again.status_code == 422
    assert [amount for amount, *_ in await refunded(db, order)] == [300, 200]


async def test_a_declined_refund_returns_no_stock_and_its_repetition_returns_it_once(
    dashboard: Dashboard, buyer: Buyer, db: Any, database_url: str
) -> None:
    order, variant = await buy(buyer, quantity=3)
    saved_message(await dashboard.post(f"{await shipment_of(db, order)}/ship"))
    path, line = f"{ORDERS}/{order['number']}/refund", (await line_ids(db, order))[variant]
    fields = {f"quantity[{line}]": "3", f"restock[{line}]": "1", "shipping": "5.00"}
    (payment_id,) = await ids_of_payments(db, order)
    method_id = await refuse_refunds(db, payment_id)

    declined = await submit(dashboard, path, **fields)

    assert declined.status_code == 422
    assert [state for *_, state in await refunded(db, order)] == ["failed"]
    assert await on_hand(db, variant) == 7
    await db.execute("update payments set payment_method_id = $1 where id = $2", method_id, payment_id)
    assert saved_message(await submit(dashboard, path, **fields)) == "refunded"
    assert await on_hand(db, variant) == 10
    assert [state for *_, state in await refunded(db, order)] == ["failed", "completed"]
    assert await find_problems(database_url, db, order) == {}


async def test_units_are_refunded_if_one_of_several_payments_is(dashboard: Dashboard, buyer: Buyer, db: Any) -> None:
    order, variant = await buy(buyer, name="Teapot")
    saved_message(await dashboard.post(f"{await shipment_of(db, order)}/ship"))
    await db.execute(SECOND_PAYMENT, UUID(order.id), uuid4())
    path, line = f"{ORDERS}/{order['number']}/refund", (await line_ids(db, order))[variant]
    fields = {f"quantity[{line}]": "2", f"restock[{line}]": "1", "shipping": "5.00", "other": "5.00"}
    first_id, second_id = await ids_of_payments(db, order)
    await refuse_refunds(db, first_id)

    partly_declined = await submit(dashboard, path, **fields)

    assert partly_declined.status_code == 422
    assert [(amount, state) for amount, _, state in await refunded(db, order)] == [(2500, "failed"), (500, "completed")]
    assert await on_hand(db, variant) == 10
    text = text_of((await dashboard.get(path)).text)
    assert "2 of 2 all refunded 2 back in stock" in text
    assert "All shipping costs were refunded." in text
    again = await dashboard.post(path, **{f"quantity[{line}]": "1", "reason": "damaged", "do": "preview"})
    assert error_messages(again) == ["Teapot: at most 0 can be refunded."]
    # What the declined part did not return can be refunded as an amount.
    await db.execute(
        "update payments set payment_method_id = (select payment_method_id from payments where id = $1) where id = $2",
        second_id,
        first_id,
    )
    assert saved_message(await submit(dashboard, path, other="25.00")) == "refunded"
    assert await on_hand(db, variant) == 10


async def test_units_can_be_refunded_again_if_all_parts_were_declined(
    dashboard: Dashboard, buyer: Buyer, db: Any
) -> None:
    order, variant = await buy(buyer)
    await db.execute(SECOND_PAYMENT, UUID(order.id), uuid4())
    path, line = f"{ORDERS}/{order['number']}/refund", (await line_ids(db, order))[variant]
    await refuse_refunds(db, *await ids_of_payments(db, order))

    await submit(dashboard, path, **{f"quantity[{line}]": "2", "shipping": "5.00", "other": "5.00"})

    assert [state for *_, state in await refunded(db, order)] == ["failed", "failed"]
    assert "0 of 2" in text_of((await dashboard.get(path)).text)
    assert "At most $5.00." in text_of((await dashboard.get(path)).text)


async def test_units_return_to_the_stock_locations_that_sent_them(
    dashboard: Dashboard, writer: Machine, db: Any
) -> None:
    sale = await new_sale(writer, db)
    (first,) = await sale.shipments(writer)
    fields = {"variant_id": sale.mug.variant_id, "stock_location_id": sale.locations[1], "quantity": 2}
    await patch_shipment(writer, first, "transfer_to_location", **fields)
    order = await writer.get(f"/orders/{sale.order_id}")
    for shipment_id in await sale.shipments(writer):
        saved_message(await dashboard.post(f"{ORDERS}/{order['number']}/shipments/{shipment_id}/ship"))
    path, line = f"{ORDERS}/{order['number']}/refund", (await line_ids(db, order))[sale.mug.variant_id]
    counts = [await stock_counts(db, sale)]

    for _ in range(3):
        saved_message(await submit(dashboard, path, **{f"quantity[{line}]": "1", f"restock[{line}]": "1"}))
        counts.append(await stock_counts(db, sale))

    # One unit came from the first location, and two from the second one.
    assert counts == [[2, 0], [3, 0], [3, 1], [3, 2]]
    assert "3 back in stock" in text_of((await dashboard.get(path)).text)


async def test_units_of_one_refund_return_to_several_locations(
    dashboard: Dashboard, writer: Machine, db: Any, database_url: str
) -> None:
    sale = await new_sale(writer, db)
    (first,) = await sale.shipments(writer)
    fields = {"variant_id": sale.mug.variant_id, "stock_location_id": sale.locations[1], "quantity": 2}
    await patch_shipment(writer, first, "transfer_to_location", **fields)
    order = await writer.get(f"/orders/{sale.order_id}")
    for shipment_id in await sale.shipments(writer):
        saved_message(await dashboard.post(f"{ORDERS}/{order['number']}/shipments/{shipment_id}/ship"))
    path, line = f"{ORDERS}/{order['number']}/refund", (await line_ids(db, order))[sale.mug.variant_id]

    saved_message(await submit(dashboard, path, **{f"quantity[{line}]": "2", f"restock[{line}]": "1"}))

    assert await stock_counts(db, sale) == [3, 1]
    rows = await db.fetch("select quantity, amount from refund_items where order_id = $1", UUID(order.id))
    assert sorted(map(tuple, rows)) == [(1, 1000), (1, 1000)]
    assert await find_problems(database_url, db, order) == {}
