"""Parses timestamps; those without a time zone are UTC."""

from datetime import UTC, datetime


def parse_time(text: str) -> datetime:
    """Parses an ISO 8601 timestamp; ValueError if it is invalid or out of range in UTC."""
    return in_utc(datetime.fromisoformat(text))


def in_utc(moment: datetime) -> datetime:
    try:
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except OverflowError:
        raise ValueError("out of range") from None
