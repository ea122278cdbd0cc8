"""The floor of a cart with lines: the fewest statements that are still correct, with minimal rendering.

One statement reads the cart, its lines, and what the totals and warnings need. One statement writes, if the cart has
not changed since; otherwise a shop would have to read it again. So there is no transaction, and no lock is held while
the service works.
"""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import msgspec

from bench.floor_platform import encode
from shop.base.money import money_text, wire_decimal
from shop.jsonapi.encoder import wire_time
from shop.rules.cart.totals import COLUMNS
from shop.storefront.resources.orders import CART

RELATIONSHIPS: dict[str, Any] = {
    name: {"data": [] if relation.is_many else None} for name, relation in CART.relations.items()
}
AMOUNTS = tuple(name for name in COLUMNS if name != "item_count")
text = money_text("USD", "en-US")
_IS_SOLD = """p.status = 'active' and p.deleted_at is null and (p.available_on is null or p.available_on <= now())
    and (p.discontinue_on is null or p.discontinue_on > now()) and v.deleted_at is null
    and (v.discontinue_on is null or v.discontinue_on > now())
    and (not v.is_master or not exists (
        select from variants w where w.product_id = v.product_id and not w.is_master and w.deleted_at is null))"""
_READ = f"""
with cart as (select o.*, o.xmin::text as row_version, 1::bigint as place from orders o
    where o.id = $1 and o.completed_at is null)
select c.*, (select version from promotion_versions) as promotions,
    (select json_agg(code) from order_promotions where order_id = c.id) as codes,
    (select json_agg(json_build_array(r.id, r.amount)) from tax_rates r join zones z on z.id = r.zone_id
        where c.ship_address_id is null and z.default_tax) as rates, l.*
from cart c full join (
    select row_number() over (order by l.created_at, l.id) as place, l.id as line_id, l.variant_id, l.quantity,
        l.price as quoted, l.name, l.options_text, l.tax_category_id, p.id as product_id, {_IS_SOLD} as is_sold,
        v.track_inventory, s.on_hand, s.backorderable, q.amount as price, l.slug
    from line_items l join variants v on v.id = l.variant_id join products p on p.id = v.product_id
    left join prices q on q.variant_id = v.id and q.currency = (select currency from cart)
    cross join lateral (
        select sum(i.count_on_hand)::bigint as on_hand, bool_or(i.backorderable) as backorderable from stock_items i
        join stock_locations t on t.id = i.stock_location_id and t.active where i.variant_id = v.id) s
    where l.order_id = (select id from cart)) l on l.place = c.place
order by l.place
"""
_WRITE = """
with saved as (update orders set item_count = $3, item_total = $4, total = $4, pre_tax_total = $4,
    pre_tax_item_amount = $4, updated_at = now() where id = $1 and xmin::text = $2 returning *),
put as (update line_items l set quantity = $6, quoted_at = $7, pre_tax_amount = price * $6, updated_at = now()
    from saved where l.order_id = saved.id and l.variant_id = $5)
select * from saved
"""
_VARIANTS = """
select v.id, v.sku, v.product_id, q.amount as price, s.on_hand, s.backorderable,
    array(select o.option_value_id from variant_option_values o where o.variant_id = v.id) as option_value_ids,
    array(select i.id from images i where i.variant_id = v.id) as image_ids
from variants v left join prices q on q.variant_id = v.id and q.currency = 'USD'
cross join lateral (select sum(i.count_on_hand)::bigint as on_hand, bool_or(i.backorderable) as backorderable
    from stock_items i where i.variant_id = v.id) s
where v.id = any($1)
"""


class FloorCart:
    """Reads carts, and increments an existing line without validation."""

    def __init__(self, pool: Any) -> None:
        self.pool = pool
        self.statements = 0

    async def read(self, cart_id: UUID, *, with_variants: bool) -> bytes:
        async with self.pool.acquire() as connection:
            rows = await connection.fetch(_READ, cart_id)
            ids = [row["variant_id"] for row in rows]
            variants = await connection.fetch(_VARIANTS, ids) if with_variants else []
        self.statements += 2 if with_variants else 1
        return _document(rows[0], rows, variants)

    async def add_item(self, cart_id: UUID, body: bytes) -> bytes:
        variant_id = UUID(msgspec.json.decode(body)["variant_id"])
        async with self.pool.acquire() as connection:
            rows = await connection.fetch(_READ, cart_id)
            quantities = {row["variant_id"]: row["quantity"] + (row["variant_id"] == variant_id) for row in rows}
            total = sum(row["quoted"] * quantities[row["variant_id"]] for row in rows)
            item = (variant_id, quantities[variant_id], datetime.now(UTC))
            count = sum(quantities.values())
            order = await connection.fetchrow(_WRITE, cart_id, rows[0]["row_version"], count, total, *item)
        self.statements += 2
        if order is None:
            raise AssertionError("two requests changed one cart at the same time")
        return _document(order, rows, [])


def _document(order: Any, rows: Any, variants: Any) -> bytes:
    attributes: dict[str, Any] = {
        name: order[name] for name in ("number", "state", "email", "currency", "item_count", "special_instructions")
    }
    attributes |= {"token": "shpot_k1_" + "0" * 104, "shipment_state": None, "payment_state": None}
    attributes |= {name: wire_time(order[name]) for name in ("created_at", "updated_at", "completed_at")}
    for name in AMOUNTS:
        attributes[name], attributes[f"display_{name}"] = wire_decimal(order[name], 2), text(order[name])
    related = {
        "line_items": {"data": [{"id": row["line_id"], "type": "line_item"} for row in rows]},
        "variants": {"data": [{"id": row["variant_id"], "type": "variant"} for row in rows]},
    }
    data = {"id": order["id"], "type": "cart", "attributes": attributes, "relationships": RELATIONSHIPS | related}
    if not variants:
        return encode({"data": data})
    return encode({"data": data, "included": [*map(_line, rows), *map(_variant, variants)]})


def _line(row: Any) -> dict[str, Any]:
    amount = row["quoted"] * row["quantity"]
    attributes: dict[str, Any] = {name: row[name] for name in ("name", "quantity", "slug", "options_text")}
    for name, value in (("price", row["quoted"]), ("amount", amount), ("total", amount), ("pre_tax_amount", amount)):
        attributes[name], attributes[f"display_{name}"] = wire_decimal(value, 2), text(value)
    variant = {"data": {"id": row["variant_id"], "type": "variant"}}
    return {"id": row["line_id"], "type": "line_item", "attributes": attributes, "relationships": {"variant": variant}}


def _variant(row: Any) -> dict[str, Any]:
    attributes = {"sku": row["sku"], "price": wire_decimal(row["price"], 2), "display_price": text(row["price"])}
    attributes |= {"in_stock": row["on_hand"] > 0, "backorderable": row["backorderable"], "currency": "USD"}
    relationships = {
        "product": {"data": {"id": row["product_id"], "type": "product"}},
        "images": {"data": [{"id": each, "type": "image"} for each in row["image_ids"]]},
        "option_values": {"data": [{"id": each, "type": "option_value"} for each in row["option_value_ids"]]},
    }
    return {"id": row["id"], "type": "variant", "attributes": attributes, "relationships": relationships}
