"""The reports: title, explanation, groups, and the function that loads the rows of each."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import date, timedelta
from typing import Any

import msgspec

from shop.admin.operations.report_tables import Column, ReportQuery, ReportTable
from shop.db.pool import DatabaseSession
from shop.queries.operations import reports
from shop.queries.operations.reports import ProductFigures, SalesFigures

Load = Callable[[DatabaseSession, ReportQuery], Awaitable[ReportTable]]
_NO_COUNTRY = "No country"
CHANNELS: Mapping[str, str] = {"shop": "Shop"}
"""What channels are called that are not named by whoever sends their orders."""
_PROVIDERS: Mapping[str, str] = {"check": "Check or transfer", "test_card": "Test card", "store_credit": "Store credit"}
_ORDERS, _UNITS = Column("orders", "Orders", "count"), Column("units", "Units", "count")
_SUMS = (
    *(Column("items", "Items"), Column("discounts", "Discounts"), Column("manual", "Manual")),
    *(Column("shipping", "Shipping"), Column("added_tax", "Added tax"), Column("total", "Total")),
    Column("tax", "All taxes"),
)
_SALES = (_ORDERS, _UNITS, *_SUMS)
_PRODUCT_SUMS = (
    *(_UNITS, Column("items", "Items"), Column("discounts", "Discounts"), Column("tax", "Tax")),
    Column("total", "Total"),
)


class ReportKind(msgspec.Struct, frozen=True):
    """A report."""

    slug: str
    title: str
    text: str
    """What it shows."""
    note: str
    """What counts, and when."""
    load: Load
    amounts: str
    """What its chart shows, and what an empty report has none of."""
    sort: str = ""
    groups: Mapping[str, str] = {}
    has_period: bool = True


def _values(figures: Any, columns: tuple[Column, ...]) -> list[Any]:
    return [getattr(figures, column.name) for column in columns]


async def _load_sales(db: DatabaseSession, query: ReportQuery) -> ReportTable:
    """Returns a row for each day, week or month of the period, those without orders included."""
    group = query.group or _default_group(query.period.length)
    starts = list(dict.fromkeys(_start_of(day, group) for day in query.period.days))
    sums = {start: [0] * len(_SALES) for start in starts}
    for figures in await reports.list_sales(db, query.period.days_in(query.currency), "day"):
        start = _start_of(figures.key, group)
        sums[start] = [a + b for a, b in zip(sums[start], _values(figures, _SALES), strict=True)]
    label = {"week": "Week from", "month": "Month from"}.get(group, "Day")
    rows = [[start, *values] for start, values in sums.items()]
    return ReportTable((Column("day", label, "day"), *_SALES), rows, "total", is_series=True)


def _default_group(length: int) -> str:
    return "day" if length <= 92 else "week" if length <= 370 else "month"


def _start_of(day: date, group: str) -> date:
    if group == "week":
        return day - timedelta(days=day.weekday())
    return day.replace(day=1) if group == "month" else day


async def _load_products(db: DatabaseSession, query: ReportQuery) -> ReportTable:
    figures = await reports.list_products(db, query.period.days_in(query.currency))
    columns = (Column("name", "Product", "text"), _ORDERS, *_PRODUCT_SUMS)
    links = [f"/admin/products/{each.id}" if each.id else None for each in figures]
    return ReportTable(
        columns, [_product_row(each, columns, "Deleted product") for each in figures], "total", links=links
    )


async def _load_categories(db: DatabaseSession, query: ReportQuery) -> ReportTable:
    figures = await reports.list_categories(db, query.period.days_in(query.currency))
    # A product counts in each of its categories: a sum would count it several times.
    sums = tuple(msgspec.structs.replace(column, is_summed=False) for column in _PRODUCT_SUMS)
    columns = (Column("name", "Category", "text"), *sums)
    return ReportTable(columns, [_product_row(each, columns, "No category") for each in figures], "total")


def _product_row(figures: ProductFigures, columns: tuple[Column, ...], nameless: str) -> list[Any]:
    return [figures.name or nameless, *_values(figures, columns[1:])]


async def _load_places(db: DatabaseSession, query: ReportQuery) -> ReportTable:
    """Returns a row for each country or channel."""
    by = query.group or "country"
    figures = await reports.list_sales(db, query.period.days_in(query.currency), by)
    names = await reports.list_country_names(db) if by == "country" else CHANNELS
    columns = (
        Column(by, {"country": "Country", "channel": "Channel"}[by], "text"),
        *(_ORDERS, Column("first_orders", "New", "count")),
        *(_UNITS, *_SUMS),
    )
    rows = [[_name_of(each, names), *_values(each, columns[1:])] for each in figures]
    return ReportTable(columns, rows, "total")


def _name_of(figures: SalesFigures, names: Mapping[str, str]) -> str:
    return names.get(figures.key, figures.key) or _NO_COUNTRY


async def _load_taxes(db: DatabaseSession, query: ReportQuery) -> ReportTable:
    figures = await reports.list_adjustments(db, query.period.days_in(query.currency), ["tax_rate"])
    names = await reports.list_country_names(db)
    columns = (
        *(Column("label", "Tax rate", "text"), Column("country", "Country", "text")),
        *(Column("orders", "Orders", "count", is_summed=False), Column("net", "Net", is_summed=False)),
        Column("amount", "Tax"),
    )
    rows = [
        [each.label, names.get(each.country, each.country) or _NO_COUNTRY, each.orders, each.net, each.amount]
        for each in figures
    ]
    return ReportTable(columns, rows, "amount")


async def _load_discounts(db: DatabaseSession, query: ReportQuery) -> ReportTable:
    figures = await reports.list_adjustments(db, query.period.days_in(query.currency), ["promotion", "manual"])
    sums: dict[str, tuple[int, int]] = {}
    for each in figures:
        orders, amount = sums.get(each.label, (0, 0))
        sums[each.label] = orders + each.orders, amount + each.amount
    columns = (
        *(Column("label", "Promotion or adjustment", "text"), Column("orders", "Orders", "count", is_summed=False)),
        Column("amount", "Amount"),
    )
    return ReportTable(columns, [[label, *values] for label, values in sums.items()], "amount")


async def _load_refunds(db: DatabaseSession, query: ReportQuery) -> ReportTable:
    """Returns a row for each reason or day."""
    by = query.group or "reason"
    sums: dict[Any, list[int]] = {day: [0, 0, 0] for day in query.period.days} if by == "day" else {}
    for each in await reports.list_refunds(db, query.period.days_in(query.currency), by):
        values = sums.setdefault(each.key, [0, 0, 0])
        values[0] += each.refunds
        values[1] += each.amount
        values[2] += each.amount if each.is_canceled else 0
    first = Column("day", "Day", "day") if by == "day" else Column("reason", "Reason", "text")
    columns = (
        *(first, Column("refunds", "Refunds", "count"), Column("amount", "Amount")),
        Column("canceled", "Of canceled orders"),
    )
    return ReportTable(columns, [[key, *values] for key, values in sums.items()], "amount", is_series=by == "day")


async def _load_payments(db: DatabaseSession, query: ReportQuery) -> ReportTable:
    columns = (
        *(Column("name", "Payment method", "text"), Column("type", "Provider", "text")),
        *(Column("payments", "Payments", "count"), Column("captured", "Received")),
        *(Column("refunds", "Refunds", "count"), Column("refunded", "Refunded"), Column("net", "Net")),
    )
    rows = [
        [
            *(each.name or "Deleted method", _name_provider(each.type or "unknown")),
            *(each.payments, each.captured_amount, each.refunds, each.refunded_amount),
            each.captured_amount - each.refunded_amount,
        ]
        for each in await reports.list_payments(db, query.period.days_in(query.currency))
    ]
    return ReportTable(columns, rows, "captured")


def _name_provider(name: str) -> str:
    return _PROVIDERS.get(name, name.replace("_", " ").capitalize())


async def _load_stock(db: DatabaseSession, query: ReportQuery) -> ReportTable:
    by = query.group or "product"
    values = await reports.list_stock_values(db, by, currency=query.currency, default_currency=query.default_currency)
    columns = (
        *(Column("name", {"product": "Product", "location": "Location"}[by], "text"), _UNITS),
        *(Column("price", "Value at price"), Column("cost", "Value at cost")),
        *(Column("no_price", "Units without price", "count"), Column("no_cost", "Units without cost", "count")),
    )
    rows = [
        [
            *(each.name, each.units, each.price),
            # Units of which no cost is known are worth an unknown amount, not zero.
            each.cost if each.units > each.units_without_cost else None,
            *(each.units_without_price, each.units_without_cost),
        ]
        for each in values
    ]
    links = [f"/admin/products/{each.id}" for each in values] if by == "product" else ()
    return ReportTable(columns, rows, "price", links=links)


_COUNT_COLUMNS = "Orders count on the day of their completion; canceled orders do not count."
REPORTS: Mapping[str, ReportKind] = {
    kind.slug: kind
    for kind in (
        ReportKind(
            "sales",
            "Sales over time",
            "Orders, items, discounts, shipping, taxes and totals by day, week or month.",
            f"{_COUNT_COLUMNS} Manual: adjustments entered by hand.",
            _load_sales,
            "Sales",
            groups={"": "Automatic", "day": "Day", "week": "Week", "month": "Month"},
        ),
        ReportKind(
            "products",
            "Sales by product",
            "Which products sell best, in units and amounts.",
            f"{_COUNT_COLUMNS} Totals include taxes, but not discounts on whole orders.",
            _load_products,
            "Sales",
            "-total",
        ),
        ReportKind(
            "categories",
            "Sales by category",
            "The same for the categories that products have now.",
            f"{_COUNT_COLUMNS} A product with several categories counts in each of them.",
            _load_categories,
            "Sales",
            "-total",
        ),
        ReportKind(
            "countries",
            "Sales by country or channel",
            "Where orders are shipped to, and where they come from.",
            f"{_COUNT_COLUMNS} The country is that of the shipping address. New: a customer's first order.",
            _load_places,
            "Sales",
            "-total",
            {"country": "Country", "channel": "Channel"},
        ),
        ReportKind(
            "taxes",
            "Taxes",
            "Net amounts and taxes by tax rate and country.",
            f"{_COUNT_COLUMNS} Net: the amount that was taxed, without the tax.",
            _load_taxes,
            "Taxes",
            "-amount",
        ),
        ReportKind(
            "discounts",
            "Discounts",
            "What promotions and manual adjustments changed.",
            _COUNT_COLUMNS,
            _load_discounts,
            "Discounts",
            "amount",
        ),
        ReportKind(
            "refunds",
            "Refunds",
            "Money that was returned, by reason or day.",
            "Refunds count on the day on which they were confirmed, also those of canceled orders.",
            _load_refunds,
            "Refunds",
            "-amount",
            {"reason": "Reason", "day": "Day"},
        ),
        ReportKind(
            "payments",
            "Payments by provider",
            "Money received and returned by payment method, for bookkeeping.",
            "Payments count on the day on which the money was received, refunds on the day of the refund.",
            _load_payments,
            "Payments",
            "-captured",
        ),
        ReportKind(
            "stock",
            "Stock value",
            "The units on hand at price and at cost, by product or location.",
            "Current stock at base prices. Costs without a currency count as {currency}.",
            _load_stock,
            "Stock",
            "-price",
            {"product": "Product", "location": "Location"},
            has_period=False,
        ),
    )
}
"""All reports, by the last part of their path."""
