"""Report pages: a chart, the same data as a table, and as CSV."""

from collections.abc import AsyncGenerator
from datetime import date
from typing import Any
from urllib.parse import urlencode

from shop.actions.context import Context
from shop.admin.listing import ListHead, number_pages, read_page, text_param
from shop.admin.operations.downloads import stream_reply
from shop.admin.operations.periods import PERIODS, Period, read_period
from shop.admin.operations.report_kinds import REPORTS, ReportKind
from shop.admin.operations.report_tables import CellFormat, ReportQuery, ReportTable, draw_charts, sort_rows, sum_rows
from shop.admin.pages import PageContext, page
from shop.admin.session import missing_permission
from shop.base.csv_cells import csv_line
from shop.base.errors import Forbidden, NotFound
from shop.base.times import day_of, find_zone
from shop.queries.operations import report_days, reports
from shop.queries.operations.report_days import ReportProgress
from shop.rules.setup.names import label_currency
from shop.web.input.request import Request
from shop.web.reply import Reply

PATH = "/admin/reports"
ROWS = 200
"""The rows of a page; a CSV file has all of them."""
_CHUNK_ROWS = 500
_COSTS = "costs:read"


async def listing(_request: Request, _ctx: Context, page_context: PageContext) -> Reply:
    return page("operations/reports.html", page_context, reports=_list_kinds(page_context))


async def list_currencies(ctx: Context) -> list[str]:
    """Returns the shop's currencies, and former ones that have figures."""
    return list(dict.fromkeys([*ctx.shared.shop.currencies, *await reports.list_currencies(ctx.db)]))


def read_currency(request: Request, currencies: list[str]) -> str:
    currency = text_param(request, "currency")
    return currency if currency in currencies else currencies[0]


def today_of(ctx: Context, progress: ReportProgress) -> date:
    return day_of(progress.now, find_zone(ctx.shared.shop.time_zone))


async def show(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    kind = _find_kind(request, page_context)
    progress, currencies = await report_days.find_progress(ctx.db), await list_currencies(ctx)
    query = _read_query(request, ctx, kind, today_of(ctx, progress), currencies)
    order, table = await _load_table(request, ctx, kind, query)
    cells = CellFormat(query.currency, ctx.shared.shop.default_locale)
    params, number = _params(query, query.period, order), read_page(request)
    first, sums = (number - 1) * ROWS, sum_rows(table)
    page_rows, total_texts = table.rows[first : first + ROWS], _display_sums(sums, table, cells)
    return page(
        "operations/report.html",
        page_context,
        kind=kind,
        query=query,
        progress=progress,
        currencies={code: label_currency(code) for code in currencies},
        periods=PERIODS,
        order=order,
        table=table,
        rows=[_display(row, table, cells) for row in page_rows],
        empty_rows=[not any(row[1:]) for row in page_rows],
        row_links=table.links[first : first + ROWS],
        head=ListHead(len(table.rows)),
        pages=number_pages(f"{PATH}/{kind.slug}", params, number, len(table.rows), ROWS),
        sums=total_texts,
        totals=[(column.label, text) for column, text in zip(table.columns, total_texts, strict=False) if text],
        charts=draw_charts(table, cells),
        sort_links={
            column.name: f"?{urlencode({**params, 'sort': _next_order(column.name, order)})}"
            for column in table.columns
        },
        csv_link=f"{PATH}/{kind.slug}/csv?{urlencode(params)}",
        zone=ctx.shared.shop.time_zone,
        path=PATH,
    )


async def download(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    """Returns all rows of a report as CSV, in the order of the page."""
    kind = _find_kind(request, page_context)
    progress, currencies = await report_days.find_progress(ctx.db), await list_currencies(ctx)
    query = _read_query(request, ctx, kind, today_of(ctx, progress), currencies)
    _, table = await _load_table(request, ctx, kind, query)
    cells = CellFormat(query.currency, ctx.shared.shop.default_locale)
    days = f"-{query.period.start}-{query.period.end}" if kind.has_period else ""
    return stream_reply(f"{kind.slug}-{query.currency}{days}", _write_csv(table, cells))


async def _write_csv(table: ReportTable, cells: CellFormat) -> AsyncGenerator[bytes]:
    heads = [
        f"{column.label} ({cells.currency})" if column.kind == "money" else column.label for column in table.columns
    ]
    yield csv_line(heads).encode()
    for start in range(0, len(table.rows), _CHUNK_ROWS):
        rows = table.rows[start : start + _CHUNK_ROWS]
        lines = [
            csv_line([cells.export(value, column.kind) for value, column in zip(row, table.columns, strict=True)])
            for row in rows
        ]
        yield "".join(lines).encode()


def _find_kind(request: Request, page_context: PageContext) -> ReportKind:
    kind = REPORTS.get(request.path_params["report"])
    if kind is None:
        raise NotFound()
    if kind not in _list_kinds(page_context):
        raise Forbidden(missing_permission(_COSTS))
    return kind


def _list_kinds(page_context: PageContext) -> list[ReportKind]:
    """Returns the reports that the operator may read: the value of the stock shows costs."""
    return [kind for kind in REPORTS.values() if kind.slug != "stock" or page_context.can(_COSTS)]


def _read_query(request: Request, ctx: Context, kind: ReportKind, today: date, currencies: list[str]) -> ReportQuery:
    group = text_param(request, "group")
    return ReportQuery(
        read_currency(request, currencies),
        ctx.shared.shop.currencies[0],
        read_period(request, today, PERIODS),
        group if group in kind.groups else "",
    )


async def _load_table(request: Request, ctx: Context, kind: ReportKind, query: ReportQuery) -> tuple[str, ReportTable]:
    """Returns the order of the rows, and the rows in this order."""
    table = await kind.load(ctx.db, query)
    order = text_param(request, "sort")
    is_known = order.removeprefix("-") in {column.name for column in table.columns}
    if not is_known:
        order = f"-{table.columns[0].name}" if table.is_series else kind.sort
    return order, sort_rows(table, order)


def _params(query: ReportQuery, period: Period, order: str) -> dict[str, str]:
    params = {"period": period.key, "currency": query.currency, "group": query.group, "sort": order}
    if period.key == "custom":
        params |= {"from": period.start.isoformat(), "to": period.end.isoformat()}
    return {name: value for name, value in params.items() if value}


def _next_order(name: str, order: str) -> str:
    """Returns the order after a click on a column: descending first, then the other direction."""
    return name if order == f"-{name}" else f"-{name}"


def _display(row: Any, table: ReportTable, cells: CellFormat) -> list[str]:
    return [_display_one(value, number, table, cells) for number, value in enumerate(row)]


def _display_sums(sums: list[Any] | None, table: ReportTable, cells: CellFormat) -> list[str | None]:
    return [None if value is None else _display_one(value, n, table, cells) for n, value in enumerate(sums or ())]


def _display_one(value: Any, number: int, table: ReportTable, cells: CellFormat) -> str:
    return cells.display(value, table.columns[number].kind)
