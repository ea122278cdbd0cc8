"""Sets the owner, addresses, number and channel of an open order, in the caller's transaction."""

import re
from collections.abc import Mapping
from uuid import UUID

import msgspec

from shop.actions.cart.line_items import requote
from shop.actions.cart.locked_carts import lock_cart_with_lines
from shop.actions.cart.orders import change_order
from shop.actions.checkout.steps import lock_open_checkout, set_addresses
from shop.actions.context import Context
from shop.actions.customers.account import check_open
from shop.base.errors import Invalid, NotFound
from shop.base.texts import is_line
from shop.models.cart.orders import Order
from shop.models.cart.orders import orders as table
from shop.models.checkout.record_inputs import OrderInput
from shop.queries import writes
from shop.queries.cart import carts
from shop.queries.customers import users
from shop.queries.payments.payments import remove_untried

ASSIGNABLE_FIELDS = ("user_id", "bill_address_id", "ship_address_id", "channel", "number")
"""Fields that can be set while an order is open."""
ORDER_COMPLETED_ERROR = "cannot be changed: the order is completed"
MAX_CHANNEL_LENGTH = 255
# Shorter than an id without hyphens, because an order can be found by number or id.
_NUMBER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,30}")


async def assign(ctx: Context, order_id: UUID, values: OrderInput) -> None:
    """Updates the assignable fields. A new owner reprices the lines and returns the checkout to the address step."""
    _check(values)
    try:
        cart = await lock_cart_with_lines(ctx, order_id)
    except NotFound:
        raise Invalid({name: [ORDER_COMPLETED_ERROR] for name in ASSIGNABLE_FIELDS if name in values}) from None
    own = {name: value for name, value in values.items() if name in {"channel", "number"}}
    if own:
        await writes.update_record(ctx.db, table, order_id, own)
    if "user_id" in values and values["user_id"] != cart.order.user_id:
        await _change_owner(ctx, cart.order, values["user_id"], values.get("email"))
        await requote(ctx, await lock_cart_with_lines(ctx, order_id))
    address_ids: dict[str, UUID | None] = {}
    if "bill_address_id" in values:
        address_ids["bill_address_id"] = values["bill_address_id"]
    if "ship_address_id" in values:
        address_ids["ship_address_id"] = values["ship_address_id"]
    if address_ids:
        await _set_addresses(ctx, order_id, address_ids)


def _check(values: OrderInput) -> None:
    errors: dict[str, list[str]] = {}
    channel = values.get("channel", "shop")
    if not channel.strip() or len(channel) > MAX_CHANNEL_LENGTH or not is_line(channel):
        errors["channel"] = [f"must be one line of at most {MAX_CHANNEL_LENGTH} characters"]
    if not _NUMBER.fullmatch(values.get("number", "R1")):
        errors["number"] = ["must be at most 31 letters, digits, hyphens and underscores"]
    if errors:
        raise Invalid(errors)


async def _change_owner(ctx: Context, order: Order, user_id: UUID | None, email: str | None) -> None:
    """Changes the owner; removes the former owner's payment choice and revokes the order's tokens."""
    user = await users.find_user(ctx.db, user_id) if user_id else None
    if user_id and user is None:
        raise Invalid({"user_id": ["is not a customer"]})
    if user:
        check_open(user)
    await remove_untried(ctx.db, order.id)
    address = email or (user.email if user else order.email)
    await carts.assign_to_user(ctx.db, order.id, user_id, address, ends_tokens=True)


async def _set_addresses(ctx: Context, order_id: UUID, ids: Mapping[str, UUID | None]) -> None:
    checkout = await lock_open_checkout(ctx, order_id)
    order = checkout.order
    addresses = await users.find_addresses(ctx.db, [address_id for address_id in ids.values() if address_id])
    errors = {}
    for name, address_id in ids.items():
        address = addresses.get(address_id) if address_id else None
        is_own = address_id is None or address_id in {order.bill_address_id, order.ship_address_id}
        # An address from an address book is only valid for its owner's orders.
        if not is_own and (address is None or address.deleted_at or address.user_id not in {None, order.user_id}):
            errors[name] = ["is not an address of this order's customer"]
    if errors:
        raise Invalid(errors)
    if order.pickup_location_id and ids.get("ship_address_id", order.ship_address_id) != order.ship_address_id:
        order = await change_order(ctx, order, pickup_location_id=None)
    await set_addresses(ctx, msgspec.structs.replace(checkout, order=order), ids)
