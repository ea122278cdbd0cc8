"""The grid of products: variants as rows, edited like a spreadsheet, reviewed and saved together."""

from collections.abc import Mapping, Sequence
from datetime import tzinfo
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

import msgspec

from shop.actions.catalog_bulk.cells import save_edits
from shop.actions.context import Context
from shop.admin.catalog.products import FILTERS, SORTS, STATUSES, STOCK, read_filter
from shop.admin.catalog_bulk.grid_rows import (
    KINDS,
    GridColumn,
    GridState,
    build_rows,
    can_edit,
    describe_owner,
    list_columns,
    local_text,
    read_columns,
    utc_text,
    value_text,
)
from shop.admin.fields import Fields
from shop.admin.listing import ListHead, Pages, build_head, paginate_rows, read_cursor, read_sort, text_param
from shop.admin.pages import PageContext, page, redirect
from shop.base.ids import as_uuid
from shop.models.catalog_bulk.cells import CellColumn, CellEdit, CellProblem, ProductCells
from shop.queries.catalog_admin import products as product_pages
from shop.queries.catalog_admin.products import ListedProduct
from shop.queries.catalog_bulk import batches
from shop.queries.catalog_bulk import cells as queries
from shop.queries.dashboard import COUNT_LIMIT
from shop.rules.catalog_bulk.cells import CHANGED, check_edit, parse_column
from shop.web.input.request import Request
from shop.web.reply import Reply

PATH = "/admin/products/grid"
SIZES = {"25": "25 rows", "50": "50 rows", "100": "100 rows"}
MAX_CELLS = 2000
"""The cells of one page; each is two fields of its form."""
MAX_TEXT_LENGTH = 200
BODY_LIMIT, MOST_PARAMS = 1024 * 1024, 2 * MAX_CELLS + 200


class GridPage(msgspec.Struct, frozen=True):
    """The products of one page of the grid with the chosen columns, and the parameters of its URL."""

    params: Mapping[str, str]
    columns: Mapping[str, GridColumn]
    visible: Sequence[GridColumn]
    products: Sequence[ListedProduct]
    pages: Pages
    head: ListHead

    @property
    def url(self) -> str:
        pairs = [*((name, value) for name, value in self.params.items() if value)]
        pairs += [("columns[]", column.key) for column in self.visible]
        return f"{PATH}?{urlencode(pairs)}"


