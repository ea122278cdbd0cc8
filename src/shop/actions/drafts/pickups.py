"""Pickup: the customer gets the goods of a draft at a stock location, whose address becomes the shipping address.

Taxes, documents, e-mails and the APIs thus treat the order like one that is sent there, at no cost.
"""

from uuid import UUID

import msgspec

from shop.actions.audit import audit
from shop.actions.cart.orders import Checkout, change_order
from shop.actions.checkout.steps import set_addresses
from shop.actions.context import Context
from shop.actions.event_subjects import ORDER
from shop.actions.events import note_event
from shop.actions.orders.operations import lock_checkout
from shop.actions.payments.settlement import update_order_states
from shop.base.errors import Invalid
from shop.base.ids import new_id
from shop.models.cart.orders import Order
from shop.models.catalog.stock import StockLocation
from shop.models.checkout.shipments import shipments
from shop.queries import writes
from shop.queries.cart import orders
from shop.queries.catalog import stock
from shop.queries.customers import users
from shop.rules.checkout.shipments import describe_pickup

NOT_READY = "The goods cannot be handed over: they must be paid at once, such as in cash, and be in stock."


async def set_pickup(ctx: Context, checkout: Checkout, location_id: UUID) -> Checkout:
    """Lets the customer pick up the goods at an active location; in the caller's transaction."""
    location = await stock.find_location(ctx.db, location_id)
    if location is None or not location.active:
        raise Invalid({"location_id": ["is not an active stock location"]})
    address_id = new_id()
    await users.insert_address(ctx.db, address_id, None, await _build_address(ctx, checkout.order, location))
    order = await change_order(ctx, checkout.order, pickup_location_id=location_id)
    return await set_addresses(ctx, msgspec.structs.replace(checkout, order=order), {"ship_address_id": address_id})


async def end_pickup(ctx: Context, checkout: Checkout) -> Checkout:
    """Sends the goods to the billing address, if there is one, until another address is chosen."""
    if checkout.order.pickup_location_id is None:
        return checkout
    order = await change_order(ctx, checkout.order, pickup_location_id=None)
    address_ids = {"ship_address_id": order.bill_address_id}
    return await set_addresses(ctx, msgspec.structs.replace(checkout, order=order), address_ids)


async def _build_address(ctx: Context, order: Order, location: StockLocation) -> dict[str, object]:
    """Returns the address of a location with the name of the customer, for packing slips. A location without a country
    is in that of the shop.
    """
    customer = await users.find_user(ctx.db, order.user_id) if order.user_id else None
    code = "" if location.country_id else ctx.shared.shop.default_country
    country = await users.find_country(ctx.db, code=code, country_id=location.country_id)
    if country is None:
        raise Invalid({"location_id": ["has no country: enter its address at Stock, Locations first"]})
    text = location.state_name
    state = await users.find_state(ctx.db, country_id=country.id, text=text, state_id=None) if text else None
    names = ("address2", "city", "zipcode", "phone")
    return {
        **{name: getattr(location, name) for name in names},
        "firstname": (customer and customer.first_name) or "",
        "lastname": (customer and customer.last_name) or "",
        "company": describe_pickup(location.name),
        "address1": location.address1 or "",
        "country_id": country.id,
        "state_id": state and state.id,
        "state_name": None if state else text,
    }


async def hand_over(ctx: Context, order_id: UUID) -> None:
    """Records that the customer of a completed order has the goods; in the caller's transaction."""
    checkout = await lock_checkout(ctx, order_id)
    is_pickup = checkout.order.pickup_location_id is not None
    if not is_pickup or any(each.state != "ready" for each in checkout.shipments):
        raise Invalid({"is_handed_over": [NOT_READY]}, NOT_READY)
    for shipment in checkout.shipments:
        await orders.mark_shipped(ctx.db, shipment.id)
        await writes.update_record(ctx.db, shipments, shipment.id, {"state": "shipped"})
        await orders.mark_delivered(ctx.db, shipment.id)
        detail = {"shipment": shipment.number}
        await audit(ctx, "shipment_ship", "done", subject_id=order_id, detail=detail, record_id=shipment.id)
    note_event(ctx, "order.delivered", ORDER, order_id)
    await update_order_states(ctx, await lock_checkout(ctx, order_id))
