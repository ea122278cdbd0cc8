"""The list of backups that this shop has made."""

from datetime import datetime
from uuid import UUID

from shop.db.rows import Row, check, index, key, table


class Backup(Row, frozen=True, kw_only=True):
    """A backup, or an attempt to make one. A scheduled one has a lease: after a crash, another process starts again."""

    id: UUID
    place: str
    folder: str
    state: str = "running"
    """`running`, `complete` or `failed`."""
    is_scheduled: bool = False
    started_at: datetime
    ended_at: datetime | None = None
    leased_until: datetime | None = None
    size: int | None = None
    image_count: int | None = None
    missing_count: int = 0
    """Files of images that the image store did not have."""
    has_keys: bool = False
    error: str | None = None


backups = table(
    "backups",
    Backup,
    key("id"),
    index("ix_backups_started_at", "started_at", "id"),
    index("uq_backups_running", "state", where="state = 'running' and is_scheduled", is_unique=True),
    check("state_is_known", "state in ('running', 'complete', 'failed')"),
)