async def show(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    grid = await _load_page(request, ctx, page_context)
    count = text_param(request, "saved")
    notice = f"{count} change{'' if count == '1' else 's'} saved." if count.isascii() and count.isdigit() else None
    return await _render(ctx, page_context, grid, GridState(), notice=notice)


async def change(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    fields = Fields(request)
    grid = await _load_page(request, ctx, page_context)
    edits = read_edits(fields, page_context)
    texts = {(edit.owner_id, edit.column): edit.after for edit in edits}
    step = fields.texts.get("step", "review")
    if step == "edit" or not edits:
        notice = None if edits else "Nothing to save: no value was changed."
        return await _render(ctx, page_context, grid, GridState(texts), notice=notice)
    if step == "review":
        return await _review(ctx, page_context, grid, edits)
    result = await save_edits(ctx, edits)
    if not result.problems:
        return redirect(f"{grid.url}&saved={len(result.changes)}")
    problem_keys = {problem.edit.owner_id for problem in result.problems}
    unsaved_texts = {key: text for key, text in texts.items() if key[0] in problem_keys}
    messages = {(problem.edit.owner_id, problem.edit.column): problem.message for problem in result.problems}
    status = 409 if any(problem.message == CHANGED for problem in result.problems) else 422
    return await _render(
        ctx,
        page_context,
        grid,
        GridState(unsaved_texts, messages),
        status,
        problems=result.problems,
        saved_count=len(result.changes),
    )


def read_edits(fields: Fields, page_context: PageContext) -> list[CellEdit]:
    """Returns the cells that differ from the values that the operator saw, of columns that the operator may change."""
    originals, edits = fields.group("seen"), []
    for owner, row in fields.group("cell").items():
        owner_id, original_row = as_uuid(owner), originals.get(owner, {})
        if owner_id is None or not isinstance(row, dict) or not isinstance(original_row, dict):
            continue
        for key, text in row.items():
            before = original_row.get(key, "")
            is_text = isinstance(text, str) and isinstance(before, str)
            column = parse_column(key)
            if is_text and column and can_edit(page_context, column):
                after = _read_text(column, text.strip()[:MAX_TEXT_LENGTH], before, page_context.shop.zone)
                edits += [CellEdit(owner_id, key, before, after)] if after != before else []
    return edits[:MAX_CELLS]


def _read_text(column: CellColumn, text: str, before: str, zone: tzinfo) -> str:
    """Returns the value of an input. Times become UTC; one that the operator did not change remains as it was, also if
    clocks show it twice.
    """
    if KINDS.get(column.name) != "moment":
        return text
    return before if text == local_text(before, zone) else utc_text(text, zone)


async def _load_page(request: Request, ctx: Context, page_context: PageContext) -> GridPage:
    query = request.query
    params = {name: text_param(request, name) for name in (*FILTERS, "size")}
    params["size"] = params["size"] if params["size"] in SIZES else "25"
    params["sort"] = read_sort(request, SORTS)
    order = product_pages.SORTS[params["sort"]]
    columns = await list_columns(ctx, page_context)
    visible = read_columns(query.get("columns"), columns)
    most_rows = max(min(int(params["size"]), MAX_CELLS // len(visible)), 1)
    filters, cursor, currency = read_filter(params), read_cursor(request, order.kind), page_context.shop.currencies[0]
    rows = await product_pages.list_products(
        ctx.db, filters, cursor, currency=currency, most=most_rows + 1, sort=params["sort"]
    )
    is_back = cursor is not None and cursor.side == "after"
    size = _count_fitting(rows[::-1] if is_back else rows, most_rows)
    rows = rows[-size - 1 :] if is_back else rows[: size + 1]
    page_rows, pages = paginate_rows(request, rows, cursor, by=order.field, params=params, size=size)
    suffix = "".join(f"&{urlencode({'columns[]': column.key})}" for column in visible)
    pages = Pages(pages.newer and pages.newer + suffix, pages.older and pages.older + suffix)
    count = await batches.count_products(ctx.db, filters, most=COUNT_LIMIT + 1)
    head = build_head(PATH, count, SORTS, params["sort"], params)
    links = [msgspec.structs.replace(link, url=link.url + suffix) for link in head.sorts]
    head = msgspec.structs.replace(head, sorts=links)
    return GridPage(params, columns, visible, page_rows, pages, head)  # type: ignore[arg-type]


def _count_fitting(rows: Sequence[ListedProduct], most_rows: int) -> int:
    """Returns how many products fit on a page with so many rows; at least one."""
    total = 0
    for number, product in enumerate(rows):
        total += max(product.variant_count, 1)
        if total > most_rows:
            return max(number, 1)
    return max(len(rows), 1)


async def _load_cells(ctx: Context, page_context: PageContext, product_ids: Sequence[UUID]) -> ProductCells:
    return await queries.load_cells(ctx.db, product_ids, page_context.shop.currencies[0])


async def _review(ctx: Context, page_context: PageContext, grid: GridPage, edits: Sequence[CellEdit]) -> Reply:
    owner_ids = [edit.owner_id for edit in edits]
    cells = await _load_cells(ctx, page_context, await queries.list_product_ids(ctx.db, owner_ids))
    checks = [check_edit(cells, edit) for edit in edits]
    problems = [check for check in checks if isinstance(check, CellProblem)]
    return page(
        "catalog/bulk/grid_review.html",
        page_context,
        grid=grid,
        edits=edits,
        problems={(problem.edit.owner_id, problem.edit.column): problem for problem in problems},
        describe=lambda owner_id: describe_owner(cells, owner_id),
        label=lambda key: grid.columns[key].label if key in grid.columns else key,
        text=lambda key, text: value_text(grid.columns, key, text),
        input_text=lambda key, text: grid.columns[key].input_text(text) if key in grid.columns else text,
    )


async def _render(
    ctx: Context, page_context: PageContext, grid: GridPage, state: GridState, status: int = 200, **more: Any
) -> Reply:
    product_ids = [product.id for product in grid.products]
    problems: Sequence[CellProblem] = more.get("problems", ())
    hidden_ids = await queries.list_product_ids(ctx.db, [problem.edit.owner_id for problem in problems])
    cells = await _load_cells(ctx, page_context, [*product_ids, *hidden_ids])
    return page(
        "catalog/bulk/grid.html",
        page_context,
        status,
        **{"problems": (), "saved_count": 0, **more},
        grid=grid,
        rows=build_rows(cells, product_ids, grid.visible, state),
        choices={"status": {"": "Any status", **STATUSES}, "stock": STOCK, "size": SIZES},
        is_filtered=any(grid.params[name] for name in FILTERS),
        describe=lambda owner_id: describe_owner(cells, owner_id),
        label=lambda key: grid.columns[key].label if key in grid.columns else key,
        text=lambda key, text: value_text(grid.columns, key, text),
    )
