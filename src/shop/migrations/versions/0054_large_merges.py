"""Adds the progress of merges of customers, whose orders move in batches."""

import sqlalchemy as sa
from alembic import op

revision = "0054"
down_revision = "0053"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "customer_merges",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("duplicate_id", sa.UUID(), nullable=False),
        sa.Column("survivor_id", sa.UUID(), nullable=False),
        sa.Column("order_count", sa.BigInteger(), nullable=False),
        sa.Column("moved_count", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["duplicate_id"], ["users.id"], name=op.f("fk_customer_merges_duplicate_id")),
        sa.ForeignKeyConstraint(["survivor_id"], ["users.id"], name=op.f("fk_customer_merges_survivor_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_customer_merges")),
        sa.UniqueConstraint("duplicate_id", name=op.f("uq_customer_merges_duplicate_id")),
    )
    op.create_index("ix_customer_merges_survivor_id", "customer_merges", ["survivor_id"])


def downgrade() -> None:
    op.drop_table("customer_merges")
