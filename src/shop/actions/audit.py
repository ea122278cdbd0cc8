"""How an event gets into the audit: once, and for good."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from shop.actions.context import Context
from shop.base.actor import Actor
from shop.base.ids import new_id
from shop.queries import journal


async def audit(
    ctx: Context,
    action: str,
    outcome: str,
    *,
    actor_id: UUID | None = None,
    subject_id: UUID | None = None,
    detail: Mapping[str, Any] | None = None,
) -> UUID:
    """Ascribed to the user named, else to whoever asks; `subject_id` is the record that it happened to. Returns the
    event's id.
    """
    actor = Actor("user", actor_id) if actor_id else ctx.actor
    event_id = new_id()
    await journal.insert_audit(
        ctx.db,
        id=event_id,
        actor_kind=actor.kind,
        actor_id=actor.id,
        action=action,
        outcome=outcome,
        subject_id=subject_id,
        source=ctx.origin.source,
        request_id=ctx.origin.request_id,
        detail=dict(detail or {}),
    )
    return event_id
