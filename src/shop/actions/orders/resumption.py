"""Resumes canceled orders, and decides whether an order can be resumed."""

from collections.abc import Mapping, Sequence
from uuid import UUID

import msgspec

from shop.actions.audit import audit
from shop.actions.cart.orders import Checkout, build_payment_amounts, change_order, is_credit
from shop.actions.catalog.reservations import take_stock
from shop.actions.checkout.promotion_usage import record_uses_again
from shop.actions.context import Context
from shop.actions.event_subjects import PAYMENT
from shop.actions.events import note_change
from shop.actions.orders.operations import illegal_transition, lock_checkout
from shop.actions.payments.settlement import update_order_states
from shop.base.errors import Invalid, PaymentInProgress
from shop.base.ids import new_id, new_payment_number
from shop.models.cart.quotes import Quote
from shop.models.catalog.stock import StockItem
from shop.models.checkout.payments import Payment, payments
from shop.models.checkout.shipments import shipments
from shop.queries import writes
from shop.queries.catalog import quotes, stock
from shop.queries.catalog.prices import Pricing
from shop.queries.payments import payments as queries
from shop.rules.checkout.payments import missing_payment

_NOT_CANCELED_ERROR = "Only a canceled order can be resumed."
_REFUNDED_ERROR = "A refunded order cannot be resumed, because it cannot be paid again. Place a new order."
_VOIDED_ERROR = "Its payment was voided and cannot be collected again. Place a new order."


class Resumption(msgspec.Struct, frozen=True):
    """Whether an order can be resumed, and the amount that must be paid again."""

    refusal: str | None = None
    missing: int = 0
    method_id: UUID | None = None
    """The payment method for the missing amount: by check or transfer, as before."""


async def find_resumption(ctx: Context, checkout: Checkout) -> Resumption:
    if checkout.order.canceled_at is None:
        return Resumption(_NOT_CANCELED_ERROR)
    missing = missing_payment([build_payment_amounts(payment) for payment in checkout.payments], checkout.order.total)
    if missing is None:
        return Resumption(_REFUNDED_ERROR)
    if not missing:
        return Resumption()
    method_id = await _find_offline_method(ctx, checkout.payments)
    return Resumption(None, missing, method_id) if method_id else Resumption(_VOIDED_ERROR)


async def _find_offline_method(ctx: Context, candidates: Sequence[Payment]) -> UUID | None:
    """Returns the method of the newest void payment by check or transfer: only these can be requested again."""
    void_payments = [payment for payment in candidates if payment.state == "void" and not is_credit(payment)]
    methods = await queries.list_methods_of(ctx.db, [payment.payment_method_id for payment in void_payments])
    for payment in reversed(void_payments):
        provider = ctx.providers.get(methods[payment.payment_method_id].type)
        if provider and not provider.needs_source:
            return payment.payment_method_id
    return None


async def can_resume(ctx: Context, checkout: Checkout) -> bool:
    """Returns whether a canceled order can be resumed now: it can still be paid, and its items are in stock."""
    if (await find_resumption(ctx, checkout)).refusal or await _is_calling(ctx, checkout.order.id):
        return False
    units: dict[UUID, int] = {}
    for stock_item, quantity in await _list_stock(ctx, checkout, await _list_variants(ctx, checkout)):
        if stock_item is None:
            return False
        units[stock_item.id] = units.get(stock_item.id, stock_item.count_on_hand) - quantity
        if units[stock_item.id] < 0 and not stock_item.backorderable:
            return False
    return True


async def _is_calling(ctx: Context, order_id: UUID) -> bool:
    """Returns whether a provider has not answered a call yet."""
    return any(attempt.outcome == "unknown" for attempt in await queries.list_attempts(ctx.db, order_id))


async def resume(ctx: Context, order_id: UUID) -> None:
    """Resumes a canceled order, if its items are in stock and it can still be paid."""
    async with ctx.db.transaction():
        checkout = await lock_checkout(ctx, order_id)
        resumption = await find_resumption(ctx, checkout)
        if resumption.refusal:
            raise illegal_transition(resumption.refusal)
        if await _is_calling(ctx, order_id):
            raise PaymentInProgress()
        await record_uses_again(ctx, checkout.order)
        await _take_stock(ctx, checkout)
        if resumption.missing:
            await _insert_pending_payment(ctx, order_id, resumption)
        order = await change_order(ctx, checkout.order, state="resumed", canceled_at=None)
        for shipment in checkout.shipments:
            await writes.update_record(ctx.db, shipments, shipment.id, {"state": "pending"})
        await update_order_states(ctx, await lock_checkout(ctx, order.id))
        await audit(ctx, "order_resume", "done", subject_id=order_id)


async def _insert_pending_payment(ctx: Context, order_id: UUID, resumption: Resumption) -> None:
    fields = {
        "order_id": order_id,
        "payment_method_id": resumption.method_id,
        "number": new_payment_number(),
        "state": "pending",
        "amount": resumption.missing,
    }
    payment_id = new_id()
    note_change(ctx, PAYMENT, payment_id)
    await writes.insert_record(ctx.db, payments, payment_id, fields)


async def _take_stock(ctx: Context, checkout: Checkout) -> None:
    variants = await _list_variants(ctx, checkout)
    quantities: dict[UUID, int] = {}
    for stock_item, quantity in await _list_stock(ctx, checkout, variants):
        if stock_item is None:
            raise Invalid({"base": ["An item is no longer stocked at its location."]}, code="out_of_stock")
        quantities[stock_item.id] = quantities.get(stock_item.id, 0) + quantity
    await take_stock(ctx, checkout.order, quantities, [quote.product_id for quote in variants.values()])


async def _list_variants(ctx: Context, checkout: Checkout) -> Mapping[UUID, Quote]:
    quantities = {line.variant_id: line.quantity for line in checkout.lines}
    return await quotes.list_quotes(ctx.db, Pricing(checkout.order.currency), quantities)


async def _list_stock(
    ctx: Context, checkout: Checkout, variants: Mapping[UUID, Quote]
) -> list[tuple[StockItem | None, int]]:
    """Returns the stock that the order takes, with the number of units; None for one that is gone."""
    locations = {shipment.id: shipment.stock_location_id for shipment in checkout.shipments}
    return [
        (await stock.find_item(ctx.db, item.variant_id, locations[item.shipment_id]), item.quantity)
        for item in checkout.items
        if variants[item.variant_id].is_tracked
    ]
