"""The pages that refund an order by line item, and that cancel items which were not shipped."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any
from uuid import UUID

from shop.actions.context import Context
from shop.actions.documents.invoices import load_documents
from shop.actions.order_edits import refunds
from shop.actions.order_edits.refunds import LineRefundInput, RefundableOrder, RefundConflict, RefundPlan
from shop.actions.orders.operations import check_refund, load_refund_limits
from shop.actions.orders.pages import get_order
from shop.admin.fields import Fields
from shop.admin.order_edits.quantities import list_submitted, read_quantities, read_reason
from shop.admin.orders.orders import address_of
from shop.admin.pages import PageContext, page, redirect
from shop.base.errors import Conflict, Invalid
from shop.base.ids import as_uuid
from shop.base.money import major_units, minor_units
from shop.models.cart.orders import Order
from shop.queries.order_edits.approvals import find_open_request
from shop.rules.form_values import amount_text
from shop.rules.order_edits.refunds import MAX_REASON_LENGTH, REASONS
from shop.web.input.request import Request
from shop.web.reply import Reply

LABELS = {
    "base": "The refund",
    "quantity": "Quantity",
    "shipping": "Refund of shipping",
    "other": "Other amount",
    "reason": "Reason",
    "reason_text": "Explanation",
    "destination": "Destination",
}
_DESTINATIONS = {"payment": "The way it was paid", "store_credit": "Store credit of the customer"}


async def show(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    """Shows the form; what the shop owes the customer is filled in."""
    order = await get_order(ctx, request.path_params["number"])
    refundable = await refunds.load_refundable(ctx, order)
    if not refundable.amount:
        raise Conflict("Nothing of this order can be refunded: no payment was captured, or all were refunded.")
    owed_amount = min(max(-refundable.checkout.balance.amount_due, 0), refundable.amount)
    owed_amount = (await load_refund_limits(ctx)).cap_amount(owed_amount, order.currency, is_approved=True)
    other = amount_text(owed_amount, order.currency) if owed_amount else ""
    values = {"shipping": "", "other": other, "reason": "returned", "reason_text": "", "destination": "payment"}
    return await _form_page(ctx, page_context, refundable, values)


async def refund(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    order, fields = await get_order(ctx, request.path_params["number"]), Fields(request)
    refundable = await refunds.load_refundable(ctx, order)
    values = _submitted_values(fields)
    try:
        refund_input = _read_input(fields, order)
        fields.check()
        if fields.texts.get("do") == "refund":
            is_made = await refunds.refund_order(ctx, order.id, refund_input, fields.texts.get("previewed", ""))
            return redirect(f"{address_of(order)}?done={'refunded' if is_made else 'refund-requested'}")
        plan = refunds.plan_refund(refundable, refund_input)
        check_refund(await load_refund_limits(ctx), order, plan.amount, is_approved=True)
    except RefundConflict as conflict:
        more: dict[str, Any] = {"conflict": conflict.sentence, "plan": conflict.plan}
        return await _form_page(ctx, page_context, await refunds.load_refundable(ctx, order), values, 409, **more)
    except (Invalid, Conflict) as error:
        errors = error.errors if isinstance(error, Invalid) else {"base": [error.sentence]}
        now = await refunds.load_refundable(ctx, order)
        return await _form_page(ctx, page_context, now, values, error.status, errors=errors)
    return await _form_page(ctx, page_context, refundable, values, plan=plan)


def _read_input(fields: Fields, order: Order) -> LineRefundInput:
    amounts = {name: fields.amount(name, order.currency) or Decimal(0) for name in ("shipping", "other")}
    minor = {}
    for name, amount in amounts.items():
        if amount < 0:
            fields.refuse(name, "must not be negative")
        minor[name] = minor_units(abs(amount), order.currency) if not fields.errors.get(name) else 0
    restocked_ids = frozenset(record_id for key in fields.group("restock") if (record_id := as_uuid(key)))
    quantities = read_quantities(fields, "quantity")
    # Without an account, the form has no choice.
    has_choice = fields.texts.get("destination", "") != ""
    is_to_credit = has_choice and fields.choice("destination", _DESTINATIONS) == "store_credit"
    reason = read_reason(fields)
    return LineRefundInput(quantities, restocked_ids, minor["shipping"], minor["other"], reason, is_to_credit)


def _submitted_values(fields: Fields) -> dict[str, str]:
    names = ("shipping", "other", "reason", "reason_text", "destination")
    values = {name: fields.texts.get(name, "") for name in names}
    return values | list_submitted(fields, "quantity", "restock")


async def _form_page(
    ctx: Context,
    page_context: PageContext,
    refundable: RefundableOrder,
    values: Mapping[str, str],
    status: int = 200,
    *,
    plan: RefundPlan | None = None,
    errors: Mapping[str, Sequence[str]] | None = None,
    **more: Any,
) -> Reply:
    order = refundable.checkout.order
    restocked_ids: set[UUID | None] = {as_uuid(name[8:-1]) for name in values if name.startswith("restock[")}
    return page(
        "order_edits/refund.html",
        page_context,
        status,
        order=order,
        here=address_of(order),
        refundable=refundable,
        values=values,
        restocked_ids=restocked_ids,
        plan=plan,
        open_request=await find_open_request(ctx.db, order.id),
        is_request=plan is not None
        and (await load_refund_limits(ctx)).needs_approval(major_units(plan.amount, order.currency)),
        reasons=REASONS,
        max_reason_length=MAX_REASON_LENGTH,
        has_invoice=(await load_documents(ctx, order)).invoice is not None,
        labels=LABELS,
        destinations=_DESTINATIONS,
        errors={name if name in LABELS else "base": sentences for name, sentences in (errors or {}).items()},
        **{"conflict": None, **more},
    )
