"""What the service remembers of its own work: keys of requests done once, counts, mails to send, the audit."""

from datetime import datetime
from typing import Any
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


class RateCount(Row, frozen=True, kw_only=True):
    """How often something happened in one window. `key` is a digest: neither address nor source stands here."""

    key: bytes
    seconds: int
    window_start: datetime
    count: int


class OutboxMail(Row, frozen=True, kw_only=True):
    """A mail to send, written with the work that wants it. What it says is worked out when it is sent."""

    id: UUID
    kind: str
    recipient: str
    ref_id: UUID
    not_after: datetime
    attempts: int = 0
    next_at: datetime
    locked_until: datetime | None = None
    awaits_budget: bool = False
    """Whether it must be counted against the mail budget before it is sent."""
    source: str | None = None
    """Whose request caused it, while that is still to be counted."""
    created_at: datetime
    sent_at: datetime | None = None
    dead_at: datetime | None = None
    last_error: str | None = None


class AuditEvent(Row, frozen=True, kw_only=True):
    """What happened, once and for all: a trigger refuses any change, and deletion before the retention is over."""

    id: UUID
    at: datetime
    actor_kind: str
    actor_id: UUID | None = None
    action: str
    outcome: str
    subject_id: UUID | None = None
    """The record it happened to, where there is one."""
    source: str | None = None
    request_id: str | None = None
    detail: dict[str, Any] = {}  # noqa: RUF012  msgspec copies it.


class HousekeepingRun(Row, frozen=True, kw_only=True):
    """The last run of housekeeping, in one row."""

    id: int
    ended_at: datetime
    backlog: dict[str, Any] = {}  # noqa: RUF012
    """How many rows are still to be deleted, of each kind that it did not come to the end of."""


idempotency_keys = table(
    "idempotency_keys",
    IdempotencyKey,
    key("scope", "key"),
    index("ix_idempotency_keys_expires_at", "expires_at"),
)
rate_counts = table(
    "rate_counts",
    RateCount,
    key("key", "seconds", "window_start"),
    index("ix_rate_counts_window_start", "window_start"),
)
outbox_mails = table(
    "outbox_mails",
    OutboxMail,
    key("id"),
    index("ix_outbox_mails_due", "next_at", where="sent_at is null and dead_at is null"),
    index("ix_outbox_mails_created_at", "created_at"),
)
audit_events = table(
    "audit_events",
    AuditEvent,
    key("id"),
    index("ix_audit_events_actor_id", "actor_id", "at"),
    index("ix_audit_events_subject_id", "subject_id", "at", where="subject_id is not null"),
    index("ix_audit_events_at", "at", "id"),
)
housekeeping_runs = table("housekeeping_runs", HousekeepingRun, key("id"))
