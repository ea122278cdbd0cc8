"""Parses timestamps, and shows times in a time zone. Timestamps without a time zone are UTC."""

from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

_ONE_DAY = timedelta(days=1)
_MONTHS = ("", "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


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


@lru_cache(maxsize=8)
def find_display_zone(name: str) -> tzinfo:
    """Returns a zone by its name; UTC, which all times then name, on a system that does not know it."""
    try:
        return find_zone(name)
    except ZoneInfoNotFoundError:
        return UTC


def parse_local_time(text: str, zone: tzinfo) -> datetime:
    """Parses an ISO 8601 timestamp; one without a time zone is a time of this zone. ValueError if it is invalid.

    When clocks are put back, a time that exists twice is the earlier one. When they are put forward, a time that is
    skipped is as much later as they are put forward: 02:30 is 03:30.
    """
    moment = datetime.fromisoformat(text)
    return in_utc(moment if moment.tzinfo else moment.replace(tzinfo=zone))


def in_zone(moment: datetime, zone: tzinfo) -> datetime:
    """Returns the time in the zone; in UTC if the zone does not have it, at the end of the calendar."""
    try:
        return moment.astimezone(zone)
    except OverflowError:
        return moment.astimezone(UTC)


def input_time(moment: datetime, zone: tzinfo) -> str:
    """Formats a time for a `datetime-local` input: 2026-11-15T07:52."""
    return in_zone(moment, zone).replace(tzinfo=None).isoformat(timespec="minutes")


def format_time(moment: datetime, zone: tzinfo) -> str:
    """Formats a time like `15 Nov 2026, 07:52 CET`. Without `strftime`, which is slow: pages show many times."""
    at = in_zone(moment, zone)
    return f"{at.day} {_MONTHS[at.month]} {at.year}, {at.hour:02}:{at.minute:02} {name_offset(at)}"


def format_day(moment: datetime, zone: tzinfo) -> str:
    """Formats the day of a time like `15 Nov 2026`."""
    at = in_zone(moment, zone)
    return f"{at.day} {_MONTHS[at.month]} {at.year}"


def name_offset(at: datetime) -> str:
    """Returns the abbreviation of the time's zone, like CET; of a zone without one, the difference, like UTC-03."""
    name = at.tzname() or ""
    return f"UTC{name}" if name.startswith(("+", "-")) else name


def day_of(moment: datetime, zone: tzinfo) -> date:
    return in_zone(moment, zone).date()


def bounds_of(day: date, zone: tzinfo) -> tuple[datetime, datetime]:
    """Returns the start of a day in a zone, and that of the next day."""
    start, end = (datetime.combine(each, datetime.min.time(), zone).astimezone(UTC) for each in (day, day + _ONE_DAY))
    return start, end
