"""Adds batches of changes to many products, with the values to undo them."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0042"
down_revision = "0041"
branch_labels = None
depends_on = None

_COUNTS = ("product_count", "done_count", "change_count", "problem_count", "undone_count", "skipped_count")


def upgrade() -> None:
    op.create_table(
        "product_batches",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("operator_id", sa.UUID(), nullable=False),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("operation", postgresql.JSONB(), nullable=False),
        sa.Column("product_ids", postgresql.ARRAY(sa.UUID()), server_default=sa.text("'{}'"), nullable=False),
        sa.Column("query", sa.Text(), nullable=True),
        sa.Column("status", sa.Text(), nullable=True),
        sa.Column("stock", sa.Text(), nullable=True),
        sa.Column("state", sa.Text(), server_default=sa.text("'running'"), nullable=False),
        sa.Column("position", sa.UUID(), nullable=True),
        *(sa.Column(name, sa.BigInteger(), server_default=sa.text("0"), nullable=False) for name in _COUNTS),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "state in ('running', 'done', 'undoing', 'undone')", name=op.f("ck_product_batches_state_is_known")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_product_batches")),
    )
    op.create_index("ix_product_batches_created_at", "product_batches", ["created_at", "id"])
    op.create_index(
        "ix_product_batches_open",
        "product_batches",
        ["created_at"],
        postgresql_where=sa.text("state in ('running', 'undoing')"),
    )
    op.create_table(
        "product_batch_edits",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("batch_id", sa.UUID(), nullable=False),
        sa.Column("owner_id", sa.UUID(), nullable=False),
        sa.Column("cell", sa.Text(), nullable=False),
        sa.Column("before", sa.Text(), nullable=False),
        sa.Column("after", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["batch_id"], ["product_batches.id"], name=op.f("fk_product_batch_edits_batch_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_product_batch_edits")),
    )
    op.create_index("ix_product_batch_edits_batch_id", "product_batch_edits", ["batch_id", "owner_id", "id"])
    op.create_index("ix_product_batch_edits_created_at", "product_batch_edits", ["created_at"])
