"""The page for counting stock: enter what is on the shelf, see the differences, save them."""

from typing import Any
from uuid import UUID

from shop.actions.context import Context
from shop.actions.stock.counts import CountedItem, CountResult, save_counts
from shop.admin.fields import Fields
from shop.admin.listing import ListHead, number_pages, read_page, text_param
from shop.admin.pages import PageContext, page
from shop.base.errors import Invalid
from shop.base.ids import as_uuid
from shop.queries.catalog_admin import stock as stock_pages
from shop.queries.stock import counts as queries
from shop.rules.form_values import prefix_query, read_whole
from shop.web.input.request import Request
from shop.web.reply import Reply

PATH = "/admin/stock/counts"
ROWS = 50


async def show(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    return await _show(request, ctx, page_context)


async def save(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    fields = Fields(request)
    location_id = fields.id("location")
    texts = fields.group("counted")
    try:
        counts = _read_counts(fields, texts)
        if location_id is None or not counts:
            raise Invalid({"base": ["Enter the count of at least one item."]})
        result = await save_counts(ctx, location_id, counts)
    except Invalid as error:
        return await _show(request, ctx, page_context, 422, errors=error.errors, entered_texts=texts)
    errors = {f"counted-{item_id}": [sentence] for item_id, sentence in result.refusals.items()}
    refused_texts = {str(item_id): texts.get(str(item_id), "") for item_id in result.refusals}
    return await _show(
        request,
        ctx,
        page_context,
        422 if errors else 200,
        errors=errors,
        entered_texts=refused_texts,
        notice=_describe(result),
    )


def _describe(result: CountResult) -> str | None:
    if not result.corrected_count and not result.right_count:
        return None
    return f"Count saved: {result.corrected_count} corrected, {result.right_count} as expected."


def _read_counts(fields: Fields, texts: dict[str, Any]) -> list[CountedItem]:
    counts, shown_texts = [], fields.group("shown")
    for key, text in texts.items():
        item_id = as_uuid(key)
        if item_id is None or not isinstance(text, str) or not text.strip():
            continue
        try:
            counts.append(CountedItem(item_id, read_whole(str(shown_texts.get(key, ""))), read_whole(text.strip(), 0)))
        except ValueError as error:
            fields.refuse(f"counted-{item_id}", str(error))
    fields.check()
    return counts


async def _show(request: Request, ctx: Context, page_context: PageContext, status: int = 200, **more: Any) -> Reply:
    params = {name: text_param(request, name) for name in ("location", "q")}
    locations = {str(location.id): location.name for location in await stock_pages.list_locations(ctx.db)}
    if params["location"] not in locations:
        params["location"] = next(iter(locations), "")
    query, number = prefix_query(params["q"]) if params["q"] else None, read_page(request)
    total, rows = 0, []
    if params["location"]:
        location_id = UUID(params["location"])
        total = await queries.count_rows(ctx.db, location_id, query)
        rows = await queries.list_rows(ctx.db, location_id, query, skip=(number - 1) * ROWS, most=ROWS)
    errors = more.pop("errors", {})
    return page(
        "stock/counts.html",
        page_context,
        status,
        **{"entered_texts": {}, **more},
        errors={name: texts for name, texts in errors.items() if name != "base"},
        refusal=" ".join(errors.get("base", ())),
        rows=rows,
        head=ListHead(total),
        params=params,
        locations=locations,
        pages=number_pages(PATH, params, number, total, ROWS),
        page_number=number,
        labels={f"counted-{row.id}": f"Count of {row.sku or row.product_name}" for row in rows},
    )
