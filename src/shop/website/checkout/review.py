"""The last step: review, payment, confirmation of the payment, and consent to changes."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from uuid import UUID

import msgspec

from shop.actions.cart.access import select_own_cart
from shop.actions.cart.orders import Checkout, is_credit
from shop.actions.checkout import views
from shop.actions.context import Context
from shop.actions.orders import status
from shop.actions.payments import completion
from shop.base.errors import (
    ExpiredLink,
    Invalid,
    NotFound,
    PaymentNeedsAction,
    ShopError,
    TotalMismatch,
    Unauthenticated,
)
from shop.base.ids import as_uuid
from shop.base.money import money_text
from shop.models.cart.orders import Order
from shop.rules.customers.addresses import address_lines
from shop.web.input.request import Request
from shop.web.reply import Reply
from shop.website.checkout.cart import render_cart
from shop.website.checkout.differences import describe_differences, find_new_total
from shop.website.checkout.payment import continue_payment, render_payment
from shop.website.checkout.progress import (
    CART,
    COMPLETE,
    PAYMENT,
    RETURN,
    REVIEW,
    STEPS,
    find_cart,
    find_checkout,
    find_earlier_step,
    join_sentences,
    path_for_error,
)
from shop.website.checkout.summary import build_sums, load_rows
from shop.website.layout import show_page
from shop.website.pages import notice_of, redirect
from shop.website.visits import ORDER_COOKIE, Visit, plain_fields

CHECK_SECONDS = 4
"""How often the page of a pending payment checks its outcome."""
_NOTICES = {"changed": "Your cart has changed since you saw it. Please check the new total."}


async def show(request: Request, ctx: Context, visit: Visit) -> Reply:
    checkout = await find_checkout(ctx)
    if checkout is None:
        return redirect(CART)
    earlier = find_earlier_step(checkout, "review")
    if earlier:
        return redirect(earlier)
    return await _render_review(request, ctx, visit, checkout, notice=notice_of(request, _NOTICES))


async def complete(request: Request, ctx: Context, visit: Visit) -> Reply:
    """Pays and completes the order that the shopper saw. Sent twice, it completes one order."""
    fields = plain_fields(request)
    cart_id = as_uuid(fields.get("cart"))
    if visit.user is not None and cart_id is not None:
        # Without it, the action could not tell a second order of this user from a repeated request.
        select_own_cart(ctx, cart_id)
    order = await find_cart(ctx)
    if order is not None and (order.id != cart_id or str(order.total) != fields.get("total")):
        earlier_order = await _find_completed_order(ctx, visit, cart_id) if cart_id else None
        return show_completed(ctx, visit, earlier_order) if earlier_order else redirect(f"{REVIEW}?done=changed")
    base_url = request.origin(ctx.shared.settings.public_url)
    try:
        checkout = await completion.complete(ctx, fields.get("consent_token") or None, base_url=base_url)
    except ShopError as error:
        return await _answer_error(request, ctx, visit, error, cart_id)
    return show_completed(ctx, visit, checkout.order)


async def _answer_error(request: Request, ctx: Context, visit: Visit, error: ShopError, cart_id: UUID | None) -> Reply:
    """Asks the shopper for what completion needs; raises an error that the shopper cannot solve."""
    match error:
        case TotalMismatch():
            return await _ask_for_consent(request, ctx, visit, error)
        case PaymentNeedsAction():
            return await _continue_payment(request, ctx, visit, error)
        case Invalid():
            return await _show_problem(request, ctx, visit, error)
        case NotFound() | Unauthenticated():
            # The form was sent before, and the cart is an order now.
            earlier_order = await _find_completed_order(ctx, visit, cart_id) if cart_id else None
            if earlier_order is not None:
                return show_completed(ctx, visit, earlier_order)
    raise error


async def show_return(request: Request, ctx: Context, visit: Visit) -> Reply:
    """The page after a confirmation at the bank, and while a payment is processing. It only reads; its form completes
    the order.
    """
    checkout = await find_checkout(ctx)
    if checkout is None:
        order = await _find_completed_order(ctx, visit, None)
        return show_completed(ctx, visit, order) if order else redirect(CART)
    if all(payment.state != "processing" for payment in checkout.payments):
        return redirect(f"{PAYMENT}?done=declined")
    return await show_processing(request, ctx, visit, checkout.order, action=COMPLETE, title="Finish your order")


async def show_processing(
    request: Request, ctx: Context, visit: Visit, order: Order, *, action: str, title: str
) -> Reply:
    """Shows a page whose form asks for the outcome of a payment. From the bank, the form is sent at once; while the
    provider has not answered, the page waits.
    """
    is_back = "confirmed" in request.query
    page: dict[str, Any] = {"title": title, "order": order, "is_back": is_back, "action": action}
    reply = await show_page(ctx, request, visit, "checkout/return.html", **page)
    refresh = () if is_back else ((b"refresh", str(CHECK_SECONDS).encode()),)
    return msgspec.structs.replace(reply, headers=(*reply.headers, *refresh))


def show_completed(ctx: Context, visit: Visit, order: Order) -> Reply:
    """Ends the cart and opens the status page of the order."""
    visit.forget_cart()
    visit.save_order_link(status.build_link(ctx.shared, order), ctx.shared.settings.order_status_ttl)
    return redirect(f"/orders/{order.number}?done=completed")


async def _find_completed_order(ctx: Context, visit: Visit, cart_id: UUID | None) -> Order | None:
    """Returns the order that the cart became, or the last one if `cart_id` is None: by the credentials of the request,
    or by the link that an earlier response set.
    """
    with suppress(NotFound):
        order = await completion.find_completed(ctx)
        if order is not None and cart_id in (None, order.id):
            return order
    with suppress(ExpiredLink):
        order = await status.open_link(ctx, visit.cookies.get(ORDER_COOKIE, ""))
        if cart_id in (None, order.id):
            return order
    return None


async def _ask_for_consent(request: Request, ctx: Context, visit: Visit, error: TotalMismatch) -> Reply:
    checkout = await find_checkout(ctx)
    if checkout is None:
        return redirect(CART)
    order = checkout.order
    money = money_text(order.currency, ctx.shared.shop.default_locale)
    return await _render_review(
        request,
        ctx,
        visit,
        checkout,
        error.status,
        differences=describe_differences(order, checkout.lines, error.differences, money),
        new_total=find_new_total(order, error.differences),
        consent_token=error.consent_token,
    )


async def _continue_payment(request: Request, ctx: Context, visit: Visit, error: PaymentNeedsAction) -> Reply:
    order = await find_cart(ctx)
    if order is None:
        return redirect(CART)
    return await continue_payment(request, ctx, visit, error, order, action=COMPLETE, back=RETURN)


async def _show_problem(request: Request, ctx: Context, visit: Visit, error: Invalid) -> Reply:
    """Shows the page where the shopper can solve the problem."""
    if error.code == "out_of_stock":
        names = [name for name in error.errors.get("line_items", ()) if not name.endswith(".")]
        sentences = [f"{name} is sold out. Remove it to continue." for name in names]
        return await render_cart(request, ctx, visit, 422, problem=" ".join(sentences) or error.sentence)
    checkout = await find_checkout(ctx)
    if checkout is None:
        return redirect(CART)
    if error.code in {"payment_refused", "payment_missing"}:
        return await render_payment(request, ctx, visit, checkout, 422, errors={"payments": error.errors["payments"]})
    path = path_for_error(error, REVIEW) or find_earlier_step(checkout, "review")
    if path:
        return redirect(path)
    problem = join_sentences([text for texts in error.errors.values() for text in texts])
    return await _render_review(request, ctx, visit, checkout, 422, problem=problem)


async def _render_review(
    request: Request, ctx: Context, visit: Visit, checkout: Checkout, status_code: int = 200, **values: Any
) -> Reply:
    order = checkout.order
    page: dict[str, Any] = {
        "title": "Review your order",
        "steps": STEPS,
        "order": order,
        "rows": await load_rows(ctx, order, checkout.lines),
        "sums": build_sums(order),
        "addresses": await _load_addresses(ctx, order),
        "rates": [rate for rate in checkout.rates if rate.is_selected],
        "payment": await _describe_payment(ctx, checkout),
        "differences": (),
        "new_total": order.total,
        "consent_token": "",
        "problem": None,
        **values,
    }
    return await show_page(ctx, request, visit, "checkout/review.html", status_code, **page)


async def _load_addresses(ctx: Context, order: Order) -> Mapping[str, list[str]]:
    """Returns the lines of the shipping and the billing address."""
    ids = {"ship": order.ship_address_id, "bill": order.bill_address_id}
    addresses = await views.find_addresses(ctx, [address_id for address_id in ids.values() if address_id])
    return {
        side: address_lines(msgspec.structs.asdict(addresses[address_id]))
        for side, address_id in ids.items()
        if address_id and address_id in addresses
    }


async def _describe_payment(ctx: Context, checkout: Checkout) -> str | None:
    """Returns the chosen payment method with the card's last digits; None if store credit covers everything."""
    payments = [each for each in checkout.payments if each.state == "checkout" and not is_credit(each)]
    if not payments:
        return None
    payment = payments[-1]
    methods = await views.list_methods_of(ctx, [payment.payment_method_id])
    sources = await views.list_sources_of(ctx, [payment.source_id]) if payment.source_id else {}
    source = sources.get(payment.source_id) if payment.source_id else None
    name = methods[payment.payment_method_id].name
    return f"{name}, ending in {source.last_digits}" if source and source.last_digits else name
