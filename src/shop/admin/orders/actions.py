"""Form handlers for completed orders: approve, ship, capture, void, refund and resume."""

from collections.abc import Awaitable, Callable
from decimal import Decimal
from typing import Any
from uuid import UUID

from shop.actions.context import Context
from shop.actions.orders import operations, resumption
from shop.actions.orders import pages as order_pages
from shop.actions.orders.pages import PaymentView
from shop.admin.fields import Fields, id_of
from shop.admin.orders.orders import LABELS, address_of, order_page
from shop.admin.pages import PageContext, confirmation_page, page, redirect
from shop.admin.session import Page
from shop.base.errors import Conflict, Invalid
from shop.base.money import minor_units
from shop.models.cart.orders import Order
from shop.rules.form_values import amount_text
from shop.web.input.request import Request
from shop.web.reply import Reply

Act = Callable[[Context, UUID], Awaitable[None]]
MAX_REASON_LENGTH = 255
MAX_AMOUNT_DIGITS = 18
_REFUND_LABELS = {"amount": "Amount", "reason": "Reason", "base": "The refund"}


def build_order_handler(act: Act, notice: str) -> Page:
    """Returns the handler of an action on the order itself."""

    async def answer(request: Request, ctx: Context, page_context: PageContext) -> Reply:
        order = await _order(request, ctx)
        return await _run_action(ctx, page_context, order, act(ctx, order.id), notice)

    return answer


def build_shipment_handler(event: str, notice: str) -> Page:
    async def answer(request: Request, ctx: Context, page_context: PageContext) -> Reply:
        order, shipment_id, fields = await _order(request, ctx), id_of(request, "shipment_id"), Fields(request)
        await order_pages.check_shipment(ctx, order, shipment_id)
        tracking = fields.line("tracking", most=MAX_REASON_LENGTH) or None
        page_values = {"tracking": {shipment_id: fields.texts.get("tracking", "")}}
        if fields.errors:
            return await order_page(ctx, page_context, order, 422, errors=fields.errors, **page_values)
        moving = operations.move_shipment(ctx, shipment_id, event, tracking=tracking)
        return await _run_action(ctx, page_context, order, moving, notice, **page_values)

    return answer


def build_payment_handler(act: Act, notice: str) -> Page:
    async def answer(request: Request, ctx: Context, page_context: PageContext) -> Reply:
        order, payment_view = await _get_payment(request, ctx)
        return await _run_action(ctx, page_context, order, act(ctx, payment_view.payment.id), notice)

    return answer


approve = build_order_handler(operations.approve, "approved")
resume = build_order_handler(resumption.resume, "resumed")
ready = build_shipment_handler("ready", "ready")
ship = build_shipment_handler("ship", "shipped")
capture = build_payment_handler(operations.capture, "captured")
void = build_payment_handler(operations.void, "voided")


async def show_resume(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    order = await _order(request, ctx)
    return confirmation_page(
        page_context,
        question=f"Resume order {order.number}?",
        sentence="The order will be open again. It will take its items from the stock, use its coupons again, and"
        " expect what was not paid. To undo this, cancel it again.",
        tone="main",
        action=f"{address_of(order)}/resume",
        button="Resume order",
        back=(address_of(order), f"Order {order.number}"),
    )


async def show_void(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    order, payment_view = await _get_payment(request, ctx)
    return confirmation_page(
        page_context,
        question=f"Void payment {payment_view.payment.number}?",
        sentence="The captured amount will be refunded. This cannot be undone."
        if payment_view.payment.captured_amount
        else "The payment will no longer be expected, and an authorized amount will be released. This cannot be"
        " undone.",
        action=f"{address_of(order)}/payments/{payment_view.payment.id}/void",
        button="Void payment",
        back=(address_of(order), f"Order {order.number}"),
    )


async def show_refund(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    order, payment_view = await _get_payment(request, ctx)
    return _refund_page(
        page_context,
        order,
        payment_view,
        {"amount": amount_text(payment_view.refund_amount, order.currency), "reason": ""},
    )


async def refund(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    (order, payment_view), fields = await _get_payment(request, ctx), Fields(request)
    texts = {name: fields.texts.get(name, "") for name in ("amount", "reason")}
    try:
        amount = fields.amount("amount", order.currency, required=True)
        reason = fields.line("reason", most=MAX_REASON_LENGTH, required=True)
        fields.check()
        minor = minor_units(amount or Decimal(0), order.currency)
        displayed_amount = _read_minor(fields.texts.get("seen", ""))
        await operations.refund(ctx, payment_view.payment.id, minor, reason, displayed_amount=displayed_amount)
    except (Invalid, Conflict) as error:
        errors = error.errors if isinstance(error, Invalid) else {"base": [error.sentence]}
        current = await order_pages.get_payment_view(ctx, order, payment_view.payment.id)
        return _refund_page(page_context, order, current, texts, error.status, errors)
    return redirect(f"{address_of(order)}?done=refunded")


def _read_minor(text: str) -> int:
    """Returns the refunded amount that the form showed; another one than any payment has if it is not valid."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= MAX_AMOUNT_DIGITS else -1


def _refund_page(
    page_context: PageContext,
    order: Order,
    payment_view: PaymentView,
    values: dict[str, str],
    status: int = 200,
    errors: Any = None,
) -> Reply:
    context = {"order": order, "payment_view": payment_view, "here": address_of(order), "labels": _REFUND_LABELS}
    return page("orders/order_refund.html", page_context, status, **context, values=values, errors=errors or {})


async def _run_action(
    ctx: Context, page_context: PageContext, order: Order, action: Awaitable[None], notice: str, **page_values: Any
) -> Reply:
    """Runs the action and redirects to the order; renders its current page with the errors if the action fails."""
    try:
        await action
    except (Invalid, Conflict) as error:
        errors = error.errors if isinstance(error, Invalid) else {"base": [error.sentence]}
        now = await order_pages.get_order(ctx, order.number)
        page_errors = {name if name in LABELS else "base": sentences for name, sentences in errors.items()}
        return await order_page(ctx, page_context, now, error.status, errors=page_errors, **page_values)
    return redirect(f"{address_of(order)}?done={notice}")


async def _order(request: Request, ctx: Context) -> Order:
    return await order_pages.get_order(ctx, request.path_params["number"])


async def _get_payment(request: Request, ctx: Context) -> tuple[Order, PaymentView]:
    order = await _order(request, ctx)
    return order, await order_pages.get_payment_view(ctx, order, id_of(request, "payment_id"))
