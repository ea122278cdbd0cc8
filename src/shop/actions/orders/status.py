"""The status and the balance of an order: for its owner, and for the holder of a link, who sees no contact data."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

import msgspec

from shop.actions.cart.orders import Checkout, build_payment_amounts, load_checkout
from shop.actions.context import Context, Shared
from shop.actions.payments.balance import find_amount_to_pay
from shop.base.errors import ExpiredLink, NotFound
from shop.models.cart.orders import CartLine, Order
from shop.models.checkout.payments import Payment, PaymentMethod, PaymentSource, Refund
from shop.models.checkout.shipments import Shipment
from shop.models.customers.addresses import AddressWithCountry
from shop.queries.cart import carts, orders
from shop.queries.customers import users
from shop.queries.orders import pages as order_pages
from shop.queries.payments import payments, saved_cards
from shop.rules.checkout.payments import Balance, is_valid
from shop.rules.customers.addresses import address_lines
from shop.rules.customers.masking import mask_email, masked_address_lines
from shop.rules.orders.links import LinkPurpose, read_link, sign_link
from shop.rules.setup.shipping import tracking_address

_CAPTURES = frozenset({"purchase", "capture"})
_NOT_FOUND = "Open the link in your confirmation e-mail, or sign in to see your orders."
_EXPIRED = "The link to this order has expired or is incomplete. Sign in to see your orders."


class TrackedShipment(msgspec.Struct, frozen=True):
    """A shipment with the name of its shipping method, its tracking link and its items."""

    shipment: Shipment
    method: str | None
    tracking_url: str | None
    items: Sequence[tuple[CartLine, int]]


class OrderPayment(msgspec.Struct, frozen=True):
    """A payment as the customer sees it."""

    payment: Payment
    method: PaymentMethod
    source: PaymentSource | None
    """The card, for the owner only."""

    @property
    def is_awaited(self) -> bool:
        """Whether the customer must pay by check or transfer."""
        return self.payment.state == "pending" and self.method.type == "check"


class OrderStatus(msgspec.Struct, frozen=True):
    """A completed order with its parts; the holder of a link sees masked contact data."""

    order: Order
    lines: Sequence[CartLine]
    shipments: Sequence[TrackedShipment]
    payments: Sequence[OrderPayment]
    refunds: Sequence[Refund]
    balance: Balance
    amount_to_pay: int
    """The amount due less authorized cards; zero if the order is canceled."""
    payment_count: int
    """The number of payments, failed ones included."""
    paid_at: datetime | None
    """When the last part of the total was captured; None if nothing was."""
    email: str
    ship_address: Sequence[str]
    bill_address: Sequence[str]
    is_owner: bool

    @property
    def is_processing(self) -> bool:
        """Whether the outcome of a payment is not known yet."""
        return any(each.payment.state == "processing" for each in self.payments)


class _Access(NamedTuple):
    order: Order
    is_owner: bool


def build_link(shared: Shared, order: Order, purpose: LinkPurpose = "status") -> str:
    """Returns the token of a link to a completed order, which expires a fixed time after completion."""
    if order.completed_at is None:
        raise AssertionError("only a completed order has links")
    expires = int(order.completed_at.timestamp()) + shared.settings.order_status_ttl
    return sign_link(shared.keys, purpose, order.id, expires)


async def open_link(ctx: Context, link_token: str, purpose: LinkPurpose = "status") -> Order:
    """Returns the order of a link; raises ExpiredLink if the link is not valid, for any reason."""
    claims = read_link(ctx.shared.keys, purpose, link_token)
    order = await carts.find_linked(ctx.db, *claims, ctx.shared.settings.order_status_ttl) if claims else None
    if order is None:
        raise ExpiredLink(_EXPIRED)
    return order


async def get_status(ctx: Context, number: str, link_token: str | None, purpose: LinkPurpose = "status") -> OrderStatus:
    """Returns an order to its signed-in owner, or to the holder of a link to this order for this purpose."""
    order, is_owner = await _get_order(ctx, number, link_token, purpose)
    checkout = await load_checkout(ctx, order)
    payments_with_methods = await _load_payments(ctx, checkout, is_owner=is_owner)
    pairs = [(each.payment, each.method) for each in payments_with_methods]
    ids = [address_id for address_id in {order.ship_address_id, order.bill_address_id} if address_id]
    addresses = await users.find_addresses(ctx.db, ids) if ids else {}
    email = order.email or ""
    return OrderStatus(
        order,
        checkout.lines,
        await _load_shipments(ctx, checkout),
        payments_with_methods,
        [refund for refund in await order_pages.list_refunds(ctx.db, order.id) if refund.state == "completed"],
        checkout.balance,
        find_amount_to_pay(ctx, checkout.balance, pairs),
        len(checkout.payments),
        await _find_payment_time(ctx, checkout),
        email if is_owner else mask_email(email),
        _lines_of(addresses, order.ship_address_id, is_owner=is_owner),
        _lines_of(addresses, order.bill_address_id, is_owner=is_owner),
        is_owner,
    )


async def get_visible_order(ctx: Context, number: str, link_token: str | None) -> Order:
    """Returns a completed order that the caller may see."""
    return (await _get_order(ctx, number, link_token, "status")).order


async def _get_order(ctx: Context, number: str, link_token: str | None, purpose: LinkPurpose) -> _Access:
    if ctx.claim.bearer:
        order = await orders.find_completed(ctx.db, (await ctx.signed_in()).user.id, number)
        if order:
            return _Access(order, is_owner=True)
    if link_token is None:
        raise NotFound(_NOT_FOUND)
    order = await open_link(ctx, link_token, purpose)
    if order.number != number:
        raise NotFound(_NOT_FOUND)
    return _Access(order, is_owner=False)


async def _load_shipments(ctx: Context, checkout: Checkout) -> list[TrackedShipment]:
    methods = {rate.shipment_id: rate.name for rate in checkout.rates if rate.is_selected}
    places = await order_pages.list_places(ctx.db, checkout.order.id)
    lines = {line.id: line for line in checkout.lines}
    return [
        TrackedShipment(
            shipment,
            methods.get(shipment.id),
            tracking_address(places[shipment.id].tracking_url, shipment.tracking),
            [
                (lines[item.line_item_id], item.quantity)
                for item in checkout.items
                if item.shipment_id == shipment.id and item.line_item_id in lines
            ],
        )
        for shipment in checkout.shipments
    ]


async def _load_payments(ctx: Context, checkout: Checkout, *, is_owner: bool) -> list[OrderPayment]:
    valid_payments = [each for each in checkout.payments if is_valid(build_payment_amounts(each))]
    methods = await payments.list_methods_of(ctx.db, list({each.payment_method_id for each in valid_payments}))
    source_ids = [each.source_id for each in valid_payments if each.source_id] if is_owner else []
    sources = await saved_cards.list_sources_of(ctx.db, source_ids) if source_ids else {}
    return [
        OrderPayment(each, methods[each.payment_method_id], sources.get(each.source_id) if each.source_id else None)
        for each in valid_payments
    ]


async def _find_payment_time(ctx: Context, checkout: Checkout) -> datetime | None:
    """Returns the time of the last capture; store credit is spent at completion, without a provider."""
    if not any(payment.captured_amount for payment in checkout.payments):
        return None
    attempts = await payments.list_attempts(ctx.db, checkout.order.id)
    times = [
        each.ended_at for each in attempts if each.act in _CAPTURES and each.outcome == "approved" and each.ended_at
    ]
    return max(times, default=checkout.order.completed_at)


def _lines_of(addresses: Mapping[UUID, AddressWithCountry], address_id: UUID | None, *, is_owner: bool) -> list[str]:
    address = addresses.get(address_id) if address_id else None
    if address is None:
        return []
    fields = msgspec.structs.asdict(address)
    return address_lines(fields) if is_owner else masked_address_lines(fields)
