"""Adds recovery codes of operators."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "operator_recovery_codes",
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.Column("operator_id", sa.UUID(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("used_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["operator_id"],
            ["operators.id"],
            name=op.f("fk_operator_recovery_codes_operator_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("hash", name=op.f("pk_operator_recovery_codes")),
    )
    op.create_index("ix_operator_recovery_codes_operator_id", "operator_recovery_codes", ["operator_id"])
