"""How a time is read: with its zone, or in UTC."""

from datetime import UTC, datetime


def read_moment(text: str) -> datetime:
    """Raises ValueError for what is no time, or one that UTC has no year for."""
    return in_utc(datetime.fromisoformat(text))


def in_utc(moment: datetime) -> datetime:
    try:
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except OverflowError:
        raise ValueError("out of range") from None
