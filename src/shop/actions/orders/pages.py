"""Loads the order page of the dashboard."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import msgspec

from shop.actions.cart.orders import Checkout, build_payment_amounts, load_checkout
from shop.actions.context import Context
from shop.actions.documents.invoices import OrderDocuments, load_documents
from shop.actions.orders.details import NO_BALANCE, find_link_refusal
from shop.actions.orders.operations import (
    find_cancel_refusal,
    find_capture_refusal,
    is_ready_to_ship,
    load_refund_limits,
)
from shop.actions.orders.resumption import can_resume
from shop.actions.timeline import TimelineItem, list_order_timeline
from shop.base.errors import NotFound
from shop.base.ids import as_uuid
from shop.models.access.users import User
from shop.models.cart.orders import CartLine, Order
from shop.models.checkout.coupons import Adjustment
from shop.models.checkout.payments import Payment, PaymentAttempt, PaymentMethod, PaymentSource, Refund
from shop.models.checkout.shipments import Shipment, ShipmentItem
from shop.models.customers.addresses import AddressWithCountry
from shop.queries import dashboard
from shop.queries.cart import orders
from shop.queries.checkout import adjustments, shipments
from shop.queries.customers import users
from shop.queries.orders import pages as order_pages
from shop.queries.payments import payments, saved_cards
from shop.rules.checkout.payments import Balance, find_capture_amount, find_refusal
from shop.rules.orders.refund_limits import RefundLimits
from shop.rules.orders.shipments import MOVABLE_STATES, find_division_refusal
from shop.rules.setup.shipping import tracking_address


class ShipmentView(msgspec.Struct, frozen=True):
    """A shipment with its items, stock location and shipping method."""

    shipment: Shipment
    location_name: str
    method: str | None
    items: Sequence[tuple[CartLine, ShipmentItem]]
    tracking_url: str | None
    """The tracking URL."""
    can_mark_ready: bool
    can_divide: bool
    """Whether it can be divided, or merged into another one."""


class PaymentView(msgspec.Struct, frozen=True):
    """A payment with its method, source, provider attempts and refunds."""

    payment: Payment
    method: str
    source: PaymentSource | None
    attempts: Sequence[PaymentAttempt]
    refunds: Sequence[Refund]
    capture_amount: int
    """What can be captured of a pending payment."""
    refund_amount: int
    """The most that the operator can refund at once without anybody else."""
    is_card: bool
    is_refundable: bool
    """Whether anything of it can be refunded, also by others."""
    can_capture: bool
    can_void: bool

    @property
    def refundable_amount(self) -> int:
        """The captured amount that is not refunded."""
        return self.payment.captured_amount - self.payment.refunded_amount

    @property
    def can_refund(self) -> bool:
        return self.is_refundable and self.refund_amount > 0


class OrderOffers(msgspec.Struct, frozen=True):
    """The actions that the page of an order offers, since they would not be refused."""

    can_edit: bool = False
    can_cancel_items: bool = False
    can_cancel: bool = False
    can_resume: bool = False
    can_refund: bool = False
    link_refusal: str | None = NO_BALANCE
    """Why the customer cannot get a payment link."""
    cancel_limit: str | None = None
    """Why only another operator can cancel the order now."""
    is_charging: bool = False
    """Whether a payment is being processed, so that the order must wait."""


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
    documents: OrderDocuments
    adjustments: Sequence[Adjustment]
    """The manual adjustments, oldest first."""
    offers: OrderOffers


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
    limits = await load_refund_limits(ctx) if checkout.payments else RefundLimits()
    payment_views = await _build_payments(ctx, checkout, limits) if checkout.payments else ()
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
        await load_documents(ctx, order) if order.completed_at else OrderDocuments(),
        (await adjustments.list_manual(ctx.db, order.id))[::-1] if order.manual_total else (),
        await _find_offers(ctx, checkout, payment_views, limits) if order.completed_at else OrderOffers(),
    )


async def _find_offers(
    ctx: Context, checkout: Checkout, payment_views: Sequence[PaymentView], limits: RefundLimits
) -> OrderOffers:
    order, is_charging = checkout.order, any(payment.state == "processing" for payment in checkout.payments)
    is_editable = order.canceled_at is None and not is_charging
    cancel_refusal = find_cancel_refusal(checkout, limits)
    movable_ids = {each.id for each in checkout.shipments if each.state in MOVABLE_STATES}
    return OrderOffers(
        can_edit=is_editable,
        # One unit must stay; without any, the order is canceled.
        can_cancel_items=is_editable
        and any(item.shipment_id in movable_ids for item in checkout.items)
        and sum(line.quantity for line in checkout.lines) > 1,
        can_cancel=cancel_refusal is None and not is_charging,
        can_resume=order.canceled_at is not None and await can_resume(ctx, checkout),
        can_refund=any(
            view.is_refundable and limits.cap_amount(view.refundable_amount, order.currency, is_approved=True)
            for view in payment_views
        ),
        link_refusal=await find_link_refusal(ctx, checkout),
        cancel_limit=cancel_refusal[1] if cancel_refusal and cancel_refusal[0] != "illegal_transition" else None,
        is_charging=is_charging,
    )


async def get_payment_view(ctx: Context, order: Order, payment_id: UUID) -> PaymentView:
    """Returns a payment of this order; raises NotFound for a payment of another order."""
    for each in await _build_payments(ctx, await load_checkout(ctx, order), await load_refund_limits(ctx)):
        if each.payment.id == payment_id:
            return each
    raise NotFound()


async def check_shipment(ctx: Context, order: Order, shipment_id: UUID) -> None:
    """Raises NotFound unless the shipment belongs to this order."""
    if all(shipment.id != shipment_id for shipment in await shipments.list_shipments(ctx.db, order.id)):
        raise NotFound()


async def _build_shipments(ctx: Context, checkout: Checkout) -> list[ShipmentView]:
    places = await order_pages.list_places(ctx.db, checkout.order.id)
    methods = {rate.shipment_id: rate.name for rate in checkout.rates if rate.is_selected}
    lines = {line.id: line for line in checkout.lines}
    return [
        ShipmentView(
            shipment,
            places[shipment.id].location_name,
            methods.get(shipment.id),
            [(lines[item.line_item_id], item) for item in checkout.items if item.shipment_id == shipment.id],
            tracking_address(places[shipment.id].tracking_url, shipment.tracking),
            is_ready_to_ship(checkout, shipment),
            find_division_refusal(checkout.order, shipment, checkout.shipments, checkout.items) is None,
        )
        for shipment in checkout.shipments
    ]


async def _build_payments(ctx: Context, checkout: Checkout, limits: RefundLimits) -> list[PaymentView]:
    methods = await payments.list_methods_of(ctx.db, [each.payment_method_id for each in checkout.payments])
    sources = await saved_cards.list_sources_of(
        ctx.db, [each.source_id for each in checkout.payments if each.source_id]
    )
    attempts = await payments.list_attempts(ctx.db, checkout.order.id)
    refunds = await order_pages.list_refunds(ctx.db, checkout.order.id)
    return [
        _build_payment(
            checkout,
            payment,
            methods[payment.payment_method_id],
            [attempt for attempt in attempts if attempt.payment_id == payment.id],
            limits,
            is_card=ctx.providers[methods[payment.payment_method_id].type].needs_source,
            source=sources.get(payment.source_id) if payment.source_id else None,
            refunds=[refund for refund in refunds if refund.payment_id == payment.id],
        )
        for payment in checkout.payments
    ]


def _build_payment(
    checkout: Checkout,
    payment: Payment,
    method: PaymentMethod,
    attempts: Sequence[PaymentAttempt],
    limits: RefundLimits,
    *,
    is_card: bool,
    **parts: Any,
) -> PaymentView:
    order, amounts = checkout.order, build_payment_amounts(payment)
    # While the provider has not answered, the payment refuses everything else.
    is_idle = order.completed_at is not None and all(attempt.outcome != "unknown" for attempt in attempts)
    is_charging = any(each.state == "processing" for each in checkout.payments)
    capture_amount = find_capture_amount(amounts, checkout.balance) if is_card else payment.amount
    open_amount = payment.captured_amount - payment.refunded_amount
    return PaymentView(
        payment=payment,
        method=method.name,
        attempts=attempts,
        capture_amount=capture_amount,
        refund_amount=limits.cap_amount(open_amount, order.currency),
        is_card=is_card,
        is_refundable=is_idle and find_refusal("refund", amounts, open_amount) is None,
        can_capture=is_idle and not is_charging and find_capture_refusal(order, payment, capture_amount) is None,
        # What was captured is refunded instead, in parts or as a whole.
        can_void=is_idle and find_refusal("void", amounts, payment.amount) is None and not payment.captured_amount,
        **parts,
    )
