"""Order completion: turns a cart into an order once, with its stock, its payment and the agreed price.

    first transaction    steps, guards, differences from the quote; reserves stock; sets the payment to `processing`,
                         or completes the order if no provider is called
    provider call        under the attempt's own key; holds no locks
    second transaction   approved: completes the order; declined: releases the stock, and the cart stays open

A crash in between leaves the payment `processing`. The next completion request or the worker settles it by asking the
provider for the outcome of the attempt.
"""

import hmac
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from uuid import UUID

import msgspec

from shop.actions.cart import locked_carts
from shop.actions.cart.access import find_bearers_cart, require_owner_to_pay
from shop.actions.cart.locked_carts import LockedCart, get_pricing, refuse_while_paying
from shop.actions.cart.orders import Checkout, build_payment_amounts, change_order, is_credit, load_checkout
from shop.actions.catalog.reservations import reserve_stock, take_stock
from shop.actions.checkout import store_credit
from shop.actions.checkout.parts import get_quotes, list_tax_rates
from shop.actions.checkout.promotion_usage import recalculate_with_uses
from shop.actions.checkout.steps import advance_to, build_missing_error, lock_open_checkout, requirements
from shop.actions.checkout.stock_holds import OUT_OF_STOCK, allocate_stock, release_items
from shop.actions.context import Context
from shop.actions.payments import attempts, charges
from shop.actions.payments.attempts import PendingCharge
from shop.actions.payments.settlement import finalize_order
from shop.base.errors import Invalid, NotFound, PaymentInProgress, TotalMismatch
from shop.base.money import currency_digits, wire_decimal
from shop.gateways.payments import Act
from shop.models.cart.orders import Order
from shop.models.cart.quotes import Quote
from shop.queries.cart import carts, orders
from shop.queries.payments import payments as queries
from shop.queries.payments.completions import Acceptance
from shop.rules.cart.quotes import Difference, find_differences, requote_available_lines
from shop.rules.cart.totals import Rate
from shop.rules.checkout.payments import is_valid, sum_covered_amount

NOT_PLACED = "This order cannot be placed. Please contact the shop."
_CONSENT = "consent to a changed total"


async def complete(ctx: Context, consent: str | None, order_id: UUID | None = None, *, base_url: str) -> Checkout:
    """Completes the cart and returns the order, or returns the order completed before with the same credentials.
    Callers that may act on any order pass `order_id`. `base_url` is where the client reaches the shop.
    """
    # A guest's token opens one cart: if that is not open, it may be completed.
    is_guest = order_id is None and ctx.claim.bearer is None
    if not is_guest and (order := await find_completed(ctx, order_id)):
        return await load_checkout(ctx, order)
    try:
        with charges.reserve_charge_slot(ctx):
            async with ctx.db.transaction():
                start = await _start(ctx, consent, order_id)
    except NotFound:
        # It was completed before, or while this request waited for the lock.
        if order := await find_completed(ctx, order_id):
            return await load_checkout(ctx, order)
        raise
    if isinstance(start, Checkout):
        return start
    order, result = await attempts.charge(ctx, start, base_url)
    if order.completed_at is None:
        raise attempts.build_refusal(result)
    return await load_checkout(ctx, order)


async def complete_uncharged(ctx: Context, order_id: UUID) -> Checkout:
    """Completes an open order in the caller's transaction; its payment needs no provider, such as cash or a check."""
    start = await _start(ctx, None, order_id)
    if not isinstance(start, Checkout):
        raise PaymentInProgress()
    return start


