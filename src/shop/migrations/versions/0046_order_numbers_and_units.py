"""Adds the format of order numbers and the units of weights and dimensions to the settings."""

import sqlalchemy as sa
from alembic import op

revision = "0046"
down_revision = "0045"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("shops", sa.Column("order_prefix", sa.Text(), server_default=sa.text("'R'"), nullable=False))
    op.add_column("shops", sa.Column("order_digits", sa.BigInteger(), server_default=sa.text("10"), nullable=False))
    op.add_column("shops", sa.Column("weight_unit", sa.Text(), server_default=sa.text("'kg'"), nullable=False))
    op.add_column("shops", sa.Column("dimension_unit", sa.Text(), server_default=sa.text("'cm'"), nullable=False))
