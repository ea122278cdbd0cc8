"""Pages for the entries of a price list: add by SKU, paste many, change and remove."""

from typing import Any

from shop.actions.catalog_admin import price_lists
from shop.actions.catalog_admin.price_lists import get_price_list
from shop.actions.context import Context
from shop.admin.fields import Fields, id_of
from shop.admin.listing import SIZE, build_head, count_list, paginate_rows, read_cursor, read_sort, text_param
from shop.admin.pages import PageContext, notice_of, page, redirect
from shop.base.errors import Invalid
from shop.base.ids import as_uuid
from shop.queries.catalog_admin import price_lists as price_list_pages
from shop.queries.catalog_admin.price_lists import CountedList
from shop.rules.form_values import amount_text, read_amount, read_whole
from shop.web.input.request import Request
from shop.web.reply import Reply

_SORTS = {"newest": "Newest", "oldest": "Oldest", "lowest": "Lowest price"}
_NOTICES = {
    "added": "Price added.",
    "pasted": "Prices saved.",
    "saved": "Prices saved.",
}


async def show(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    price_list = await get_price_list(ctx, id_of(request, "list_id"))
    return await _entries(request, ctx, page_context, price_list, notice=notice_of(request, _NOTICES))


async def add(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    price_list, fields = await get_price_list(ctx, id_of(request, "list_id")), Fields(request)
    try:
        sku = fields.line("sku", most=100, required=True)
        quantity = fields.whole("min_quantity", least=1)
        amount = fields.amount("amount", price_list.currency, required=True)
        fields.check()
        if amount is not None:
            await price_lists.save_entry(ctx, price_list.id, sku, quantity or 1, amount)
    except Invalid as error:
        return await _entries(request, ctx, page_context, price_list, 422, errors=error.errors, adding=fields.texts)
    return redirect(f"{_path_of(price_list)}?done=added")


async def paste(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    price_list, fields = await get_price_list(ctx, id_of(request, "list_id")), Fields(request)
    text = fields.texts.get("lines", "")
    try:
        await price_lists.paste_entries(ctx, price_list, text)
    except Invalid as error:
        return await _entries(request, ctx, page_context, price_list, 422, errors=error.errors, lines=text)
    return redirect(f"{_path_of(price_list)}?done=pasted")


async def change(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    price_list, fields = await get_price_list(ctx, id_of(request, "list_id")), Fields(request)
    texts = {name: fields.group(name) for name in ("amount", "min_quantity")}
    removed_ids = fields.ids("remove")
    try:
        changes = _read(fields, price_list, texts, {str(entry_id) for entry_id in removed_ids})
        fields.check()
        await price_lists.change_entries(ctx, price_list.id, changes, removed_ids)
    except Invalid as error:
        return await _entries(request, ctx, page_context, price_list, 422, errors=error.errors, form_texts=texts)
    return redirect(f"{_path_of(price_list)}?done=saved")


def _path_of(price_list: CountedList) -> str:
    return f"/admin/price-lists/{price_list.id}/entries"


def _read(
    fields: Fields, price_list: CountedList, texts: dict[str, dict[str, Any]], removed_ids: set[str]
) -> dict[Any, Any]:
    changes: dict[Any, dict[str, Any]] = {}
    readers: dict[str, Any] = {
        "amount": lambda text: read_amount(text, price_list.currency),
        "min_quantity": lambda text: read_whole(text, 1),
    }
    for name, read in readers.items():
        for key, text in texts[name].items():
            entry_id = as_uuid(key)
            if entry_id is None or key in removed_ids or not isinstance(text, str):
                continue
            try:
                changes.setdefault(entry_id, {})[name] = read(text.strip())
            except ValueError as error:
                fields.refuse(f"{name}-{key}", str(error))
    return changes


async def _entries(
    request: Request, ctx: Context, page_context: PageContext, price_list: CountedList, status: int = 200, **more: Any
) -> Reply:
    params, sort = {"q": text_param(request, "q")}, read_sort(request, _SORTS)
    order, path = price_list_pages.ENTRY_SORTS[sort], _path_of(price_list)
    cursor = read_cursor(request, order.kind)
    rows = await price_list_pages.list_entries(ctx.db, price_list, params["q"], cursor, sort=sort, most=SIZE + 1)
    links = {**params, "sort": sort}
    entries, pages = paginate_rows(request, rows, cursor, by=order.field, params=links, path=path)
    count = await count_list(rows, cursor, lambda: price_list_pages.count_entries(ctx.db, price_list, params["q"]))
    texts = more.pop("form_texts", {"amount": {}, "min_quantity": {}})

    def text(name: str, entry: Any) -> str:
        current = amount_text(entry.amount, price_list.currency) if name == "amount" else str(entry.min_quantity)
        return str(texts[name].get(str(entry.id), current))

    return page(
        "catalog/prices/price_list_entries.html",
        page_context,
        status,
        **{"adding": {}, "lines": "", **more},
        price_list=price_list,
        entries=entries,
        head=build_head(path, count, _SORTS, sort, params),
        pages=pages,
        text=text,
        q=params["q"],
    )
