"""When a scheduled backup is due, and when its state needs attention."""

_HOUR = 3600
_FIRST_RETRY, _LAST_RETRY = 300, 6 * _HOUR


def is_due(
    hours: int, seconds_since_complete: float | None, failure_count: int, seconds_since_failure: float | None
) -> bool:
    """Returns whether to start a backup: the last one is old enough, and a failed one has waited long enough."""
    if seconds_since_complete is not None and seconds_since_complete < hours * _HOUR:
        return False
    return seconds_since_failure is None or seconds_since_failure >= retry_seconds(failure_count)


def retry_seconds(failure_count: int) -> int:
    """Returns the pause before the next attempt: none after the first failure, then 5 minutes, doubled to 6 hours."""
    if failure_count <= 1:
        return 0
    return int(min(_FIRST_RETRY * 2 ** min(failure_count - 2, 20), _LAST_RETRY))


def is_overdue(hours: int, seconds_since_complete: float | None) -> bool:
    """Returns whether the newest backup is older than twice the interval."""
    return seconds_since_complete is not None and seconds_since_complete > 2 * hours * _HOUR
