"""Notifies operators by e-mail of changes to their own account, and of what needs their attention."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from shop.actions.audit import audit
from shop.actions.context import Context
from shop.base.ids import new_id
from shop.models.access.operators import Operator
from shop.queries.access import operators
from shop.queries.operations import outbox

KIND = "operator_notice"
_TTL = 7 * 24 * 3600


async def audit_and_notify(ctx: Context, operator: Operator, action: str, detail: Mapping[str, object]) -> None:
    """Writes the audit event and queues its e-mail (`rules/access/operator_notices.py`) in the caller's transaction."""
    event_id = await audit(ctx, action, "done", subject_id=operator.id, detail=detail)
    await _queue(ctx, [operator.email], event_id)


async def notify_operators(ctx: Context, audit_id: UUID) -> None:
    """Queues an e-mail about an audit event to every operator who can sign in, in the caller's transaction."""
    await _queue(ctx, await operators.list_enabled_emails(ctx.db), audit_id)


async def _queue(ctx: Context, recipients: Sequence[str], audit_id: UUID) -> None:
    for recipient in recipients:
        await outbox.insert_mail(ctx.db, id=new_id(), kind=KIND, recipient=recipient, ref_id=audit_id, ttl=_TTL)
    ctx.shared.mail_queued.set()
