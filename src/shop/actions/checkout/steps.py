"""Checkout steps: contact details, addresses, shipments and the transitions between states."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from uuid import UUID

import msgspec
from msgspec import UNSET

from shop.actions.cart.access import acts_for_owner, drop_owner_payments, require_owner
from shop.actions.cart.locked_carts import LockedCart, get_pricing, lock_cart, release_reservations, save_lines
from shop.actions.cart.orders import Checkout, change_order, load_checkout, load_quoted_checkout
from shop.actions.checkout.shipments import NO_DETAILS, NewDetails, ensure_offered, pack_order, recalculate
from shop.actions.checkout.stock_holds import release_items
from shop.actions.checkout.store_credit import adjust_reservation
from shop.actions.context import Context
from shop.actions.customers.account import address_fields
from shop.base.errors import Invalid
from shop.base.ids import new_id
from shop.base.values import NO_RECORD
from shop.models.cart.orders import Order
from shop.models.checkout.inputs import CheckoutFields
from shop.models.customers.inputs import AddressInput, CheckoutAddressInput
from shop.queries.cart import orders
from shop.queries.catalog import stock
from shop.queries.catalog.quotes import list_quotes
from shop.queries.checkout import shipments
from shop.queries.checkout.parts import ShippingDestination
from shop.queries.customers import users
from shop.rules.cart.line_items import add_reserved_stock
from shop.rules.cart.quotes import find_differences, find_unavailable_lines
from shop.rules.checkout.steps import CheckoutRequirement, blocking_requirements, missing_requirements, next_state

_FROM_ACCOUNT = ("email", "bill_address_id", "ship_address_id")
"""Fields that default to the owner's account and determine where the order and its e-mails are sent."""


async def lock_open_checkout(ctx: Context, order_id: UUID | None = None, *, may_be_paid: bool = False) -> Checkout:
    """Locks and loads the checkout, with the quotes of its lines."""
    return await load_quoted_checkout(ctx, await lock_cart(ctx, order_id, may_be_paid=may_be_paid))


def build_missing_error(missing: Sequence[CheckoutRequirement]) -> Invalid:
    errors: dict[str, list[str]] = {}
    for requirement in missing:
        errors.setdefault(requirement.field, []).append(requirement.sentence)
    return Invalid(errors, missing[0].sentence, code=missing[0].code)


def requirements(checkout: Checkout) -> list[CheckoutRequirement]:
    return missing_requirements(checkout.facts)


async def enter_next_step(ctx: Context, checkout: Checkout) -> Checkout:
    """Moves to the next step and does its work; raises `Invalid` if a requirement is missing."""
    return await _save_state(ctx, checkout.order, await _enter_next_step(ctx, checkout))


async def _save_state(ctx: Context, before: Order, checkout: Checkout) -> Checkout:
    state = checkout.order.state
    if state == before.state:
        return checkout
    return msgspec.structs.replace(checkout, order=await change_order(ctx, checkout.order, state=state))


async def _enter_next_step(ctx: Context, checkout: Checkout) -> Checkout:
    """Does the work of the next step; the caller saves the state."""
    checkout = await _begin(ctx, checkout)
    missing = blocking_requirements(checkout.facts)
    if missing:
        raise build_missing_error(missing)
    then = next_state(checkout.order.state, checkout.order.total)
    if then is None or then == "complete":
        return checkout
    if then == "delivery":
        checkout = await ensure_offered(ctx, checkout)
    if then == "payment":
        checkout = await adjust_reservation(ctx, checkout)
    return msgspec.structs.replace(checkout, order=msgspec.structs.replace(checkout.order, state=then))


async def advance_to(
    ctx: Context, checkout: Checkout, *, upto: str = "confirm", saves_state: bool = True
) -> tuple[Checkout, Invalid | None]:
    """Moves as far as possible up to `upto`; returns the checkout and the error that stopped it, if any. Without
    `saves_state`, the caller saves the state.
    """
    before, error = checkout.order, None
    while checkout.order.state != upto:
        state = checkout.order.state
        try:
            checkout = await _enter_next_step(ctx, checkout)
        except Invalid as invalid:
            error = invalid
            break
        if checkout.order.state == state:
            break
    return await _save_state(ctx, before, checkout) if saves_state else checkout, error


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


async def update_details(
    ctx: Context, checkout: Checkout, fields: CheckoutFields, invalid: Invalid | None = None
) -> Checkout:
    """Updates e-mail, instructions and addresses. If any value is invalid, raises all errors and saves nothing;
    `invalid` has the errors of fields that could not be parsed.
    """
    before, checkout = checkout.order, await _begin(ctx, checkout)
    addresses, new_addresses, errors = await _addresses(ctx, checkout.order, fields)
    if invalid:
        raise Invalid({**invalid.errors, **errors}, code=invalid.code)
    if errors:
        raise Invalid(errors)
    values: dict[str, object] = {"email": fields.email, "special_instructions": fields.special_instructions}
    changes = {
        name: value for name, value in {**values, **addresses}.items() if value not in (None, getattr(before, name))
    }
    if "ship_address_id" in changes and before.pickup_location_id:
        changes["pickup_location_id"] = None  # A draft that is sent there instead.
    checkout = _with_details(checkout, changes, new_addresses)
    if changes.keys() & _FROM_ACCOUNT:
        checkout = await drop_owner_payments(ctx, checkout)
    if changes.keys() & addresses.keys():
        rows = [{"id": each, **fields} for each, fields in new_addresses.items() if each in changes.values()]
        checkout = await _repack_for_address(ctx, checkout, NewDetails(changes, rows))
    else:
        await orders.save_details(ctx.db, checkout.order.id, changes, row_version=checkout.row_version)
    await _remove_replaced_addresses(ctx, before, checkout.order)
    return checkout