async def find_completed(ctx: Context, order_id: UUID | None = None) -> Order | None:
    """Returns the order completed before with these credentials: by its token while that is valid, by the bearer alone
    for ten minutes. A repeated request never completes another cart of the same user.
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
        completion = await carts.find_completed(ctx.db, claim, user_id, age)
        if completion and not completion.is_shown:
            raise NotFound()
        if completion:
            return completion.order
    return await carts.find_recently_completed(ctx.db, user_id) if user_id else None


async def _start(ctx: Context, consent: str | None, order_id: UUID | None) -> Checkout | PendingCharge:
    """Returns the completed order, or the charge that completes it."""
    checkout = await lock_open_checkout(ctx, order_id, may_be_paid=True)
    # Before the checkout is built anew, as with current quotes, which does not read it.
    is_blocked = checkout.is_blocked
    await require_owner_to_pay(ctx, checkout.order)
    if any(payment.state == "processing" for payment in checkout.payments):
        return await attempts.resume_attempt(ctx, checkout)
    await refuse_while_paying(ctx, checkout.order)
    # Release the reservation and reserve the stock again below; no other cart can take it in between.
    checkout = await release_items(ctx, checkout)
    was_quoted, before = bool(checkout.shipments), checkout.order
    variant_quotes, line_differences = await _quote_lines(ctx, checkout)
    if line_differences:
        checkout = await _with_current_quotes(ctx, checkout, variant_quotes)
    checkout, error = await _confirm(ctx, checkout)
    if error:
        # Report a changed total before any missing requirement.
        _check_consent(ctx, checkout.order, _describe_changes(before, checkout.order, line_differences), consent)
        raise error
    checkout, quantities = await allocate_stock(ctx, checkout, variant_quotes)
    tax_rates = await list_tax_rates(ctx, checkout)
    checkout = await recalculate_with_uses(ctx, checkout, tax_rates)
    checkout, counted_on, credit = await store_credit.cap_to_balance(ctx, checkout)
    changes = _describe_changes(before, checkout.order, line_differences)
    if credit < counted_on:
        changes.append({"code": "store_credit_changed", **_amounts(checkout.order, counted_on, credit)})
    if was_quoted and before.total != checkout.order.total:
        changes.append({"code": "total_changed", **_amounts(checkout.order, before.total, checkout.order.total)})
    _check_consent(ctx, checkout.order, changes, consent)
    if missing_requirements := requirements(checkout):
        raise build_missing_error(missing_requirements)
    # Last, so that nothing short of a whole checkout learns it. The error does not say that an account is blocked: a
    # stranger who enters an address learns nothing about its owner.
    if is_blocked:
        raise Invalid({"base": [NOT_PLACED]}, NOT_PLACED)
    product_ids = [quote.product_id for quote in variant_quotes.values()]
    return await _pay(ctx, checkout, tax_rates, quantities, product_ids)


async def _confirm(ctx: Context, checkout: Checkout) -> tuple[Checkout, Invalid | None]:
    """Moves to the last step, whose state the caller saves; returns the error that prevents it."""
    checkout, error = await advance_to(ctx, checkout, upto="payment", saves_state=False)
    if error is None and (missing_requirements := requirements(checkout)):
        error = build_missing_error(missing_requirements)
    order = checkout.order if error else msgspec.structs.replace(checkout.order, state="confirm")
    return msgspec.structs.replace(checkout, order=order), error


async def _quote_lines(ctx: Context, checkout: Checkout) -> tuple[Mapping[UUID, Quote], Sequence[Difference]]:
    """Returns the current quote of each variant and how the lines differ from it; raises if a line is sold out."""
    variant_quotes = await get_quotes(ctx, checkout)
    line_differences = find_differences(checkout.lines, variant_quotes)
    if sold_out := [each for each in line_differences if each.code == "stock_lost" and each.now == 0]:
        raise Invalid({"line_items": [each.name for each in sold_out]}, OUT_OF_STOCK, code="out_of_stock")
    return variant_quotes, line_differences


async def _with_current_quotes(ctx: Context, checkout: Checkout, variant_quotes: Mapping[UUID, Quote]) -> Checkout:
    """Saves the available lines at current prices; keeps the selected shipping rates and payments."""
    locked_cart = LockedCart(checkout.order, checkout.lines, await get_pricing(ctx, checkout.order))
    cart = await locked_carts.save_lines(
        ctx, locked_cart, requote_available_lines(checkout.lines, variant_quotes, datetime.now(UTC)), variant_quotes
    )
    return Checkout(cart.order, cart.lines, (), (), checkout.rates, checkout.payments)


def _describe_changes(before: Order, now: Order, line_differences: Sequence[Difference]) -> list[Mapping[str, object]]:
    return [*_line_changes(now, line_differences), *_lost_promotions(before, now)]


def _line_changes(order: Order, line_differences: Sequence[Difference]) -> list[Mapping[str, object]]:
    """Returns the changes to each line since it was quoted."""
    return [
        {
            "code": each.code,
            "line_item_id": each.line_item_id,
            **(_amounts(order, each.was, each.now) if each.is_amount else {"was": each.was, "now": each.now}),
        }
        for each in line_differences
    ]


def _lost_promotions(before: Order, now: Order) -> list[Mapping[str, object]]:
    """Returns the promotions whose discount is smaller than the shopper was shown."""
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


def _check_consent(ctx: Context, order: Order, changes: Sequence[Mapping[str, object]], consent: str | None) -> None:
    if not changes:
        return
    keys = ctx.shared.keys
    message = order.id.bytes + msgspec.json.encode(changes)
    token = f"shpco_{keys.mac(keys.current, _CONSENT, message).hex()}"
    if consent is None or not consent.isascii() or not hmac.compare_digest(token, consent):
        raise TotalMismatch(changes, token)


async def _pay(
    ctx: Context,
    checkout: Checkout,
    tax_rates: Sequence[Rate],
    quantities: Mapping[UUID, int],
    product_ids: Sequence[UUID],
) -> Checkout | PendingCharge:
    order = checkout.order
    valid_payments = [
        payment for payment in checkout.payments if is_valid(build_payment_amounts(payment)) and not is_credit(payment)
    ]
    open_payments = [payment for payment in valid_payments if payment.state == "checkout"]
    checkout, credit = await store_credit.spend_credit(ctx, checkout)
    due = order.total - credit
    if (
        due
        <= sum_covered_amount(
            [build_payment_amounts(payment) for payment in valid_payments if payment.state != "checkout"]
        )
        or not open_payments
    ):
        await queries.invalidate_open(ctx.db, order.id)
        payments = await queries.list_payments(ctx.db, order.id)
    else:
        payment = open_payments[-1]
        methods = await ctx.read_setup(queries.list_methods_of, (payment.payment_method_id,))
        method = methods[payment.payment_method_id]
        act: Act = "purchase" if method.auto_capture else "authorise"
        if ctx.providers[method.type].needs_source:
            await reserve_stock(ctx, order, quantities, product_ids)
            order = await change_order(ctx, order, state="confirm")
            return PendingCharge(
                order, await attempts.begin_attempt(ctx, order, payment, method, act, due), method.type
            )
        await take_stock(ctx, order, quantities, product_ids)
        return await finalize_order(ctx, checkout, tax_rates, Acceptance(payment, act, due))
    await take_stock(ctx, order, quantities, product_ids)
    return await finalize_order(ctx, msgspec.structs.replace(checkout, payments=payments), tax_rates)
