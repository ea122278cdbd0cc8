"""What the service remembers of its own work."""

from datetime import datetime
from uuid import UUID

from shop.db.rows import Row, index, key, table


class IdempotencyKey(Row, frozen=True, kw_only=True):
    """A request that was done under a key: enough to tell a repetition and to render its answer again, and no token."""

    scope: bytes
    key: bytes
    fingerprint: bytes
    record_id: UUID | None = None
    created_at: datetime
    expires_at: datetime


idempotency_keys = table(
    "idempotency_keys",
    IdempotencyKey,
    key("scope", "key"),
    index("ix_idempotency_keys_expires_at", "expires_at"),
)
