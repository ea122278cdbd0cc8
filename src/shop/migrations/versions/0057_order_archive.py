"""Adds the archive of orders.

Invoices, uses of promotions, coupon codes and the ledger of store credit remain when an order is archived, so that they
no longer refer to its rows. Triggers do for carts and payments what the foreign keys did.
"""

import sqlalchemy as sa
from alembic import op

revision = "0057"
down_revision = "0056"
branch_labels = None
depends_on = None

_CUSTOMER = "lower(regexp_replace(email, '[.](?=.*@)|[+].*(?=@)'::text, ''::text, 'g'::text))"
_REFERENCES = (
    ("coupon_codes", "order_id", "orders", "set null"),
    ("promotion_uses", "order_id", "orders", "cascade"),
    ("store_credit_events", "order_id", "orders", "set null"),
    ("store_credit_events", "payment_id", "payments", "set null"),
    ("invoices", "order_id", "orders", None),
    ("invoices", "refund_id", "refunds", None),
)


def upgrade() -> None:
    _create_archive()
    op.create_table(
        "frozen_days",
        sa.Column("day", sa.Date(), nullable=False),
        sa.PrimaryKeyConstraint("day", name="pk_frozen_days"),
    )
    _create_triggers()
    for table, column, _, _ in _REFERENCES:
        op.drop_constraint(f"fk_{table}_{column}", table, type_="foreignkey")


def _create_archive() -> None:
    op.create_table(
        "archived_orders",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("number", sa.Text(), nullable=False),
        sa.Column("user_id", sa.UUID(), nullable=True),
        sa.Column("email", sa.Text(), nullable=True),
        sa.Column("currency", sa.Text(), nullable=False),
        sa.Column("item_count", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("item_total", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("total", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("refunded", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("payment_state", sa.Text(), nullable=True),
        sa.Column("shipment_state", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("completed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("canceled_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("object_name", sa.Text(), nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("encryption_key", sa.LargeBinary(), nullable=False),
        sa.Column("archived_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint('"position" >= 0 and size > 0', name=op.f("ck_archived_orders_position_not_negative")),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_archived_orders_user_id")),
        sa.PrimaryKeyConstraint("id", name="pk_archived_orders"),
    )
    op.create_index("ix_archived_orders_number", "archived_orders", ["number"])
    op.create_index("ix_archived_orders_completed_at", "archived_orders", ["completed_at", "id"])
    op.create_index(
        "ix_archived_orders_user_id",
        "archived_orders",
        ["user_id", "completed_at"],
        postgresql_where=sa.text("user_id is not null"),
    )
    op.create_index(
        "ix_archived_orders_customer",
        "archived_orders",
        [sa.text(_CUSTOMER)],
        postgresql_where=sa.text("email is not null"),
    )
    op.create_table(
        "archive_states",
        sa.Column("id", sa.BigInteger(), server_default=sa.text("1"), nullable=False),
        sa.Column("completed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("order_id", sa.UUID(), nullable=True),
        sa.Column("leased_until", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("id = 1", name=op.f("ck_archive_states_only_one")),
        sa.PrimaryKeyConstraint("id", name="pk_archive_states"),
    )
    op.execute("insert into archive_states (id) values (1)")


def _create_triggers() -> None:
    op.execute(
        """
        create function release_deleted_cart() returns trigger language plpgsql as $$
        begin
            delete from promotion_uses where order_id = old.id;
            update coupon_codes set order_id = null where order_id = old.id;
            update store_credit_events set order_id = null, payment_id = null where order_id = old.id;
            return null;
        end $$
        """
    )
    op.execute(
        "create trigger release_deleted_cart after delete on orders for each row when (old.completed_at is null) "
        "execute function release_deleted_cart()"
    )
    # The payments of an order that is archived are deleted after the order.
    op.execute(
        """
        create function release_deleted_payment() returns trigger language plpgsql as $$
        begin
            update store_credit_events set payment_id = null
            where payment_id = old.id and exists (select from orders where orders.id = old.order_id);
            return null;
        end $$
        """
    )
    op.execute(
        "create trigger release_deleted_payment after delete on payments for each row "
        "execute function release_deleted_payment()"
    )


def downgrade() -> None:
    for table, column, target, on_delete in _REFERENCES:
        op.create_foreign_key(f"fk_{table}_{column}", table, target, [column], ["id"], ondelete=on_delete)
    op.execute("drop trigger release_deleted_payment on payments")
    op.execute("drop function release_deleted_payment()")
    op.execute("drop trigger release_deleted_cart on orders")
    op.execute("drop function release_deleted_cart()")
    op.drop_table("frozen_days")
    op.drop_table("archive_states")
    op.drop_table("archived_orders")
