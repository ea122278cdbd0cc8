"""Form handlers that correct a completed order: details, tracking numbers and the payment link."""

from typing import Any

from shop.actions.context import Context
from shop.actions.orders import details
from shop.actions.orders import pages as order_pages
from shop.admin.fields import Fields, id_of, list_differences
from shop.admin.orders.orders import LABELS, address_of, details_values, order_page
from shop.admin.pages import PageContext, redirect
from shop.base.email import read_email
from shop.base.errors import ChangedMeanwhile, Invalid
from shop.rules.form_values import split_words
from shop.web.input.request import Request
from shop.web.reply import Reply

_MAX_TRACKING_LENGTH = 255


async def change(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    order = await order_pages.get_order(ctx, request.path_params["number"])
    fields = Fields(request)
    email = fields.line("email")
    if email and read_email(email) is None:
        fields.refuse("email", "is not an e-mail address")
    tags = split_words(fields.line("tags", most=1000))
    try:
        fields.check()
        fingerprint = fields.texts.get("seen")
        await details.change_details(
            ctx, order.id, email=email or order.email, tags=tags, expected_fingerprint=fingerprint
        )
    except (Invalid, ChangedMeanwhile) as error:
        values = {"email": email, "tags": fields.texts.get("tags", "")}
        if isinstance(error, Invalid):
            more: dict[str, Any] = {"errors": error.errors, "seen": fields.texts.get("seen", "")}
        else:
            order = await order_pages.get_order(ctx, order.number)
            more = {"conflict": error.sentence, "theirs": list_differences(LABELS, values, details_values(order))}
        return await order_page(ctx, page_context, order, error.status, values=values, **more)
    return redirect(f"{address_of(order)}?done=saved")


async def change_tracking(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    order = await order_pages.get_order(ctx, request.path_params["number"])
    shipment_id, fields = id_of(request, "shipment_id"), Fields(request)
    tracking = fields.line("tracking", most=_MAX_TRACKING_LENGTH)
    if fields.errors:
        texts = {shipment_id: fields.texts.get("tracking", "")}
        return await order_page(ctx, page_context, order, 422, errors=fields.errors, tracking=texts)
    await details.change_tracking(ctx, order.id, shipment_id, tracking or None)
    return redirect(f"{address_of(order)}?done=tracking")


async def send_payment_link(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    order = await order_pages.get_order(ctx, request.path_params["number"])
    try:
        await details.send_payment_link(ctx, order.id)
    except Invalid as error:
        return await order_page(ctx, page_context, order, 422, errors=error.errors)
    return redirect(f"{address_of(order)}?done=link")
