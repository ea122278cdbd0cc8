"""Cards that are kept for their owners to pay with again; when a provider was last asked what came of a payment."""

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
