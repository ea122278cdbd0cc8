"""Adds drafts of orders, their discounts, and the payment methods that only operators use."""

import sqlalchemy as sa
from alembic import op

revision = "0041"
down_revision = "0040"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("orders", sa.Column("author_id", sa.UUID(), nullable=True))
    op.create_table(
        "drafts",
        sa.Column("order_id", sa.UUID(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["order_id"], ["orders.id"], name=op.f("fk_drafts_order_id"), ondelete="cascade"),
        sa.PrimaryKeyConstraint("order_id", name=op.f("pk_drafts")),
    )
    op.create_index("ix_drafts_created_at", "drafts", ["created_at", "order_id"])
    op.create_table(
        "draft_discounts",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("order_id", sa.UUID(), nullable=False),
        sa.Column("line_item_id", sa.UUID(), nullable=True),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("value", sa.BigInteger(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("kind in ('percent', 'amount')", name=op.f("ck_draft_discounts_kind_is_known")),
        sa.CheckConstraint("value > 0", name=op.f("ck_draft_discounts_value_is_something")),
        sa.ForeignKeyConstraint(
            ["order_id"], ["orders.id"], name=op.f("fk_draft_discounts_order_id"), ondelete="cascade"
        ),
        sa.ForeignKeyConstraint(
            ["line_item_id"], ["line_items.id"], name=op.f("fk_draft_discounts_line_item_id"), ondelete="cascade"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_draft_discounts")),
    )
    op.create_index("ix_draft_discounts_order_id", "draft_discounts", ["order_id", "id"])
    op.create_index(
        "ix_draft_discounts_line_item_id",
        "draft_discounts",
        ["line_item_id"],
        postgresql_where=sa.text("line_item_id is not null"),
    )
    op.execute(
        "insert into payment_methods"
        " (id, name, type, display_on, auto_capture, position, created_at, updated_at) values"
        " ('5c000000-0000-7000-8000-000000000002', 'Cash', 'cash', 'back_end', true, 1001, now(), now()),"
        " ('5c000000-0000-7000-8000-000000000003', 'Payment link', 'payment_link', 'back_end', false, 1002, now(),"
        " now())"
    )
