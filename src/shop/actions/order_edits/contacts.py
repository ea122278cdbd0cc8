"""The e-mail address and the addresses of a placed order, in the caller's transaction."""

from collections.abc import Sequence
from uuid import UUID

import msgspec

from shop.actions.cart.orders import change_order
from shop.actions.context import Context
from shop.actions.customers.account import address_fields
from shop.base.errors import Invalid
from shop.base.ids import new_id
from shop.models.cart.orders import Order
from shop.models.customers.addresses import AddressWithCountry
from shop.models.customers.inputs import AddressInput
from shop.models.order_edits.edits import OrderEdit
from shop.queries.customers import users
from shop.rules.customers.addresses import address_lines


class Contact(msgspec.Struct, frozen=True):
    """The e-mail address of an order and its addresses, as lines."""

    email: str | None
    ship_address: Sequence[str]
    bill_address: Sequence[str]


async def load_contact(ctx: Context, order: Order) -> Contact:
    addresses = await list_addresses(ctx, order)
    ship_address, bill_address = (
        _to_lines(addresses.get(address_id) if address_id else None)
        for address_id in (order.ship_address_id, order.bill_address_id)
    )
    return Contact(order.email, ship_address, bill_address)


async def list_addresses(ctx: Context, order: Order) -> dict[UUID, AddressWithCountry]:
    """Returns the addresses of an order by id."""
    ids = [address_id for address_id in {order.ship_address_id, order.bill_address_id} if address_id]
    return await users.find_addresses(ctx.db, ids) if ids else {}


def _to_lines(address: AddressWithCountry | None) -> list[str]:
    if address is None:
        return []
    lines = address_lines(msgspec.structs.asdict(address))
    return [*lines, address.phone] if address.phone else lines


async def save_contact(ctx: Context, order: Order, edit: OrderEdit) -> Order:
    """Saves the e-mail address and new addresses; an address of a placed order is replaced, never changed."""
    addresses = await list_addresses(ctx, order)
    errors: dict[str, Sequence[str]] = {}
    ids = {"ship": order.ship_address_id, "bill": order.bill_address_id}
    inputs = {"ship": edit.ship_address, "bill": None if edit.is_same_address else edit.bill_address}
    for side, address in inputs.items():
        present_id = ids[side]
        present = addresses.get(present_id) if present_id else None
        try:
            if address is not None:
                ids[side] = await _insert_address(ctx, address, present)
        except Invalid as invalid:
            errors |= {f"{side}_{name}": messages for name, messages in invalid.errors.items()}
    if errors:
        raise Invalid(errors)
    if edit.is_same_address:
        ids["bill"] = ids["ship"]
    values = {"email": edit.email, "ship_address_id": ids["ship"], "bill_address_id": ids["bill"]}
    return await change_order(
        ctx, order, **{name: value for name, value in values.items() if value != getattr(order, name)}
    )


async def _insert_address(ctx: Context, address: AddressInput, present: AddressWithCountry | None) -> UUID:
    address_id = new_id()
    await users.insert_address(ctx.db, address_id, None, await address_fields(ctx, address, present))
    return address_id
