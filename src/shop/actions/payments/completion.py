"""How a cart becomes an order: once, with its stock, its payment, and the price that was agreed to.

    first transaction    steps, guards, differences from the quote; stock taken and held; the payment `processing`
    the call             to the provider, under the attempt's own key; nothing is locked meanwhile
    second transaction   approved: the order is complete; declined: the stock is given back, the cart goes on

Whoever dies in between leaves a payment `processing`: it is settled by asking the provider what came of the attempt, by
whoever completes again or by the worker.
"""

import contextlib
import hmac
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import msgspec

from shop.actions.cart import line_items as cart_lines
from shop.actions.cart.access import find_bearers_cart, require_owner_to_pay
from shop.actions.cart.line_items import Held, pricing_of, refuse_while_paying
from shop.actions.cart.order_state import Checkout, is_credit, paid, read
from shop.actions.catalog.reservations import give_back, take
from shop.actions.checkout import store_credit
from shop.actions.checkout.promotion_usage import retotal_with_uses
from shop.actions.checkout.steps import hold_checkout, refused, requirements, walk
from shop.actions.checkout.stock_holds import GONE, shelves_for
from shop.actions.context import Context
from shop.actions.payments import charges
from shop.actions.payments.settlement import call_of, call_provider, finish, settle
from shop.base.errors import Invalid, NotFound, PaymentInProgress, PaymentNeedsAction, TotalChanged, Unavailable
from shop.base.ids import new_id
from shop.base.money import currency_digits, wire_decimal
from shop.gateways.payments import Act, Call, Result
from shop.models.cart.orders import Order
from shop.models.cart.quotes import Quote
from shop.models.checkout.payments import Payment, PaymentMethod, payment_attempts
from shop.queries import writes
from shop.queries.cart import carts, orders
from shop.queries.catalog import quotes
from shop.queries.payments import payments as queries
from shop.queries.payments import saved_cards
from shop.queries.payments.payments import Change
from shop.rules.cart.quotes import Difference, agreed, differences
from shop.rules.checkout.payments import PAYMENT_MOVES, covered, is_valid

_CONSENT = "consent to a changed total"
_REFUSED = "The payment was refused; choose another way to pay."


class Started(msgspec.Struct, frozen=True):
    """What the first transaction left to be done: a call to a provider, or nothing."""

    order: Order
    call: Call | None = None
    provider_type: str = ""
    was_made: bool = False
    """Whether the call was made before, and only what came of it is to be asked."""
    may_be_in_flight: bool = False
    """Whether the request that made it may still wait for its answer."""
    may_repeat: bool = False
    """Whether it may be made once more, should it never have arrived."""


async def complete(ctx: Context, consent: str | None, order_id: UUID | None = None, *, base_url: str) -> Order:
    """The completed order: the one that is completed now, or was before under the same credentials. Whoever may act on
    any order names it. `base_url` is where the client reaches the shop.
    """
    if done := await _done_before(ctx, order_id):
        return done
    try:
        with charges.starting(ctx):
            async with ctx.db.transaction():
                started = await _start(ctx, consent, order_id)
    except NotFound:
        # Completed by another while we waited for it.
        if done := await _done_before(ctx, order_id):
            return done
        raise
    ctx.shared.mail_waits.set()
    if started.call is None:
        return started.order
    with charges.charging(ctx, started.call):
        return await _charge(ctx, started, started.call, base_url)


async def _charge(ctx: Context, started: Started, call: Call, base_url: str) -> Order:
    provider = ctx.providers[started.provider_type]
    if started.was_made:
        result = await charges.ask_again(
            provider, call, may_be_in_flight=started.may_be_in_flight, may_repeat=started.may_repeat
        )
    else:
        result = await call_provider(provider, call)
    if result.outcome == "unknown":
        raise await _still_open(ctx.fresh(), call, result, base_url)
    order = await charges.settle_charge(ctx, started.order.id, call.key, result)
    ctx.shared.mail_waits.set()
    if order.completed_at is None:
        raise Invalid({"payments": [result.message or _REFUSED]}, _REFUSED, code="payment_refused")
    return order


async def _still_open(
    ctx: Context, call: Call, result: Result, base_url: str
) -> PaymentInProgress | PaymentNeedsAction:
    """What the provider calls it is noted: whoever completes again is told what came of it, and need not wait for a
    notice. Where that fails, it is found by its key.
    """
    if result.reference and result.reference != call.reference:
        with contextlib.suppress(Unavailable):
            await queries.note_reference(ctx.db, call.key, result.reference)
    if result.client_secret is None or result.next_action is None:
        return PaymentInProgress()
    path = result.next_action.url
    url = f"{base_url}{path}" if path else None
    return PaymentNeedsAction(result.client_secret, {"type": result.next_action.type, "url": url})


