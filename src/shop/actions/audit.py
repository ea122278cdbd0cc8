"""How an event gets into the audit: once, and for good."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from shop.actions.context import Context
from shop.base.ids import new_id
from shop.queries import journal


async def audit(
    ctx: Context, action: str, outcome: str, *, actor_id: UUID | None = None, detail: Mapping[str, Any] | None = None
) -> None:
    await journal.insert_audit(
        ctx.db,
        id=new_id(),
        actor_kind="user" if actor_id else "guest",
        actor_id=actor_id,
        action=action,
        outcome=outcome,
        source=ctx.origin.source,
        request_id=ctx.origin.request_id,
        detail=dict(detail or {}),
    )
