"""Price preview page: the prices a customer gets, and the price list that sets each one."""

from typing import Any
from uuid import UUID

from shop.actions.catalog_admin.price_preview import MAX_RESULTS, PricePreview, PricePreviewQuery, preview
from shop.actions.context import Context
from shop.admin.fields import read_moment
from shop.admin.listing import text_param
from shop.admin.pages import PageContext, page
from shop.base.email import read_email
from shop.models.catalog.prices import CustomerPriceList
from shop.queries.customers import customers
from shop.rules.form_values import prefix_query, read_whole
from shop.web.input.request import Request
from shop.web.reply import Reply

LABELS = {"email": "Customer", "currency": "Currency", "quantity": "Quantity", "at": "Time", "q": "Product"}


async def show(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    params = {name: text_param(request, name) for name in LABELS}
    params["currency"] = params["currency"] or page_context.shop.currencies[0]
    errors: dict[str, list[str]] = {}
    if params["currency"] not in page_context.shop.currencies:
        errors["currency"] = ["is not a currency of this shop"]
    quantity = _read(params["quantity"] or "1", lambda text: read_whole(text, 1), "quantity", errors)
    zone = page_context.shop.zone
    at = _read(params["at"], lambda text: read_moment(text, zone), "at", errors) if params["at"] else None
    user_id = await _customer(ctx, params["email"], errors)
    lists: list[CustomerPriceList] = []
    rows: list[PricePreview] = []
    if user_id and not errors:
        query = PricePreviewQuery(params["currency"], quantity, at, prefix_query(params["q"]) or None)
        lists, rows = await preview(ctx, user_id, query)
    return page(
        "catalog/prices/price_preview.html",
        page_context,
        422 if errors else 200,
        params=params,
        errors=errors,
        labels=LABELS,
        user_id=user_id,
        lists=lists,
        previews=rows,
        at=at,
        quantity=quantity or 1,
        most=MAX_RESULTS,
    )


async def _customer(ctx: Context, text: str, errors: dict[str, list[str]]) -> UUID | None:
    if not text:
        return None
    email = read_email(text)
    user_ids = await customers.find_by_keys(ctx.db, [email.key]) if email else {}
    if not user_ids:
        errors["email"] = ["must be the e-mail address of a customer"]
    return next(iter(user_ids.values()), None)


def _read(text: str, read: Any, name: str, errors: dict[str, list[str]]) -> Any:
    try:
        return read(text)
    except ValueError as error:
        errors[name] = [str(error)]
        return None