async def _done_before(ctx: Context, order_id: UUID | None) -> Order | None:
    """The order that the credentials completed before: by its token while that shows it, by the bearer alone for ten
    minutes. A repeated request never completes another cart of the same user.
    """
    claim, user_id = ctx.claim, None
    if order_id:
        return await orders.find_completed_order(ctx.db, order_id)
    if claim.bearer:
        bearers = await find_bearers_cart(ctx)
        if claim.cart_id and bearers.cart and bearers.cart.id == claim.cart_id:
            return None
        user_id = bearers.user_id
    if claim.cart_id:
        age = ctx.shared.settings.order_status_ttl
        completed = await carts.find_completed(ctx.db, claim, user_id, age)
        if completed and not completed.is_shown:
            raise NotFound()
        if completed:
            return completed.order
    return await carts.find_just_completed(ctx.db, user_id) if user_id else None


async def _start(ctx: Context, consent: str | None, order_id: UUID | None) -> Started:
    checkout = await hold_checkout(ctx, order_id, may_be_paid=True)
    await require_owner_to_pay(ctx, checkout.order)
    if any(payment.state == "processing" for payment in checkout.payments):
        return await _begun(ctx, checkout)
    await refuse_while_paying(ctx, checkout.order)
    # What was held while the shopper made up their mind is taken anew: nobody can come between.
    await give_back(ctx, checkout.order)
    was_quoted, before = bool(checkout.shipments), checkout.order
    pieces = {line.variant_id: line.quantity for line in checkout.lines}
    known = await quotes.list_quotes(ctx.db, await pricing_of(ctx, checkout.order), pieces)
    found = differences(checkout.lines, known)
    if none_left := [each for each in found if each.code == "stock_lost" and each.now == 0]:
        raise Invalid({"line_items": [each.name for each in none_left]}, GONE, code="out_of_stock")
    if found:
        checkout = await _as_it_can_be_had(ctx, checkout, known)
    checkout, why = await walk(ctx, checkout)
    if why:
        # Who is asked for more than they were told is told that first.
        _check_consent(ctx, checkout.order, [*_told(checkout.order, found), *_lost(before, checkout.order)], consent)
        raise why
    if lacks := requirements(checkout):
        raise refused(lacks)
    checkout, wanted = await shelves_for(ctx, checkout, known)
    checkout = await retotal_with_uses(ctx, checkout)
    checkout, counted_on, credit = await store_credit.fit(ctx, checkout)
    told = [*_told(checkout.order, found), *_lost(before, checkout.order)]
    if credit < counted_on:
        told.append({"code": "store_credit_changed", **_amounts(checkout.order, counted_on, credit)})
    if was_quoted and before.total != checkout.order.total:
        told.append({"code": "total_changed", **_amounts(checkout.order, before.total, checkout.order.total)})
    _check_consent(ctx, checkout.order, told, consent)
    if lacks := requirements(checkout):
        raise refused(lacks)
    await take(ctx, checkout.order, wanted, [quote.product_id for quote in known.values()])
    return await _pay(ctx, checkout)


async def _begun(ctx: Context, checkout: Checkout) -> Started:
    """The provider is asked at once about a payment whose outcome is not recorded: its answer may have been lost, or
    the process that waited for it.
    """
    payment = next(each for each in checkout.payments if each.state == "processing")
    attempts = [each for each in await queries.list_attempts(ctx.db, checkout.order.id) if each.outcome == "unknown"]
    attempt = next((each for each in attempts if each.payment_id == payment.id), None)
    if attempt is None:
        raise PaymentInProgress()
    method = (await queries.list_methods_of(ctx.db, [payment.payment_method_id]))[payment.payment_method_id]
    call = call_of(checkout.order, payment, attempt)
    if attempt.reference:
        return Started(checkout.order, call, method.type, was_made=True)
    is_over = await queries.is_older(ctx.db, attempt.id, charges.FLIGHT_SECONDS)
    return Started(
        checkout.order,
        await _with_source(ctx, call, payment.source_id, method) if is_over else call,
        method.type,
        was_made=True,
        may_be_in_flight=not is_over,
        may_repeat=is_over and not await queries.is_older(ctx.db, attempt.id, charges.REPEAT_SECONDS),
    )


