"""Adds the webhooks of the payment providers of extensions."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0056"
down_revision = "0055"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "extension_webhooks",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("extension", sa.Text(), nullable=False),
        sa.Column("provider_type", sa.Text(), nullable=False),
        sa.Column("reference", sa.Text(), nullable=False),
        sa.Column("data", postgresql.JSONB(), server_default=sa.text("'{}'::jsonb"), nullable=False),
        sa.Column("attempts", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("next_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("leased_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_error", sa.Text(), nullable=True),
        sa.Column("handled_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_extension_webhooks"),
        sa.UniqueConstraint("provider_type", "reference", name="uq_extension_webhooks_provider_type_reference"),
    )
    op.create_index(
        "ix_extension_webhooks_next_at",
        "extension_webhooks",
        ["next_at"],
        postgresql_where=sa.text("handled_at is null"),
    )
    op.create_index("ix_extension_webhooks_created_at", "extension_webhooks", ["created_at"])


def downgrade() -> None:
    op.drop_table("extension_webhooks")
