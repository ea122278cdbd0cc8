"""Adds the words of existing customers, and creates the indexes of their lists.

Outside a transaction, in small steps that can be repeated: no statement keeps writers waiting, and a migration that was
interrupted is run again.
"""

from uuid import UUID

import sqlalchemy as sa
from alembic import op

revision = "0036"
down_revision = "0035"
branch_labels = None
depends_on = None

_BATCH = 5000
_INDEXES = {
    "ix_users_disabled": "users (created_at, id) where disabled_at is not null",
    "ix_users_tags": "users using gin (tags)",
}


_REFRESH = "select refresh_customer_lookup(id) from unnest(cast(:ids as uuid[])) as id"


def upgrade() -> None:
    with op.get_context().autocommit_block():
        if op.get_context().as_sql:
            op.execute(_REFRESH.replace(":ids", "'{each batch of ids}'"))
        else:
            _fill()
        for name, definition in _INDEXES.items():
            # IF NOT EXISTS would skip an unfinished index, which is never used.
            op.execute(f"drop index concurrently if exists {name}")
            op.execute(f"create index concurrently {name} on {definition}")


def _fill() -> None:
    last = UUID(int=0)
    following = sa.text(f"select id from users where id > :last order by id limit {_BATCH}")
    refresh = sa.text(_REFRESH)
    while ids := op.get_bind().execute(following, {"last": last}).scalars().all():
        op.get_bind().execute(refresh, {"ids": ids})
        last = ids[-1]
