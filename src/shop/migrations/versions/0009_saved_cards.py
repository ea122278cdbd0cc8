"""Adds saved cards, and the time at which a provider was last asked for the result of a payment."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("payment_sources", sa.Column("customer_reference", sa.Text(), nullable=True))
    op.add_column("payment_sources", sa.Column("used_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("payment_sources", sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("payment_attempts", sa.Column("looked_at", sa.DateTime(timezone=True), nullable=True))
