"""Payment attempts: recorded before the provider is called, charged once, and resumed if the answer was lost."""

import contextlib
from collections.abc import Sequence
from uuid import UUID

import msgspec

from shop.actions.cart.orders import Checkout
from shop.actions.context import Context
from shop.actions.payments import charges
from shop.actions.payments.settlement import call_provider, rebuild_call, settle
from shop.base.errors import Invalid, PaymentInProgress, PaymentNeedsAction, ShopError, Unavailable
from shop.base.ids import new_id
from shop.gateways.payments import Act, Call, Result
from shop.models.cart.orders import Order
from shop.models.checkout.payments import Payment, PaymentMethod
from shop.queries.payments import payments as queries
from shop.queries.payments import saved_cards
from shop.queries.payments.payments import PaymentChange
from shop.rules.checkout.payments import PAYMENT_MOVES

_REFUSAL = "The payment was declined; choose another payment method."


class PendingCharge(msgspec.Struct, frozen=True):
    """The result of the first transaction: the provider call still to make."""

    order: Order
    call: Call
    provider_type: str
    was_made: bool = False
    """Whether the call was made before, so that only its outcome is requested."""
    may_be_in_flight: bool = False
    """Whether the request that made the call may still be waiting for the answer."""
    may_repeat: bool = False
    """Whether the call may be repeated if it never arrived."""


async def begin_attempt(
    ctx: Context, order: Order, payment: Payment, method: PaymentMethod, act: Act, amount: int
) -> Call:
    """Records the attempt before the call, so that its outcome can be requested later."""
    key = new_id()
    change = PaymentChange(*PAYMENT_MOVES["started"], amount=amount)
    actor = {"actor_kind": ctx.actor.kind, "actor_id": ctx.actor.id}
    if await queries.begin_attempt(ctx.db, payment.id, change, key, act=act, outcome="unknown", **actor) is None:
        raise PaymentInProgress()
    call = Call(key, act, amount, order.currency, order.number, reference=payment.response_code)
    return await _with_source(ctx, call, payment.source_id, method)


async def _with_source(ctx: Context, call: Call, source_id: UUID | None, method: PaymentMethod) -> Call:
    """Adds the payment source to the call and, for an unsaved card of a user, the user to save it for."""
    source = (await saved_cards.list_sources_of(ctx.db, [source_id])).get(source_id) if source_id else None
    if source is None:
        return call
    customer, keep_for = source.customer_reference, None
    if source.user_id and source.used_at is None:
        customer, keep_for = await saved_cards.find_customer(ctx.db, source.user_id, method.type), source.user_id
    return msgspec.structs.replace(call, source=source.reference, customer=customer, keep_for=keep_for)


async def resume_attempt(ctx: Context, checkout: Checkout) -> PendingCharge:
    """Resumes a payment without a recorded outcome by asking the provider at once: its answer, or the process waiting
    for it, may have been lost.
    """
    payment = next(each for each in checkout.payments if each.state == "processing")
    attempts = await queries.list_attempts(ctx.db, checkout.order.id)
    attempt = next((each for each in attempts if each.payment_id == payment.id and each.outcome == "unknown"), None)
    if attempt is None:
        raise PaymentInProgress()
    method = (await queries.list_methods_of(ctx.db, [payment.payment_method_id]))[payment.payment_method_id]
    call = rebuild_call(checkout.order, payment, attempt)
    if attempt.reference:
        return PendingCharge(checkout.order, call, method.type, was_made=True)
    is_over = await queries.is_older(ctx.db, attempt.id, charges.FLIGHT_SECONDS)
    return PendingCharge(
        checkout.order,
        await _with_source(ctx, call, payment.source_id, method) if is_over else call,
        method.type,
        was_made=True,
        may_be_in_flight=not is_over,
        may_repeat=is_over and not await queries.is_older(ctx.db, attempt.id, charges.REPEAT_SECONDS),
    )


async def charge(ctx: Context, pending_charge: PendingCharge, base_url: str) -> tuple[Order, Result]:
    """Calls the provider, outside a transaction, and records the outcome. `base_url` is where the client reaches the
    shop.
    """
    with charges.lock_charge(ctx, pending_charge.call, was_made=pending_charge.was_made):
        return await _charge(ctx, pending_charge, base_url)


async def _charge(ctx: Context, pending_charge: PendingCharge, base_url: str) -> tuple[Order, Result]:
    call = pending_charge.call
    provider = ctx.providers[pending_charge.provider_type]
    if pending_charge.was_made:
        result = await charges.query_outcome(
            provider, call, may_be_in_flight=pending_charge.may_be_in_flight, may_repeat=pending_charge.may_repeat
        )
    else:
        result = await call_provider(provider, call)
    if result.outcome == "unknown":
        raise await _still_open(ctx.with_new_session(), call, result, base_url)
    order = await charges.settle_charge(ctx, pending_charge.order.id, call.key, result)
    return order, result


def build_refusal(result: Result) -> Invalid:
    """Returns the error for a declined payment."""
    return Invalid({"payments": [result.message or _REFUSAL]}, _REFUSAL, code="payment_refused")


async def _still_open(
    ctx: Context, call: Call, result: Result, base_url: str
) -> PaymentInProgress | PaymentNeedsAction:
    """Saves the provider's reference, so that the next request can get the outcome without waiting for a
    webhook. If that fails, the attempt is found by its key.
    """
    if result.reference and result.reference != call.reference:
        with contextlib.suppress(Unavailable):
            await queries.save_reference(ctx.db, call.key, result.reference)
    if result.client_secret is None or result.next_action is None:
        return PaymentInProgress()
    path = result.next_action.url
    url = f"{base_url}{path}" if path else None
    return PaymentNeedsAction(result.client_secret, {"type": result.next_action.type, "url": url})


async def execute_calls(ctx: Context, order: Order, calls: Sequence[tuple[Payment, Call]]) -> None:
    """Makes recorded provider calls. One that fails does not stop the others."""
    errors: list[ShopError] = []
    for payment, call in calls:
        try:
            await execute_call(ctx, order, payment, call)
        except ShopError as error:
            errors.append(error)
    if errors:
        raise errors[0]


async def execute_call(ctx: Context, order: Order, payment: Payment, call: Call) -> Order:
    """Makes a recorded provider call and settles its result."""
    methods = await queries.list_methods_of(ctx.db, [payment.payment_method_id])
    provider = ctx.providers[methods[payment.payment_method_id].type]
    result = await call_provider(provider, call)
    if result.outcome == "unknown":
        raise PaymentInProgress()
    settled_order = await settle(ctx.with_new_session(), order.id, call.key, result)
    if result.outcome == "declined":
        raise Invalid(
            {"base": [result.message or "The payment provider declined the request."]}, code="payment_refused"
        )
    return settled_order