async def _as_it_can_be_had(ctx: Context, checkout: Checkout, known: Mapping[UUID, Quote]) -> Checkout:
    """With the lines that there are, at their prices; how it is sent and paid stays as it was chosen."""
    held = Held(checkout.order, checkout.lines, await pricing_of(ctx, checkout.order))
    cart = await cart_lines.keep(ctx, held, agreed(checkout.lines, known, datetime.now(UTC)), known)
    return Checkout(cart.order, cart.lines, (), (), checkout.rates, checkout.payments)


def _told(order: Order, found: Sequence[Difference]) -> list[Mapping[str, Any]]:
    """What became of each line since it was quoted."""
    return [
        {
            "code": each.code,
            "line_item_id": each.line_item_id,
            **(_amounts(order, each.was, each.now) if each.is_amount else {"was": each.was, "now": each.now}),
        }
        for each in found
    ]


def _lost(before: Order, now: Order) -> list[Mapping[str, Any]]:
    """The promotions that take less off than the shopper was told."""
    amounts = {each: now.promoted.get(each, {}).get("amount", 0) for each in before.promoted}
    return [
        {
            "code": "promotion_lost",
            "promotion_id": each,
            "name": entry["name"],
            **_amounts(now, entry["amount"], amounts[each]),
        }
        for each, entry in before.promoted.items()
        if amounts[each] > entry["amount"]
    ]


def _amounts(order: Order, was: int, now: int) -> Mapping[str, str]:
    digits = currency_digits(order.currency)
    return {"was": wire_decimal(was, digits), "now": wire_decimal(now, digits)}


def _check_consent(ctx: Context, order: Order, told: Sequence[Mapping[str, Any]], consent: str | None) -> None:
    if not told:
        return
    keys = ctx.shared.keys
    message = order.id.bytes + msgspec.json.encode(told)
    token = f"shpco_{keys.mac(keys.current, _CONSENT, message).hex()}"
    if consent is None or not consent.isascii() or not hmac.compare_digest(token, consent):
        raise TotalChanged(told, token)


async def _pay(ctx: Context, checkout: Checkout) -> Started:
    order = checkout.order
    counted = [payment for payment in checkout.payments if is_valid(paid(payment)) and not is_credit(payment)]
    open_ones = [payment for payment in counted if payment.state == "checkout"]
    due = order.total - await store_credit.spend(ctx, checkout)
    if due <= covered([paid(payment) for payment in counted if payment.state != "checkout"]) or not open_ones:
        await queries.invalidate_open(ctx.db, order.id)
        return Started(await finish(ctx, await read(ctx, order)))
    payment = open_ones[-1]
    method = (await queries.list_methods_of(ctx.db, [payment.payment_method_id]))[payment.payment_method_id]
    provider = ctx.providers[method.type]
    call = await _begin_attempt(ctx, order, payment, method, due)
    if provider.needs_source:
        return Started(order, call, method.type)
    return Started(await settle(ctx, order.id, call.key, await provider.do(call)))


async def _begin_attempt(ctx: Context, order: Order, payment: Payment, method: PaymentMethod, amount: int) -> Call:
    """Noted before it is made: whoever finds it later can ask what came of it."""
    act: Act = "purchase" if method.auto_capture else "authorise"
    befores, state = PAYMENT_MOVES["started"]
    if not await queries.change_payment(ctx.db, payment.id, Change(befores, state, amount=amount)):
        raise PaymentInProgress()
    key = new_id()
    fields = {"order_id": order.id, "payment_id": payment.id, "act": act, "amount": amount}
    who = {"actor_kind": ctx.actor.kind, "actor_id": ctx.actor.id}
    await writes.insert_record(ctx.db, payment_attempts, key, {**fields, **who})
    call = Call(key, act, amount, order.currency, order.number, reference=payment.response_code)
    return await _with_source(ctx, call, payment.source_id, method)


async def _with_source(ctx: Context, call: Call, source_id: UUID | None, method: PaymentMethod) -> Call:
    """What is paid with; and for whom it is to be kept, where it is a user's and is not kept yet."""
    source = (await saved_cards.list_sources_of(ctx.db, [source_id])).get(source_id) if source_id else None
    if source is None:
        return call
    customer, keep_for = source.customer_reference, None
    if source.user_id and source.used_at is None:
        customer, keep_for = await saved_cards.find_customer(ctx.db, source.user_id, method.type), source.user_id
    return msgspec.structs.replace(call, source=source.reference, customer=customer, keep_for=keep_for)
