"""Pages for stock locations."""

from typing import Any
from uuid import UUID

from shop.actions import records
from shop.actions.catalog.resources import STOCK_LOCATION
from shop.actions.context import Context
from shop.admin.fields import Fields, id_of, list_differences
from shop.admin.listing import RowSort, fold_text, sort_rows
from shop.admin.pages import PageContext, notice_of, page, redirect
from shop.base.errors import ChangedMeanwhile, Invalid, NotFound
from shop.models.catalog.stock import StockLocation
from shop.queries.catalog_admin import stock as stock_pages
from shop.queries.customers import users
from shop.queries.records import find_record
from shop.web.input.request import Request
from shop.web.reply import Reply

PATH = "/admin/stock/locations"
_SORTS = {
    "default": RowSort("Default first", lambda location: (not location.default, not location.active, location.name)),
    "name": RowSort("Name", lambda location: fold_text(location.name)),
    "units": RowSort("Most units", lambda location: location.unit_count, is_descending=True),
}
_FLAGS = ("default", "active", "backorderable_default")
_ADDRESS = {
    "address1": "Street and number",
    "address2": "Additional line",
    "zipcode": "Postal code",
    "city": "City",
    "state_name": "State or province",
    "phone": "Phone",
}
LABELS = {
    "name": "Name",
    **_ADDRESS,
    "country_id": "Country",
    "active": "Open",
    "default": "Default",
    "backorderable_default": "New items are backorderable",
}
_NOTICES = {"made": "Location created.", "saved": "Location saved."}


async def listing(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    return await _list(request, ctx, page_context, notice=notice_of(request, _NOTICES))


async def create(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    fields = Fields(request)
    try:
        values = {"name": fields.line("name", most=100, required=True), "default": fields.flag("default")}
        fields.check()
        await records.create(ctx, STOCK_LOCATION, values)
    except Invalid as error:
        return await _list(request, ctx, page_context, 422, errors=error.errors, form_texts=fields.texts)
    return redirect(f"{PATH}?done=made")


async def show(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    location = await _get(ctx, id_of(request, "location_id"))
    return await _one(ctx, page_context, location, _stored_values(location))


async def change(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    location, fields = await _get(ctx, id_of(request, "location_id")), Fields(request)
    values: dict[str, Any] = {"name": fields.line("name", most=100, required=True)}
    values |= {name: fields.line(name) or None for name in _ADDRESS}
    values |= {name: fields.flag(name) for name in _FLAGS}
    texts = {**values, **{name: fields.texts.get(name, "") for name in ("name", *_ADDRESS, "country_id")}}
    try:
        values["country_id"] = fields.id("country_id")
        fields.check()
        await records.update(ctx, STOCK_LOCATION, location.id, values, fields.texts.get("seen_at"))
    except Invalid as error:
        seen_at = fields.texts.get("seen_at", "")
        return await _one(ctx, page_context, location, texts, 422, errors=error.errors, seen_at=seen_at)
    except ChangedMeanwhile as conflict:
        location = await _get(ctx, location.id)
        theirs, label = list_differences(LABELS, texts, _stored_values(location)), LABELS["country_id"]
        theirs |= {label: (await _list_countries(ctx)).get(theirs[label], "")} if label in theirs else {}
        return await _one(ctx, page_context, location, texts, 409, conflict=conflict.sentence, theirs=theirs)
    return redirect(f"{PATH}?done=saved")


def _stored_values(location: StockLocation) -> dict[str, Any]:
    texts = {name: getattr(location, name) or "" for name in ("name", *_ADDRESS)}
    flags = {name: getattr(location, name) for name in _FLAGS}
    return {**texts, **flags, "country_id": str(location.country_id or "")}


async def _one(
    ctx: Context,
    page_context: PageContext,
    location: StockLocation,
    values: dict[str, Any],
    status: int = 200,
    **more: Any,
) -> Reply:
    return page(
        "catalog/stock/stock_location.html",
        page_context,
        status,
        **{"conflict": None, "theirs": {}, "seen_at": location.updated_at.isoformat(), **more},
        location=location,
        values=values,
        labels=LABELS,
        address_names=tuple(_ADDRESS),
        countries={"": "The country of the shop", **await _list_countries(ctx)},
    )


async def _list_countries(ctx: Context) -> dict[str, str]:
    return {str(country.id): country.name for country in await users.list_countries(ctx.db)}


async def _list(request: Request, ctx: Context, page_context: PageContext, status: int = 200, **more: Any) -> Reply:
    locations, head = sort_rows(request, PATH, await stock_pages.list_counted_locations(ctx.db), _SORTS)
    context = {"form_texts": {}, **more, "locations": locations, "head": head}
    return page("catalog/stock/stock_locations.html", page_context, status, **context)


async def _get(ctx: Context, location_id: UUID) -> StockLocation:
    location = await find_record(ctx.db, STOCK_LOCATION.records, "id", location_id)
    if not isinstance(location, StockLocation):
        raise NotFound()
    return location
