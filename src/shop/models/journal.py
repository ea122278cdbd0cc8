"""Idempotency keys, rate limit counts, the mail outbox, audit events and housekeeping runs."""

from datetime import datetime
from typing import Any
from uuid import UUID

from shop.db.rows import Row, index, key, table


class IdempotencyKey(Row, frozen=True, kw_only=True):
    """A request with an idempotency key: enough to detect a repetition and repeat the response, without tokens."""

    scope: bytes
    key: bytes
    fingerprint: bytes
    record_id: UUID | None = None
    created_at: datetime
    expires_at: datetime


class RateCount(Row, frozen=True, kw_only=True):
    """The count of a rate limit window. `key` is a digest, so that neither addresses nor sources are stored."""

    key: bytes
    seconds: int
    window_start: datetime
    count: int


class OutboxMail(Row, frozen=True, kw_only=True):
    """An e-mail to send, inserted in the transaction that causes it. Its content is rendered when it is sent."""

    id: UUID
    kind: str
    recipient: str
    ref_id: UUID
    not_after: datetime
    attempts: int = 0
    next_at: datetime
    locked_until: datetime | None = None
    awaits_budget: bool = False
    """Whether it must be counted against the mail budget before sending."""
    source: str | None = None
    """The source of the request that caused it, until it is counted."""
    is_test: bool = False
    """Whether an operator sent it to themselves, with example data."""
    created_at: datetime
    sent_at: datetime | None = None
    dead_at: datetime | None = None
    last_error: str | None = None


class AuditEvent(Row, frozen=True, kw_only=True):
    """An immutable audit event: a trigger rejects updates, and deletion before the retention period ends."""

    id: UUID
    at: datetime
    actor_kind: str
    actor_id: UUID | None = None
    action: str
    outcome: str
    subject_id: UUID | None = None
    """The affected record, if any."""
    subject_type: str | None = None
    """The type of the record in the Platform API, if it is known."""
    source: str | None = None
    request_id: str | None = None
    detail: dict[str, Any] = {}  # noqa: RUF012  msgspec copies it.
    changes: dict[str, Any] = {}  # noqa: RUF012
    """The values of each changed attribute before and after; null for an attribute with personal data."""


class HousekeepingRun(Row, frozen=True, kw_only=True):
    """The last run of housekeeping, in one row."""

    id: int
    ended_at: datetime
    backlog: dict[str, Any] = {}  # noqa: RUF012
    """The number of rows left to delete, by kind, for kinds that were not finished."""


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
