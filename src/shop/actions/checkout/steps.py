"""How a cart becomes an order that can be completed: what is known of it, its addresses, its parcels, its steps."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any
from uuid import UUID

import msgspec

from shop.actions.cart.access import acts_for_owner, drop_owner_payments, require_owner
from shop.actions.cart.line_items import Held, hold_cart, keep, pricing_of, unsettle
from shop.actions.cart.order_state import Checkout, change_order, read
from shop.actions.catalog.reservations import give_back
from shop.actions.checkout.shipments import ensure_offered, ensure_packed, retotal
from shop.actions.checkout.store_credit import resize
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
from shop.rules.cart.line_items import with_held
from shop.rules.cart.quotes import differences, unavailable
from shop.rules.checkout.steps import Missing, blocking, following, missing

Values = Mapping[str, Any]
_FROM_ACCOUNT = ("email", "bill_address_id", "ship_address_id")
"""What a checkout takes from its owner's account, and what says where an order and its mail go."""


async def hold_checkout(ctx: Context, order_id: UUID | None = None, *, may_be_paid: bool = False) -> Checkout:
    """Locked: nobody else changes it meanwhile."""
    return await read(ctx, await hold_cart(ctx, order_id, may_be_paid=may_be_paid))


def refused(lacks: Sequence[Missing]) -> Invalid:
    errors: dict[str, list[str]] = {}
    for lack in lacks:
        errors.setdefault(lack.field, []).append(lack.sentence)
    return Invalid(errors, lacks[0].sentence, code=lacks[0].code)


def requirements(checkout: Checkout) -> list[Missing]:
    return missing(checkout.facts)


async def step(ctx: Context, checkout: Checkout) -> Checkout:
    """One step on, with what belongs to it; `Invalid` says what is asked for first."""
    checkout = await _begin(ctx, checkout)
    lacks = blocking(checkout.facts)
    if lacks:
        raise refused(lacks)
    then = following(checkout.order.state, checkout.order.total)
    if then is None or then == "complete":
        return checkout
    if then == "delivery":
        checkout = await ensure_offered(ctx, checkout)
    if then == "payment":
        checkout = await resize(ctx, checkout)
    return msgspec.structs.replace(checkout, order=await change_order(ctx, checkout.order, state=then))


async def walk(ctx: Context, checkout: Checkout, *, upto: str = "confirm") -> tuple[Checkout, Invalid | None]:
    """As many steps as can be taken, and why no more."""
    while checkout.order.state != upto:
        before = checkout.order.state
        try:
            checkout = await step(ctx, checkout)
        except Invalid as why:
            return checkout, why
        if checkout.order.state == before:
            break
    return checkout, None


async def _begin(ctx: Context, checkout: Checkout) -> Checkout:
    """Fills in what the owner's account knows and was not typed; an order token alone reads nothing of an account."""
    order = checkout.order
    empty = [name for name in _FROM_ACCOUNT if getattr(order, name) is None]
    if order.state not in {"cart", "address"} or not order.item_count or not empty:
        return checkout
    if order.user_id is None or not acts_for_owner(ctx, order):
        return checkout
    user = await users.find_user(ctx.db, order.user_id)
    if user is None:
        return checkout
    filled = {name: value for name in empty if (value := getattr(user, name))}
    return msgspec.structs.replace(checkout, order=await change_order(ctx, order, **filled))


async def tell(ctx: Context, checkout: Checkout, wishes: Values) -> Checkout:
    """What is said of the order itself: e-mail address, instructions, addresses. Everything that is wrong is told, and
    nothing of it is kept then.
    """
    before, checkout = checkout.order, await _begin(ctx, checkout)
    fields, errors = _texts(wishes)
    addresses = await _addresses(ctx, checkout.order, wishes, errors)
    if errors:
        raise Invalid(errors)
    changed = {name: value for name, value in {**fields, **addresses}.items() if value != getattr(before, name)}
    checkout = msgspec.structs.replace(checkout, order=await change_order(ctx, checkout.order, **changed))
    await _remove_replaced_addresses(ctx, before, checkout.order)
    if changed.keys() & _FROM_ACCOUNT:
        checkout = await drop_owner_payments(ctx, checkout)
    return await _moved(ctx, checkout) if changed.keys() & addresses.keys() else checkout


async def set_addresses(ctx: Context, checkout: Checkout, ids: Mapping[str, UUID | None]) -> Checkout:
    """Addresses that are stored and that the order may have; with one taken away, the checkout begins there again."""
    before = checkout.order
    changed = {name: address_id for name, address_id in ids.items() if address_id != getattr(before, name)}
    checkout = msgspec.structs.replace(checkout, order=await change_order(ctx, before, **changed))
    await _remove_replaced_addresses(ctx, before, checkout.order)
    return await _moved(ctx, checkout) if changed else checkout


async def _remove_replaced_addresses(ctx: Context, before: Order, now: Order) -> None:
    """Addresses typed into a cart go with the change that replaces them: each request may bring another."""
    replaced = {before.bill_address_id, before.ship_address_id} - {now.bill_address_id, now.ship_address_id, None}
    if replaced:
        await users.delete_unused_addresses(ctx.db, [address_id for address_id in replaced if address_id])


