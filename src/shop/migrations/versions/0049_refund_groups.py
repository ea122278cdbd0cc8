"""Adds which refunds were made together, the shipping costs that they return, and where their units return to."""

import sqlalchemy as sa
from alembic import op

revision = "0049"
down_revision = "0048"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("refunds", sa.Column("group_id", sa.UUID(), nullable=True))
    op.add_column("refunds", sa.Column("shipping_amount", sa.BigInteger(), server_default=sa.text("0"), nullable=False))
    op.add_column("refund_items", sa.Column("stock_location_id", sa.UUID(), nullable=True))
    op.add_column("refund_items", sa.Column("restocked_at", sa.DateTime(timezone=True), nullable=True))
