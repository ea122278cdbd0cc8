"""Adds the version of an order's token, and the actor of a payment attempt."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("orders", sa.Column("token_version", sa.BigInteger(), server_default=sa.text("0"), nullable=False))
    op.add_column(
        "payment_attempts", sa.Column("actor_kind", sa.Text(), server_default=sa.text("'guest'"), nullable=False)
    )
    op.add_column("payment_attempts", sa.Column("actor_id", sa.UUID(), nullable=True))
