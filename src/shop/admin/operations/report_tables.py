"""The tables of reports: their columns, rows, sums and order, as a page and as CSV show them."""

from collections.abc import Callable, Sequence
from datetime import date
from decimal import Decimal
from typing import Any

import msgspec

from shop.admin.operations.charts import NARROW, WIDE, Chart, Point, draw_ranking, draw_series
from shop.admin.operations.periods import Period, day_text
from shop.base.money import major_units, money_text

UNKNOWN = "–"  # noqa: RUF001
"""A figure that there is none of."""


class Column(msgspec.Struct, frozen=True):
    """A column of a report; `kind` is `text`, `day`, `count`, `money` or `percent`."""

    name: str
    label: str
    kind: str = "money"
    is_summed: bool = True

    @property
    def is_number(self) -> bool:
        return self.kind in {"count", "money", "percent"}


class ReportQuery(msgspec.Struct, frozen=True):
    """What a report is asked for."""

    currency: str
    default_currency: str
    period: Period
    group: str


class ReportTable(msgspec.Struct, frozen=True):
    """The rows of a report, with a value for each column. `links` are the pages of its rows."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]
    chart_column: str
    is_series: bool = False
    """Whether the rows are periods of time, in order; otherwise the chart shows the largest ones."""
    links: Sequence[str | None] = ()

    @property
    def row_name(self) -> str:
        """What a row is about, like `product`."""
        return self.columns[0].label.lower().removesuffix(" from")

    def index(self, name: str) -> int:
        return next(number for number, column in enumerate(self.columns) if column.name == name)


class CellFormat(msgspec.Struct, frozen=True):
    """How amounts are displayed."""

    currency: str
    locale: str

    def display(self, value: Any, kind: str) -> str:
        """Returns the text of a cell of a page."""
        if value is None:
            return UNKNOWN
        if kind == "money":
            return money_text(self.currency, self.locale)(value)
        if kind == "count":
            return f"{value:,}"
        if kind == "percent":
            return percent_text(value)
        return day_text(value) if isinstance(value, date) else str(value)

    def export(self, value: Any, kind: str) -> str | int | Decimal:
        """Returns a cell of a CSV file, which programs read."""
        if value is None:
            return ""
        if kind == "money":
            return major_units(value, self.currency)
        if kind == "count":
            return int(value)
        return value.isoformat() if isinstance(value, date) else str(value)

    def scale(self, value: int) -> str:
        """Returns an amount on the scale of a chart."""
        return money_text(self.currency, self.locale).short(value)


def percent_text(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.1f}%"


def sort_rows(table: ReportTable, order: str) -> ReportTable:
    """Sorts the rows by a column: `total` ascending, `-total` descending. An unknown column changes nothing."""
    name = order.removeprefix("-")
    if name not in {column.name for column in table.columns}:
        return table
    position = table.index(name)

    def key(number: int) -> tuple[bool, Any]:
        value = table.rows[number][position]
        return value is not None, value.casefold() if isinstance(value, str) else value

    numbers = sorted(range(len(table.rows)), key=key, reverse=order.startswith("-"))
    links = [table.links[number] for number in numbers] if table.links else ()
    return msgspec.structs.replace(table, rows=[table.rows[number] for number in numbers], links=links)


def sum_rows(table: ReportTable) -> list[Any] | None:
    """Returns the sum of each column, None for those without one; None if there is nothing to sum."""
    if len(table.rows) < 2 or not any(column.is_summed and column.is_number for column in table.columns):
        return None
    return [
        sum(row[number] or 0 for row in table.rows) if column.is_number and column.is_summed else None
        for number, column in enumerate(table.columns)
    ]


def draw_charts(table: ReportTable, cells: CellFormat) -> tuple[Chart, Chart] | None:
    """Returns the chart of a table for a laptop and for a phone; None without values."""
    column = table.columns[table.index(table.chart_column)]
    position, kind = table.index(table.chart_column), column.kind
    rows = sorted(table.rows, key=lambda row: row[0]) if table.is_series else table.rows
    points = [Point(_label(row[0]), row[position]) for row in rows]
    if not any(point.value for point in points):
        return None
    scale: Callable[[int], str] = cells.scale if kind == "money" else (lambda value: f"{value:,}")
    if table.is_series:
        return draw_series(points, WIDE, scale), draw_series(points, NARROW, scale)

    def text_of(value: int) -> str:
        return cells.display(value, kind)

    return draw_ranking(points, WIDE, text_of), draw_ranking(points, NARROW, text_of)


def _label(value: Any) -> str:
    return f"{value.day} {value:%b}" if isinstance(value, date) else str(value)
