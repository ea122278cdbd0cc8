"""How far the listeners of extensions have read the event log."""

from datetime import datetime
from uuid import UUID

from shop.db.rows import Row, key, table, unique


class ExtensionListener(Row, frozen=True, kw_only=True):
    """A listener of an extension. One process at a time runs it, under a lease."""

    id: UUID
    extension: str
    name: str
    position: int
    """The position of the event log up to which it has handled events."""
    failure_count: int = 0
    """The failures at the next event since the last success."""
    next_at: datetime | None = None
    """The time of the next attempt after a failure."""
    last_error: str | None = None
    """The last failure, also after it was resolved."""
    failed_at: datetime | None = None
    failed_position: int | None = None
    """The position of the event that failed last."""
    leased_until: datetime | None = None
    created_at: datetime
    updated_at: datetime


extension_listeners = table("extension_listeners", ExtensionListener, key("id"), unique("extension", "name"))
