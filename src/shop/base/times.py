"""Parses timestamps, and converts times to days of a time zone. Timestamps without a time zone are UTC."""

from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo, available_timezones

_ONE_DAY = timedelta(days=1)


def parse_time(text: str) -> datetime:
    """Parses an ISO 8601 timestamp; ValueError if it is invalid or out of range in UTC."""
    return in_utc(datetime.fromisoformat(text))


def in_utc(moment: datetime) -> datetime:
    try:
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except OverflowError:
        raise ValueError("out of range") from None


@lru_cache(maxsize=1)
def zone_names() -> tuple[str, ...]:
    """Returns the IANA names of all time zones, sorted: UTC and those like Europe/Berlin."""
    names = {
        name for name in available_timezones() if "/" in name and not name.startswith(("Etc/", "posix/", "right/"))
    }
    return ("UTC", *sorted(names))


def find_zone(name: str) -> tzinfo:
    """Returns a zone by its name. UTC works on a system without time zone data."""
    return UTC if name == "UTC" else ZoneInfo(name)


def day_of(moment: datetime, zone: tzinfo) -> date:
    return moment.astimezone(zone).date()


def bounds_of(day: date, zone: tzinfo) -> tuple[datetime, datetime]:
    """Returns the start of a day in a zone, and that of the next day."""
    start, end = (datetime.combine(each, datetime.min.time(), zone).astimezone(UTC) for each in (day, day + _ONE_DAY))
    return start, end
