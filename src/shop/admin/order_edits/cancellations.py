"""The pages that cancel an order, and items of an order which were not shipped."""

from typing import Any
from uuid import UUID

from shop.actions.context import Context
from shop.actions.order_edits import cancellations, edits, refunds
from shop.actions.order_edits import pages as edit_pages
from shop.actions.order_edits.edits import EditConflict
from shop.actions.order_edits.pages import EditableOrder
from shop.actions.orders.pages import get_order
from shop.admin.fields import Fields
from shop.admin.order_edits.quantities import list_submitted, read_quantities, read_reason
from shop.admin.orders.orders import address_of
from shop.admin.pages import PageContext, page, redirect
from shop.base.errors import Conflict, Invalid
from shop.base.ids import as_uuid
from shop.models.cart.orders import Order
from shop.models.order_edits.edits import OrderEdit
from shop.rules.mail_events import ORDER_CANCELED
from shop.rules.order_edits.refunds import MAX_REASON_LENGTH, REASONS
from shop.web.input.request import Request
from shop.web.reply import Reply

LABELS = {"base": "The order", "quantity": "Quantity", "reason": "Reason", "reason_text": "Explanation"}


async def show(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    order = await get_order(ctx, request.path_params["number"])
    if refusal := edits.find_edit_refusal(order):
        raise Conflict(refusal)
    editable = await edit_pages.load_editable(ctx, order)
    return _form_page(page_context, editable, {"reason": "customer", "reason_text": ""})


async def cancel(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    order, fields = await get_order(ctx, request.path_params["number"]), Fields(request)
    editable = await edit_pages.load_editable(ctx, order)
    values = {name: fields.texts.get(name, "") for name in LABELS if name in {"reason", "reason_text"}}
    values |= list_submitted(fields, "cancel", "lost")
    try:
        edit, reason = _read_edit(fields, editable), read_reason(fields)
        fields.check()
        if fields.texts.get("do") == "save":
            result = await edits.save_edit(ctx, order.id, edit, fields.texts.get("previewed", ""), reason=reason)
            is_owed = result.after.balance.amount_due < 0
            return redirect(f"{address_of(order)}{'/refund' if is_owed else ''}?done=items_canceled")
        preview = await edits.preview_edit(ctx, order.id, edit)
    except EditConflict as conflict:
        more: dict[str, Any] = {"conflict": conflict.sentence, "preview": conflict.preview}
        return _form_page(page_context, editable, values, 409, **more)
    except (Invalid, Conflict) as error:
        errors = error.errors if isinstance(error, Invalid) else {"base": [error.sentence]}
        page_errors = {name if name in LABELS else "base": sentences for name, sentences in errors.items()}
        return _form_page(page_context, editable, values, error.status, errors=page_errors)
    return _form_page(page_context, editable, values, preview=preview)


async def show_order(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    order = await get_order(ctx, request.path_params["number"])
    return await _order_page(ctx, page_context, order, {"reason": "customer", "reason_text": ""})


async def cancel_order(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    order, fields = await get_order(ctx, request.path_params["number"]), Fields(request)
    values = {name: fields.texts.get(name, "") for name in ("reason", "reason_text")} | list_submitted(fields, "lost")
    try:
        # A program need not send a reason; the form always does.
        reason = read_reason(fields) if "reason" in fields.texts else ""
        fields.check()
        await cancellations.cancel(ctx, order.id, lost_line_ids=_read_lost(fields), reason=reason)
    except (Invalid, Conflict) as error:
        errors = error.errors if isinstance(error, Invalid) else {"base": [error.sentence]}
        now = await get_order(ctx, order.number)
        return await _order_page(ctx, page_context, now, values, error.status, errors=errors)
    return redirect(f"{address_of(order)}?done=canceled")


async def _order_page(
    ctx: Context, page_context: PageContext, order: Order, values: dict[str, str], status: int = 200, **more: Any
) -> Reply:
    refundable = await refunds.load_refundable(ctx, order)
    return page(
        "order_edits/cancel_order.html",
        page_context,
        status,
        order=order,
        here=address_of(order),
        refundable=refundable,
        is_mailed=bool(order.email) and page_context.shop.mail_settings(ORDER_CANCELED).is_on,
        reasons=REASONS,
        max_reason_length=MAX_REASON_LENGTH,
        labels=LABELS,
        values=values,
        **more,
    )


def _read_lost(fields: Fields) -> frozenset[UUID]:
    """Returns the line items that do not return to the stock."""
    return frozenset(line_id for key in fields.group("lost") if (line_id := as_uuid(key)))


def _read_edit(fields: Fields, editable: EditableOrder) -> OrderEdit:
    """Returns the edit that removes the units to cancel."""
    counts = read_quantities(fields, "cancel")
    if not any(counts.values()) and not fields.errors.get("quantity"):
        fields.refuse("quantity", "Enter how many items to cancel.")
    quantities = {}
    for line in editable.checkout.lines:
        count, most = counts.get(line.id, 0), line.quantity - editable.fixed_counts.get(line.id, 0)
        if count > most:
            fields.refuse("quantity", f"{line.name}: at most {most} can be canceled.")
        quantities[line.id] = max(line.quantity - count, 0)
    order = editable.checkout.order
    lost_ids = _read_lost(fields)
    return OrderEdit(order.email, None, None, is_same_address=False, quantities=quantities, lost_line_ids=lost_ids)


def _form_page(
    page_context: PageContext, editable: EditableOrder, values: dict[str, str], status: int = 200, **more: Any
) -> Reply:
    order = editable.checkout.order
    fields = {"reasons": REASONS, "max_reason_length": MAX_REASON_LENGTH, "labels": LABELS, "values": values}
    context = {"order": order, "here": address_of(order), "editable": editable, "submitted": list(values.items())}
    return page(
        "order_edits/cancel_items.html",
        page_context,
        status,
        **{"preview": None, "conflict": None, **more},
        **fields,
        **context,
    )
