"""Writes audit events, which are never changed."""

from collections.abc import Mapping
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
    detail: Mapping[str, object] | None = None,
) -> UUID:
    """Writes an audit event and returns its id.

    The actor is the user `actor_id`, or else the caller; `subject_id` is the affected record.
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
