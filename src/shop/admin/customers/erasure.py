"""Page to erase the personal data of a customer."""

from contextlib import suppress
from typing import Any

from shop.actions.accounts import erasures
from shop.actions.context import Context
from shop.admin.customers.customer_form import PATH, get_customer
from shop.admin.fields import Fields
from shop.admin.pages import PageContext, page, redirect
from shop.base.errors import Conflict, Invalid
from shop.models.access.users import User
from shop.web.input.request import Request
from shop.web.reply import Reply

LABELS = {"email": "E-mail address"}


async def show(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    customer = await get_customer(request, ctx)
    if customer.erased_at:
        return redirect(f"{PATH}/{customer.id}?done=erased")
    return await _confirmation_page(ctx, page_context, customer)


async def erase(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    customer, fields = await get_customer(request, ctx), Fields(request)
    try:
        # A repetition of the form finds the customer erased.
        with suppress(Conflict):
            await erasures.erase_customer(ctx, customer.id, fields.texts.get("email", "").strip())
    except Invalid as error:
        errors = {name: texts for name, texts in error.errors.items() if name != "base"}
        return await _confirmation_page(ctx, page_context, customer, 422, errors=errors)
    return redirect(f"{PATH}/{customer.id}?done=erased")


async def _confirmation_page(
    ctx: Context, page_context: PageContext, customer: User, status: int = 200, **more: Any
) -> Reply:
    orders, is_merging = (
        await erasures.list_unfinished_orders(ctx, customer),
        await erasures.is_merging(ctx, customer.id),
    )
    context = {"customer": customer, "orders": orders, "is_merging": is_merging, "labels": LABELS, **more}
    return page("customers/erase.html", page_context, status, **context)
