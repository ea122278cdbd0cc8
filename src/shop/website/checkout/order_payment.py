"""The payment page of a completed order: for its owner, and for the holder of a payment link."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import msgspec

from shop.actions.context import Context
from shop.actions.orders import status
from shop.actions.orders.status import OrderStatus
from shop.actions.payments import balance
from shop.actions.payments.balance import DisplayedBalance
from shop.base.errors import (
    ExpiredLink,
    Invalid,
    NotCartOwner,
    NotFound,
    PaymentInProgress,
    PaymentNeedsAction,
    ShopError,
)
from shop.models.cart.orders import Order
from shop.web.input.request import Request
from shop.web.reply import Reply
from shop.website.account.access import ask_to_sign_in, has_lost_session
from shop.website.checkout.orders import show_missing
from shop.website.checkout.payment import (
    CHOOSE,
    LABELS,
    STRIPE_POLICY,
    TEST_CARDS,
    PaymentChoices,
    continue_payment,
    find_only_choice,
    list_sentences,
    load_choices,
    read_choice,
)
from shop.website.checkout.review import show_processing
from shop.website.checkout.summary import build_sums, load_rows
from shop.website.layout import render_page
from shop.website.pages import PAGE_POLICY, html_page, redirect
from shop.website.visits import ORDER_COOKIE, PAYMENT_COOKIE, Visit, plain_fields

_PAID = "Thank you. We received your payment."
_AWAITED = "Thank you. We will wait for your payment."
_DECLINED = "The payment did not succeed, and nothing was charged. Please choose how to pay."
_BUSY = "Another payment of this order is being recorded, and nothing was charged. Please try again in a moment."
_CONTACT_US = "This order cannot be paid here. Please contact us."


async def open_link(request: Request, ctx: Context, visit: Visit) -> Reply:
    """Moves the token of a link into a cookie, and opens the payment page at an address without it."""
    link_token = request.path_params["token"]
    try:
        order = await status.open_link(ctx, link_token, "payment")
    except ExpiredLink as error:
        return await show_missing(request, ctx, visit, error)
    visit.save_payment_link(link_token, ctx.shared.settings.order_status_ttl)
    return redirect(_path(order.number))


async def show(request: Request, ctx: Context, visit: Visit) -> Reply:
    try:
        page = await _get_page(request, ctx, visit)
    except (NotFound, ExpiredLink) as error:
        return await show_missing(request, ctx, visit, error)
    if page.is_processing:
        action, title = _path(page.order.number), "Finish your payment"
        return await show_processing(request, ctx, visit, page.order, action=action, title=title)
    return await _render(request, ctx, visit, page, notice=_find_notice(request, page))


async def pay(request: Request, ctx: Context, visit: Visit) -> Reply:
    """Pays the amount that the shopper saw, once. Also asks for the outcome of a payment in progress."""
    try:
        page = await _get_page(request, ctx, visit)
    except (NotFound, ExpiredLink) as error:
        was_signed_in = visit.user is None and "signed_in" in plain_fields(request)
        if was_signed_in or has_lost_session(request, visit):
            return await ask_to_sign_in(request, ctx, visit)
        return await show_missing(request, ctx, visit, error)
    try:
        await _pay(request, ctx, page.order)
    except ShopError as error:
        return await _answer_error(request, ctx, visit, page.order, error)
    return redirect(f"{_path(page.order.number)}?done=payment")


async def _pay(request: Request, ctx: Context, order: Order) -> None:
    fields = plain_fields(request)
    choice = await read_choice(ctx, fields)
    if choice is None and "amount" in fields:
        raise Invalid({"method": [CHOOSE]})
    base_url = request.origin(ctx.shared.settings.public_url)
    await balance.pay_balance(ctx, order.id, choice, _read_displayed(fields), base_url=base_url)


async def _answer_error(request: Request, ctx: Context, visit: Visit, order: Order, error: ShopError) -> Reply:
    """Asks the shopper for what the payment needs; raises an error that the shopper cannot solve."""
    path = _path(order.number)
    match error:
        case PaymentInProgress():
            return await _wait(request, ctx, visit)
        case PaymentNeedsAction():
            return await continue_payment(request, ctx, visit, error, order, action=path, back=path)
        case NotCartOwner():
            return await ask_to_sign_in(request, ctx, visit)
        case Invalid():
            return await _show_errors(request, ctx, visit, error)
    raise error


async def _wait(request: Request, ctx: Context, visit: Visit) -> Reply:
    """Shows that the payment is processing, or else that an operator is recording a payment."""
    page = await _get_page(request, ctx, visit)
    if page.is_processing or not page.amount_to_pay:
        return redirect(_path(page.order.number))
    return await _render(request, ctx, visit, page, 409, errors={"payments": [_BUSY]})


def _path(number: str) -> str:
    return f"/orders/{number}/payment"


async def _get_page(request: Request, ctx: Context, visit: Visit) -> OrderStatus:
    return await status.get_status(ctx, request.path_params["number"], visit.cookies.get(PAYMENT_COOKIE), "payment")


def _read_displayed(fields: Mapping[str, str]) -> DisplayedBalance:
    """Reads what the page showed; anything else matches no balance."""
    amount, count = fields.get("amount", ""), fields.get("payments", "")
    is_valid = all(text.isascii() and text.isdigit() and len(text) < 19 for text in (amount, count))
    return DisplayedBalance(int(amount), int(count)) if is_valid else DisplayedBalance(-1, -1)


def _find_notice(request: Request, page: OrderStatus) -> str | None:
    """Returns the notice after a payment. The balance says whether the payment succeeded, not the URL."""
    if page.amount_to_pay and "confirmed" in request.query:
        return _DECLINED
    if request.query.get("done") != "payment" or page.order.canceled_at is not None:
        return None
    if not page.amount_to_pay:
        return _PAID
    return _AWAITED if any(each.is_awaited for each in page.payments) else None


async def _show_errors(request: Request, ctx: Context, visit: Visit, error: Invalid) -> Reply:
    """Shows the page with its current amount, or that another request is paying."""
    page = await _get_page(request, ctx, visit)
    if page.is_processing:
        return redirect(_path(page.order.number))
    if error.code in {"balance_changed", "payment_refused"}:
        sentences = [text for texts in error.errors.values() for text in texts]
    elif "base" in error.errors:
        sentences = [_CONTACT_US]
    else:
        sentences = list_sentences(error)
    choice = plain_fields(request).get("method", "")
    return await _render(request, ctx, visit, page, 422, errors={"method": sentences}, choice=choice)


async def _render(
    request: Request, ctx: Context, visit: Visit, page: OrderStatus, status_code: int = 200, **values: Any
) -> Reply:
    order = page.order
    choices = _without_awaited(await load_choices(ctx, visit, order), page)
    template_values: dict[str, Any] = {
        "title": f"Pay for order {order.number}" if page.amount_to_pay else f"Order {order.number}",
        "page": page,
        "order": order,
        "rows": await load_rows(ctx, order, page.lines),
        "sums": build_sums(order),
        "choices": choices,
        "choice": "",
        "test_cards": TEST_CARDS,
        "labels": LABELS,
        "is_awaited": any(each.is_awaited for each in page.payments),
        "can_see_status": await _can_see_status(ctx, visit, page),
        **values,
    }
    template_values["choice"] = template_values["choice"] or find_only_choice(choices)
    body = await render_page(ctx, request, "checkout/order_payment.html", user=visit.user, **template_values)
    has_stripe = page.amount_to_pay and choices.stripe_key
    return html_page(request, body, status_code, policy=STRIPE_POLICY if has_stripe else PAGE_POLICY)


def _without_awaited(choices: PaymentChoices, page: OrderStatus) -> PaymentChoices:
    """Leaves out a check or transfer that the order waits for already."""
    awaited_ids = {
        each.method.id for each in page.payments if each.is_awaited and each.payment.amount == page.amount_to_pay
    }
    return msgspec.structs.replace(choices, methods=[each for each in choices.methods if each.id not in awaited_ids])


async def _can_see_status(ctx: Context, visit: Visit, page: OrderStatus) -> bool:
    """Whether the status page opens: for its owner, or with a link of its own."""
    if page.is_owner:
        return True
    with suppress(ExpiredLink):
        return (await status.open_link(ctx, visit.cookies.get(ORDER_COOKIE, ""))).id == page.order.id
    return False