def _with_details(
    checkout: Checkout, changes: Mapping[str, object], new_addresses: Mapping[UUID, Mapping[str, object]]
) -> Checkout:
    """Returns the checkout with the changes of its order."""
    order = msgspec.structs.replace(checkout.order, **changes)
    destination = checkout.destination
    if order.ship_address_id and (fields := new_addresses.get(order.ship_address_id)):
        destination = msgspec.convert(
            (order.ship_address_id, fields["country_id"], fields["state_id"]), ShippingDestination
        )
    return msgspec.structs.replace(checkout, order=order, destination=destination)


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


async def _repack_for_address(ctx: Context, checkout: Checkout, details: NewDetails = NO_DETAILS) -> Checkout:
    """Repacks shipments and recalculates taxes for a new address, so that reading the rates writes nothing. Lines that
    cannot be sent to the address are reported when the rates are read. Saves the details with the totals.
    """
    if checkout.shipments:
        checkout = await release_items(ctx, checkout)
        await shipments.unpack(ctx.db, checkout.order.id)
        checkout = msgspec.structs.replace(checkout, shipments=[], items=[], rates=[])
    if checkout.order.item_count:
        # Saved with the totals.
        checkout = msgspec.structs.replace(checkout, order=msgspec.structs.replace(checkout.order, state="address"))
    with suppress(Invalid):
        if checkout.lines and checkout.order.ship_address_id:
            return await pack_order(ctx, checkout, details)
    return await recalculate(ctx, checkout, details=details)


async def validate(ctx: Context, *, skips_state: bool) -> tuple[Checkout, list[str]]:
    """Removes unavailable lines, and returns messages about them and about anything else that prevents payment."""
    checkout = await lock_open_checkout(ctx)
    locked_cart = LockedCart(checkout.order, checkout.lines, await get_pricing(ctx, checkout.order))
    variant_quotes = await list_quotes(
        ctx.db, locked_cart.pricing, {line.variant_id: line.quantity for line in locked_cart.lines}
    )
    variant_quotes = add_reserved_stock(variant_quotes, await stock.list_reserved_quantities(ctx.db, checkout.order.id))
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
    return checkout, messages if skips_state else [
        *messages,
        *(requirement.sentence for requirement in requirements(checkout)),
    ]


async def _addresses(
    ctx: Context, order: Order, fields: CheckoutFields
) -> tuple[dict[str, UUID], dict[UUID, Mapping[str, object]], dict[str, Sequence[str]]]:
    """Returns the ids of the requested addresses by column, the fields of new ones, and the errors of invalid ones."""
    address_ids: dict[str, UUID] = {}
    new_addresses: dict[UUID, Mapping[str, object]] = {}
    errors: dict[str, Sequence[str]] = {}
    for side, attributes, book_id in (
        ("bill", fields.bill_address_attributes, fields.bill_address_id),
        ("ship", fields.ship_address_attributes, fields.ship_address_id),
    ):
        try:
            if address_id := await _address(ctx, order, attributes, book_id, new_addresses):
                address_ids[f"{side}_address_id"] = address_id
        except Invalid as invalid:
            errors |= {f"{side}_address.{name}": messages for name, messages in invalid.errors.items()}
    if fields.use_billing and (bill_address_id := address_ids.get("bill_address_id") or order.bill_address_id):
        address_ids["ship_address_id"] = bill_address_id
    if fields.use_shipping and (ship_address_id := address_ids.get("ship_address_id") or order.ship_address_id):
        address_ids["bill_address_id"] = ship_address_id
    return address_ids, new_addresses, errors


async def _address(
    ctx: Context,
    order: Order,
    attributes: CheckoutAddressInput | None,
    book_id: UUID | None,
    new_addresses: dict[UUID, Mapping[str, object]],
) -> UUID | None:
    """Returns the id of the requested address. Only the owner may use the address book; an entered address belongs to
    this order and to no address book, and is added to `new_addresses`.
    """
    if attributes is None:
        # A malformed id is ignored.
        return book_id if book_id and book_id != NO_RECORD and await _may_use(ctx, order, book_id) else None
    present_id = attributes.id or None
    if present_id and not await _may_use(ctx, order, present_id):
        raise Invalid({"id": ["is not one of your addresses"]})
    values = {name: value for name, value in msgspec.structs.asdict(attributes).items() if value is not None}
    # Null is ignored; elsewhere it clears a field.
    address = AddressInput(**{name: values.get(name, UNSET) for name in AddressInput.__struct_fields__})
    if address == AddressInput():
        return present_id
    present = (await users.find_addresses(ctx.db, [present_id])).get(present_id) if present_id else None
    address_id = new_id()
    new_addresses[address_id] = await address_fields(ctx, address, present)
    return address_id


async def _may_use(ctx: Context, order: Order, address_id: UUID) -> bool:
    """Returns whether the address is the order's or in its owner's address book, which only the owner may use."""
    if address_id in {order.bill_address_id, order.ship_address_id}:
        return True
    require_owner(ctx, order)
    return order.user_id is not None and await users.find_address(ctx.db, order.user_id, address_id) is not None
