"""Creates, updates and deletes line items of open orders for applications, in the caller's transaction.

Totals and shipments are updated as in the storefront.
"""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from msgspec.structs import replace

from shop.actions.cart.line_items import (
    LockedCart,
    add_lines,
    change_quantity,
    check_metadata,
    drop_line,
    lock_cart_with_lines,
)
from shop.actions.context import Context
from shop.base.errors import Invalid, NotFound
from shop.models.cart.orders import line_items
from shop.queries import writes
from shop.rules.cart.line_items import MOST_PIECES, LineItemInput
from shop.rules.metadata import METADATA

Values = Mapping[str, Any]


async def create_line(ctx: Context, values: Values) -> UUID:
    """Adds a line item, or increases the quantity of the variant's existing one."""
    cart = await _lock_open_cart(ctx, values["order_id"])
    quantity = _check_quantity(values.get("quantity", 1))
    wish = LineItemInput(values["variant_id"], quantity, *(values.get(name) for name in METADATA))
    try:
        updated_cart = await add_lines(ctx, cart, [wish], is_one=True)
    except NotFound:
        raise Invalid({"variant_id": ["is not a variant"]}) from None
    return next(line.id for line in updated_cart.lines if line.variant_id == wish.variant_id)


async def update_line(ctx: Context, line_id: UUID, values: Values) -> None:
    cart = await _lock_cart_of_line(ctx, line_id)
    if "quantity" in values:
        await change_quantity(ctx, cart, line_id, _check_quantity(values["quantity"]))
    metadata = {name: values[name] for name in METADATA if name in values}
    if metadata:
        check_metadata([replace(line, **metadata) if line.id == line_id else line for line in cart.lines])
        await writes.update_record(ctx.db, line_items, line_id, metadata)


async def delete_line(ctx: Context, line_id: UUID) -> None:
    await drop_line(ctx, await _lock_cart_of_line(ctx, line_id), line_id)


async def lock_order_of_line(ctx: Context, line_id: UUID) -> None:
    """Locks the order before its line, in the common lock order."""
    await _lock_cart_of_line(ctx, line_id)


def _check_quantity(quantity: int) -> int:
    if not 0 < quantity <= MOST_PIECES:
        raise Invalid({"quantity": [f"must be from 1 to {MOST_PIECES}"]}, code="quantity_not_positive")
    return quantity


async def _lock_cart_of_line(ctx: Context, line_id: UUID) -> LockedCart:
    order_id = await writes.find_value(ctx.db, line_items, line_id, "order_id")
    if order_id is None:
        raise NotFound()
    return await _lock_open_cart(ctx, order_id)


async def _lock_open_cart(ctx: Context, order_id: UUID) -> LockedCart:
    try:
        return await lock_cart_with_lines(ctx, order_id)
    except NotFound:
        raise Invalid({"order_id": ["is not an order that can still be changed"]}) from None
