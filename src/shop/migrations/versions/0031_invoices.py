"""Adds invoices and credit notes, the counters of their numbers, and the settings of documents."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0031"
down_revision = "0030"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("shops", sa.Column("documents", postgresql.JSONB(), server_default=sa.text("'{}'"), nullable=False))
    op.create_table(
        "invoice_counters",
        sa.Column("series", sa.Text(), nullable=False),
        sa.Column("last_number", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("series", name=op.f("pk_invoice_counters")),
    )
    op.create_table(
        "invoices",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("order_id", sa.UUID(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("series", sa.Text(), nullable=False),
        sa.Column("running_number", sa.BigInteger(), nullable=False),
        sa.Column("number", sa.Text(), nullable=False),
        sa.Column("refund_id", sa.UUID(), nullable=True),
        sa.Column("currency", sa.Text(), nullable=False),
        sa.Column("total", sa.BigInteger(), nullable=False),
        sa.Column("content", postgresql.JSONB(), nullable=False),
        sa.Column("actor_kind", sa.Text(), nullable=False),
        sa.Column("actor_id", sa.UUID(), nullable=True),
        sa.Column("issued_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("kind in ('invoice', 'credit_note')", name=op.f("ck_invoices_kind_is_known")),
        sa.CheckConstraint("total >= 0", name=op.f("ck_invoices_total_not_negative")),
        sa.ForeignKeyConstraint(["order_id"], ["orders.id"], name=op.f("fk_invoices_order_id")),
        sa.ForeignKeyConstraint(["refund_id"], ["refunds.id"], name=op.f("fk_invoices_refund_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_invoices")),
        sa.UniqueConstraint("number", name=op.f("uq_invoices_number")),
        sa.UniqueConstraint("series", "running_number", name=op.f("uq_invoices_series_running_number")),
    )
    op.create_index("ix_invoices_order_id", "invoices", ["order_id", "issued_at"])
    op.create_index(
        "uq_invoices_order_id", "invoices", ["order_id"], unique=True, postgresql_where=sa.text("kind = 'invoice'")
    )
    op.create_index(
        "uq_invoices_refund_id",
        "invoices",
        ["refund_id"],
        unique=True,
        postgresql_where=sa.text("refund_id is not null"),
    )
    op.create_index(
        "uq_invoices_cancellation",
        "invoices",
        ["order_id"],
        unique=True,
        postgresql_where=sa.text("kind = 'credit_note' and refund_id is null"),
    )
