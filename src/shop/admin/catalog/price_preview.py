"""Preview as customer: what somebody sees, and which list decides."""

from typing import Any
from uuid import UUID

from shop.actions.catalog.price_preview import MOST, Asked, Seen, preview
from shop.actions.context import Context
from shop.admin.fields import read_moment
from shop.admin.listing import text_param
from shop.admin.pages import Visit, page
from shop.base.email import read_email
from shop.models.catalog.prices import CustomersList
from shop.queries.customers import customers
from shop.rules.form_values import prefix_query, read_whole
from shop.web.reply import Reply
from shop.web.request import Request

LABELS = {"email": "Customer", "currency": "Currency", "quantity": "Quantity", "at": "When", "q": "Product"}


async def show(request: Request, ctx: Context, visit: Visit) -> Reply:
    params = {name: text_param(request, name) for name in LABELS}
    params["currency"] = params["currency"] or visit.shop.currencies[0]
    errors: dict[str, list[str]] = {}
    if params["currency"] not in visit.shop.currencies:
        errors["currency"] = ["must be one of the shop's"]
    quantity = _read(params["quantity"] or "1", lambda text: read_whole(text, 1), "quantity", errors)
    at = _read(params["at"], read_moment, "at", errors) if params["at"] else None
    user_id = await _customer(ctx, params["email"], errors)
    lists: list[CustomersList] = []
    seen: list[Seen] = []
    if user_id and not errors:
        asked = Asked(params["currency"], quantity, at, prefix_query(params["q"]) or None)
        lists, seen = await preview(ctx, user_id, asked)
    return page(
        "price_preview.html",
        visit,
        422 if errors else 200,
        params=params,
        errors=errors,
        labels=LABELS,
        user_id=user_id,
        lists=lists,
        seen=seen,
        at=at,
        quantity=quantity or 1,
        most=MOST,
    )


async def _customer(ctx: Context, text: str, errors: dict[str, list[str]]) -> UUID | None:
    if not text:
        return None
    email = read_email(text)
    found = await customers.find_by_keys(ctx.db, [email.key]) if email else {}
    if not found:
        errors["email"] = ["must be the e-mail address of a customer"]
    return next(iter(found.values()), None)


def _read(text: str, read: Any, name: str, errors: dict[str, list[str]]) -> Any:
    try:
        return read(text)
    except ValueError as error:
        errors[name] = [str(error)]
        return None
