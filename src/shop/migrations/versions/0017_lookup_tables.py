"""Copies columns that change with every purchase, and columns of lookups, into narrow tables with the indexes.

An update that changes an indexed column writes a new entry into every index of its table. Triggers keep the copies, so
that nodes of the previous version keep them too. The next migration fills the tables and drops the old indexes.
"""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

_HOUR = "(floor((date_part('epoch'::text, {0}) / (3600)::double precision)))::bigint"
_LOOKUPS = ("email", "payment_state", "shipment_state", "bill_address_id", "ship_address_id")
_CUSTOMER = "lower(regexp_replace(email, '[.](?=.*@)|[+].*(?=@)'::text, ''::text, 'g'::text))"


def upgrade() -> None:
    _order_lookups()
    _loose_addresses()
    _copies("stock_items", "id", "stock_levels", "stock_item_id", "count_on_hand")
    _copies("listings", "product_id", "listing_sales", "product_id", "sold_count")
    _unsettled_attempts()
    for table, percent in {"orders": 70, "stock_items": 70, "listings": 80, "payment_attempts": 80}.items():
        op.execute(f"alter table {table} set (fillfactor = {percent})")


def _order_lookups() -> None:
    op.create_table(
        "order_lookups",
        sa.Column("order_id", sa.UUID(), nullable=False),
        sa.Column("email", sa.Text(), nullable=True),
        sa.Column("payment_state", sa.Text(), nullable=True),
        sa.Column("shipment_state", sa.Text(), nullable=True),
        sa.Column("bill_address_id", sa.UUID(), nullable=True),
        sa.Column("ship_address_id", sa.UUID(), nullable=True),
        sa.Column("is_completed", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.ForeignKeyConstraint(["bill_address_id"], ["addresses.id"], name=op.f("fk_order_lookups_bill_address_id")),
        sa.ForeignKeyConstraint(
            ["order_id"], ["orders.id"], name=op.f("fk_order_lookups_order_id"), ondelete="cascade"
        ),
        sa.ForeignKeyConstraint(["ship_address_id"], ["addresses.id"], name=op.f("fk_order_lookups_ship_address_id")),
        sa.PrimaryKeyConstraint("order_id", name=op.f("pk_order_lookups")),
    )
    for columns in (["email"], ["payment_state", "order_id"], ["shipment_state", "order_id"]):
        where = sa.text(f"{columns[0]} is not null")
        op.create_index(f"ix_order_lookups_{columns[0]}", "order_lookups", columns, postgresql_where=where)
    for column in ("bill_address_id", "ship_address_id"):
        where = sa.text(f"{column} is not null")
        op.create_index(f"ix_order_lookups_{column}", "order_lookups", [column], postgresql_where=where)
    op.create_index(
        "ix_order_lookups_customer", "order_lookups", [sa.text(_CUSTOMER)], postgresql_where=sa.text("is_completed")
    )
    # One constant for all existing rows, which is instant; the next migration corrects it.
    op.execute(f"alter table orders add column updated_hour bigint not null default {_HOUR.format('now()')}")
    names, excluded = ", ".join(_LOOKUPS), ", ".join(f"{name} = excluded.{name}" for name in _LOOKUPS)
    old, new = (", ".join(f"{row}.{name}" for name in _LOOKUPS) for row in ("old", "new"))
    hour = _HOUR.format("new.updated_at")
    changed = f"({old}, old.completed_at is null) is distinct from ({new}, new.completed_at is null)"
    op.execute(
        f"""
        create function sync_order_lookup() returns trigger language plpgsql as $$
        begin
            if new.updated_hour <> {hour} then
                update orders set updated_hour = {hour} where id = new.id;
            end if;
            if tg_op = 'UPDATE' then
                if not ({changed}) then
                    return null;
                end if;
            elsif num_nonnulls({new}, new.completed_at) = 0 then
                return null;
            end if;
            insert into order_lookups (order_id, {names}, is_completed)
            values (new.id, {new}, new.completed_at is not null)
            on conflict (order_id) do update set {excluded}, is_completed = excluded.is_completed;
            return null;
        end $$
        """
    )
    op.execute(
        f"""
        create trigger insert_order_lookup after insert on orders for each row
        when (new.updated_hour <> {hour} or num_nonnulls({new}, new.completed_at) > 0)
        execute function sync_order_lookup()
        """
    )
    op.execute(
        f"""
        create trigger update_order_lookup after update on orders for each row
        when (new.updated_hour <> {hour} or {changed})
        execute function sync_order_lookup()
        """
    )


def _loose_addresses() -> None:
    op.create_table(
        "loose_addresses",
        sa.Column("address_id", sa.UUID(), nullable=False),
        sa.PrimaryKeyConstraint("address_id", name=op.f("pk_loose_addresses")),
    )
    op.execute(
        """
        create function note_loose_addresses() returns trigger language plpgsql as $$
        begin
            insert into loose_addresses (address_id)
            select distinct address_id from unnest(array[old.bill_address_id, old.ship_address_id]) as address_id
            where address_id is not null and (
                tg_op = 'DELETE'
                or (address_id is distinct from new.bill_address_id and address_id is distinct from new.ship_address_id)
            )
            on conflict do nothing;
            return null;
        end $$
        """
    )
    op.execute(
        """
        create trigger note_replaced_addresses after update on order_lookups for each row
        when ((old.bill_address_id, old.ship_address_id) is distinct from (new.bill_address_id, new.ship_address_id))
        execute function note_loose_addresses()
        """
    )
    op.execute(
        """
        create trigger note_left_addresses after delete on order_lookups for each row
        when (num_nonnulls(old.bill_address_id, old.ship_address_id) > 0)
        execute function note_loose_addresses()
        """
    )


def _copies(table: str, key: str, copy: str, copy_key: str, column: str) -> None:
    """Creates a table that copies one column of another, for sorting its lists."""
    owner = {"stock_levels": "stock_items", "listing_sales": "products"}[copy]
    op.create_table(
        copy,
        sa.Column(copy_key, sa.UUID(), nullable=False),
        sa.Column(column, sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint([copy_key], [f"{owner}.id"], name=op.f(f"fk_{copy}_{copy_key}"), ondelete="cascade"),
        sa.PrimaryKeyConstraint(copy_key, name=op.f(f"pk_{copy}")),
    )
    op.create_index(f"ix_{copy}_{column}", copy, [column, copy_key])
    op.execute(
        f"""
        create function sync_{copy}() returns trigger language plpgsql as $$
        begin
            insert into {copy} ({copy_key}, {column}) values (new.{key}, new.{column})
            on conflict ({copy_key}) do update set {column} = excluded.{column};
            return null;
        end $$
        """
    )
    op.execute(f"create trigger insert_{copy} after insert on {table} for each row execute function sync_{copy}()")
    op.execute(
        f"""
        create trigger update_{copy} after update on {table} for each row
        when (old.{column} is distinct from new.{column}) execute function sync_{copy}()
        """
    )


def _unsettled_attempts() -> None:
    op.create_table(
        "unsettled_attempts",
        sa.Column("attempt_id", sa.UUID(), nullable=False),
        sa.Column("payment_id", sa.UUID(), nullable=False),
        sa.ForeignKeyConstraint(
            ["attempt_id"],
            ["payment_attempts.id"],
            name=op.f("fk_unsettled_attempts_attempt_id"),
            ondelete="cascade",
        ),
        sa.PrimaryKeyConstraint("attempt_id", name=op.f("pk_unsettled_attempts")),
        sa.UniqueConstraint("payment_id", name=op.f("uq_unsettled_attempts_payment_id")),
    )
    op.execute(
        """
        create function sync_unsettled_attempt() returns trigger language plpgsql as $$
        begin
            if new.outcome = 'unknown' then
                insert into unsettled_attempts (attempt_id, payment_id) values (new.id, new.payment_id);
            else
                delete from unsettled_attempts where attempt_id = new.id;
            end if;
            return null;
        end $$
        """
    )
    op.execute(
        "create trigger insert_unsettled_attempt after insert on payment_attempts for each row "
        "when (new.outcome = 'unknown') execute function sync_unsettled_attempt()"
    )
    op.execute(
        "create trigger update_unsettled_attempt after update on payment_attempts for each row "
        "when ((old.outcome = 'unknown') <> (new.outcome = 'unknown')) execute function sync_unsettled_attempt()"
    )
