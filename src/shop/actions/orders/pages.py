"""Loads the order page of the dashboard."""

from collections.abc import Mapping, Sequence
from uuid import UUID

import msgspec

from shop.actions.cart.orders import Checkout, build_payment_amounts, load_checkout
from shop.actions.context import Context
from shop.actions.documents.invoices import OrderDocuments, load_documents
from shop.actions.orders.resumption import find_resumption
from shop.actions.timeline import TimelineItem, list_order_timeline
from shop.base.errors import NotFound
from shop.base.ids import as_uuid
from shop.models.access.users import User
from shop.models.cart.orders import CartLine, Order
from shop.models.checkout.coupons import Adjustment
from shop.models.checkout.payments import Payment, PaymentAttempt, PaymentSource, Refund
from shop.models.checkout.shipments import Shipment, ShipmentItem
from shop.models.customers.addresses import AddressWithCountry
from shop.queries import dashboard
from shop.queries.cart import orders
from shop.queries.checkout import adjustments, shipments
from shop.queries.customers import users
from shop.queries.orders import pages as order_pages
from shop.queries.payments import payments, saved_cards
from shop.rules.checkout.payments import Balance, find_capture_amount, find_refusal
from shop.rules.setup.shipping import tracking_address


class ShipmentView(msgspec.Struct, frozen=True):
    """A shipment with its items, stock location and shipping method."""

    shipment: Shipment
    location_name: str
    method: str | None
    items: Sequence[tuple[CartLine, ShipmentItem]]
    tracking_url: str | None
    """The tracking URL."""


class PaymentView(msgspec.Struct, frozen=True):
    """A payment with its method, source, provider attempts and refunds."""

    payment: Payment
    method: str
    source: PaymentSource | None
    attempts: Sequence[PaymentAttempt]
    refunds: Sequence[Refund]
    capture_amount: int
    """What can be captured of a pending payment."""
    is_card: bool

    @property
    def refundable_amount(self) -> int:
        """The captured amount that is not refunded."""
        return self.payment.captured_amount - self.payment.refunded_amount

    @property
    def is_voidable(self) -> bool:
        """Whether the authorization can be released. What was captured is refunded instead, in parts or as a whole."""
        is_refused = find_refusal("void", build_payment_amounts(self.payment), self.payment.amount) is not None
        return not is_refused and not self.payment.captured_amount

    @property
    def is_refundable(self) -> bool:
        return find_refusal("refund", build_payment_amounts(self.payment), self.refundable_amount) is None


class OrderPage(msgspec.Struct, frozen=True):
    """An order with its parts, its owner and its timeline."""

    order: Order
    lines: Sequence[CartLine]
    shipments: Sequence[ShipmentView]
    payments: Sequence[PaymentView]
    addresses: Mapping[UUID, AddressWithCountry]
    user: User | None
    timeline: Sequence[TimelineItem]
    balance: Balance
    can_resume: bool
    documents: OrderDocuments
    adjustments: Sequence[Adjustment]
    """The manual adjustments, oldest first."""

    @property
    def is_sent(self) -> bool:
        """Whether any shipment has shipped, so that the order cannot be canceled."""
        return any(shipment_view.shipment.state == "shipped" for shipment_view in self.shipments)

    @property
    def has_unshipped(self) -> bool:
        """Whether items can still be canceled or divided among shipments."""
        return any(shipment_view.shipment.state in {"pending", "ready"} for shipment_view in self.shipments)


async def get_order(ctx: Context, key: str) -> Order:
    """Returns an order by number or id."""
    order_id = as_uuid(key)
    by_id = await orders.find_order(ctx.db, order_id) if order_id else None
    order = by_id or await dashboard.find_order(ctx.db, key)
    if order is None:
        raise NotFound()
    return order


async def get_page(ctx: Context, order: Order) -> OrderPage:
    checkout = await load_checkout(ctx, order)
    ids = [address_id for address_id in {order.bill_address_id, order.ship_address_id} if address_id]
    payment_views = await _build_payments(ctx, checkout) if checkout.payments else ()
    payment_parts = [(view.payment, view.attempts, view.refunds) for view in payment_views]
    return OrderPage(
        order,
        checkout.lines,
        await _build_shipments(ctx, checkout) if checkout.shipments else (),
        payment_views,
        await users.find_addresses(ctx.db, ids) if ids else {},
        await users.find_user(ctx.db, order.user_id) if order.user_id else None,
        await list_order_timeline(ctx, order, checkout.shipments, payment_parts),
        checkout.balance,
        order.canceled_at is not None and (await find_resumption(ctx, checkout)).refusal is None,
        await load_documents(ctx, order) if order.completed_at else OrderDocuments(),
        (await adjustments.list_manual(ctx.db, order.id))[::-1] if order.manual_total else (),
    )


async def get_payment_view(ctx: Context, order: Order, payment_id: UUID) -> PaymentView:
    """Returns a payment of this order; raises NotFound for a payment of another order."""
    for each in await _build_payments(ctx, await load_checkout(ctx, order)):
        if each.payment.id == payment_id:
            return each
    raise NotFound()


async def check_shipment(ctx: Context, order: Order, shipment_id: UUID) -> None:
    """Raises NotFound unless the shipment belongs to this order."""
    if all(shipment.id != shipment_id for shipment in await shipments.list_shipments(ctx.db, order.id)):
        raise NotFound()


async def _build_shipments(ctx: Context, checkout: Checkout) -> list[ShipmentView]:
    location_names = {location.id: location.name for location in await shipments.list_locations(ctx.db)}
    methods = {rate.shipment_id: rate.name for rate in checkout.rates if rate.is_selected}
    urls = await order_pages.list_tracking_urls(ctx.db, checkout.order.id)
    lines = {line.id: line for line in checkout.lines}
    return [
        ShipmentView(
            shipment,
            location_names[shipment.stock_location_id],
            methods.get(shipment.id),
            [(lines[item.line_item_id], item) for item in checkout.items if item.shipment_id == shipment.id],
            tracking_address(urls.get(shipment.id), shipment.tracking),
        )
        for shipment in checkout.shipments
    ]


async def _build_payments(ctx: Context, checkout: Checkout) -> list[PaymentView]:
    methods = await payments.list_methods_of(ctx.db, [each.payment_method_id for each in checkout.payments])
    sources = await saved_cards.list_sources_of(
        ctx.db, [each.source_id for each in checkout.payments if each.source_id]
    )
    attempts = await payments.list_attempts(ctx.db, checkout.order.id)
    refunds = await order_pages.list_refunds(ctx.db, checkout.order.id)
    views = []
    for payment in checkout.payments:
        method = methods[payment.payment_method_id]
        is_card = ctx.providers[method.type].needs_source
        amounts = build_payment_amounts(payment)
        views.append(
            PaymentView(
                payment,
                method.name,
                sources.get(payment.source_id) if payment.source_id else None,
                [attempt for attempt in attempts if attempt.payment_id == payment.id],
                [refund for refund in refunds if refund.payment_id == payment.id],
                find_capture_amount(amounts, checkout.balance) if is_card else payment.amount,
                is_card,
            )
        )
    return views
