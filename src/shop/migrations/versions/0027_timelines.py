"""Adds the timelines of orders and customers, and the changes of audit events."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("audit_events", sa.Column("subject_type", sa.Text(), nullable=True))
    op.add_column(
        "audit_events",
        sa.Column(
            "changes", postgresql.JSONB(astext_type=sa.Text()), server_default=sa.text("'{}'::jsonb"), nullable=False
        ),
    )
    op.create_index("ix_webhook_deliveries_event_id", "webhook_deliveries", ["event_id"])
    op.create_table(
        "timeline_entries",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("order_id", sa.UUID(), nullable=True),
        sa.Column("user_id", sa.UUID(), nullable=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ordinal", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("actor_kind", sa.Text(), nullable=False),
        sa.Column("actor_id", sa.UUID(), nullable=True),
        sa.Column(
            "facts", postgresql.JSONB(astext_type=sa.Text()), server_default=sa.text("'{}'::jsonb"), nullable=False
        ),
        sa.CheckConstraint("num_nonnulls(order_id, user_id) = 1", name=op.f("ck_timeline_entries_has_one_owner")),
        sa.ForeignKeyConstraint(
            ["order_id"], ["orders.id"], name=op.f("fk_timeline_entries_order_id"), ondelete="cascade"
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_timeline_entries_user_id"), ondelete="cascade"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_timeline_entries")),
    )
    op.create_index(
        "ix_timeline_entries_order_id",
        "timeline_entries",
        ["order_id", "at"],
        postgresql_where=sa.text("order_id is not null"),
    )
    op.create_index(
        "ix_timeline_entries_user_id",
        "timeline_entries",
        ["user_id", "at"],
        postgresql_where=sa.text("user_id is not null"),
    )
