"""Adds the daily figures of reports, the shop's time zone, and when payments were captured and voided."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None

_TABLES: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "sales_days": (
        {"channel": sa.Text(), "country": sa.Text()},
        (
            *("orders", "canceled_orders", "first_orders", "units", "items", "discounts", "manual", "shipping"),
            *("tax", "added_tax", "total"),
        ),
    ),
    "product_days": ({"product_id": sa.UUID()}, ("orders", "units", "items", "discounts", "tax", "total")),
    "adjustment_days": (
        {"source": sa.Text(), "label": sa.Text(), "country": sa.Text()},
        ("orders", "net", "amount"),
    ),
    "payment_days": ({"payment_method_id": sa.UUID()}, ("payments", "amount")),
    "refund_days": (
        {"payment_method_id": sa.UUID(), "reason": sa.Text(), "is_canceled": sa.Boolean()},
        ("refunds", "amount"),
    ),
    "cart_days": ({}, ("carts",)),
}


def upgrade() -> None:
    op.add_column("shops", sa.Column("time_zone", sa.Text(), server_default=sa.text("'UTC'"), nullable=False))
    for name, (keys, figures) in _TABLES.items():
        key_columns: dict[str, Any] = {"day": sa.Date(), "currency": sa.Text(), **keys}
        op.create_table(
            name,
            *(sa.Column(column, kind, nullable=False) for column, kind in key_columns.items()),
            *(sa.Column(column, sa.BigInteger(), nullable=False) for column in figures),
            sa.PrimaryKeyConstraint(*key_columns, name=op.f(f"pk_{name}")),
        )
    op.create_table(
        "stale_days",
        sa.Column("day", sa.Date(), nullable=False),
        sa.PrimaryKeyConstraint("day", name=op.f("pk_stale_days")),
    )
    op.create_table(
        "report_states",
        sa.Column("id", sa.BigInteger(), server_default=sa.text("1"), nullable=False),
        sa.Column("position", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("time_zone", sa.Text(), nullable=True),
        sa.Column("rebuild_days", sa.BigInteger(), nullable=True),
        sa.Column("carts_counted_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("id = 1", name=op.f("ck_report_states_only_one")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_report_states")),
    )
    op.execute("insert into report_states (id) values (1)")
    _add_payment_times()


def _add_payment_times() -> None:
    """Adds the columns, and a trigger that fills them, so that processes of the previous version do so too."""
    op.add_column("payments", sa.Column("captured_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("payments", sa.Column("voided_at", sa.DateTime(timezone=True), nullable=True))
    op.execute(
        """
        create function set_payment_times() returns trigger language plpgsql as $$
        declare
            at timestamptz := case tg_op when 'INSERT' then new.created_at else now() end;
        begin
            if new.captured_amount > 0 and new.captured_at is null then
                new.captured_at := at;
            end if;
            if new.state = 'void' and new.voided_at is null then
                new.voided_at := at;
            end if;
            return new;
        end $$
        """
    )
    condition = (
        "((new.captured_amount > 0 and new.captured_at is null) or (new.state = 'void' and new.voided_at is null))"
    )
    op.execute(
        "create trigger set_payment_times before insert or update on payments for each row "
        f"when {condition} execute function set_payment_times()"
    )
