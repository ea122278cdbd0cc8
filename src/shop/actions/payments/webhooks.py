"""What becomes of what a provider tells by itself; what it says again, or after its answer, changes nothing."""

from collections.abc import Mapping
from uuid import UUID

import msgspec
import structlog

from shop.actions.context import Context
from shop.actions.payments.saved_cards import keep_card
from shop.actions.payments.settlement import call_of, call_provider, find_outcome, settle
from shop.base.errors import NotFound
from shop.base.ids import new_id
from shop.gateways.payments import Call, Notice
from shop.models.cart.orders import Order
from shop.models.checkout.payments import Payment, PaymentAttempt, payment_attempts
from shop.queries import writes
from shop.queries.cart import orders
from shop.queries.payments import payments as queries

_log = structlog.get_logger("shop.payments")


async def take_notice(ctx: Context, provider_type: str, headers: Mapping[bytes, bytes], body: bytes) -> None:
    provider = ctx.providers.get(provider_type)
    if provider is None:
        raise NotFound()
    notice = provider.read_notice(headers, body)
    if notice is None or notice.result.outcome == "unknown":
        return

    async def work() -> Call | None:
        async with ctx.db.transaction():
            return await _noted(ctx, provider_type, notice)

    left = await ctx.db.retrying(work)
    ctx.shared.mail_waits.set()
    if left and left.act == "void":
        result = await call_provider(provider, left)
        if result.outcome != "unknown":
            attempt = await queries.find_attempt(ctx.db, left.key)
            if attempt:
                await settle(ctx.fresh(), attempt.order_id, left.key, result)
    elif left and (found := await find_outcome(provider, left)):
        # A notice says little of the card.
        await keep_card(ctx.fresh(), left.key, found)


async def _noted(ctx: Context, provider_type: str, notice: Notice) -> Call | None:
    """What is left to be asked of the provider: to undo a payment that came after the shop had given it up, and its
    goods away; or what was paid with.
    """
    attempt = await queries.find_attempt(ctx.db, notice.key)
    # Locked as whoever waits for the provider's own answer locks it.
    order = await orders.lock_order(ctx.db, attempt.order_id) if attempt else None
    payment = await queries.find_payment(ctx.db, attempt.payment_id) if attempt else None
    if attempt is None or order is None or payment is None:
        return None
    methods = await queries.list_methods_of(ctx.db, [payment.payment_method_id])
    if methods[payment.payment_method_id].type != provider_type:
        return None
    if not await queries.note_notice(ctx.db, new_id(), payment.payment_method_id, notice.id, payment.id):
        return None
    attempt = await queries.find_attempt(ctx.db, notice.key) or attempt
    if attempt.outcome == "unknown":
        await settle(ctx, order.id, attempt.id, notice.result)
        is_paid = notice.result.outcome == "approved" and attempt.act in {"authorise", "purchase"}
        noted = msgspec.structs.replace(attempt, reference=notice.result.reference)
        return call_of(order, payment, noted) if is_paid and payment.source_id else None
    if attempt.act == "refund" and (attempt.outcome, notice.result.outcome) == ("approved", "declined"):
        _log.error("money that was given back came back; give it back another way", payment=payment.number)
    is_late = attempt.outcome == "declined" and notice.result.outcome == "approved"
    if not is_late or attempt.act not in {"authorise", "purchase"} or payment.state != "failed":
        return None
    return await _undo(ctx, order, payment, attempt, notice.result.reference)


async def _undo(
    ctx: Context, order: Order, payment: Payment, attempt: PaymentAttempt, reference: str | None
) -> Call | None:
    if any(
        each.act == "undo" and each.payment_id == payment.id for each in await queries.list_attempts(ctx.db, order.id)
    ):
        return None  # Another notice of it was heard first.
    key: UUID = new_id()
    fields = {"order_id": order.id, "payment_id": payment.id, "act": "undo", "amount": attempt.amount}
    # With its name there: whoever finds this after a crash must know what to undo.
    await writes.insert_record(ctx.db, payment_attempts, key, {**fields, "reference": reference})
    _log.warning("a payment was approved after it was given up; it is undone", payment=payment.number)
    return Call(key, "void", attempt.amount, order.currency, order.number, None, reference)
