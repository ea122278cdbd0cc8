"""Adds the order of a payment source that was entered at checkout, and the number of refreshes of a session."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("sessions", sa.Column("refresh_count", sa.BigInteger(), server_default=sa.text("0"), nullable=False))
    op.add_column("payment_sources", sa.Column("order_id", sa.UUID(), nullable=True))
    op.create_foreign_key(
        "fk_payment_sources_order_id", "payment_sources", "orders", ["order_id"], ["id"], ondelete="CASCADE"
    )
    op.create_index(
        "ix_payment_sources_order_id",
        "payment_sources",
        ["order_id"],
        postgresql_where=sa.text("order_id is not null"),
    )
