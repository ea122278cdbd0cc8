"""When backups are due, and which are removed."""

import pytest

from shop.rules.backups.folders import is_folder, list_expired
from shop.rules.backups.schedule import is_due, is_overdue, retry_seconds

HOUR = 3600.0
OLD, NEW, NEWEST = "shop-20260101T000000Z", "shop-20261101T000000Z", "shop-20261102T000000Z"


@pytest.mark.parametrize(
    ("since_complete", "failures", "since_failure", "expected"),
    [
        (None, 0, None, True),
        (23.9 * HOUR, 0, None, False),
        (24 * HOUR, 0, None, True),
        (25 * HOUR, 1, 0.0, True),
        (25 * HOUR, 2, 299.0, False),
        (25 * HOUR, 2, 300.0, True),
        (None, 3, 599.0, False),
        (HOUR, 5, 9 * HOUR, False),
    ],
)
def test_a_backup_is_due_after_the_interval_and_the_pause_after_failures(
    since_complete: float | None, failures: int, since_failure: float | None, expected: bool
) -> None:
    assert is_due(24, since_complete, failures, since_failure) is expected


def test_the_pause_after_failures_grows_to_six_hours() -> None:
    assert [retry_seconds(count) for count in (0, 1, 2, 3, 4, 9, 10_000)] == [0, 0, 300, 600, 1200, 21_600, 21_600]


def test_a_backup_is_overdue_after_twice_the_interval() -> None:
    assert [is_overdue(24, hours * HOUR) for hours in (0, 47.9, 48.1)] == [False, False, True]
    assert not is_overdue(24, None)


def test_the_newest_backup_is_never_removed() -> None:
    assert list_expired([OLD, NEW, NEWEST], [OLD, NEW, NEWEST], "shop-20261101T120000Z") == [OLD, NEW]
    assert list_expired([OLD, NEW, NEWEST], [OLD], "shop-20270101T000000Z") == [NEW, NEWEST]
    assert list_expired([OLD, "photos", "shop-x"], [NEW], "shop-20270101T000000Z") == [OLD]
    assert list_expired([OLD], [OLD], "shop-20270101T000000Z") == []


def test_what_a_killed_process_left_is_removed_like_a_backup() -> None:
    partial, other = f"{OLD}.partial", "shop-x.partial"

    assert list_expired([partial, other, f"{NEWEST}.partial", NEW], [NEW], NEW) == [partial]


def test_other_names_are_not_backups() -> None:
    assert is_folder(OLD)
    assert not any(map(is_folder, ("shop-2026", f"{OLD}\n", f"../{OLD}", f"{OLD}.new", f"{OLD}.partial", "")))
