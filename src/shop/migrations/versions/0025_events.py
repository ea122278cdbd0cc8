"""Adds the event log, divided into days."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None

# Creates the partitions of today and the next days. A day whose events are already in the default partition, because
# no process created its partition in time, stays there.
_CREATE_PARTITIONS = """
create function create_event_partitions(days integer) returns integer language plpgsql as $$
declare
    created integer := 0;
    first_day date := (now() at time zone 'UTC')::date;
    partition_name text;
begin
    for day in 0..days loop
        partition_name := 'events_' || to_char(first_day + day, 'YYYYMMDD');
        if to_regclass(partition_name) is null and not exists (
            select from events_default
            where occurred_at >= (first_day + day)::timestamp at time zone 'UTC'
              and occurred_at < (first_day + day + 1)::timestamp at time zone 'UTC'
        ) then
            execute format(
                'create table %I partition of events for values from (%L) to (%L)',
                partition_name,
                (first_day + day)::timestamp at time zone 'UTC',
                (first_day + day + 1)::timestamp at time zone 'UTC'
            );
            created := created + 1;
        end if;
    end loop;
    return created;
end
$$
"""
_DROP_PARTITIONS = """
create function drop_event_partitions(days integer) returns integer language plpgsql as $$
declare
    dropped integer := 0;
    partition_name text;
begin
    for partition_name in
        select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
        where i.inhparent = 'events'::regclass and c.relname ~ '^events_[0-9]{8}$'
          and to_date(right(c.relname, 8), 'YYYYMMDD') < (now() at time zone 'UTC')::date - days
    loop
        execute format('drop table %I', partition_name);
        dropped := dropped + 1;
    end loop;
    delete from events_default where occurred_at < now() - days * interval '1 day';
    return dropped;
end
$$
"""


def upgrade() -> None:
    op.create_table(
        "event_counters",
        sa.Column("id", sa.BigInteger(), server_default=sa.text("1"), nullable=False),
        sa.Column("last_position", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.CheckConstraint("id = 1", name=op.f("ck_event_counters_only_one")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_event_counters")),
    )
    op.execute("insert into event_counters default values")
    op.create_table(
        "events",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("occurred_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ordinal", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("actor_kind", sa.Text(), nullable=False),
        sa.Column("actor_id", sa.UUID(), nullable=True),
        sa.Column("subject_type", sa.Text(), nullable=False),
        sa.Column("subject_id", sa.UUID(), nullable=True),
        sa.Column("row", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column(
            "links", postgresql.JSONB(astext_type=sa.Text()), server_default=sa.text("'{}'::jsonb"), nullable=False
        ),
        sa.Column(
            "before", postgresql.JSONB(astext_type=sa.Text()), server_default=sa.text("'{}'::jsonb"), nullable=False
        ),
        sa.Column("position", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", "occurred_at", name=op.f("pk_events")),
        postgresql_partition_by="range (occurred_at)",
    )
    op.create_table(
        "abandoned_carts",
        sa.Column("order_id", sa.UUID(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["order_id"], ["orders.id"], name=op.f("fk_abandoned_carts_order_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("order_id", name=op.f("pk_abandoned_carts")),
    )
    op.create_index("ix_events_position", "events", ["position"])
    op.create_index(
        "ix_events_unnumbered", "events", ["occurred_at", "ordinal"], postgresql_where=sa.text("position is null")
    )
    op.create_index("ix_events_subject_id", "events", ["subject_id", "position"])
    op.execute("create table events_default partition of events default")
    op.execute(_CREATE_PARTITIONS)
    op.execute(_DROP_PARTITIONS)
    op.execute("select create_event_partitions(2)")
