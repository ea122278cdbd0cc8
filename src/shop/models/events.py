"""The event log: what happened in the shop, in the order in which it was committed."""

from datetime import datetime
from typing import Any
from uuid import UUID

from shop.db.rows import Row, check, expression_index, index, key, table


class Event(Row, frozen=True, kw_only=True):
    """Something that happened to a record, written in the transaction of the change."""

    id: UUID
    type: str
    occurred_at: datetime
    """When the transaction was about to commit. The table is divided by it into days."""
    ordinal: int = 0
    """The order of the events of one transaction."""
    actor_kind: str
    actor_id: UUID | None = None
    subject_type: str
    """The record's type in the Platform API."""
    subject_id: UUID | None = None
    row: dict[str, Any] | None = None
    """The record's row after the change, or before its deletion; None if it is too large."""
    links: dict[str, Any] = {}  # noqa: RUF012  msgspec copies it.
    """The ids of related records, by the name of the relation."""
    before: dict[str, Any] = {}  # noqa: RUF012
    """The former values of the columns that an update changed."""
    position: int | None = None
    """The number in the log, without gaps, given after the commit; readers do not see an event without one."""


class EventCounter(Row, frozen=True, kw_only=True):
    """The last position of the log, in one row."""

    id: int = 1
    last_position: int = 0


events = table(
    "events",
    Event,
    key("id", "occurred_at"),
    index("ix_events_position", "position"),
    index("ix_events_unnumbered", "occurred_at", "ordinal", where="position is null"),
    index("ix_events_subject_id", "subject_id", "position"),
    # For erasing an account: its records may be deleted, so that only their events name it.
    expression_index(
        "ix_events_account", "(row ->> 'user_id')", where="subject_type in ('address', 'wishlist', 'store_credit')"
    ),
    partition_by="range (occurred_at)",
)
event_counters = table("event_counters", EventCounter, key("id"), check("only_one", "id = 1"))