async def _moved(ctx: Context, checkout: Checkout) -> Checkout:
    """Parcels were packed and taxed for another place. They are packed for this one at once, so that reading the rates
    changes nothing; what cannot be sent there is told by whoever asks for the rates.
    """
    if checkout.shipments:
        await give_back(ctx, checkout.order)
        await shipments.unpack(ctx.db, checkout.order.id)
        checkout = msgspec.structs.replace(checkout, shipments=[], items=[], rates=[])
    if checkout.order.item_count:
        # Written with the totals.
        checkout = msgspec.structs.replace(checkout, order=msgspec.structs.replace(checkout.order, state="address"))
    with suppress(Invalid):
        checkout = await ensure_packed(ctx, checkout)
    return checkout if checkout.shipments else await retotal(ctx, checkout)


async def validate(ctx: Context, *, skips_state: bool) -> tuple[Checkout, list[str]]:
    """Takes out what cannot be had any more, and says what else stands in the way of paying."""
    checkout = await hold_checkout(ctx)
    held = Held(checkout.order, checkout.lines, await pricing_of(ctx, checkout.order))
    known = await list_quotes(ctx.db, held.pricing, {line.variant_id: line.quantity for line in held.lines})
    known = with_held(known, await stock.list_held(ctx.db, checkout.order.id))
    gone = unavailable(held.lines, known)
    told = [f"{line.name} cannot be had any more and was taken out of the cart." for line in gone]
    if gone:
        await unsettle(ctx, checkout.order)
        cart = await keep(ctx, held, [line for line in held.lines if line not in gone], known)
        checkout = await read(ctx, cart.order)
    told += [
        f"{found.name}: {found.now} can be had."
        for found in differences(checkout.lines, known)
        if found.code == "stock_lost"
    ]
    return checkout, told if skips_state else [*told, *(lack.sentence for lack in requirements(checkout))]


LONGEST_INSTRUCTIONS = 2000


def _texts(wishes: Values) -> tuple[dict[str, Any], dict[str, list[str]]]:
    fields: dict[str, Any] = {}
    errors: dict[str, list[str]] = {}
    email, instructions = wishes.get("email"), wishes.get("special_instructions")
    if email is not None:
        found = read_email(email.strip()) if isinstance(email, str) else None
        if found is None:
            errors["email"] = ["must be one e-mail address"]
        else:
            fields["email"] = found.address
    if instructions is not None:
        if not isinstance(instructions, str) or len(instructions) > LONGEST_INSTRUCTIONS or "\0" in instructions:
            errors["special_instructions"] = [f"must be text of at most {LONGEST_INSTRUCTIONS} characters"]
        fields["special_instructions"] = instructions
    return fields, errors


async def _addresses(
    ctx: Context, order: Order, wishes: Values, errors: dict[str, list[str]]
) -> dict[str, UUID | None]:
    found: dict[str, UUID | None] = {}
    for side in ("bill", "ship"):
        try:
            address_id = await _address(ctx, order, side, wishes)
        except Invalid as invalid:
            errors |= {f"{side}_address.{name}": list(told) for name, told in invalid.errors.items()}
            continue
        if address_id:
            found[f"{side}_address_id"] = address_id
    for flag, source, target in (
        ("use_billing", "bill_address_id", "ship_address_id"),
        ("use_shipping", "ship_address_id", "bill_address_id"),
    ):
        other = found.get(source) or getattr(order, source)
        if wishes.get(flag) in (True, "true", "1", 1) and other:
            found[target] = other
    return found


async def _address(ctx: Context, order: Order, side: str, wishes: Values) -> UUID | None:
    """The id of the address that is wished for. One of the address book counts for its owner alone; what is typed is
    an address of this order, and of nobody's book.
    """
    typed = wishes.get(f"{side}_address_attributes")
    if typed is not None:
        if not isinstance(typed, dict):
            raise Invalid({"base": ["must be an object"]})
        known_id = as_uuid(typed.get("id"))
        if typed.get("id") is not None and not await _may_use(ctx, order, known_id):
            raise Invalid({"id": ["is not an address of yours"]})
        said = {name: value for name, value in typed.items() if value is not None and name != "id"}
        if not said:
            return known_id
        present = (await users.find_addresses(ctx.db, [known_id])).get(known_id) if known_id else None
        fields = await address_fields(ctx, said, present)
        address_id = new_id()
        await users.insert_address(ctx.db, address_id, None, fields)
        return address_id
    wanted = as_uuid(wishes.get(f"{side}_address_id"))
    return wanted if wanted and await _may_use(ctx, order, wanted) else None


async def _may_use(ctx: Context, order: Order, address_id: UUID | None) -> bool:
    """Whether it is an address of the order, or of the address book of its owner, who alone may look into that."""
    if address_id in {order.bill_address_id, order.ship_address_id}:
        return True
    require_owner(ctx, order)
    if order.user_id is None or address_id is None:
        return False
    return await users.find_address(ctx.db, order.user_id, address_id) is not None
