"""Adds the accounts and the ledger of points."""

import sqlalchemy as sa
from alembic import op

revision = "loyalty_0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "x_loyalty_accounts",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("user_id", sa.UUID(), nullable=False),
        sa.Column("balance", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_x_loyalty_accounts"),
        sa.UniqueConstraint("user_id", name="uq_x_loyalty_accounts_user_id"),
    )
    op.create_table(
        "x_loyalty_entries",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("account_id", sa.UUID(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("order_number", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("points", sa.BigInteger(), nullable=False),
        sa.Column("reference", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("points <> 0", name="ck_x_loyalty_entries_points_are_some"),
        sa.ForeignKeyConstraint(
            ["account_id"],
            ["x_loyalty_accounts.id"],
            name="fk_x_loyalty_entries_account_id",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name="pk_x_loyalty_entries"),
        sa.UniqueConstraint("key", name="uq_x_loyalty_entries_key"),
    )
    op.create_index("ix_x_loyalty_entries_order_number", "x_loyalty_entries", ["order_number"])
    op.create_index("ix_x_loyalty_entries_account_id", "x_loyalty_entries", ["account_id", "id"])


def downgrade() -> None:
    op.drop_table("x_loyalty_entries")
    op.drop_table("x_loyalty_accounts")
