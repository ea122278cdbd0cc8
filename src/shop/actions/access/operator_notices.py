"""Notifies operators by e-mail of changes to their own account."""

from collections.abc import Mapping

from shop.actions.audit import audit
from shop.actions.context import Context
from shop.base.ids import new_id
from shop.models.access.operators import Operator
from shop.queries.operations import outbox

KIND = "operator_notice"
_TTL = 7 * 24 * 3600


async def audit_and_notify(ctx: Context, operator: Operator, action: str, detail: Mapping[str, object]) -> None:
    """Writes the audit event and queues its e-mail (`rules/access/operator_notices.py`) in the caller's transaction."""
    event_id = await audit(ctx, action, "done", subject_id=operator.id, detail=detail)
    await outbox.insert_mail(ctx.db, id=new_id(), kind=KIND, recipient=operator.email, ref_id=event_id, ttl=_TTL)
    ctx.shared.mail_queued.set()
