"""Adds the line items of refunds."""

import sqlalchemy as sa
from alembic import op

revision = "0039"
down_revision = "0038"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "refund_items",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("order_id", sa.UUID(), nullable=False),
        sa.Column("refund_id", sa.UUID(), nullable=False),
        sa.Column("line_item_id", sa.UUID(), nullable=True),
        sa.Column("quantity", sa.BigInteger(), nullable=False),
        sa.Column("amount", sa.BigInteger(), nullable=False),
        sa.Column("is_restocked", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("quantity > 0 and amount >= 0", name=op.f("ck_refund_items_quantity_is_positive")),
        sa.ForeignKeyConstraint(["order_id"], ["orders.id"], name=op.f("fk_refund_items_order_id"), ondelete="cascade"),
        sa.ForeignKeyConstraint(
            ["refund_id"], ["refunds.id"], name=op.f("fk_refund_items_refund_id"), ondelete="cascade"
        ),
        sa.ForeignKeyConstraint(
            ["line_item_id"], ["line_items.id"], name=op.f("fk_refund_items_line_item_id"), ondelete="set null"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_refund_items")),
    )
    op.create_index("ix_refund_items_order_id", "refund_items", ["order_id"])
    op.create_index("ix_refund_items_refund_id", "refund_items", ["refund_id"])
    op.create_index(
        "ix_refund_items_line_item_id",
        "refund_items",
        ["line_item_id"],
        postgresql_where=sa.text("line_item_id is not null"),
    )
