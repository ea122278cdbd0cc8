"""Adds the account that a closed account was merged into."""

import sqlalchemy as sa
from alembic import op

revision = "0043"
down_revision = "0042"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("users", sa.Column("merged_into_id", sa.UUID(), nullable=True))


def downgrade() -> None:
    op.drop_column("users", "merged_into_id")
