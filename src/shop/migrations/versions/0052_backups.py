"""Lists the backups of the shop."""

import sqlalchemy as sa
from alembic import op

revision = "0052"
down_revision = "0051"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "backups",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("place", sa.Text(), nullable=False),
        sa.Column("folder", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), server_default=sa.text("'running'"), nullable=False),
        sa.Column("is_scheduled", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("leased_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("size", sa.BigInteger(), nullable=True),
        sa.Column("image_count", sa.BigInteger(), nullable=True),
        sa.Column("missing_count", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("has_keys", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.CheckConstraint("state in ('running', 'complete', 'failed')", name=op.f("ck_backups_state_is_known")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_backups")),
    )
    op.create_index("ix_backups_started_at", "backups", ["started_at", "id"])
    op.create_index(
        "uq_backups_running",
        "backups",
        ["state"],
        unique=True,
        postgresql_where=sa.text("state = 'running' and is_scheduled"),
    )


def downgrade() -> None:
    op.drop_table("backups")
