"""What operators do with an order that was bought: send it, take and give back money, call it off."""

from collections.abc import Awaitable, Callable
from decimal import Decimal
from typing import Any
from uuid import UUID

from shop.actions.context import Context
from shop.actions.orders import operations, resumption
from shop.actions.orders import pages as order_pages
from shop.actions.orders.pages import Paying
from shop.admin.fields import Fields, id_of
from shop.admin.orders.orders import LABELS, address_of, order_page
from shop.admin.pages import Visit, page, redirect
from shop.admin.session import Page
from shop.base.errors import Conflict, Invalid
from shop.base.money import minor_units
from shop.models.cart.orders import Order
from shop.rules.form_values import amount_text
from shop.web.reply import Reply
from shop.web.request import Request

Act = Callable[[Context, UUID], Awaitable[None]]
LONGEST_REASON = 255
_REFUND_LABELS = {"amount": "Amount", "reason": "Reason", "base": "The refund"}


def of_order(act: Act, done: str) -> Page:
    """An act on the order itself."""

    async def answer(request: Request, ctx: Context, visit: Visit) -> Reply:
        order = await _order(request, ctx)
        return await _done(ctx, visit, order, act(ctx, order.id), done)

    return answer


def of_shipment(event: str, done: str) -> Page:
    async def answer(request: Request, ctx: Context, visit: Visit) -> Reply:
        order, shipment_id, fields = await _order(request, ctx), id_of(request, "shipment_id"), Fields(request)
        await order_pages.check_shipment(ctx, order, shipment_id)
        tracking = fields.line("tracking", most=LONGEST_REASON) or None
        typed = {"tracking": {shipment_id: fields.typed.get("tracking", "")}}
        if fields.errors:
            return await order_page(ctx, visit, order, 422, errors=fields.errors, **typed)
        moving = operations.move_shipment(ctx, shipment_id, event, tracking=tracking)
        return await _done(ctx, visit, order, moving, done, **typed)

    return answer


def of_payment(act: Act, done: str) -> Page:
    async def answer(request: Request, ctx: Context, visit: Visit) -> Reply:
        order, paying = await _paying(request, ctx)
        return await _done(ctx, visit, order, act(ctx, paying.payment.id), done)

    return answer


approve = of_order(operations.approve, "approved")
cancel = of_order(operations.cancel, "canceled")
resume = of_order(resumption.resume, "resumed")
ready = of_shipment("ready", "ready")
ship = of_shipment("ship", "shipped")
capture = of_payment(operations.capture, "captured")
void = of_payment(operations.void, "voided")


async def show_cancel(request: Request, ctx: Context, visit: Visit) -> Reply:
    order = await _order(request, ctx)
    return page(
        "sure.html",
        visit,
        question=f"Cancel order {order.number}?",
        sentence="Nothing of it is sent, its goods go back into stock, and what was paid is given back.",
        action=f"{address_of(order)}/cancel",
        button="Cancel the order",
        back=address_of(order),
        back_name=f"Order {order.number}",
    )


async def show_void(request: Request, ctx: Context, visit: Visit) -> Reply:
    order, paying = await _paying(request, ctx)
    return page(
        "sure.html",
        visit,
        question=f"Void payment {paying.payment.number}?",
        sentence="The provider is told to undo it: what was authorised is let go, and what was taken is given back.",
        action=f"{address_of(order)}/payments/{paying.payment.id}/void",
        button="Void the payment",
        back=address_of(order),
        back_name=f"Order {order.number}",
    )


async def show_refund(request: Request, ctx: Context, visit: Visit) -> Reply:
    order, paying = await _paying(request, ctx)
    return _refund_page(visit, order, paying, {"amount": amount_text(paying.left, order.currency), "reason": ""})


async def refund(request: Request, ctx: Context, visit: Visit) -> Reply:
    (order, paying), fields = await _paying(request, ctx), Fields(request)
    typed = {name: fields.typed.get(name, "") for name in ("amount", "reason")}
    try:
        amount = fields.amount("amount", order.currency, required=True)
        reason = fields.line("reason", most=LONGEST_REASON, required=True)
        fields.check()
        await operations.refund(ctx, paying.payment.id, minor_units(amount or Decimal(0), order.currency), reason)
    except Invalid as wrong:
        return _refund_page(visit, order, paying, typed, 422, wrong.errors)
    except Conflict as meanwhile:
        return _refund_page(visit, order, paying, typed, 409, {"base": [meanwhile.sentence]})
    return redirect(f"{address_of(order)}?done=refunded")


def _refund_page(
    visit: Visit, order: Order, paying: Paying, values: dict[str, str], status: int = 200, errors: Any = None
) -> Reply:
    shown = {"order": order, "paying": paying, "here": address_of(order), "labels": _REFUND_LABELS}
    return page("order_refund.html", visit, status, **shown, values=values, errors=errors or {})


async def _done(ctx: Context, visit: Visit, order: Order, doing: Awaitable[None], done: str, **typed: Any) -> Reply:
    """Back to the order; what could not be done is told on its page as it is now."""
    try:
        await doing
    except (Invalid, Conflict) as wrong:
        errors = wrong.errors if isinstance(wrong, Invalid) else {"base": [wrong.sentence]}
        now = await order_pages.get_order(ctx, order.number)
        known = {name if name in LABELS else "base": told for name, told in errors.items()}
        return await order_page(ctx, visit, now, wrong.status, errors=known, **typed)
    return redirect(f"{address_of(order)}?done={done}")


async def _order(request: Request, ctx: Context) -> Order:
    return await order_pages.get_order(ctx, request.path_params["number"])


async def _paying(request: Request, ctx: Context) -> tuple[Order, Paying]:
    order = await _order(request, ctx)
    return order, await order_pages.get_paying(ctx, order, id_of(request, "payment_id"))
