"""Adds manual adjustments, an index of adjustments by line item and shipment, and metadata of tax rates."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("orders", sa.Column("manual_total", sa.BigInteger(), server_default=sa.text("0"), nullable=False))
    op.alter_column("adjustments", "source_type", existing_type=sa.Text(), nullable=True)
    op.create_index("ix_adjustments_adjustable_id", "adjustments", ["adjustable_id", "id"])
    for name in ("public_metadata", "private_metadata"):
        op.add_column(
            "tax_rates",
            sa.Column(
                name,
                postgresql.JSONB(astext_type=sa.Text()),
                server_default=sa.text("'{}'::jsonb"),
                nullable=False,
            ),
        )
