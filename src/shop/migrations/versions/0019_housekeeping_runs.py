"""Adds a table of housekeeping runs with their backlog, for `/metrics`."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "housekeeping_runs",
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column(
            "backlog",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_housekeeping_runs")),
    )
    op.create_index(
        "ix_payment_sources_loose",
        "payment_sources",
        ["created_at"],
        postgresql_where=sa.text("used_at is null and order_id is null"),
    )
