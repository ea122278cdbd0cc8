"""Finds the events about the records of an account without reading the whole log.

Outside a transaction, a day of the log at a time, in steps that can be repeated: no statement keeps writers waiting.
"""

import sqlalchemy as sa
from alembic import op

revision = "0051"
down_revision = "0050"
branch_labels = None
depends_on = None

_NAME = "ix_events_account"
_DEFINITION = "((row ->> 'user_id')) where subject_type in ('address', 'wishlist', 'store_credit')"
_PARTITIONS = """
select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = 'events'::regclass
    and not exists (select from pg_index x join pg_inherits p on p.inhrelid = x.indexrelid
        where x.indrelid = c.oid and p.inhparent = 'ix_events_account'::regclass)
order by c.relname
"""


def upgrade() -> None:
    with op.get_context().autocommit_block():
        # A day that is added from now on has the index already.
        op.execute(f"create index if not exists {_NAME} on only events {_DEFINITION}")
        for partition in _list_partitions():
            name = f"{partition}_account"
            op.execute(f"drop index concurrently if exists {name}")
            op.execute(f"create index concurrently {name} on {partition} {_DEFINITION}")
            op.execute(f"alter index {_NAME} attach partition {name}")


def _list_partitions() -> list[str]:
    # The plan of a migration reads no database.
    is_plan = op.get_context().as_sql
    return ["events_YYYYMMDD"] if is_plan else list(op.get_bind().scalars(sa.text(_PARTITIONS)))


def downgrade() -> None:
    op.drop_index(_NAME, "events")
