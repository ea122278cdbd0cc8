"""Deprecations of routes and attributes: start date, sunset date and replacement (RFC 9745, RFC 8594)."""

from datetime import UTC, date, datetime
from email.utils import format_datetime

import msgspec

POLICY = "/docs#versions"


class Deprecation(msgspec.Struct, frozen=True):
    """The deprecation of a route or of a resource attribute."""

    since: date
    sunset: date
    """The first day on which the feature may be removed."""
    instead: str
    """What to use instead: a sentence for client developers."""

    @property
    def headers(self) -> tuple[tuple[bytes, bytes], ...]:
        """The headers of every response that uses the feature."""
        return (
            (b"deprecation", b"@%d" % _midnight(self.since).timestamp()),
            (b"sunset", format_datetime(_midnight(self.sunset), usegmt=True).encode()),
            (b"link", b'<%s>; rel="deprecation"; type="text/html"' % POLICY.encode()),
        )

    @property
    def sentence(self) -> str:
        return f"Deprecated since {self.since}, to be removed on {self.sunset}. {self.instead}"


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)
