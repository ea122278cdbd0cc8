"""Creates, updates and deletes line items of open orders for applications, in the caller's transaction.

Totals and shipments are updated as in the storefront.
"""

from uuid import UUID

from msgspec import UNSET
from msgspec.structs import replace

from shop.actions.cart.line_items import add_lines, change_quantity, check_metadata, drop_line
from shop.actions.cart.locked_carts import LockedCart, lock_cart_with_lines
from shop.actions.cart.orders import change_order
from shop.actions.context import Context
from shop.base.errors import Invalid, NotFound
from shop.base.input_types import MAX_UNITS
from shop.models.cart.inputs import CartItemInput
from shop.models.cart.orders import line_items
from shop.models.cart.record_inputs import LineItemInput
from shop.queries import writes
from shop.rules.metadata import METADATA


async def create_line(ctx: Context, values: LineItemInput) -> UUID:
    """Adds a line item, or increases the quantity of the variant's existing one."""
    cart = await _lock_open_cart(ctx, values["order_id"])
    item = CartItemInput(
        values["variant_id"],
        _check_quantity(values.get("quantity", 1)),
        values.get("public_metadata", UNSET),
        values.get("private_metadata", UNSET),
    )
    try:
        updated_cart = await add_lines(ctx, cart, [item], is_one=True)
    except NotFound:
        raise Invalid({"variant_id": ["is not a variant"]}) from None
    return next(line.id for line in updated_cart.lines if line.variant_id == item.variant_id)


async def update_line(ctx: Context, line_id: UUID, values: LineItemInput) -> None:
    cart = await _lock_cart_of_line(ctx, line_id)
    order = cart.order
    if "quantity" in values:
        order = (await change_quantity(ctx, cart, line_id, _check_quantity(values["quantity"]))).order
    metadata = {name: value for name, value in values.items() if name in METADATA}
    if metadata:
        check_metadata([replace(line, **metadata) if line.id == line_id else line for line in cart.lines])
        await writes.update_record(ctx.db, line_items, line_id, metadata)
        # A request that has read the cart without a lock sees by the row of the order that it must start anew.
        await change_order(ctx, order, state=order.state)


async def delete_line(ctx: Context, line_id: UUID) -> None:
    await drop_line(ctx, await _lock_cart_of_line(ctx, line_id), line_id)


async def lock_order_of_line(ctx: Context, line_id: UUID) -> None:
    """Locks the order before its line, in the common lock order."""
    await _lock_cart_of_line(ctx, line_id)


def _check_quantity(quantity: int) -> int:
    if not 0 < quantity <= MAX_UNITS:
        raise Invalid({"quantity": [f"must be from 1 to {MAX_UNITS}"]}, code="quantity_not_positive")
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
