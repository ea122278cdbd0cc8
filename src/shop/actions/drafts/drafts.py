"""Drafts: orders that operators prepare. Each change locks the order, packs it if possible, and recalculates it.

A draft belongs to no cart of its customer, never expires, and reserves no stock before it is placed.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Literal
from uuid import UUID

import msgspec

from shop.actions.audit import audit
from shop.actions.cart.carts import new_cart
from shop.actions.cart.line_items import add_lines, change_quantity, drop_line
from shop.actions.cart.locked_carts import Cart, LockedCart, prepare_lines
from shop.actions.cart.orders import Checkout, change_order, load_checkout
from shop.actions.catalog.reservations import discard_cart
from shop.actions.checkout.coupons import apply_coupon, read_code
from shop.actions.checkout.shipments import recalculate, select_rates
from shop.actions.checkout.steps import advance_to, lock_open_checkout, set_addresses, update_details
from shop.actions.context import Context
from shop.actions.customers.users import create_user
from shop.actions.drafts.discounts import DiscountInput, apply_discounts, save_discount
from shop.actions.drafts.pickups import end_pickup, set_pickup
from shop.actions.event_subjects import CUSTOMER
from shop.actions.events import note_change
from shop.actions.orders.assignment import assign
from shop.base.email import Email
from shop.base.errors import Conflict, Invalid, NotFound
from shop.models.cart.inputs import CartItemInput
from shop.models.cart.orders import Order
from shop.models.checkout.inputs import CheckoutFields, ShippingRateChoice
from shop.models.customers.inputs import CheckoutAddressInput
from shop.queries.cart import orders
from shop.queries.cart.promotions import delete_order_codes
from shop.queries.customers import users
from shop.queries.customers.customers import find_by_keys
from shop.queries.drafts import drafts

DISABLED = "The account of this customer is disabled."
Change = Callable[[Checkout], Awaitable[Checkout]]
AddressUse = Literal["both", "ship", "bill"]


async def create_draft(ctx: Context, currency: str | None = None, user_id: UUID | None = None) -> Order:
    async with ctx.db.transaction():
        cart = await new_cart(ctx, currency, None)
        order = await drafts.insert_draft(ctx.db, cart.id, ctx.actor.id)
        if user_id:
            await _assign_customer(ctx, order, user_id)
        await audit(ctx, "draft_create", "done", subject_id=order.id, detail={"number": order.number})
    return order


async def delete_draft(ctx: Context, order_id: UUID) -> None:
    async with ctx.db.transaction():
        order = await lock_draft(ctx, order_id)
        if not await discard_cart(ctx, order):
            raise Conflict("The draft has a payment and cannot be deleted.")
        await audit(ctx, "draft_delete", "done", subject_id=order_id, detail={"number": order.number})


async def lock_draft(ctx: Context, order_id: UUID) -> Order:
    """Locks the order of a draft; raises NotFound if it was placed or deleted."""
    order = await orders.lock_open_cart(ctx.db, order_id)
    if order is None:
        raise NotFound()
    return order


async def settle_draft(ctx: Context, checkout: Checkout) -> Checkout:
    """Packs a draft that has all that its shipping rates depend on, and recalculates it with its discounts."""
    if checkout.lines and checkout.order.state in {"cart", "address"}:
        checkout, _ = await advance_to(ctx, checkout, upto="delivery")
    return await apply_discounts(ctx, checkout)


async def choose_customer(ctx: Context, order_id: UUID, user_id: UUID) -> None:
    """Sets the customer, whose prices, e-mail address and default addresses apply from now on."""

    async def change(checkout: Checkout) -> Checkout:
        return await _assign_customer(ctx, checkout.order, user_id)

    await _change(ctx, order_id, "draft_customer", change)


async def enter_customer(ctx: Context, order_id: UUID, email: Email, *, creates_account: bool) -> None:
    """Sets a customer by e-mail address: the one who has an account with it, or else a guest or a new account."""

    async def change(checkout: Checkout) -> Checkout:
        user_id = (await find_by_keys(ctx.db, [email.key])).get(email.key)
        if user_id is None and creates_account:
            user_id = await create_user(ctx, {"email": email.address})
            note_change(ctx, CUSTOMER, user_id)
        if user_id:
            return await _assign_customer(ctx, checkout.order, user_id)
        return await _assign_guest(ctx, checkout.order, email.address)

    await _change(ctx, order_id, "draft_customer", change)


async def use_address(ctx: Context, order_id: UUID, address_id: UUID, use: AddressUse) -> None:
    """Sets an address of the customer's address book."""
    fields = CheckoutFields(
        ship_address_id=None if use == "bill" else address_id,
        bill_address_id=None if use == "ship" else address_id,
    )
    await _change(ctx, order_id, "draft_address", lambda checkout: update_details(ctx, checkout, fields))


async def enter_address(ctx: Context, order_id: UUID, address: CheckoutAddressInput, use: AddressUse) -> None:
    """Sets an address that belongs to this order only."""
    fields = CheckoutFields(
        ship_address_attributes=None if use == "bill" else address,
        bill_address_attributes=address if use == "bill" else None,
        use_shipping=use == "both",
    )
    await _change(ctx, order_id, "draft_address", lambda checkout: update_details(ctx, checkout, fields))


