"""Nested attributes of an order update: addresses, line items, shipping rates and payments. Runs in the caller's
transaction.
"""

from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

from shop.actions.cart.line_items import add_lines, change_quantity, drop_line, lock_cart_with_lines
from shop.actions.checkout.payment_choice import build_payment_input, choose_payment
from shop.actions.checkout.shipments import select_rates
from shop.actions.checkout.steps import advance_to, lock_open_checkout, update_details
from shop.actions.context import Context
from shop.base.errors import Invalid, NotFound
from shop.base.ids import as_uuid
from shop.rules.cart.line_items import NOT_POSITIVE, LineItemInput, parse_quantity

Values = Mapping[str, Any]
ADDRESSES = ("bill_address_attributes", "ship_address_attributes")
NESTED_FIELDS = (*ADDRESSES, "line_items_attributes", "shipments_attributes", "payments_attributes")
_NO_ID = UUID(int=0)
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
"""The accepted members of each part."""


async def update_nested_attributes(ctx: Context, order_id: UUID, values: Values) -> None:
    """Applies all nested attributes or none; refuses a completed order."""
    _check_members(values)
    try:
        await lock_cart_with_lines(ctx, order_id)
    except NotFound:
        raise Invalid({"base": ["is completed; its parts cannot be changed"]}) from None
    for index, attributes in enumerate(values.get("line_items_attributes") or ()):
        await _update_line(ctx, order_id, attributes, f"line_items_attributes.{index}")
    checkout = await lock_open_checkout(ctx, order_id)
    addresses = {name: values[name] for name in ADDRESSES if values.get(name) is not None}
    if addresses:
        checkout = await update_details(ctx, checkout, addresses)
    if values.get("shipments_attributes"):
        checkout, _ = await advance_to(ctx, checkout, upto="delivery")
        checkout = await select_rates(ctx, checkout, values["shipments_attributes"])
    for attributes in values.get("payments_attributes") or ():
        checkout, _ = await advance_to(ctx, checkout, upto="payment")
        checkout = await choose_payment(ctx, checkout, build_payment_input(attributes, {}))


def _check_members(values: Values) -> None:
    unknown = [path for name in NESTED_FIELDS for path in _unknown_paths(name, values.get(name), name)]
    if unknown:
        raise Invalid({path: ["is not a known field"] for path in unknown})


def _unknown_paths(name: str, part: Any, path: str) -> Iterator[str]:
    """Yields the paths of unknown members; values that are not objects are refused where they are read."""
    if isinstance(part, list):
        for index, each in enumerate(part):
            yield from _unknown_paths(name, each, f"{path}.{index}")
    elif isinstance(part, dict):
        yield from (f"{path}.{member}" for member in part if member not in MEMBERS[name])
        if "source_attributes" in part and name == "payments_attributes":
            yield from _unknown_paths("source_attributes", part["source_attributes"], f"{path}.source_attributes")


async def _update_line(ctx: Context, order_id: UUID, attributes: Values, path: str) -> None:
    """Updates or removes the line with the given id; without an id, adds the variant."""
    cart, line_id = await lock_cart_with_lines(ctx, order_id), as_uuid(attributes.get("id"))
    quantity = parse_quantity(attributes.get("quantity", 1))
    if quantity is None:
        raise Invalid({f"{path}.quantity": [NOT_POSITIVE]})
    try:
        if line_id is None:
            wish = LineItemInput(as_uuid(attributes.get("variant_id")) or _NO_ID, quantity)
            await add_lines(ctx, cart, [wish], is_one=True)
        elif attributes.get("_destroy") in (True, "true", "1", 1):
            await drop_line(ctx, cart, line_id)
        else:
            await change_quantity(ctx, cart, line_id, quantity)
    except NotFound:
        wrong = "id" if line_id else "variant_id"
        raise Invalid({f"{path}.{wrong}": ["does not exist"]}) from None
    except Invalid as why:
        raise Invalid({f"{path}.{name}": messages for name, messages in why.errors.items()}, code=why.code) from None
