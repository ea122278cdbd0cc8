"""Adds notes about orders, messages to their customers, and the approval of refunds."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0045"
down_revision = "0044"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "order_notes",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("order_id", sa.UUID(), nullable=False),
        sa.Column("author_id", sa.UUID(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("kind in ('note', 'message')", name=op.f("ck_order_notes_kind_is_known")),
        sa.ForeignKeyConstraint(["order_id"], ["orders.id"], name=op.f("fk_order_notes_order_id"), ondelete="cascade"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_order_notes")),
    )
    op.create_index("ix_order_notes_order_id", "order_notes", ["order_id", "created_at"])
    op.add_column("shops", sa.Column("refund_approval_amount", sa.Numeric(), nullable=True))
    op.create_table(
        "refund_requests",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("order_id", sa.UUID(), nullable=False),
        sa.Column("requester_id", sa.UUID(), nullable=False),
        sa.Column("refund", postgresql.JSONB(), server_default=sa.text("'{}'"), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("amount", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.Text(), server_default=sa.text("'pending'"), nullable=False),
        sa.Column("decided_by", sa.UUID(), nullable=True),
        sa.Column("decided_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "state in ('pending', 'approved', 'declined')", name=op.f("ck_refund_requests_state_is_known")
        ),
        sa.CheckConstraint(
            "(state = 'pending') = (decided_at is null)", name=op.f("ck_refund_requests_is_decided_once")
        ),
        sa.ForeignKeyConstraint(
            ["order_id"], ["orders.id"], name=op.f("fk_refund_requests_order_id"), ondelete="cascade"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_refund_requests")),
    )
    op.create_index("ix_refund_requests_order_id", "refund_requests", ["order_id"])
    op.create_index(
        "ix_refund_requests_pending", "refund_requests", ["created_at"], postgresql_where=sa.text("state = 'pending'")
    )
