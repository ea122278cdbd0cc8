"""Fills when existing payments were captured and voided, and creates the indexes for the figures of a day.

Outside a transaction, in small steps that can be repeated: no statement keeps writers waiting, and a migration that was
interrupted is run again.
"""

from uuid import UUID

import sqlalchemy as sa
from alembic import op

revision = "0033"
down_revision = "0032"
branch_labels = None
depends_on = None

_BATCH = 5000
_FILL = """
    update payments p set
        captured_at = case when p.captured_amount > 0 then coalesce(p.captured_at, (
            select max(a.ended_at) from payment_attempts a
            where a.payment_id = p.id and a.act in ('purchase', 'capture') and a.outcome = 'approved'
        ), (select o.completed_at from orders o where o.id = p.order_id), p.created_at) end,
        voided_at = case when p.state = 'void' then coalesce(p.voided_at, (
            select max(a.ended_at) from payment_attempts a
            where a.payment_id = p.id and a.act in ('void', 'undo') and a.outcome = 'approved'
        ), p.updated_at) end
    where p.id = any(:ids)
    and ((p.captured_amount > 0 and p.captured_at is null) or (p.state = 'void' and p.voided_at is null))
"""
_INDEXES = {
    "ix_payments_captured_at": "payments (captured_at) where captured_at is not null",
    "ix_payments_voided_at": "payments (voided_at) where voided_at is not null and captured_amount > 0",
    "ix_refunds_completed": "refunds (updated_at) where state = 'completed'",
}


def upgrade() -> None:
    with op.get_context().autocommit_block():
        if op.get_context().as_sql:
            op.execute(_FILL.replace(":ids", "'{each batch of ids}'"))
        else:
            _fill()
        for name, definition in _INDEXES.items():
            # IF NOT EXISTS would skip an unfinished index, which is never used.
            op.execute(f"drop index concurrently if exists {name}")
            op.execute(f"create index concurrently {name} on {definition}")


def _fill() -> None:
    last = UUID(int=0)
    following = sa.text(f"select id from payments where id > :last order by id limit {_BATCH}")
    while ids := op.get_bind().execute(following, {"last": last}).scalars().all():
        op.get_bind().execute(sa.text(_FILL), {"ids": ids})
        last = ids[-1]
