"""Pages for stock locations."""

from typing import Any
from uuid import UUID

from shop.actions import records
from shop.actions.catalog.resources import STOCK_LOCATION
from shop.actions.context import Context
from shop.admin.fields import Fields, id_of
from shop.admin.listing import RowSort, fold_text, sort_rows
from shop.admin.pages import PageContext, notice_of, page, redirect
from shop.base.errors import Invalid, NotFound
from shop.models.catalog.stock import StockLocation
from shop.queries.catalog_admin import stock as stock_pages
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
    values = {name: getattr(location, name) for name in ("name", *_FLAGS)}
    return page("catalog/stock/stock_location.html", page_context, location=location, values=values)


async def change(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    location, fields = await _get(ctx, id_of(request, "location_id")), Fields(request)
    values: dict[str, Any] = {"name": fields.line("name", most=100, required=True)}
    values |= {name: fields.flag(name) for name in _FLAGS}
    try:
        fields.check()
        await records.update(ctx, STOCK_LOCATION, location.id, values)
    except Invalid as error:
        form_values = {**values, "name": fields.texts.get("name", "")}
        return page(
            "catalog/stock/stock_location.html",
            page_context,
            422,
            location=location,
            values=form_values,
            errors=error.errors,
        )
    return redirect(f"{PATH}?done=saved")


async def _list(request: Request, ctx: Context, page_context: PageContext, status: int = 200, **more: Any) -> Reply:
    locations, head = sort_rows(request, PATH, await stock_pages.list_counted_locations(ctx.db), _SORTS)
    context = {"form_texts": {}, **more, "locations": locations, "head": head}
    return page("catalog/stock/stock_locations.html", page_context, status, **context)


async def _get(ctx: Context, location_id: UUID) -> StockLocation:
    location = await find_record(ctx.db, STOCK_LOCATION.records, "id", location_id)
    if not isinstance(location, StockLocation):
        raise NotFound()
    return location
