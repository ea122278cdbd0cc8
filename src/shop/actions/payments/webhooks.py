"""Handles payment webhooks; idempotent: a repeated webhook, or one after the provider's answer, changes nothing."""

from collections.abc import Mapping
from uuid import UUID

import msgspec
import structlog

from shop.actions.context import Context
from shop.actions.payments.saved_cards import save_card
from shop.actions.payments.settlement import call_provider, find_outcome, rebuild_call, settle
from shop.base.errors import NotFound
from shop.base.ids import new_id
from shop.gateways.payments import Call, PaymentWebhook
from shop.models.cart.orders import Order
from shop.models.checkout.payments import Payment, PaymentAttempt, payment_attempts
from shop.queries import writes
from shop.queries.cart import orders
from shop.queries.payments import payments as queries

_log = structlog.get_logger("shop.payments")


async def handle_webhook(ctx: Context, provider_type: str, headers: Mapping[bytes, bytes], body: bytes) -> None:
    provider = ctx.providers.get(provider_type)
    if provider is None:
        raise NotFound()
    webhook = provider.read_webhook(headers, body)
    if webhook is not None:
        await apply_webhook(ctx, provider_type, webhook)


async def apply_webhook(ctx: Context, provider_type: str, webhook: PaymentWebhook) -> None:
    """Settles the call that a verified webhook is about; a repetition changes nothing."""
    if webhook.result.outcome == "unknown":
        return
    provider = ctx.providers[provider_type]

    async def work() -> Call | None:
        async with ctx.db.transaction():
            return await _record_webhook(ctx, provider_type, webhook)

    next_call = await ctx.db.retrying(work)
    ctx.shared.mail_queued.set()
    if next_call and next_call.act == "void":
        result = await call_provider(provider, next_call)
        if result.outcome != "unknown":
            attempt = await queries.find_attempt(ctx.db, next_call.key)
            if attempt:
                await settle(ctx.with_new_session(), attempt.order_id, next_call.key, result)
    elif next_call and (outcome := await find_outcome(provider, next_call)):
        # A webhook does not contain all card details.
        await save_card(ctx.with_new_session(), next_call.key, outcome)


async def _record_webhook(ctx: Context, provider_type: str, webhook: PaymentWebhook) -> Call | None:
    """Records a webhook and returns the provider call still to make: to undo a payment approved after the shop gave up
    on it and released its stock, or to get the card details.
    """
    attempt = await queries.find_attempt(ctx.db, webhook.key)
    # The same lock as the request that waits for the provider's answer.
    order = await orders.lock_order(ctx.db, attempt.order_id) if attempt else None
    payment = await queries.find_payment(ctx.db, attempt.payment_id) if attempt else None
    if attempt is None or order is None or payment is None:
        return None
    methods = await queries.list_methods_of(ctx.db, [payment.payment_method_id])
    if methods[payment.payment_method_id].type != provider_type:
        return None
    if not await queries.insert_webhook_record(ctx.db, new_id(), payment.payment_method_id, webhook.id, payment.id):
        return None
    attempt = await queries.find_attempt(ctx.db, webhook.key) or attempt
    if attempt.outcome == "unknown":
        await settle(ctx, order.id, attempt.id, webhook.result)
        is_paid = webhook.result.outcome == "approved" and attempt.act in {"authorise", "purchase"}
        updated_attempt = msgspec.structs.replace(attempt, reference=webhook.result.reference)
        return rebuild_call(order, payment, updated_attempt) if is_paid and payment.source_id else None
    if attempt.act == "refund" and (attempt.outcome, webhook.result.outcome) == ("approved", "declined"):
        _log.error("refund failed at the provider; refund the customer another way", payment=payment.number)
    is_late = attempt.outcome == "declined" and webhook.result.outcome == "approved"
    if not is_late or attempt.act not in {"authorise", "purchase"} or payment.state != "failed":
        return None
    return await _undo(ctx, order, payment, attempt, webhook.result.reference)


async def _undo(
    ctx: Context, order: Order, payment: Payment, attempt: PaymentAttempt, reference: str | None
) -> Call | None:
    if any(
        each.act == "undo" and each.payment_id == payment.id for each in await queries.list_attempts(ctx.db, order.id)
    ):
        return None  # An earlier webhook already did this.
    key: UUID = new_id()
    fields = {"order_id": order.id, "payment_id": payment.id, "act": "undo", "amount": attempt.amount}
    # Save the provider's reference, which identifies the payment to undo after a crash.
    await writes.insert_record(ctx.db, payment_attempts, key, {**fields, "reference": reference})
    _log.warning("payment was approved after it was abandoned; voiding it", payment=payment.number)
    return Call(key, "void", attempt.amount, order.currency, order.number, None, reference)
