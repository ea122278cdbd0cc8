"""What machines say of the parts of an order together with it: addresses, lines, rates, payments. Runs inside its
caller's transaction.
"""

from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

from shop.actions.cart.line_items import change_quantity, hold, put_in, take_out
from shop.actions.checkout.payment_choice import choose_payment, payment_wish
from shop.actions.checkout.shipments import select_rates
from shop.actions.checkout.steps import hold_checkout, tell, walk
from shop.actions.context import Context
from shop.base.errors import Invalid, NotFound
from shop.base.ids import as_uuid
from shop.rules.cart.line_items import NOT_POSITIVE, Wish, read_pieces

Values = Mapping[str, Any]
ADDRESSES = ("bill_address_attributes", "ship_address_attributes")
NESTED = (*ADDRESSES, "line_items_attributes", "shipments_attributes", "payments_attributes")
_NOBODYS = UUID(int=0)
_NAME = ("firstname", "lastname", "company", "phone", "label")
_PLACE = (
    "address1",
    "address2",
    "city",
    "zipcode",
    "country_id",
    "country_iso",
    "state_id",
    "state_code",
    "state_name",
)
_ADDRESS = frozenset({"id", *_NAME, *_PLACE})
MEMBERS: Mapping[str, frozenset[str]] = {
    "bill_address_attributes": _ADDRESS,
    "ship_address_attributes": _ADDRESS,
    "line_items_attributes": frozenset({"id", "variant_id", "quantity", "_destroy"}),
    "shipments_attributes": frozenset({"id", "selected_shipping_rate_id"}),
    "payments_attributes": frozenset({"payment_method_id", "source_id", "source_attributes"}),
    "source_attributes": frozenset({"gateway_payment_profile_id", "cc_type", "last_digits", "name", "month", "year"}),
}
"""What is read of each part."""


async def tell_parts(ctx: Context, order_id: UUID, values: Values) -> None:
    """All of it or nothing; of an order that is completed nothing."""
    _check_members(values)
    try:
        await hold(ctx, order_id)
    except NotFound:
        raise Invalid({"base": ["is completed, and its parts stay"]}) from None
    for place, given in enumerate(values.get("line_items_attributes") or ()):
        await _tell_line(ctx, order_id, given, f"line_items_attributes.{place}")
    checkout = await hold_checkout(ctx, order_id)
    said = {name: values[name] for name in ADDRESSES if values.get(name) is not None}
    if said:
        checkout = await tell(ctx, checkout, said)
    if values.get("shipments_attributes"):
        checkout, _ = await walk(ctx, checkout, upto="delivery")
        checkout = await select_rates(ctx, checkout, values["shipments_attributes"])
    for given in values.get("payments_attributes") or ():
        checkout, _ = await walk(ctx, checkout, upto="payment")
        checkout = await choose_payment(ctx, checkout, payment_wish(given, {}))


def _check_members(values: Values) -> None:
    unknown = [path for name in NESTED for path in _unknown(name, values.get(name), name)]
    if unknown:
        raise Invalid({path: ["is not a known member"] for path in unknown})


def _unknown(name: str, part: Any, path: str) -> Iterator[str]:
    """The paths of members that nothing reads; of what is no object whoever reads it says so."""
    if isinstance(part, list):
        for place, each in enumerate(part):
            yield from _unknown(name, each, f"{path}.{place}")
    elif isinstance(part, dict):
        yield from (f"{path}.{member}" for member in part if member not in MEMBERS[name])
        if "source_attributes" in part and name == "payments_attributes":
            yield from _unknown("source_attributes", part["source_attributes"], f"{path}.source_attributes")


async def _tell_line(ctx: Context, order_id: UUID, given: Values, place: str) -> None:
    """With an id a line that is there, otherwise a variant to be put in."""
    held, line_id = await hold(ctx, order_id), as_uuid(given.get("id"))
    quantity = read_pieces(given.get("quantity", 1))
    if quantity is None:
        raise Invalid({f"{place}.quantity": [NOT_POSITIVE]})
    try:
        if line_id is None:
            wish = Wish(as_uuid(given.get("variant_id")) or _NOBODYS, quantity)
            await put_in(ctx, held, [wish], is_one=True)
        elif given.get("_destroy") in (True, "true", "1", 1):
            await take_out(ctx, held, line_id)
        else:
            await change_quantity(ctx, held, line_id, quantity)
    except NotFound:
        wrong = "id" if line_id else "variant_id"
        raise Invalid({f"{place}.{wrong}": ["is not there"]}) from None
    except Invalid as why:
        raise Invalid({f"{place}.{name}": told for name, told in why.errors.items()}, code=why.code) from None
