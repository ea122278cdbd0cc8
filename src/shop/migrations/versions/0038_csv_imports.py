"""Adds the CSV files that operators import."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0038"
down_revision = "0037"
branch_labels = None
depends_on = None

_COUNTS = ("position", "total", "created", "updated", "unchanged", "failed")


def upgrade() -> None:
    op.create_table(
        "csv_imports",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("format", sa.Text(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("headers", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column("mapping", postgresql.JSONB(), server_default=sa.text("'{}'::jsonb"), nullable=False),
        sa.Column("state", sa.Text(), server_default=sa.text("'uploaded'"), nullable=False),
        *(sa.Column(name, sa.BigInteger(), server_default=sa.text("0"), nullable=False) for name in _COUNTS),
        sa.Column("errors", postgresql.ARRAY(sa.Text()), server_default=sa.text("'{}'"), nullable=False),
        sa.Column("operator_id", sa.UUID(), nullable=False),
        sa.Column("leased_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("kind in ('products', 'stock')", name=op.f("ck_csv_imports_kind_is_known")),
        sa.CheckConstraint(
            "state in ('uploaded', 'checking', 'checked', 'running', 'done', 'failed')",
            name=op.f("ck_csv_imports_state_is_known"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_csv_imports")),
    )
    op.create_index(
        "ix_csv_imports_state",
        "csv_imports",
        ["state", "id"],
        postgresql_where=sa.text("state in ('checking', 'running')"),
    )
