"""Operators cancel an order as a whole, and say why and what does not return to the stock."""

from typing import Any
from uuid import UUID

import pytest

from tests.admin.catalog_forms import error_messages, field, redirect_path, saved_message
from tests.admin.dashboard import Dashboard
from tests.admin.order_builders import ORDERS, buy, payment_of, refund_payment, text_of
from tests.admin.order_edits.forms import find_problems, line_ids
from tests.checkout_builders import Buyer, on_hand
from tests.shopper import Answer


async def buy_two(buyer: Buyer) -> tuple[Answer, str, str]:
    """Buys three teapots and two of something else; returns the order and the ids of the variants."""
    teapot = await buyer.checkout_setup.product(name="Teapot")
    await buyer.add_items((teapot, 3))
    order, other = await buy(buyer, name="Cup")
    return order, teapot.variant_id, other


async def list_movements(db: Any, variant: str) -> list[tuple[Any, ...]]:
    query = """select m.quantity, m.reason from stock_movements m join stock_items s on s.id = m.stock_item_id
        where s.variant_id = $1 and m.note like 'R%' order by m.id"""
    return [tuple(row) for row in await db.fetch(query, UUID(variant))]


async def test_damaged_items_of_a_canceled_order_do_not_return_to_the_stock(
    dashboard: Dashboard, buyer: Buyer, db: Any, database_url: str
) -> None:
    order, teapot, cup = await buy_two(buyer)
    path = f"{ORDERS}/{order['number']}/cancel"
    before = [await on_hand(db, variant) for variant in (teapot, cup)]
    page = await dashboard.get(path)
    lines = await line_ids(db, order)
    assert "Do not restock (damaged or lost) : Teapot" in text_of(page.text)
    assert field(page.text, f"lost[{lines[teapot]}]") == "1"

    fields = {f"lost[{lines[teapot]}]": "1", "reason": "damaged", "reason_text": "The shelf fell on Ada's box"}
    answer = await dashboard.post(path, **fields)

    assert redirect_path(answer) == f"{ORDERS}/{order['number']}"
    assert [await on_hand(db, variant) for variant in (teapot, cup)] == [before[0], before[1] + 2]
    assert await list_movements(db, teapot) == [(-3, "sold"), (3, "returned"), (-3, "damaged")]
    assert await list_movements(db, cup) == [(-2, "sold"), (2, "returned")]
    note = "Order canceled. Damaged or defective: The shelf fell on Ada's box"
    assert note in text_of((await dashboard.get(f"{ORDERS}/{order['number']}?done=canceled")).text)
    # Explanations can be personal: the audit stores the word of the list.
    detail = await db.fetchval(
        "select detail::text from audit_events where subject_id = $1 and action = 'order_cancel'", UUID(order.id)
    )
    assert '"damaged"' in detail
    assert "shelf" not in detail
    assert await find_problems(database_url, db, order) == {}


async def test_backordered_units_of_a_canceled_order_are_not_written_off(
    dashboard: Dashboard, buyer: Buyer, db: Any, database_url: str
) -> None:
    product = await buyer.checkout_setup.product(name="Teapot", on_hand=2)
    await db.execute("update stock_items set backorderable = true where variant_id = $1", UUID(product.variant_id))
    await buyer.ready((product, 3))
    order = await buyer.complete()
    (line,) = (await line_ids(db, order)).values()

    saved_message(await dashboard.post(f"{ORDERS}/{order['number']}/cancel", **{f"lost[{line}]": "1"}))

    assert await list_movements(db, product.variant_id) == [(-3, "sold"), (3, "returned"), (-2, "damaged")]
    assert await on_hand(db, product.variant_id) == 0
    assert await find_problems(database_url, db, order) == {}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"reason": "other"}, "Explanation is required."),
        ({"reason": "whim"}, "Reason is not a valid choice."),
        ({"reason": "customer", "reason_text": "x" * 300}, "Explanation must be one line of at most 205 characters."),
    ],
)
async def test_an_invalid_reason_cancels_nothing(
    dashboard: Dashboard, buyer: Buyer, db: Any, fields: dict[str, str], message: str
) -> None:
    order, variant = await buy(buyer)
    (line,) = (await line_ids(db, order)).values()

    answer = await dashboard.post(f"{ORDERS}/{order['number']}/cancel", **fields, **{f"lost[{line}]": "1"})

    assert (answer.status_code, error_messages(answer)) == (422, [message])
    assert f'name="lost[{line}]" value="1" checked' in answer.text
    assert await on_hand(db, variant) == 8
    assert await db.fetchval("select canceled_at from orders where id = $1", UUID(order.id)) is None


async def test_canceling_items_needs_a_quantity(dashboard: Dashboard, buyer: Buyer, db: Any) -> None:
    order, _ = await buy(buyer)
    (line,) = (await line_ids(db, order)).values()

    answer = await dashboard.post(
        f"{ORDERS}/{order['number']}/cancel-items", **{f"cancel[{line}]": "", "reason": "customer", "do": "preview"}
    )

    assert (answer.status_code, error_messages(answer)) == (422, ["Enter how many items to cancel."])
    assert f'<input type="number" id="field-quantity" name="cancel[{line}]"' in answer.text
    assert 'aria-invalid="true"' in answer.text


async def test_the_question_says_what_canceling_refunds(dashboard: Dashboard, buyer: Buyer, db: Any) -> None:
    paid, _ = await buy(buyer)
    await refund_payment(dashboard, await payment_of(db, paid), amount="1.00")
    awaited, _ = await buy(Buyer(buyer.http, buyer.checkout_setup), pays="check")

    pages = [await dashboard.get(f"{ORDERS}/{each['number']}/cancel") for each in (paid, awaited)]
    refunds, voids = (text_of(page.text) for page in pages)

    assert "$24.00 will be refunded by Card. This cannot be undone." in refunds
    assert "The customer will get an e-mail." in refunds
    assert "The payment of $25.00 that was not captured will be voided." in voids
    assert "will be refunded" not in voids
