"""Pages of CSV imports: upload, columns, result of the check, progress and errors; and the CSV exports.

Each kind of file has its own pages, with the permissions of its resource.
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import msgspec

from shop.actions.context import Context
from shop.actions.customers import csv_customers
from shop.actions.customers.export import audit_bulk_export
from shop.actions.imports import csv_exports, csv_imports
from shop.actions.imports.csv_files import create_import, open_beginning, say_full
from shop.actions.imports.csv_imports import get_import
from shop.admin.fields import Fields, id_of
from shop.admin.imports.column_names import name_column
from shop.admin.listing import RowSort, sort_rows
from shop.admin.operations.downloads import stream_reply, table_reply
from shop.admin.pages import PageContext, notice_of, page, redirect
from shop.admin.session import require_permission
from shop.base.errors import Invalid, NotFound
from shop.models.imports.csv_imports import FINAL_STATES, KINDS, CsvImport, CsvLineError
from shop.queries.imports import csv_imports as queries
from shop.rules.imports.csv_columns import (
    COST_COLUMNS,
    FORMATS,
    STOCK_IN_PRODUCTS,
    suggest_mapping,
    target_columns,
)
from shop.rules.imports.csv_files import MAX_BYTES, read_rows
from shop.web.input.request import Request
from shop.web.reply import Reply

PATH = "/admin/imports"
STATES = {
    "uploading": "being uploaded",
    "uploaded": "choose columns",
    "checking": "being checked",
    "checked": "checked",
    "running": "running",
    "done": "finished",
    "failed": "failed",
}
_PERMISSIONS: Mapping[str, str] = {
    **dict.fromkeys(STOCK_IN_PRODUCTS, "stock:write"),
    **dict.fromkeys(COST_COLUMNS, "costs:read"),
}
"""The permissions that columns of a product file need, beside the one to write products."""
_SORTS = {
    "newest": RowSort("Newest", lambda row: row.created_at, is_descending=True),
    "failed": RowSort("Most failed rows", lambda row: row.failed, is_descending=True),
}
_PREVIEW = 5
_SHOWN_ERRORS = 20
_NOTICES = {"uploaded": "File uploaded.", "deleted": "Import deleted.", "queued": "Started in the background."}


async def listing(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    return await _list(request, ctx, page_context, notice=notice_of(request, _NOTICES))


async def upload(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    kind = _kind_of(request)
    try:
        import_id = await create_import(ctx, kind, request.file_chunks())
    except Invalid as error:
        await request.discard_body()
        return await _list(request, ctx, page_context, 422, errors=error.errors)
    return redirect(f"{PATH}/{kind}/{import_id}?done=uploaded")


async def show(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    row = await _get(request, ctx)
    return await _show(ctx, page_context, row, notice=notice_of(request, _NOTICES))


async def check(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    row = await _get(request, ctx)
    mapping = {key: text for key, text in Fields(request).group("mapping").items() if isinstance(text, str) and text}
    _require_columns(page_context, row, mapping)
    try:
        await csv_imports.check_import(ctx, row.id, mapping)
    except Invalid as error:
        row = await get_import(ctx, row.id)
        return await _show(ctx, page_context, row, 422, errors=error.errors, mapping=mapping)
    return redirect(f"{_path_of(row)}?done=queued")


async def start(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    row = await _get(request, ctx)
    _require_columns(page_context, row, row.mapping)
    try:
        await csv_imports.start_import(ctx, row.id, row.mapping)
    except Invalid as error:
        return await _show(ctx, page_context, await get_import(ctx, row.id), 422, errors=error.errors)
    return redirect(f"{_path_of(row)}?done=queued")


async def delete(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    row = await _get(request, ctx)
    try:
        await csv_imports.delete_import(ctx, row.id)
    except Invalid as error:
        return await _show(ctx, page_context, await get_import(ctx, row.id), 422, errors=error.errors)
    return redirect(f"{PATH}/{row.kind}?done=deleted")


async def download_errors(request: Request, ctx: Context, _page_context: PageContext) -> Reply:
    row = await _get(request, ctx)
    rows = [(str(error.line), error.key, error.reason) for error in _list_errors(row)]
    return table_reply("import-errors", ("line", "key", "reason"), rows)


async def export_products(_request: Request, ctx: Context, page_context: PageContext) -> Reply:
    return stream_reply("products", csv_exports.export_products(ctx, with_costs=page_context.can("costs:read")))


async def export_stock(_request: Request, ctx: Context, _page_context: PageContext) -> Reply:
    return stream_reply("stock", csv_exports.export_stock(ctx))


async def export_customers(_request: Request, ctx: Context, _page_context: PageContext) -> Reply:
    await audit_bulk_export(ctx, "customers")
    return stream_reply("customers", csv_customers.export_customers(ctx))


def _kind_of(request: Request) -> str:
    """Returns the kind of file that the path names."""
    return str(request.scope["path"]).removeprefix(f"{PATH}/").partition("/")[0]


def _path_of(row: CsvImport) -> str:
    return f"{PATH}/{row.kind}/{row.id}"


async def _get(request: Request, ctx: Context) -> CsvImport:
    row = await get_import(ctx, id_of(request, "import_id"))
    if row.kind != _kind_of(request):
        raise NotFound()
    return row


def _require_columns(page_context: PageContext, row: CsvImport, mapping: Mapping[str, Any]) -> None:
    """Refuses columns of a product file that the operator may not change."""
    if row.kind == "products":
        for column in mapping.values():
            if permission := _PERMISSIONS.get(column):
                require_permission(page_context, permission)


def _list_targets(ctx: Context, page_context: PageContext, row: CsvImport) -> list[str]:
    columns = target_columns(row.kind, ctx.shared.shop.currencies)
    return [
        column
        for column in columns
        if row.kind != "products" or column not in _PERMISSIONS or page_context.can(_PERMISSIONS[column])
    ]


async def _list(request: Request, ctx: Context, page_context: PageContext, status: int = 200, **more: Any) -> Reply:
    kind = _kind_of(request)
    imports = await queries.list_imports(ctx.db, kind)
    is_full = len([row for row in imports if row.state not in FINAL_STATES]) >= queries.MAX_FILES
    rows, head = sort_rows(request, f"{PATH}/{kind}", imports, _SORTS)
    return page(
        "imports/imports.html",
        page_context,
        status,
        **more,
        imports=rows,
        head=head,
        full_sentence=say_full(kind) if is_full else "",
        kind=kind,
        tabs=[(f"{PATH}/{name}", label) for name, label in KINDS.items() if page_context.can(f"{name}:read")],
        states=STATES,
        formats=FORMATS,
        most_megabytes=MAX_BYTES // 1024 // 1024,
        path=f"{PATH}/{kind}",
    )


async def _show(ctx: Context, page_context: PageContext, row: CsvImport, status: int = 200, **more: Any) -> Reply:
    errors = more.pop("errors", {})
    targets = _list_targets(ctx, page_context, row)
    mapping = more.pop("mapping", {number: column for number, column in row.mapping.items() if column in targets})
    return page(
        "imports/import.html",
        page_context,
        status,
        **more,
        mapping=mapping,
        errors={name: texts for name, texts in errors.items() if name != "base"},
        refusal=" ".join(errors.get("base", ())),
        row=row,
        can_write=page_context.can(f"{row.kind}:write"),
        can_start=all(column in targets for column in row.mapping.values()),
        preview=await _read_preview(ctx, row, has_costs=page_context.can("costs:read")),
        left_out=[header for number, header in enumerate(row.headers) if header and str(number) not in mapping],
        targets=targets,
        column_name=name_column,
        line_errors=_list_errors(row)[:_SHOWN_ERRORS],
        kinds=KINDS,
        states=STATES,
        formats=FORMATS,
        labels={"mapping": "The columns", **{f"mapping-{n}": header for n, header in enumerate(row.headers)}},
        path=_path_of(row),
    )


async def _read_preview(ctx: Context, row: CsvImport, *, has_costs: bool) -> list[list[str]]:
    """Returns the first rows of the file, as far as its beginning contains them; cells that look like costs are empty
    without the permission.
    """
    if row.state not in ("uploaded", "checked"):
        return []
    rows = read_rows(await open_beginning(ctx, row))
    next(rows, None)
    preview: list[list[str]] = []
    with suppress(ValueError):
        preview += (cells for _, (_, cells) in zip(range(_PREVIEW), rows, strict=False))
    if has_costs:
        return preview
    mappings = (row.mapping, suggest_mapping(row.kind, row.format, row.headers, ()))
    costs = {int(number) for mapping in mappings for number, column in mapping.items() if column in COST_COLUMNS}
    return [["" if number in costs else cell for number, cell in enumerate(cells)] for cells in preview]


def _list_errors(row: CsvImport) -> list[CsvLineError]:
    return [msgspec.json.decode(text, type=CsvLineError) for text in row.errors]
