"""Pages of CSV imports: upload, columns, result of the check, progress and errors; and the CSV exports."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from shop.actions.context import Context
from shop.actions.customers import csv_customers
from shop.actions.customers.export import audit_bulk_export
from shop.actions.imports import csv_exports, csv_imports
from shop.actions.imports.csv_imports import KINDS, get_import
from shop.admin.fields import Fields, id_of
from shop.admin.operations.downloads import stream_reply, table_reply
from shop.admin.pages import PageContext, notice_of, page, redirect
from shop.admin.session import require_permission
from shop.base.errors import Invalid, NotFound
from shop.models.imports.csv_imports import CsvImport, CsvLineError
from shop.queries.imports import csv_imports as queries
from shop.rules.imports.csv_columns import COST_COLUMNS, FORMATS, list_permissions, suggest_mapping, target_columns
from shop.rules.imports.csv_files import MAX_BYTES, read_rows
from shop.web.input.request import Request
from shop.web.reply import Reply

PATH = "/admin/imports"
STATES = {
    "uploaded": "choose columns",
    "checking": "being checked",
    "checked": "checked",
    "running": "running",
    "done": "finished",
    "failed": "failed",
}
_CUSTOMERS = "customers"
_PREVIEW = 5
_SHOWN_ERRORS = 20
_NOTICES = {"uploaded": "File uploaded.", "deleted": "Import deleted.", "queued": "Started in the background."}


async def listing(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    return await _list(ctx, page_context, notice=notice_of(request, _NOTICES))


async def upload(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    kind = Fields(request).texts.get("kind", "")
    if kind in KINDS:
        _require_all(page_context, list_permissions(kind))
    try:
        import_id = await csv_imports.create_import(ctx, kind, request.file("file") or b"")
    except Invalid as error:
        return await _list(ctx, page_context, 422, errors=error.errors)
    return redirect(f"{PATH}/{import_id}?done=uploaded")


async def show(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    row = await _get_permitted(request, ctx, page_context, "read")
    return await _show(ctx, page_context, row, notice=notice_of(request, _NOTICES))


async def check(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    fields = Fields(request)
    mapping = {key: text for key, text in fields.group("mapping").items() if isinstance(text, str) and text}
    row = await _get_permitted(request, ctx, page_context, "write")
    _require_all(page_context, list_permissions(row.kind, mapping.values()))
    import_id = row.id
    try:
        await csv_imports.check_import(ctx, import_id, mapping)
    except Invalid as error:
        row = await get_import(ctx, import_id)
        return await _show(ctx, page_context, row, 422, errors=error.errors, mapping=mapping)
    return redirect(f"{PATH}/{import_id}?done=queued")


async def start(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    row = await _get_permitted(request, ctx, page_context, "write")
    _require_all(page_context, list_permissions(row.kind, row.mapping.values()))
    try:
        await csv_imports.start_import(ctx, row.id, row.mapping)
    except Invalid as error:
        return await _show(ctx, page_context, await get_import(ctx, row.id), 422, errors=error.errors)
    return redirect(f"{PATH}/{row.id}?done=queued")


async def delete(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    import_id = (await _get_permitted(request, ctx, page_context, "write")).id
    try:
        await csv_imports.delete_import(ctx, import_id)
    except Invalid as error:
        return await _show(ctx, page_context, await get_import(ctx, import_id), 422, errors=error.errors)
    return redirect(f"{PATH}?done=deleted")


async def download_errors(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    row = await _get_permitted(request, ctx, page_context, "read")
    rows = [(str(error.line), error.key, error.reason) for error in _list_errors(row)]
    return table_reply("import-errors", ("line", "key", "reason"), rows)


async def export(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    exports = {"products": csv_exports.export_products, "stock": csv_exports.export_stock}
    kind = request.path_params["kind"].removesuffix(".csv")
    if kind not in exports:
        raise NotFound()
    require_permission(page_context, "costs:read" if kind == "products" else "stock:read")
    return stream_reply(kind, exports[kind](ctx))


async def export_customers(_request: Request, ctx: Context, _page_context: PageContext) -> Reply:
    await audit_bulk_export(ctx, _CUSTOMERS)
    return stream_reply(_CUSTOMERS, csv_customers.export_customers(ctx))


async def _get_permitted(request: Request, ctx: Context, page_context: PageContext, act: str) -> CsvImport:
    """Returns the import, if the operator may read or write what files of its kind contain."""
    row = await get_import(ctx, id_of(request, "import_id"))
    require_permission(page_context, f"{row.kind}:{act}")
    return row


def _require_all(page_context: PageContext, permissions: Sequence[str]) -> None:
    for permission in permissions:
        require_permission(page_context, permission)


def _can_import(page_context: PageContext, kind: str, columns: Iterable[str] = ()) -> bool:
    return all(map(page_context.can, [f"{kind}:write", *list_permissions(kind, columns)]))


async def _list(ctx: Context, page_context: PageContext, status: int = 200, **more: Any) -> Reply:
    return page(
        "imports/imports.html",
        page_context,
        status,
        **more,
        imports=[row for row in await queries.list_imports(ctx.db) if page_context.can(f"{row.kind}:read")],
        kinds=KINDS,
        uploads={kind: label for kind, label in KINDS.items() if _can_import(page_context, kind)},
        states=STATES,
        formats=FORMATS,
        most_megabytes=MAX_BYTES // 1024 // 1024,
    )


async def _show(ctx: Context, page_context: PageContext, row: CsvImport, status: int = 200, **more: Any) -> Reply:
    errors = more.pop("errors", {})
    return page(
        "imports/import.html",
        page_context,
        status,
        **{"mapping": row.mapping, **more},
        errors={name: texts for name, texts in errors.items() if name != "base"},
        refusal=" ".join(errors.get("base", ())),
        row=row,
        can_write=page_context.can(f"{row.kind}:write"),
        can_start=_can_import(page_context, row.kind, row.mapping.values()),
        preview=_list_first_rows(row, has_costs=page_context.can("costs:read")),
        targets=[
            column
            for column in target_columns(row.kind, ctx.shared.shop.currencies)
            if _can_import(page_context, row.kind, [column])
        ],
        line_errors=_list_errors(row)[:_SHOWN_ERRORS],
        kinds=KINDS,
        states=STATES,
        formats=FORMATS,
        labels={"mapping": "The columns", **{f"mapping-{n}": header for n, header in enumerate(row.headers)}},
        path=f"{PATH}/{row.id}",
    )


def _list_first_rows(row: CsvImport, *, has_costs: bool) -> list[list[str]]:
    """Returns the first rows of a stored file; cells that look like costs are empty without the permission."""
    rows = read_rows(row.content) if row.content else iter(())
    next(rows, None)
    mappings = (row.mapping, suggest_mapping(row.kind, row.format, row.headers, ()))
    hidden = {
        int(number)
        for mapping in mappings
        for number, column in mapping.items()
        if column in COST_COLUMNS and not has_costs
    }
    return [
        ["" if number in hidden else cell for number, cell in enumerate(cells)]
        for _, (_, cells) in zip(range(_PREVIEW), rows, strict=False)
    ]


def _list_errors(row: CsvImport) -> list[CsvLineError]:
    return [msgspec.json.decode(text, type=CsvLineError) for text in row.errors]
