"""Adds notes about orders and messages to their customers."""

import sqlalchemy as sa
from alembic import op

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
