"""The prices of a list: added by SKU or pasted, changed and removed together."""

from typing import Any

from shop.actions.catalog_forms import price_lists
from shop.actions.catalog_forms.price_lists import get_price_list
from shop.actions.context import Context
from shop.admin.fields import Fields, id_of
from shop.admin.listing import SIZE, text_param
from shop.admin.pages import Visit, notice_of, page, redirect
from shop.base.errors import Invalid
from shop.base.ids import as_uuid
from shop.queries.catalog_pages import price_lists as price_list_pages
from shop.queries.catalog_pages.price_lists import CountedList
from shop.rules.form_values import amount_text, read_amount, read_whole
from shop.web.reply import Reply
from shop.web.request import Request

_NOTICES = {
    "added": "The price is added.",
    "pasted": "The lines are saved.",
    "saved": "The prices are saved.",
}


async def show(request: Request, ctx: Context, visit: Visit) -> Reply:
    found = await get_price_list(ctx, id_of(request, "list_id"))
    return await _entries(request, ctx, visit, found, notice=notice_of(request, _NOTICES))


async def add(request: Request, ctx: Context, visit: Visit) -> Reply:
    found, fields = await get_price_list(ctx, id_of(request, "list_id")), Fields(request)
    try:
        sku = fields.line("sku", most=100, required=True)
        quantity = fields.whole("min_quantity", least=1)
        amount = fields.amount("amount", found.currency, required=True)
        fields.check()
        if amount is not None:
            await price_lists.save_entry(ctx, found.id, sku, quantity or 1, amount)
    except Invalid as wrong:
        return await _entries(request, ctx, visit, found, 422, errors=wrong.errors, adding=fields.typed)
    return redirect(f"{_here(found)}?done=added")


async def paste(request: Request, ctx: Context, visit: Visit) -> Reply:
    found, fields = await get_price_list(ctx, id_of(request, "list_id")), Fields(request)
    text = fields.typed.get("lines", "")
    try:
        await price_lists.paste_entries(ctx, found, text)
    except Invalid as wrong:
        return await _entries(request, ctx, visit, found, 422, errors=wrong.errors, lines=text)
    return redirect(f"{_here(found)}?done=pasted")


async def change(request: Request, ctx: Context, visit: Visit) -> Reply:
    found, fields = await get_price_list(ctx, id_of(request, "list_id")), Fields(request)
    typed = {name: fields.group(name) for name in ("amount", "min_quantity")}
    removed = fields.ids("remove")
    try:
        changes = _read(fields, found, typed, {str(entry_id) for entry_id in removed})
        fields.check()
        await price_lists.change_entries(ctx, found.id, changes, removed)
    except Invalid as wrong:
        return await _entries(request, ctx, visit, found, 422, errors=wrong.errors, typed=typed)
    return redirect(f"{_here(found)}?done=saved")


def _here(found: CountedList) -> str:
    return f"/admin/price-lists/{found.id}/entries"


def _read(fields: Fields, found: CountedList, typed: dict[str, dict[str, Any]], removed: set[str]) -> dict[Any, Any]:
    changes: dict[Any, dict[str, Any]] = {}
    readers: dict[str, Any] = {
        "amount": lambda text: read_amount(text, found.currency),
        "min_quantity": lambda text: read_whole(text, 1),
    }
    for name, read in readers.items():
        for key, text in typed[name].items():
            entry_id = as_uuid(key)
            if entry_id is None or key in removed or not isinstance(text, str):
                continue
            try:
                changes.setdefault(entry_id, {})[name] = read(text.strip())
            except ValueError as error:
                fields.refuse(f"{name}-{key}", str(error))
    return changes


async def _entries(
    request: Request, ctx: Context, visit: Visit, found: CountedList, status: int = 200, **more: Any
) -> Reply:
    search, before = text_param(request, "q"), as_uuid(text_param(request, "before"))
    rows = await price_list_pages.list_entries(ctx.db, found, search, before, most=SIZE + 1)
    typed = more.pop("typed", {"amount": {}, "min_quantity": {}})

    def text(name: str, entry: Any) -> str:
        kept = amount_text(entry.amount, found.currency) if name == "amount" else str(entry.min_quantity)
        return str(typed[name].get(str(entry.id), kept))

    older = f"{_here(found)}?before={rows[SIZE - 1].id}" if len(rows) > SIZE else None
    return page(
        "price_list_entries.html",
        visit,
        status,
        **{"adding": {}, "lines": "", **more},
        found=found,
        entries=rows[:SIZE],
        text=text,
        q=search,
        older=older,
        newest=_here(found) if before else None,
    )
