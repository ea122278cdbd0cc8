"""The floor of a cart: the shop's own statements to increment a line, with minimal rendering."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import msgspec

from bench.floor_platform import encode
from shop.base.money import money_text, wire_decimal
from shop.jsonapi.encoder import wire_time
from shop.queries.cart import line_items, orders, promotions
from shop.queries.catalog import quotes
from shop.queries.setup import taxes
from shop.rules.cart.totals import COLUMNS
from shop.storefront.resources.orders import CART

RELATIONSHIPS: dict[str, Any] = {
    name: {"data": [] if relation.is_many else None} for name, relation in CART.relations.items()
}
AMOUNTS = tuple(name for name in COLUMNS if name != "item_count")
text = money_text("USD", "en-US")


class FloorCart:
    """Increments an existing line without validation."""

    def __init__(self, pool: Any) -> None:
        self.pool = pool

    async def add_item(self, cart_id: UUID, body: bytes) -> bytes:
        item = msgspec.json.decode(body)
        variant_id = UUID(item["variant_id"])
        async with self.pool.acquire() as connection, connection.transaction():

            async def run(statement: Any, **values: Any) -> Any:
                return await connection.fetch(statement.sql, *statement.arguments(values))

            (order,) = await run(orders._LOCK_OPEN, id=cart_id)
            rows = await run(line_items._LINES, order_id=cart_id)
            quantities = {row["variant_id"]: row["quantity"] + (row["variant_id"] == variant_id) for row in rows}
            statement = quotes._quotes(is_personal=False)
            await run(statement, ids=list(quantities), quantities=list(quantities.values()), currency="USD")
            facts = {"order_id": cart_id, "user_id": None, "email": None, "email_key": None}
            await run(promotions._FACTS, **facts)
            await run(taxes._RATES, address_id=None)
            total = sum(row["price"] * quantities[row["variant_id"]] for row in rows)
            line = next(row for row in rows if row["variant_id"] == variant_id)
            amounts = {"quantity": quantities[variant_id], "quoted_at": datetime.now(UTC)}
            row = {name: line[name] for name in line_items._names} | amounts
            sums = dict.fromkeys(AMOUNTS, 0) | dict.fromkeys(
                ("item_total", "total", "pre_tax_total", "pre_tax_item_amount"), total
            )
            figures = {
                **sums,
                "item_count": sum(quantities.values()),
                "state": "cart",
                "currency": "USD",
                "promoted": {},
            }
            values = {f"new_{name}": figures[name] for name in line_items.SAVED_ORDER_COLUMNS}
            (order,) = await run(line_items._WRITE, order_id=cart_id, rows=[row], gone=[], unpacks=False, **values)
        return _document(order, rows)


def _document(order: Any, rows: Any) -> bytes:
    attributes: dict[str, Any] = {
        name: order[name] for name in ("number", "state", "email", "currency", "item_count", "special_instructions")
    }
    attributes |= {"token": "shpot_k1_" + "0" * 104, "shipment_state": None, "payment_state": None}
    attributes |= {name: wire_time(order[name]) for name in ("created_at", "updated_at", "completed_at")}
    for name in AMOUNTS:
        attributes[name], attributes[f"display_{name}"] = wire_decimal(order[name], 2), text(order[name])
    related = {
        "line_items": {"data": [{"id": row["id"], "type": "line_item"} for row in rows]},
        "variants": {"data": [{"id": row["variant_id"], "type": "variant"} for row in rows]},
    }
    data = {"id": order["id"], "type": "cart", "attributes": attributes, "relationships": RELATIONSHIPS | related}
    return encode({"data": data})
