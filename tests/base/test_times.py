"""Times in a time zone: shown, entered, and where clocks are put forward or back."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from shop.base.times import find_display_zone, format_day, format_time, input_time, parse_local_time, zone_names
from shop.models.setup.shop import Shop
from shop.website.pages import templates

BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    ("zone", "text"),
    [
        ("UTC", "15 Nov 2026, 23:05 UTC"),
        ("Europe/Berlin", "16 Nov 2026, 00:05 CET"),
        ("America/Sao_Paulo", "15 Nov 2026, 20:05 UTC-03"),
        ("Asia/Kathmandu", "16 Nov 2026, 04:50 UTC+0545"),
    ],
)
def test_a_time_names_its_zone(zone: str, text: str) -> None:
    moment = datetime(2026, 11, 15, 23, 5, tzinfo=UTC)

    assert format_time(moment, find_display_zone(zone)) == text
    assert format_day(moment, find_display_zone(zone)) == text.partition(",")[0]


@pytest.mark.parametrize(
    ("text", "utc"),
    [
        ("2026-01-15T09:30", "2026-01-15T08:30"),
        ("2026-07-15T09:30", "2026-07-15T07:30"),
        ("2026-03-29T01:59", "2026-03-29T00:59"),
        ("2026-03-29T02:30", "2026-03-29T01:30"),  # Skipped: 03:30.
        ("2026-03-29T03:00", "2026-03-29T01:00"),
        ("2026-10-25T02:30", "2026-10-25T00:30"),  # Twice: the earlier one.
        ("2026-10-25T03:00", "2026-10-25T02:00"),
        ("2026-10-25T02:30+01:00", "2026-10-25T01:30"),
    ],
)
def test_a_local_time_is_one_time(text: str, utc: str) -> None:
    assert parse_local_time(text, BERLIN) == datetime.fromisoformat(utc).replace(tzinfo=UTC)


def test_both_times_of_an_hour_that_exists_twice_can_be_told_apart() -> None:
    first = datetime(2026, 10, 25, 0, 30, tzinfo=UTC)

    assert format_time(first, BERLIN) == "25 Oct 2026, 02:30 CEST"
    assert format_time(first + timedelta(hours=1), BERLIN) == "25 Oct 2026, 02:30 CET"


@pytest.mark.parametrize("text", ["0001-01-01T00:00", "", "now", "2026-02-30T00:00"])
def test_an_invalid_local_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_local_time(text, BERLIN)


def test_the_last_time_of_the_calendar_can_be_shown() -> None:
    last = datetime.max.replace(tzinfo=UTC)

    assert format_time(last, BERLIN) == "31 Dec 9999, 23:59 UTC"
    assert input_time(last, BERLIN) == "9999-12-31T23:59"


def test_a_zone_that_the_system_does_not_know_is_utc() -> None:
    assert find_display_zone("Mars/Olympus") is UTC
    assert all(str(find_display_zone(name)) == name for name in zone_names()[:20])


def test_the_website_shows_days_of_the_shops_time_zone() -> None:
    template = templates(None).from_string("{{ at | day }}")
    at = datetime(2026, 11, 15, 23, 5, tzinfo=UTC)

    assert template.render(at=at, shop=Shop(currencies=["EUR"], time_zone="Europe/Berlin")) == "16 November 2026"
    assert template.render(at=at) == "15 November 2026"
