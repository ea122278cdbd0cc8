"""Adds the columns that count e-mail against the mail budget before it is sent."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("outbox_mails", sa.Column("awaits_budget", sa.Boolean(), server_default="false", nullable=False))
    op.add_column("outbox_mails", sa.Column("source", sa.Text(), nullable=True))
