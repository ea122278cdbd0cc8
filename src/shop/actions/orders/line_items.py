"""What machines do with the lines of an order that is not completed; totals and parcels follow as for a shopper. Each
runs inside its caller's transaction.
"""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from msgspec.structs import replace

from shop.actions.cart.line_items import Held, change_quantity, check_metadata, hold, put_in, take_out
from shop.actions.context import Context
from shop.base.errors import Invalid, NotFound
from shop.models.cart.orders import line_items
from shop.queries import writes
from shop.rules.cart.line_items import MOST_PIECES, Wish
from shop.rules.metadata import METADATA

Values = Mapping[str, Any]


async def create_line(ctx: Context, values: Values) -> UUID:
    """Of a variant that is in the order already there are more then."""
    held = await _held(ctx, values["order_id"])
    quantity = _pieces(values.get("quantity", 1))
    wish = Wish(values["variant_id"], quantity, *(values.get(name) for name in METADATA))
    try:
        cart = await put_in(ctx, held, [wish], is_one=True)
    except NotFound:
        raise Invalid({"variant_id": ["is not a variant"]}) from None
    return next(line.id for line in cart.lines if line.variant_id == wish.variant_id)


async def update_line(ctx: Context, line_id: UUID, values: Values) -> None:
    held = await _held_by(ctx, line_id)
    if "quantity" in values:
        await change_quantity(ctx, held, line_id, _pieces(values["quantity"]))
    metadata = {name: values[name] for name in METADATA if name in values}
    if metadata:
        check_metadata([replace(line, **metadata) if line.id == line_id else line for line in held.lines])
        await writes.update_record(ctx.db, line_items, line_id, metadata)


async def delete_line(ctx: Context, line_id: UUID) -> None:
    await take_out(ctx, await _held_by(ctx, line_id), line_id)


async def hold_order(ctx: Context, line_id: UUID) -> None:
    """Locked before its line, as everybody locks them."""
    await _held_by(ctx, line_id)


def _pieces(quantity: int) -> int:
    if not 0 < quantity <= MOST_PIECES:
        raise Invalid({"quantity": [f"must be from 1 to {MOST_PIECES}"]}, code="quantity_not_positive")
    return quantity


async def _held_by(ctx: Context, line_id: UUID) -> Held:
    order_id = await writes.find_value(ctx.db, line_items, line_id, "order_id")
    if order_id is None:
        raise NotFound()
    return await _held(ctx, order_id)


async def _held(ctx: Context, order_id: UUID) -> Held:
    try:
        return await hold(ctx, order_id)
    except NotFound:
        raise Invalid({"order_id": ["is not an order that can still be changed"]}) from None
