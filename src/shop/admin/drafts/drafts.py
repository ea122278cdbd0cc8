"""Pages of drafts: the list, one draft with its searches, and deleting it."""

from typing import Any
from urllib.parse import quote

from shop.actions.context import Context
from shop.actions.drafts import drafts as actions
from shop.actions.drafts import pages as draft_pages
from shop.actions.drafts.placement import version_of
from shop.actions.drafts.quotes import MAX_NOTE_LENGTH
from shop.admin.fields import Fields
from shop.admin.listing import SIZE, build_head, count_list, paginate_rows, read_cursor, read_sort, text_param
from shop.admin.pages import PageContext, confirmation_page, notice_of, page, redirect
from shop.admin.session import require_permission
from shop.base.errors import Conflict, Invalid, NotFound
from shop.base.ids import new_id
from shop.models.cart.orders import Order
from shop.models.checkout.payments import CASH_METHOD, LINK_METHOD
from shop.queries.customers import users
from shop.queries.drafts import drafts
from shop.rules.form_values import amount_text
from shop.web.input.request import Request
from shop.web.reply import Reply

PATH = "/admin/drafts"
LABELS = {
    "base": "The draft",
    "customer": "Customer",
    "email": "E-mail address",
    "variant_id": "The product",
    "quantity": "Quantity",
    "line_items": "Items",
    "shipments": "Shipping",
    "location_id": "Pickup",
    "is_handed_over": "Hand-over",
    "coupon_code": "Coupon code",
    "value": "Discount",
    "reason": "Reason",
    "kind": "Kind of discount",
    "method": "Payment",
    "firstname": "First name",
    "lastname": "Last name",
    "company": "Company",
    "address1": "Street and number",
    "address2": "Apartment or floor",
    "zipcode": "Postal code",
    "city": "City",
    "state_name": "State or region",
    "country_iso": "Country",
    "phone": "Phone",
    "use": "Use",
    "quote_note": "Note",
}
_LIST_NOTICES = {"deleted": "Draft deleted."}
_NOTICES = {
    "created": "Draft created. Choose the customer first: prices depend on it.",
    "customer": "Customer saved.",
    "address": "Address saved.",
    "items": "Items saved.",
    "discount": "Discount saved.",
    "shipping": "Shipping saved.",
    "coupon": "Coupon code applied.",
    "coupon-removed": "Coupon codes removed.",
    "quote": "Quote mailed to the customer.",
}
_SORTS = {"newest": "Newest", "oldest": "Oldest", "highest": "Highest total"}


def path_of(order: Order) -> str:
    return f"{PATH}/{quote(order.number, safe='')}"


async def listing(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    params, sort = {"q": text_param(request, "q")}, read_sort(request, _SORTS)
    order = drafts.SORTS[sort]
    cursor = read_cursor(request, order.kind)
    rows = await drafts.list_drafts(ctx.db, params["q"], cursor, sort=sort, most=SIZE + 1)
    page_rows, pages = paginate_rows(request, rows, cursor, by=order.field, params={**params, "sort": sort})
    count = await count_list(rows, cursor, lambda: drafts.count_drafts(ctx.db, params["q"]))
    return page(
        "drafts/drafts.html",
        page_context,
        drafts=page_rows,
        pages=pages,
        params=params,
        head=build_head(PATH, count, _SORTS, sort, params),
        notice=notice_of(request, _LIST_NOTICES),
    )


async def create(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    fields = Fields(request)
    user_id = fields.id("user_id")
    if user_id:
        require_permission(page_context, "customers:read")
    currencies = ctx.shared.shop.currencies
    currency = fields.texts.get("currency") or currencies[0]
    if currency not in currencies:
        raise Invalid({"currency": ["is not a currency of this shop"]})
    order = await actions.create_draft(ctx, currency, user_id)
    return redirect(f"{path_of(order)}?done=created")


async def show(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    order = await find_draft(request, ctx)
    if isinstance(order, Reply):
        return order
    return await draft_page(request, ctx, page_context, order, notice=notice_of(request, _NOTICES))


async def show_delete(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    order = await find_draft(request, ctx)
    if isinstance(order, Reply):
        return order
    return confirmation_page(
        page_context,
        question=f"Delete draft {order.number}?",
        sentence="The draft and its items will be deleted for all operators. Its customer and stock will not change."
        " This cannot be undone.",
        action=f"{path_of(order)}/delete",
        button="Delete draft",
        back=(path_of(order), f"Draft {order.number}"),
    )


async def delete(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    order = await find_draft(request, ctx)
    if isinstance(order, Reply):
        return order
    try:
        await actions.delete_draft(ctx, order.id)
    except Conflict as conflict:
        errors = {"base": [conflict.sentence]}
        return await draft_page(request, ctx, page_context, order, 409, errors=errors)
    return redirect(f"{PATH}?done=deleted")


async def find_draft(request: Request, ctx: Context) -> Order | Reply:
    """Returns the draft of the path, or a redirect to the order as which it was placed."""
    order = await drafts.find_order(ctx.db, request.path_params["number"])
    if order is None:
        raise NotFound("There is no such draft. Another operator may have deleted it.")
    if order.completed_at:
        return redirect(f"/admin/orders/{quote(order.number, safe='')}?done=placed-before")
    return order


async def draft_page(
    request: Request, ctx: Context, page_context: PageContext, order: Order, status: int = 200, **more: Any
) -> Reply:
    is_get = request.scope["method"] == "GET"
    params = {name: text_param(request, name) if is_get else "" for name in ("customer", "product")}
    if not page_context.can("customers:read"):
        params["customer"] = ""
    details = await draft_pages.get_page(ctx, order)
    return page(
        "drafts/draft.html",
        page_context,
        status,
        **{"values": {}, "labels": LABELS, **more},
        details=details,
        order=details.order,
        here=path_of(order),
        version=version_of(order),
        params=params,
        customers=await draft_pages.search_customers(ctx, params["customer"]),
        products=await draft_pages.search_products(ctx, order, params["product"]),
        most=draft_pages.MAX_RESULTS,
        countries=dict(await users.list_country_names(ctx.db)),
        discount_texts={key: _discount_text(each, order) for key, each in details.discounts.items()},
        cash_id=CASH_METHOD,
        link_id=LINK_METHOD,
        quote_id=new_id(),
        max_note_length=MAX_NOTE_LENGTH,
    )


def _discount_text(discount: Any, order: Order) -> str:
    """Returns the value of a discount as its form shows it."""
    if discount.kind == "amount":
        return amount_text(discount.value, order.currency)
    return f"{discount.value / 100:g}"
