"""What is deprecated: since when, until when, and what to use instead (RFC 9745, RFC 8594)."""

from datetime import UTC, date, datetime
from email.utils import format_datetime

import msgspec

POLICY = "/docs#versions"


class Deprecation(msgspec.Struct, frozen=True):
    """Declared on a route, or on an attribute of a resource."""

    since: date
    sunset: date
    """From this day on it may be gone."""
    instead: str
    """A sentence for the client's developer."""

    @property
    def headers(self) -> tuple[tuple[bytes, bytes], ...]:
        """What every response says that uses it."""
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
