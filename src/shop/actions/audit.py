"""Writes audit events, which are never changed."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from shop.actions.context import Context
from shop.actions.events import NotedAction, build_audit_row, note_action
from shop.base.actor import Actor
from shop.base.ids import new_id
from shop.queries import journal
from shop.rules.audit import hide_values


async def audit(
    ctx: Context,
    action: str,
    outcome: str,
    *,
    actor_id: UUID | None = None,
    subject_id: UUID | None = None,
    detail: Mapping[str, object] | None = None,
    record_id: UUID | None = None,
) -> UUID:
    """Writes an audit event, at the end of the current transaction if there is one, and returns its id.

    The actor is the user `actor_id`, or else the caller; `subject_id` is the affected record. The changes are those of
    the row of `record_id`, or else of the subject. `detail` must not contain personal data.
    """
    actor = Actor("user", actor_id) if actor_id else ctx.actor
    noted_action = NotedAction(
        id=new_id(),
        actor=actor,
        action=action,
        outcome=outcome,
        subject_id=subject_id,
        detail=detail or {},
        record_id=record_id or subject_id,
    )
    if ctx.db.is_in_transaction:
        note_action(ctx, noted_action)
    else:
        await journal.insert_audit(ctx.db, **build_audit_row(ctx, noted_action, None, {}))
    return noted_action.id


def audit_change(
    ctx: Context,
    action: str,
    subject_type: str,
    subject_id: UUID,
    *,
    changes: Mapping[str, Sequence[Any]] | None = None,
    detail: Mapping[str, object] | None = None,
    record_id: UUID | None = None,
) -> None:
    """Audits a change of a record in the current transaction. `changes` has the values of attributes before and after;
    without it, the changes are those of a row, as in `audit`.
    """
    noted_action = NotedAction(
        id=new_id(),
        actor=ctx.actor,
        action=action,
        subject_id=subject_id,
        subject_type=subject_type,
        detail=detail or {},
        changes=None if changes is None else hide_values(subject_type, changes),
        record_id=record_id or subject_id,
    )
    note_action(ctx, noted_action)
