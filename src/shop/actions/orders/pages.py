"""All that an operator sees of one order."""

from collections.abc import Mapping, Sequence
from uuid import UUID

import msgspec

from shop.actions.cart.order_state import Checkout, paid, read
from shop.actions.context import Context
from shop.actions.orders.resumption import find_resumption
from shop.base.errors import NotFound
from shop.base.ids import as_uuid
from shop.models.access.users import User
from shop.models.cart.orders import CartLine, Order
from shop.models.checkout.payments import Payment, PaymentAttempt, PaymentSource, Refund
from shop.models.checkout.shipments import Shipment, ShipmentItem
from shop.models.customers.addresses import PlacedAddress
from shop.queries import dashboard
from shop.queries.cart import orders
from shop.queries.checkout import shipments
from shop.queries.customers import users
from shop.queries.dashboard import Event
from shop.queries.orders import pages as order_pages
from shop.queries.payments import payments, saved_cards
from shop.rules.checkout.payments import Balance, refusal_of
from shop.rules.setup.shipping import tracking_address

MOST_EVENTS = 100


class Parcel(msgspec.Struct, frozen=True):
    """A shipment with what is in it, where it lies and how it goes."""

    shipment: Shipment
    place: str
    method: str | None
    items: Sequence[tuple[CartLine, ShipmentItem]]
    follow: str | None
    """Where its tracking number leads to."""


class Paying(msgspec.Struct, frozen=True):
    """A payment with how it was paid, every call to its provider, and what was given back of it."""

    payment: Payment
    method: str
    source: PaymentSource | None
    attempts: Sequence[PaymentAttempt]
    refunds: Sequence[Refund]

    @property
    def left(self) -> int:
        """What was taken and not given back."""
        return self.payment.captured_amount - self.payment.refunded_amount

    @property
    def is_voidable(self) -> bool:
        return refusal_of("void", paid(self.payment), self.payment.amount) is None

    @property
    def is_refundable(self) -> bool:
        return refusal_of("refund", paid(self.payment), self.left) is None


class OrderPage(msgspec.Struct, frozen=True):
    """An order with its parts, its owner and what happened to it."""

    order: Order
    lines: Sequence[CartLine]
    parcels: Sequence[Parcel]
    payings: Sequence[Paying]
    addresses: Mapping[UUID, PlacedAddress]
    user: User | None
    events: Sequence[Event]
    balance: Balance
    can_resume: bool

    @property
    def is_sent(self) -> bool:
        """Some of it, and so it cannot be called off."""
        return any(parcel.shipment.state == "shipped" for parcel in self.parcels)


async def get_order(ctx: Context, key: str) -> Order:
    """By its number or its id."""
    order_id = as_uuid(key)
    by_id = await orders.find_order(ctx.db, order_id) if order_id else None
    found = by_id or await dashboard.find_order(ctx.db, key)
    if found is None:
        raise NotFound()
    return found


async def get_page(ctx: Context, order: Order) -> OrderPage:
    held = await read(ctx, order)
    ids = [address_id for address_id in {order.bill_address_id, order.ship_address_id} if address_id]
    return OrderPage(
        order,
        held.lines,
        await _parcels(ctx, held) if held.shipments else (),
        await _payings(ctx, held) if held.payments else (),
        await users.find_addresses(ctx.db, ids) if ids else {},
        await users.find_user(ctx.db, order.user_id) if order.user_id else None,
        await dashboard.list_events(ctx.db, order.id, most=MOST_EVENTS),
        held.balance,
        order.canceled_at is not None and (await find_resumption(ctx, held)).refusal is None,
    )


async def get_paying(ctx: Context, order: Order, payment_id: UUID) -> Paying:
    """One payment of this order; another order's is not there."""
    for each in await _payings(ctx, await read(ctx, order)):
        if each.payment.id == payment_id:
            return each
    raise NotFound()


async def check_shipment(ctx: Context, order: Order, shipment_id: UUID) -> None:
    """That it is this order's."""
    if all(shipment.id != shipment_id for shipment in await shipments.list_shipments(ctx.db, order.id)):
        raise NotFound()


async def _parcels(ctx: Context, held: Checkout) -> list[Parcel]:
    places = {place.id: place.name for place in await shipments.list_all_places(ctx.db)}
    methods = {rate.shipment_id: rate.name for rate in held.rates if rate.is_selected}
    urls = await order_pages.list_tracking_urls(ctx.db, held.order.id)
    lines = {line.id: line for line in held.lines}
    return [
        Parcel(
            shipment,
            places[shipment.stock_location_id],
            methods.get(shipment.id),
            [(lines[item.line_item_id], item) for item in held.items if item.shipment_id == shipment.id],
            tracking_address(urls.get(shipment.id), shipment.tracking),
        )
        for shipment in held.shipments
    ]


async def _payings(ctx: Context, held: Checkout) -> list[Paying]:
    methods = await payments.list_methods_of(ctx.db, [each.payment_method_id for each in held.payments])
    sources = await saved_cards.list_sources_of(ctx.db, [each.source_id for each in held.payments if each.source_id])
    attempts = await payments.list_attempts(ctx.db, held.order.id)
    refunds = await order_pages.list_refunds(ctx.db, held.order.id)
    return [
        Paying(
            payment,
            methods[payment.payment_method_id].name,
            sources.get(payment.source_id) if payment.source_id else None,
            [attempt for attempt in attempts if attempt.payment_id == payment.id],
            [refund for refund in refunds if refund.payment_id == payment.id],
        )
        for payment in held.payments
    ]
