"""Page to merge a duplicate account into a customer's account."""

from typing import Any

from shop.actions.accounts import merges
from shop.actions.context import Context
from shop.admin.customers.customer_form import PATH, get_customer
from shop.admin.fields import Fields
from shop.admin.pages import PageContext, page, redirect
from shop.base.errors import Conflict, Invalid
from shop.models.access.users import User
from shop.web.input.request import Request
from shop.web.reply import Reply

LABELS = {"email": "E-mail address of the other account", "tags": "The tags", "note": "The note"}


async def show(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    customer = await get_customer(request, ctx)
    if customer.erased_at:
        return redirect(f"{PATH}/{customer.id}")
    return _merge_page(page_context, customer)


async def merge(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    """Shows what would move, or merges if the form has the fingerprint of that."""
    customer, fields = await get_customer(request, ctx), Fields(request)
    email, shown_fingerprint = fields.texts.get("email", "").strip(), fields.texts.get("seen", "")
    conflict = None
    try:
        if shown_fingerprint:
            try:
                is_finished = await merges.merge_customers(
                    ctx, customer.id, email, expected_fingerprint=shown_fingerprint
                )
                return redirect(f"{PATH}/{customer.id}?done={'merged' if is_finished else 'merging'}")
            except Conflict as error:
                conflict = error.sentence
        customer = await get_customer(request, ctx)
        duplicate, preview = await merges.preview_merge(ctx, customer, email)
    except Conflict as error:
        return _merge_page(page_context, customer, 409, email=email, conflict=error.sentence)
    except Invalid as error:
        return _merge_page(page_context, customer, 422, email=email, errors=error.errors, conflict=conflict)
    more = {"duplicate": duplicate, "preview": preview, "fingerprint": merges.fingerprint_merge(duplicate, preview)}
    return _merge_page(page_context, customer, 409 if conflict else 200, email=email, conflict=conflict, **more)


def _merge_page(page_context: PageContext, customer: User, status: int = 200, **more: Any) -> Reply:
    context = {"email": "", "duplicate": None, "preview": None, "fingerprint": "", "conflict": None, **more}
    return page("customers/merge.html", page_context, status, customer=customer, labels=LABELS, **context)
