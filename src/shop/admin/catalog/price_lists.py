"""Pages for price lists: special prices, their period, and the customers and groups that get them."""

from datetime import tzinfo
from typing import Any

from shop.actions import records
from shop.actions.catalog.resources import PRICE_LIST, PRICE_LIST_USER
from shop.actions.catalog_admin import price_lists
from shop.actions.catalog_admin.price_lists import get_price_list
from shop.actions.context import Context
from shop.actions.customers import assignments
from shop.admin.fields import Fields, id_of, list_differences, moment_text
from shop.admin.listing import SIZE, build_head, list_by_email, number_pages, read_page, read_sort
from shop.admin.pages import PageContext, confirmation_page, notice_of, page, redirect
from shop.admin.uses import link_uses
from shop.base.errors import ChangedMeanwhile, Invalid
from shop.base.money import plain_decimal
from shop.models.catalog.prices import PriceList
from shop.models.catalog.prices import price_lists as price_list_table
from shop.queries.catalog_admin import price_lists as price_list_pages
from shop.queries.catalog_admin.price_lists import CountedList
from shop.queries.setup.uses import list_losses
from shop.rules.setup.names import label_currency
from shop.web.input.request import Request
from shop.web.reply import Reply

PATH = "/admin/price-lists"
LABELS = {
    "name": "Name",
    "currency": "Currency",
    "priority": "Priority",
    "percent_off": "Percentage off everything",
    "starts_at": "Begins",
    "ends_at": "Ends",
    "active": "Active",
    "emails": "E-mail addresses",
}
_SORTS = {"priority": "Priority", "name": "Name", "newest": "Newest"}
_TEXTS = ("name", "priority", "percent_off", "starts_at", "ends_at")
_NOTICES = {
    "made": "Price list created. Add prices and assign customers next.",
    "saved": "Saved.",
    "assigned": "Price list assigned.",
    "unassigned": "Price list removed from the customer.",
    "groups": "Groups saved.",
    "deleted": "Price list deleted. Its customers now get their next price list or the regular price.",
}


