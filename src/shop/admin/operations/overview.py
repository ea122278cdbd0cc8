"""Overview page: the figures of a period beside the one before, and what needs attention."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from shop.actions.context import Context
from shop.admin.operations import backups
from shop.admin.operations.backups import BackupNotice, find_notice
from shop.admin.operations.charts import Chart
from shop.admin.operations.periods import DAY_PERIODS, Period, read_period
from shop.admin.operations.report_kinds import CHANNELS
from shop.admin.operations.report_tables import UNKNOWN, CellFormat, Column, ReportTable, draw_charts, percent_text
from shop.admin.operations.reports import list_currencies, read_currency, today_of
from shop.admin.pages import PageContext, page, redirect
from shop.models.journal import OutboxMail
from shop.models.webhooks.endpoints import WebhookEndpoint
from shop.queries import dashboard
from shop.queries.dashboard import MailWarning, Tally
from shop.queries.operations import report_days, reports
from shop.queries.operations.reports import COUNT_LIMIT, DayRange, OpenWork, SalesFigures
from shop.queries.webhooks import pages as webhook_pages
from shop.rules.setup.names import label_currency
from shop.web.input.request import Request
from shop.web.reply import Reply

START_PAGES = (
    "/admin/orders",
    "/admin/products",
    "/admin/stock",
    "/admin/customers",
    "/admin/promotions",
    "/admin/settings/shop",
    "/admin/account",
)
"""The pages that an operator without access to figures starts with: the first of these that the role permits."""
MAX_MAILS = 10
MAX_ENTRIES = 5
"""The length of the lists of products, countries and channels."""


class Attention(msgspec.Struct, frozen=True):
    """What needs the attention of an operator."""

    work: OpenWork
    tally: Tally
    dead_mails: list[OutboxMail]
    mail_warnings: list[MailWarning]
    failed_endpoints: list[WebhookEndpoint]
    backups: BackupNotice | None


class Sums(msgspec.Struct, frozen=True):
    """The figures of one period."""

    revenue: int
    orders: int
    completed: int
    """The orders that were completed, those that were canceled since included."""
    carts: int
    refunds: int
    first_orders: int

    @property
    def average(self) -> int | None:
        return round(self.revenue / self.orders) if self.orders else None

    @property
    def conversion(self) -> float | None:
        return 100 * self.completed / self.carts if self.carts else None


class Tile(msgspec.Struct, frozen=True):
    """A figure, the one of the period before, and the change between them."""

    label: str
    text: str
    former_text: str
    change: str
    trend: str
    """`up`, `down` or `same`."""
    hint: str = ""


class RankedName(msgspec.Struct, frozen=True):
    """A line of a list: a name with its amount and its share of the total."""

    name: str
    amount: str
    share: str
    link: str | None = None


class Figures(msgspec.Struct, frozen=True):
    """What the page shows of a period."""

    tiles: Sequence[Tile]
    days: Sequence[Sequence[str]]
    charts: tuple[Chart, Chart] | None
    products: Sequence[RankedName]
    countries: Sequence[RankedName]
    channels: Sequence[RankedName]


async def show(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    if not page_context.can("reports:read"):
        return redirect(next(path for path in START_PAGES if page_context.can_open("GET", path)))
    progress, currencies = await report_days.find_progress(ctx.db), await list_currencies(ctx)
    period = read_period(request, today_of(ctx, progress), DAY_PERIODS)
    currency = read_currency(request, currencies)
    return page(
        "operations/overview.html",
        page_context,
        attention=await _load_attention(ctx, page_context),
        figures=await _load_figures(ctx, period, currency),
        progress=progress,
        period=period,
        periods=DAY_PERIODS,
        currency=currency,
        currencies={code: label_currency(code) for code in currencies},
        backup_hours=ctx.shared.settings.backup_hours,
        zone=ctx.shared.shop.time_zone,
        most=COUNT_LIMIT,
    )


async def _load_attention(ctx: Context, page_context: PageContext) -> Attention:
    operator_id = page_context.operator_session.operator.id
    work, tally = await reports.find_open_work(ctx.db, operator_id), await dashboard.find_tally(ctx.db)
    mails = await dashboard.list_dead_mails(ctx.db, most=MAX_MAILS) if tally.dead_mail_count else []
    warnings = await dashboard.list_mail_warnings(ctx.db)
    failed_endpoints = await webhook_pages.list_failed(ctx.db)
    return Attention(work, tally, mails, warnings, failed_endpoints, await _find_backup_notice(ctx, page_context))


async def _find_backup_notice(ctx: Context, page_context: PageContext) -> BackupNotice | None:
    """Returns the notice about backups, for those who can open their page; a try-out needs no backups."""
    if not page_context.can_open("GET", backups.PATH):
        return None
    notice = await find_notice(ctx)
    return None if notice and notice.kind == "unscheduled" and ctx.shared.is_try_out else notice


async def _load_figures(ctx: Context, period: Period, currency: str) -> Figures:
    cells, both = CellFormat(currency, ctx.shared.shop.default_locale), _both_periods(period, currency)
    sales = await reports.list_sales(ctx.db, both, "day")
    carts = [(each.day, each.carts) for each in await reports.list_carts(ctx.db, both)]
    refunds = [(each.key, each.amount) for each in await reports.list_refunds(ctx.db, both, "day")]
    now, before = (_sum_period(sales, carts, refunds, period, is_current=each) for each in (True, False))
    days = period.days_in(currency)
    products = await reports.list_best_products(ctx.db, days, most=MAX_ENTRIES)
    countries = await reports.list_sales(ctx.db, days, "country")
    channels = await reports.list_sales(ctx.db, days, "channel")
    names = await reports.list_country_names(ctx.db)
    table = _list_days(sales, carts, period)
    return Figures(
        _build_tiles(now, before, cells),
        [
            [cells.display(value, column.kind) for value, column in zip(row, table.columns, strict=True)]
            for row in table.rows
        ],
        draw_charts(table, cells),
        [
            RankedName(
                each.name or "Deleted product",
                cells.display(each.total, "money"),
                f"{each.units:,} sold",
                f"/admin/products/{each.id}" if each.id else None,
            )
            for each in products
        ],
        _list_largest(countries, now.revenue, cells, names),
        _list_largest(channels, now.revenue, cells, CHANNELS),
    )


def _both_periods(period: Period, currency: str) -> DayRange:
    return DayRange(currency, period.previous_start, period.end)


def _sum_period(
    sales: Sequence[SalesFigures],
    carts: Iterable[tuple[Any, int]],
    refunds: Iterable[tuple[Any, int]],
    period: Period,
    *,
    is_current: bool,
) -> Sums:
    """Sums the days of the period, or those before it."""
    days = [each for each in sales if (each.key >= period.start) == is_current]
    orders = sum(each.orders for each in days)
    return Sums(
        revenue=sum(each.total for each in days),
        orders=orders,
        completed=orders + sum(each.canceled_orders for each in days),
        carts=sum(count for day, count in carts if (day >= period.start) == is_current),
        refunds=sum(amount for day, amount in refunds if (day >= period.start) == is_current),
        first_orders=sum(each.first_orders for each in days),
    )


def _build_tiles(now: Sums, before: Sums, cells: CellFormat) -> list[Tile]:
    def tile(label: str, kind: str, value: Any, former: Any, hint: str = "") -> Tile:
        text, former_text = (UNKNOWN if each is None else cells.display(each, kind) for each in (value, former))
        change = 100 * (value - former) / former if value is not None and former else None
        trend = "same" if not change else "up" if change > 0 else "down"
        return Tile(label, text, former_text, "" if change is None else f"{change:+.0f}%", trend, hint)

    returning, returning_before = now.orders - now.first_orders, before.orders - before.first_orders
    return [
        tile("Revenue", "money", now.revenue, before.revenue, "Totals of orders, with tax and shipping."),
        tile("Orders", "count", now.orders, before.orders, "Completed and not canceled."),
        tile("Average order", "money", now.average, before.average),
        tile("Conversion", "percent", now.conversion, before.conversion, "Completed orders per cart with items."),
        tile("Refunds", "money", now.refunds, before.refunds, "Returned in the period, also for older orders."),
        tile("New customers", "count", now.first_orders, before.first_orders, "First orders of an e-mail address."),
        tile("Returning orders", "count", returning, returning_before, "Orders of customers who ordered before."),
        tile("Carts", "count", now.carts, before.carts, "Created and with items."),
    ]


def _list_days(sales: Sequence[SalesFigures], carts: Iterable[tuple[Any, int]], period: Period) -> ReportTable:
    """Returns revenue, orders and carts of each day."""
    by_day, cart_counts = {each.key: each for each in sales}, dict(carts)
    rows = []
    for day in period.days:
        figures = by_day.get(day)
        totals = (figures.total, figures.orders) if figures else (0, 0)
        rows.append([day, *totals, cart_counts.get(day, 0)])
    columns = (
        *(Column("day", "Day", "day"), Column("total", "Revenue")),
        *(Column("orders", "Orders", "count"), Column("carts", "Carts", "count")),
    )
    return ReportTable(columns, rows, "total", is_series=True)


def _list_largest(
    figures: Sequence[SalesFigures], revenue: int, cells: CellFormat, names: Mapping[str, str]
) -> list[RankedName]:
    largest = sorted(figures, key=lambda each: -each.total)[:MAX_ENTRIES]
    return [
        RankedName(
            names.get(each.key, each.key) or "No country",
            cells.display(each.total, "money"),
            percent_text(100 * each.total / revenue if revenue else None),
        )
        for each in largest
        if each.orders
    ]
