"""Nested attributes of an order update: addresses, line items, shipping rates and payments. Runs in the caller's
transaction.
"""

from uuid import UUID

from shop.actions.cart.line_items import add_lines, change_quantity, drop_line
from shop.actions.cart.locked_carts import lock_cart_with_lines
from shop.actions.checkout.payments import choose_payment
from shop.actions.checkout.shipments import select_rates
from shop.actions.checkout.steps import advance_to, lock_open_checkout, update_details
from shop.actions.context import Context
from shop.base.errors import Invalid, NotFound
from shop.base.values import NO_RECORD
from shop.models.cart.inputs import CartItemInput
from shop.models.checkout.inputs import CheckoutFields
from shop.models.checkout.record_inputs import OrderInput, OrderLineInput

NESTED_FIELDS = (
    "bill_address_attributes",
    "ship_address_attributes",
    "line_items_attributes",
    "shipments_attributes",
    "payments_attributes",
)


async def update_nested_attributes(ctx: Context, order_id: UUID, values: OrderInput) -> None:
    """Applies all nested attributes or none; refuses a completed order."""
    try:
        await lock_cart_with_lines(ctx, order_id)
    except NotFound:
        raise Invalid({"base": ["is completed; its parts cannot be changed"]}) from None
    for index, item in enumerate(values.get("line_items_attributes", ())):
        await _update_line(ctx, order_id, item, f"line_items_attributes.{index}")
    checkout = await lock_open_checkout(ctx, order_id)
    if "bill_address_attributes" in values or "ship_address_attributes" in values:
        addresses = CheckoutFields(
            bill_address_attributes=values.get("bill_address_attributes"),
            ship_address_attributes=values.get("ship_address_attributes"),
        )
        checkout = await update_details(ctx, checkout, addresses)
    if choices := values.get("shipments_attributes"):
        checkout, _ = await advance_to(ctx, checkout, upto="delivery")
        checkout = await select_rates(ctx, checkout, choices)
    for choice in values.get("payments_attributes", ()):
        checkout, _ = await advance_to(ctx, checkout, upto="payment")
        checkout = await choose_payment(ctx, checkout, choice)


async def _update_line(ctx: Context, order_id: UUID, item: OrderLineInput, path: str) -> None:
    """Updates or removes the line with the given id; without an id, adds the variant."""
    cart = await lock_cart_with_lines(ctx, order_id)
    try:
        if item.id is None:
            await add_lines(ctx, cart, [CartItemInput(item.variant_id or NO_RECORD, item.quantity)], is_one=True)
        elif item.is_removal:
            await drop_line(ctx, cart, item.id)
        else:
            await change_quantity(ctx, cart, item.id, item.quantity)
    except NotFound:
        raise Invalid({f"{path}.{'id' if item.id else 'variant_id'}": ["does not exist"]}) from None
    except Invalid as invalid:
        errors = {f"{path}.{name}": messages for name, messages in invalid.errors.items()}
        raise Invalid(errors, code=invalid.code) from None