async def listing(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    number, sort = read_page(request), read_sort(request, _SORTS)
    count = await price_list_pages.count_price_lists(ctx.db)
    return page(
        "catalog/prices/price_lists.html",
        page_context,
        lists=await price_list_pages.list_price_lists(ctx.db, sort=sort, skip=(number - 1) * SIZE, most=SIZE),
        head=build_head(PATH, count, _SORTS, sort, {}),
        pages=number_pages(PATH, {"sort": sort}, number, count, SIZE),
        notice=notice_of(request, _NOTICES),
    )


async def new(_request: Request, _ctx: Context, page_context: PageContext) -> Reply:
    return _new(
        page_context, dict.fromkeys(_TEXTS, "") | {"priority": "0", "currency": page_context.shop.currencies[0]}
    )


async def create(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    fields = Fields(request)
    try:
        values = {
            **_read(fields, page_context.shop.zone, None),
            "currency": fields.choice("currency", dict.fromkeys(page_context.shop.currencies)),
        }
        fields.check()
        list_id = await records.create(ctx, PRICE_LIST, values)
    except Invalid as error:
        return _new(page_context, _form_texts(fields), 422, error.errors)
    return redirect(f"{PATH}/{list_id}?done=made")


async def show(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    price_list = await get_price_list(ctx, id_of(request, "list_id"))
    texts = _texts(price_list, page_context.shop.zone)
    return _one(page_context, price_list, texts, notice=notice_of(request, _NOTICES))


async def change(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    price_list, fields = await get_price_list(ctx, id_of(request, "list_id")), Fields(request)
    try:
        values = {**_read(fields, page_context.shop.zone, price_list), "active": fields.flag("active")}
        fields.check()
        await records.update(ctx, PRICE_LIST, price_list.id, values, fields.texts.get("seen_at"))
    except Invalid as error:
        seen_at = fields.texts.get("seen_at", "")
        return _one(page_context, price_list, _form_texts(fields), 422, errors=error.errors, seen_at=seen_at)
    except ChangedMeanwhile as conflict:
        texts, price_list = _form_texts(fields), await get_price_list(ctx, price_list.id)
        current_texts = _texts(price_list, page_context.shop.zone)
        more = {"conflict": conflict.sentence, "theirs": list_differences(LABELS, texts, current_texts)}
        return _one(page_context, price_list, texts, 409, **more)
    return redirect(f"{PATH}/{price_list.id}?done=saved")


async def show_delete(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    price_list = await get_price_list(ctx, id_of(request, "list_id"))
    here = f"{PATH}/{price_list.id}"
    users = {
        "price_list_entries": ("Prices", f"{here}/entries"),
        "price_list_users": ("Customers", f"{here}/customers"),
    }
    users["price_list_groups"] = ("Customer groups", f"{here}/customers")
    return confirmation_page(
        page_context,
        question=f"Delete {price_list.name}?",
        sentence="Its prices will be deleted, and customers will get their next price list or the regular price. This "
        "cannot be undone. To pause the list, deactivate it instead.",
        uses=link_uses(await list_losses(ctx.db, price_list_table, users, price_list.id), users),
        action=f"{here}/delete",
        button="Delete price list",
        back=(here, price_list.name),
    )


async def delete(request: Request, ctx: Context, _page_context: PageContext) -> Reply:
    await records.delete(ctx, PRICE_LIST, id_of(request, "list_id"))
    return redirect(f"{PATH}?done=deleted")


async def show_customers(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    price_list = await get_price_list(ctx, id_of(request, "list_id"))
    return await _customers(request, ctx, page_context, price_list, notice=notice_of(request, _NOTICES))


async def assign(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    price_list, fields = await get_price_list(ctx, id_of(request, "list_id")), Fields(request)
    text = fields.texts.get("emails", "")
    try:
        await assignments.assign(ctx, PRICE_LIST_USER, ("price_list_id", price_list.id), text)
    except Invalid as error:
        return await _customers(request, ctx, page_context, price_list, 422, errors=error.errors, emails=text)
    return redirect(f"{PATH}/{price_list.id}/customers?done=assigned")


async def unassign(request: Request, ctx: Context, _page_context: PageContext) -> Reply:
    list_id = id_of(request, "list_id")
    await assignments.unassign(ctx, PRICE_LIST_USER, ("price_list_id", list_id), id_of(request, "link_id"))
    return redirect(f"{PATH}/{list_id}/customers?done=unassigned")


async def change_groups(request: Request, ctx: Context, _page_context: PageContext) -> Reply:
    price_list, fields = await get_price_list(ctx, id_of(request, "list_id")), Fields(request)
    await price_lists.change_groups(ctx, price_list.id, fields.ids("group_ids"), fields.ids("former_ids"))
    return redirect(f"{PATH}/{price_list.id}/customers?done=groups")


def _read(fields: Fields, zone: tzinfo, present: PriceList | None) -> dict[str, Any]:
    values: dict[str, Any] = {
        "name": fields.line("name", most=100, required=True),
        "priority": fields.whole("priority") or 0,
        "percent_off": fields.number("percent_off"),
        "starts_at": fields.moment("starts_at", zone, present.starts_at if present else None),
        "ends_at": fields.moment("ends_at", zone, present.ends_at if present else None),
    }
    if values["starts_at"] and values["ends_at"] and values["ends_at"] <= values["starts_at"]:
        fields.refuse("ends_at", "must be later than it begins")
    return values


def _texts(price_list: PriceList, zone: tzinfo) -> dict[str, Any]:
    percent = "" if price_list.percent_off is None else plain_decimal(price_list.percent_off).removesuffix(".0")
    moments = {name: moment_text(getattr(price_list, name), zone) for name in ("starts_at", "ends_at")}
    return {
        "name": price_list.name,
        "priority": str(price_list.priority),
        "percent_off": percent,
        "active": price_list.active,
        **moments,
    }


def _form_texts(fields: Fields) -> dict[str, Any]:
    texts = {name: fields.texts.get(name, "") for name in (*_TEXTS, "currency")}
    return {**texts, "active": fields.flag("active")}


def _new(page_context: PageContext, values: dict[str, Any], status: int = 200, errors: Any = None) -> Reply:
    currencies = {code: label_currency(code) for code in page_context.shop.currencies}
    more = {"currencies": currencies, "labels": LABELS, "errors": errors or {}}
    return page("catalog/prices/price_list_new.html", page_context, status, values=values, **more)


def _one(
    page_context: PageContext, price_list: CountedList, values: dict[str, Any], status: int = 200, **more: Any
) -> Reply:
    return page(
        "catalog/prices/price_list.html",
        page_context,
        status,
        **{"conflict": None, "theirs": {}, "seen_at": price_list.updated_at.isoformat(), **more},
        price_list=price_list,
        values=values,
        labels=LABELS,
    )


async def _customers(
    request: Request, ctx: Context, page_context: PageContext, price_list: CountedList, status: int = 200, **more: Any
) -> Reply:
    users = await list_by_email(
        request,
        f"{PATH}/{price_list.id}/customers",
        lambda search, cursor, most: price_list_pages.list_assigned_users(
            ctx.db, price_list.id, search, cursor, most=most
        ),
        lambda search: price_list_pages.count_assigned_users(ctx.db, price_list.id, search),
    )
    return page(
        "catalog/prices/price_list_customers.html",
        page_context,
        status,
        **{"emails": "", **users, **more},
        price_list=price_list,
        groups=await price_list_pages.list_groups_for(ctx.db, price_list.id),
        labels=LABELS,
    )
