"""The periods of reports: days of the shop's time zone, up to today."""

from collections.abc import Mapping
from datetime import date, timedelta

import msgspec

from shop.admin.listing import day_param, text_param
from shop.queries.operations.reports import DayRange
from shop.web.input.request import Request

DAY_PERIODS = {"today": "Today", "7": "7 days", "30": "30 days", "90": "90 days"}
PERIODS = {
    **DAY_PERIODS,
    "month": "This month",
    "last-month": "Last month",
    "year": "This year",
    "custom": "From … to …",
}
DEFAULT = "30"
MAX_DAYS = 1100
"""The length of the longest period: three years."""
_DAY = timedelta(days=1)


class Period(msgspec.Struct, frozen=True):
    """The days from `start` to `end`, both included."""

    key: str
    start: date
    end: date

    @property
    def length(self) -> int:
        return (self.end - self.start).days + 1

    @property
    def previous_start(self) -> date:
        """The first day of the period of the same length before this one."""
        return self.start - timedelta(days=self.length)

    @property
    def label(self) -> str:
        return day_text(self.end) if self.length == 1 else f"{day_text(self.start)} to {day_text(self.end)}"

    @property
    def days(self) -> list[date]:
        return [self.start + timedelta(days=number) for number in range(self.length)]

    def days_in(self, currency: str) -> DayRange:
        return DayRange(currency, self.start, self.end)


def day_text(day: date) -> str:
    """Formats a day like `15 Nov 2026`."""
    return f"{day.day} {day:%b %Y}"


def read_period(request: Request, today: date, choices: Mapping[str, str]) -> Period:
    """Returns the period that a request selects; the default one if it selects none. Days count if the form was sent
    without choosing another period.
    """
    since, until = (day_param(request, name) for name in ("from", "to"))
    key = text_param(request, "period")
    if key in {"custom", text_param(request, "former")} and "custom" in choices and (since or until):
        end = min(until, today) if until else today
        return Period("custom", max(min(since if since else end, end), end - _DAY * (MAX_DAYS - 1)), end)
    if key not in choices or key == "custom":
        key = DEFAULT
    month = today.replace(day=1)
    match key:
        case "today":
            return Period(key, today, today)
        case "month":
            return Period(key, month, today)
        case "last-month":
            return Period(key, (month - _DAY).replace(day=1), month - _DAY)
        case "year":
            return Period(key, today.replace(month=1, day=1), today)
    return Period(key, today - _DAY * (int(key) - 1), today)
