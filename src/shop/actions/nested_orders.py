"""What machines say of the parts of an order together with it: addresses, lines, rates, payments. Runs inside its
caller's transaction.
"""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from shop.actions.checkout import hold_checkout, tell, walk
from shop.actions.context import Context
from shop.actions.lines import change_quantity, hold, put_in, take_out
from shop.actions.packing import select_rates
from shop.actions.paying import choose_payment, payment_wish
from shop.base.errors import Invalid, NotFound
from shop.base.ids import as_uuid
from shop.rules.lines import MOST_PIECES, Wish

Values = Mapping[str, Any]
ADDRESSES = ("bill_address_attributes", "ship_address_attributes")
NESTED = (*ADDRESSES, "line_items_attributes", "shipments_attributes", "payments_attributes")
_NOBODYS = UUID(int=0)


async def tell_parts(ctx: Context, order_id: UUID, values: Values) -> None:
    """All of it or nothing; of an order that is completed nothing."""
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


async def _tell_line(ctx: Context, order_id: UUID, given: Values, place: str) -> None:
    """With an id a line that is there, otherwise a variant to be put in."""
    held, line_id = await hold(ctx, order_id), as_uuid(given.get("id"))
    quantity = given.get("quantity", 1)
    if type(quantity) is not int or not 0 < quantity <= MOST_PIECES:
        raise Invalid({f"{place}.quantity": [f"must be a whole number from 1 to {MOST_PIECES}"]})
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
