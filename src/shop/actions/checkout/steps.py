"""Checkout steps: contact details, addresses, shipments and the transitions between states."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any
from uuid import UUID

import msgspec

from shop.actions.cart.access import acts_for_owner, drop_owner_payments, require_owner
from shop.actions.cart.line_items import LockedCart, get_pricing, lock_cart, release_reservations, save_lines
from shop.actions.cart.order_state import Checkout, change_order, load_checkout
from shop.actions.catalog.reservations import release_stock
from shop.actions.checkout.shipments import ensure_offered, ensure_packed, recalculate
from shop.actions.checkout.store_credit import adjust_reservation
from shop.actions.context import Context
from shop.actions.customers.account import address_fields
from shop.base.email import read_email
from shop.base.errors import Invalid
from shop.base.ids import as_uuid, new_id
from shop.models.cart.orders import Order
from shop.queries.catalog import stock
from shop.queries.catalog.quotes import list_quotes
from shop.queries.checkout import shipments
from shop.queries.customers import users
from shop.rules.cart.line_items import add_held_stock
from shop.rules.cart.quotes import find_differences, find_unavailable_lines
from shop.rules.checkout.steps import CheckoutRequirement, blocking, following, missing

Values = Mapping[str, Any]
_FROM_ACCOUNT = ("email", "bill_address_id", "ship_address_id")
"""Fields that default to the owner's account and determine where the order and its e-mail go."""


async def lock_open_checkout(ctx: Context, order_id: UUID | None = None, *, may_be_paid: bool = False) -> Checkout:
    """Locks and loads the checkout."""
    return await load_checkout(ctx, await lock_cart(ctx, order_id, may_be_paid=may_be_paid))


def build_missing_error(lacks: Sequence[CheckoutRequirement]) -> Invalid:
    errors: dict[str, list[str]] = {}
    for lack in lacks:
        errors.setdefault(lack.field, []).append(lack.sentence)
    return Invalid(errors, lacks[0].sentence, code=lacks[0].code)


def requirements(checkout: Checkout) -> list[CheckoutRequirement]:
    return missing(checkout.facts)


async def enter_next_step(ctx: Context, checkout: Checkout) -> Checkout:
    """Moves to the next step and does its work; raises `Invalid` if a requirement is missing."""
    checkout = await _begin(ctx, checkout)
    lacks = blocking(checkout.facts)
    if lacks:
        raise build_missing_error(lacks)
    then = following(checkout.order.state, checkout.order.total)
    if then is None or then == "complete":
        return checkout
    if then == "delivery":
        checkout = await ensure_offered(ctx, checkout)
    if then == "payment":
        checkout = await adjust_reservation(ctx, checkout)
    return msgspec.structs.replace(checkout, order=await change_order(ctx, checkout.order, state=then))


async def advance_to(ctx: Context, checkout: Checkout, *, upto: str = "confirm") -> tuple[Checkout, Invalid | None]:
    """Moves as far as possible up to `upto`; returns the checkout and the error that stopped it, if any."""
    while checkout.order.state != upto:
        before = checkout.order.state
        try:
            checkout = await enter_next_step(ctx, checkout)
        except Invalid as why:
            return checkout, why
        if checkout.order.state == before:
            break
    return checkout, None


async def _begin(ctx: Context, checkout: Checkout) -> Checkout:
    """Fills empty fields from the owner's account; an order token alone cannot read the account."""
    order = checkout.order
    empty = [name for name in _FROM_ACCOUNT if getattr(order, name) is None]
    if order.state not in {"cart", "address"} or not order.item_count or not empty:
        return checkout
    if order.user_id is None or not acts_for_owner(ctx, order):
        return checkout
    user = await users.find_user(ctx.db, order.user_id)
    if user is None:
        return checkout
    account_values = {name: value for name in empty if (value := getattr(user, name))}
    return msgspec.structs.replace(checkout, order=await change_order(ctx, order, **account_values))


async def update_details(ctx: Context, checkout: Checkout, values: Values) -> Checkout:
    """Updates e-mail, instructions and addresses. If any value is invalid, raises all errors and saves nothing."""
    before, checkout = checkout.order, await _begin(ctx, checkout)
    fields, errors = _texts(values)
    addresses = await _addresses(ctx, checkout.order, values, errors)
    if errors:
        raise Invalid(errors)
    changes = {name: value for name, value in {**fields, **addresses}.items() if value != getattr(before, name)}
    checkout = msgspec.structs.replace(checkout, order=await change_order(ctx, checkout.order, **changes))
    await _remove_replaced_addresses(ctx, before, checkout.order)
    if changes.keys() & _FROM_ACCOUNT:
        checkout = await drop_owner_payments(ctx, checkout)
    return await _repack_for_address(ctx, checkout) if changes.keys() & addresses.keys() else checkout


async def set_addresses(ctx: Context, checkout: Checkout, ids: Mapping[str, UUID | None]) -> Checkout:
    """Sets stored addresses that the order may use; a change returns the checkout to the address step."""
    before = checkout.order
    changes = {name: address_id for name, address_id in ids.items() if address_id != getattr(before, name)}
    checkout = msgspec.structs.replace(checkout, order=await change_order(ctx, before, **changes))
    await _remove_replaced_addresses(ctx, before, checkout.order)
    return await _repack_for_address(ctx, checkout) if changes else checkout


