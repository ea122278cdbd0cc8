"""Stock pages: items per location, stock movements and their ledger."""

from typing import Any
from uuid import UUID

from shop.actions import records
from shop.actions.catalog.resources import STOCK_ITEM
from shop.actions.catalog_admin import stock
from shop.actions.catalog_admin.stock import Movement
from shop.actions.context import Context
from shop.actions.stock.thresholds import change_item_threshold, change_shop_threshold
from shop.admin.fields import Fields, id_of
from shop.admin.listing import SIZE, ListHead, build_head, count_list, paginate_rows, read_cursor, read_sort, text_param
from shop.admin.pages import PageContext, notice_of, page, redirect
from shop.base.errors import Invalid, NotFound
from shop.base.ids import as_uuid, new_id
from shop.queries.catalog_admin import stock as stock_pages
from shop.queries.catalog_admin import variants
from shop.queries.catalog_admin.stock import NamedItem, StockFilter
from shop.queries.stock import deliveries, thresholds
from shop.rules.catalog.stock import MOVEMENTS
from shop.rules.form_values import prefix_query
from shop.web.input.request import Request
from shop.web.reply import Reply

PATH = "/admin/stock"
LEVELS = {"": "Any stock", "low": "Low", "out": "Sold out"}
SORTS = {"lowest": "Lowest count", "highest": "Highest count"}
LABELS = {
    "sku": "SKU",
    "location": "Location",
    "stock_location_id": "Location",
    "reason": "Reason",
    "quantity": "Quantity",
    "note": "Note",
    "backorderable": "Backorderable",
    "threshold": "Low-stock threshold",
}
_NOTICES = {
    "moved": "Movement recorded.",
    "moved-before": "This form was sent before: its movement was recorded once, and nothing was recorded now.",
    "saved": "Saved.",
    "threshold": "Threshold saved.",
}