async def choose_pickup(ctx: Context, order_id: UUID, location_id: UUID | None) -> None:
    """Lets the customer pick up the goods at a stock location; with None, they are sent."""

    async def change(checkout: Checkout) -> Checkout:
        return await (set_pickup(ctx, checkout, location_id) if location_id else end_pickup(ctx, checkout))

    detail = {"location_id": str(location_id) if location_id else None}
    await _change(ctx, order_id, "draft_pickup", change, detail)


async def add_item(ctx: Context, order_id: UUID, variant_id: UUID, quantity: int) -> None:
    item = CartItemInput(variant_id, quantity)
    detail = {"variant_id": str(variant_id), "quantity": quantity}
    await _change_lines(ctx, order_id, lambda cart: add_lines(ctx, cart, [item], is_one=True), detail)


async def set_quantity(ctx: Context, order_id: UUID, line_item_id: UUID, quantity: int) -> None:
    """Sets the quantity of a line item; zero removes it."""
    detail = {"line_item_id": str(line_item_id), "quantity": quantity}
    if quantity:
        await _change_lines(ctx, order_id, lambda cart: change_quantity(ctx, cart, line_item_id, quantity), detail)
    else:
        await _change_lines(ctx, order_id, lambda cart: drop_line(ctx, cart, line_item_id), detail)


async def set_discount(ctx: Context, order_id: UUID, discount: DiscountInput) -> None:
    async def change(checkout: Checkout) -> Checkout:
        await save_discount(ctx, checkout, discount)
        return checkout

    detail = {"kind": discount.kind, "value": str(discount.value)}
    await _change(ctx, order_id, "draft_discount", change, detail)


async def remove_discount(ctx: Context, order_id: UUID, line_item_id: UUID | None) -> None:
    async def change(checkout: Checkout) -> Checkout:
        await drafts.delete_discount(ctx.db, order_id, line_item_id)
        return checkout

    await _change(ctx, order_id, "draft_discount_remove", change)


async def choose_rates(ctx: Context, order_id: UUID, choices: Sequence[ShippingRateChoice]) -> None:
    await _change(ctx, order_id, "draft_shipping", lambda checkout: select_rates(ctx, checkout, choices))


async def enter_coupon(ctx: Context, order_id: UUID, code: str) -> None:
    await _change(ctx, order_id, "draft_coupon", lambda checkout: apply_coupon(ctx, checkout, read_code(code)))


async def remove_coupons(ctx: Context, order_id: UUID) -> None:
    async def change(checkout: Checkout) -> Checkout:
        await delete_order_codes(ctx.db, order_id)
        return await recalculate(ctx, msgspec.structs.replace(checkout, promotion_facts=None))

    await _change(ctx, order_id, "draft_coupon_remove", change)


async def _change(
    ctx: Context, order_id: UUID, action: str, change: Change, detail: Mapping[str, object] | None = None
) -> None:
    async with ctx.db.transaction():
        order = await lock_draft(ctx, order_id)
        await settle_draft(ctx, await change(await load_checkout(ctx, order)))
        await audit(ctx, action, "done", subject_id=order_id, detail=detail)


async def _change_lines(
    ctx: Context, order_id: UUID, change: Callable[[LockedCart], Awaitable[Cart]], detail: Mapping[str, object]
) -> None:
    """Changes the lines; a selected shipping method stays selected while it is offered."""

    async def change_lines(checkout: Checkout) -> Checkout:
        cart = await change(await prepare_lines(ctx, checkout.order))
        return Checkout(cart.order, cart.lines, (), (), checkout.rates, checkout.payments)

    await _change(ctx, order_id, "draft_items", change_lines, detail)


async def _assign_customer(ctx: Context, order: Order, user_id: UUID) -> Checkout:
    user = await users.find_user(ctx.db, user_id)
    if user is None:
        raise Invalid({"customer": ["is not a customer any more"]})
    if user.disabled_at:
        raise Invalid({"customer": [DISABLED]}, DISABLED)
    await assign(ctx, order.id, {"user_id": user_id})
    checkout = await lock_open_checkout(ctx, order.id)
    if checkout.order.email != user.email:
        checkout = msgspec.structs.replace(checkout, order=await change_order(ctx, checkout.order, email=user.email))
    book = await users.list_addresses(ctx.db, user_id)
    first_id = book[0].id if book else None
    ship_id = user.ship_address_id or user.bill_address_id or first_id
    ids = {"ship_address_id": ship_id, "bill_address_id": user.bill_address_id or ship_id}
    return await _set_default_addresses(ctx, checkout, ids)


async def _set_default_addresses(ctx: Context, checkout: Checkout, ids: Mapping[str, UUID | None]) -> Checkout:
    """Sets the addresses of a new customer; a pickup stays one, with the name of the customer."""
    pickup_id = checkout.order.pickup_location_id
    if pickup_id is None:
        return await set_addresses(ctx, checkout, ids)
    checkout = await set_addresses(ctx, checkout, {"bill_address_id": ids["bill_address_id"]})
    return await set_pickup(ctx, checkout, pickup_id)


async def _assign_guest(ctx: Context, order: Order, email: str) -> Checkout:
    """Makes the order one of a guest; addresses of an address book stay with their owner."""
    had_owner = order.user_id is not None
    await assign(ctx, order.id, {"user_id": None, "email": email})
    checkout = await lock_open_checkout(ctx, order.id)
    checkout = msgspec.structs.replace(checkout, order=await change_order(ctx, checkout.order, email=email))
    return (
        await _set_default_addresses(ctx, checkout, {"ship_address_id": None, "bill_address_id": None})
        if had_owner
        else checkout
    )
