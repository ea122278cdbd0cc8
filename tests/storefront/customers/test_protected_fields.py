"""Fields that shoppers cannot set, whatever they send."""

from typing import Any
from uuid import UUID, uuid4

import pytest

from tests.checkout_builders import Buyer, CheckoutSetup

PROTECTED_FIELDS: dict[str, Any] = {
    "id": str(uuid4()),
    "number": "R000000001",
    "state": "complete",
    "payment_state": "paid",
    "shipment_state": "shipped",
    "user_id": str(uuid4()),
    "created_at": "2001-02-03T04:05:06.000Z",
    "completed_at": "2001-02-03T04:05:06.000Z",
    "approved_at": "2001-02-03T04:05:06.000Z",
    "item_total": "0.01",
    "total": "0.01",
    "adjustment_total": "-9.0",
    "promo_total": "-9.0",
    "price": "0.01",
    "token_version": 99,
}
ORDER = "select * from orders where id = $1"
LINES = "select price, quantity, promo_total from line_items where order_id = $1"


@pytest.mark.security("C-02")
async def test_shoppers_cannot_set_totals_states_or_owners(
    buyer: Buyer, checkout_setup: CheckoutSetup, db: Any
) -> None:
    mug = await checkout_setup.product(price="10.00")
    cart = await buyer.post("/cart", **PROTECTED_FIELDS, order=PROTECTED_FIELDS)
    before = dict(await db.fetchrow(ORDER, UUID(cart.id)))

    response = await buyer.post("/cart/add_item", **PROTECTED_FIELDS, variant_id=mug.variant_id, quantity=2)
    line_id = response.json["data"]["relationships"]["line_items"]["data"][0]["id"]
    changes = {**PROTECTED_FIELDS, "line_items_attributes": [{**PROTECTED_FIELDS, "id": line_id}]}
    answers = [
        response,
        await buyer.patch("/cart/set_quantity", **{**PROTECTED_FIELDS, "line_item_id": line_id, "quantity": 3}),
        await buyer.patch("/checkout", **PROTECTED_FIELDS, order=changes),
    ]

    after = dict(await db.fetchrow(ORDER, UUID(cart.id)))
    assert (cart.status, [answer.status for answer in answers]) == (201, [200, 200, 200])
    assert (before["state"], before["total"], before["user_id"], before["completed_at"]) == ("cart", 0, None, None)
    assert (after["item_total"], after["total"], after["payment_state"]) == (3000, 3000, None)
    for name in ("number", "user_id", "created_at", "completed_at", "adjustment_total", "shipment_state"):
        assert after[name] == before[name], name
    assert after["state"] != "complete"
    assert [tuple(line) for line in await db.fetch(LINES, UUID(cart.id))] == [(1000, 3, 0)]