async def listing(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    params = {name: text_param(request, name) for name in ("q", "location", "level")}
    filters = StockFilter(
        query=prefix_query(params["q"]) if params["q"] else None,
        location_id=as_uuid(params["location"]),
        level=params["level"] if params["level"] in LEVELS and params["level"] else None,
    )
    cursor, sort = read_cursor(request, int), read_sort(request, SORTS)
    rows = await stock_pages.list_items(ctx.db, filters, cursor, sort=sort, most=SIZE + 1)
    page_rows, pages = paginate_rows(request, rows, cursor, by="count_on_hand", params={**params, "sort": sort})
    count = await count_list(rows, cursor, lambda: stock_pages.count_items(ctx.db, filters))
    return page(
        "catalog/stock/stock.html",
        page_context,
        items=page_rows,
        head=build_head(PATH, count, SORTS, sort, params),
        pages=pages,
        params=params,
        levels=LEVELS,
        expected=await deliveries.list_expected(ctx.db, [item.variant_id for item in rows]),
        locations={"": "Any location", **await _locations(ctx)},
        is_filtered=any(params.values()),
        notice=notice_of(request, _NOTICES),
    )


async def new(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    values = {"location": text_param(request, "location_id"), "reason": "received"}
    return await _new(ctx, page_context, as_uuid(text_param(request, "variant_id")), values)


async def create(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    fields = Fields(request)
    variant_id = fields.id("variant_id")
    try:
        if variant_id is None:
            sku = fields.line("sku", most=100, required=True)
            variant_id = (await variants.find_variants(ctx.db, [sku])).get(sku)
            if sku and variant_id is None:
                fields.refuse("sku", "does not exist")
        location_id = fields.id("location")
        if location_id is None:
            fields.refuse("location", "must be chosen")
        movement = _movement(fields)
        fields.check()
        if variant_id is None or location_id is None or movement is None:
            raise NotFound()
        item_id, is_new = await stock.record_variant_movement(ctx, variant_id, location_id, movement)
    except Invalid as error:
        return await _new(ctx, page_context, fields.id("variant_id"), fields.texts, 422, error.errors)
    return redirect(f"{PATH}/{item_id}?done={'moved' if is_new else 'moved-before'}")


async def show(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    return await _item(request, ctx, page_context, await _get(request, ctx), notice=notice_of(request, _NOTICES))


async def move(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    item, fields = await _get(request, ctx), Fields(request)
    try:
        movement = _movement(fields)
        fields.check()
        if movement is None:
            raise NotFound()
        is_new = await stock.record_movement(ctx, item.id, movement)
    except Invalid as error:
        return await _item(request, ctx, page_context, item, 422, errors=error.errors, form_texts=fields.texts)
    return redirect(f"{PATH}/{item.id}?done={'moved' if is_new else 'moved-before'}")


async def change(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    item, fields = await _get(request, ctx), Fields(request)
    try:
        values = {"backorderable": fields.flag("backorderable")}
        fields.check()
        await records.update(ctx, STOCK_ITEM, item.id, values)
    except Invalid as error:
        return await _item(request, ctx, page_context, item, 422, errors=error.errors)
    return redirect(f"{PATH}/{item.id}?done=saved")


async def change_threshold(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    item, fields = await _get(request, ctx), Fields(request)
    try:
        threshold = fields.whole("threshold", least=0)
        fields.check()
        await change_item_threshold(ctx, item.id, threshold)
    except Invalid as error:
        return await _item(request, ctx, page_context, item, 422, errors=error.errors, threshold_texts=fields.texts)
    return redirect(f"{PATH}/{item.id}?done=threshold")


async def show_threshold(_request: Request, _ctx: Context, page_context: PageContext) -> Reply:
    values = {"threshold": str(page_context.shop.low_stock_threshold)}
    return page("catalog/stock/stock_threshold.html", page_context, values=values, labels=LABELS)


async def change_default_threshold(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    fields = Fields(request)
    try:
        threshold = fields.whole("threshold", least=0, required=True)
        fields.check()
        await change_shop_threshold(ctx, threshold or 0)
    except Invalid as error:
        page_values = {"values": fields.texts, "labels": LABELS, "errors": error.errors}
        return page("catalog/stock/stock_threshold.html", page_context, 422, **page_values)
    return redirect(f"{PATH}?level=low&done=threshold")


def _movement(fields: Fields) -> Movement | None:
    quantity = fields.whole("quantity", least=0, required=True)
    reason, note = fields.choice("reason", MOVEMENTS), fields.line("note") or None
    return None if quantity is None else Movement(fields.form_id(), reason, quantity, note)


async def _locations(ctx: Context) -> dict[str, str]:
    return {
        str(location.id): location.name if location.active else f"{location.name} (closed)"
        for location in await stock_pages.list_locations(ctx.db)
    }


async def _new(
    ctx: Context,
    page_context: PageContext,
    variant_id: UUID | None,
    values: dict[str, str],
    status: int = 200,
    errors: Any = None,
) -> Reply:
    variant = await variants.find_named(ctx.db, variant_id) if variant_id else None
    return page(
        "catalog/stock/stock_new.html",
        page_context,
        status,
        variant=variant,
        values=values,
        movements=MOVEMENTS,
        new_id=new_id(),
        locations=await _locations(ctx),
        labels=LABELS,
        errors=errors or {},
    )


async def _item(
    request: Request, ctx: Context, page_context: PageContext, item: NamedItem, status: int = 200, **more: Any
) -> Reply:
    before = as_uuid(text_param(request, "before")) if request.scope["method"] == "GET" else None
    lines = await stock_pages.list_ledger(ctx.db, item, before, most=SIZE + 1)
    count = await count_list(lines, before, lambda: stock_pages.count_ledger(ctx.db, item.id))
    threshold = await thresholds.find_threshold(ctx.db, item.id)
    threshold_texts = {"threshold": "" if threshold is None else str(threshold)}
    return page(
        "catalog/stock/stock_item.html",
        page_context,
        status,
        **{"form_texts": {"reason": "received"}, "threshold_texts": threshold_texts, **more},
        item=item,
        expected=(await deliveries.list_expected(ctx.db, [item.variant_id])).get(item.variant_id),
        lines=lines[:SIZE],
        head=ListHead(count),
        older=f"{PATH}/{item.id}?before={lines[SIZE - 1].id}" if len(lines) > SIZE else None,
        newest=f"{PATH}/{item.id}" if before else None,
        movements=MOVEMENTS,
        new_id=new_id(),
        labels=LABELS,
    )


async def _get(request: Request, ctx: Context) -> NamedItem:
    item = await stock_pages.find_item(ctx.db, id_of(request, "item_id"))
    if item is None:
        raise NotFound()
    return item