async def _remove_replaced_addresses(ctx: Context, before: Order, now: Order) -> None:
    """Deletes replaced addresses that nothing uses: each request may enter a new one."""
    old_ids = {before.bill_address_id, before.ship_address_id} - {now.bill_address_id, now.ship_address_id, None}
    if old_ids:
        await users.delete_unused_addresses(ctx.db, [address_id for address_id in old_ids if address_id])


async def _repack_for_address(ctx: Context, checkout: Checkout) -> Checkout:
    """Repacks shipments and taxes for a new address now, so that reading the rates writes nothing; reading the rates
    reports lines that cannot be sent there.
    """
    if checkout.shipments:
        await release_stock(ctx, checkout.order)
        await shipments.unpack(ctx.db, checkout.order.id)
        checkout = msgspec.structs.replace(checkout, shipments=[], items=[], rates=[])
    if checkout.order.item_count:
        # Saved with the totals.
        checkout = msgspec.structs.replace(checkout, order=msgspec.structs.replace(checkout.order, state="address"))
    with suppress(Invalid):
        checkout = await ensure_packed(ctx, checkout)
    return checkout if checkout.shipments else await recalculate(ctx, checkout)


async def validate(ctx: Context, *, skips_state: bool) -> tuple[Checkout, list[str]]:
    """Removes unavailable lines, and returns messages about them and about anything else that prevents payment."""
    checkout = await lock_open_checkout(ctx)
    locked_cart = LockedCart(checkout.order, checkout.lines, await get_pricing(ctx, checkout.order))
    variant_quotes = await list_quotes(
        ctx.db, locked_cart.pricing, {line.variant_id: line.quantity for line in locked_cart.lines}
    )
    variant_quotes = add_held_stock(variant_quotes, await stock.list_reserved_quantities(ctx.db, checkout.order.id))
    unavailable_lines = find_unavailable_lines(locked_cart.lines, variant_quotes)
    messages = [f"{line.name} is no longer available and was removed from the cart." for line in unavailable_lines]
    if unavailable_lines:
        await release_reservations(ctx, checkout.order)
        cart = await save_lines(
            ctx, locked_cart, [line for line in locked_cart.lines if line not in unavailable_lines], variant_quotes
        )
        checkout = await load_checkout(ctx, cart.order)
    messages += [
        f"{difference.name}: only {difference.now} available."
        for difference in find_differences(checkout.lines, variant_quotes)
        if difference.code == "stock_lost"
    ]
    return checkout, messages if skips_state else [*messages, *(lack.sentence for lack in requirements(checkout))]


LONGEST_INSTRUCTIONS = 2000


def _texts(values: Values) -> tuple[dict[str, Any], dict[str, list[str]]]:
    fields: dict[str, Any] = {}
    errors: dict[str, list[str]] = {}
    email, instructions = values.get("email"), values.get("special_instructions")
    if email is not None:
        email_address = read_email(email.strip()) if isinstance(email, str) else None
        if email_address is None:
            errors["email"] = ["must be one e-mail address"]
        else:
            fields["email"] = email_address.address
    if instructions is not None:
        if not isinstance(instructions, str) or len(instructions) > LONGEST_INSTRUCTIONS or "\0" in instructions:
            errors["special_instructions"] = [f"must be text of at most {LONGEST_INSTRUCTIONS} characters"]
        fields["special_instructions"] = instructions
    return fields, errors


async def _addresses(
    ctx: Context, order: Order, values: Values, errors: dict[str, list[str]]
) -> dict[str, UUID | None]:
    address_ids: dict[str, UUID | None] = {}
    for side in ("bill", "ship"):
        try:
            address_id = await _address(ctx, order, side, values)
        except Invalid as invalid:
            errors |= {f"{side}_address.{name}": list(messages) for name, messages in invalid.errors.items()}
            continue
        if address_id:
            address_ids[f"{side}_address_id"] = address_id
    for flag, source, target in (
        ("use_billing", "bill_address_id", "ship_address_id"),
        ("use_shipping", "ship_address_id", "bill_address_id"),
    ):
        other = address_ids.get(source) or getattr(order, source)
        if values.get(flag) in (True, "true", "1", 1) and other:
            address_ids[target] = other
    return address_ids


async def _address(ctx: Context, order: Order, side: str, values: Values) -> UUID | None:
    """Returns the id of the requested address. Only the owner may use the address book; an entered address belongs to
    this order and to no address book.
    """
    attributes = values.get(f"{side}_address_attributes")
    if attributes is not None:
        if not isinstance(attributes, dict):
            raise Invalid({"base": ["must be an object"]})
        existing_id = as_uuid(attributes.get("id"))
        if attributes.get("id") is not None and not await _may_use(ctx, order, existing_id):
            raise Invalid({"id": ["is not one of your addresses"]})
        address_values = {name: value for name, value in attributes.items() if value is not None and name != "id"}
        if not address_values:
            return existing_id
        existing_address = (await users.find_addresses(ctx.db, [existing_id])).get(existing_id) if existing_id else None
        fields = await address_fields(ctx, address_values, existing_address)
        address_id = new_id()
        await users.insert_address(ctx.db, address_id, None, fields)
        return address_id
    requested_id = as_uuid(values.get(f"{side}_address_id"))
    return requested_id if requested_id and await _may_use(ctx, order, requested_id) else None


async def _may_use(ctx: Context, order: Order, address_id: UUID | None) -> bool:
    """Returns whether the address is the order's or in its owner's address book, which only the owner may use."""
    if address_id in {order.bill_address_id, order.ship_address_id}:
        return True
    require_owner(ctx, order)
    if order.user_id is None or address_id is None:
        return False
    return await users.find_address(ctx.db, order.user_id, address_id) is not None
