"""Adds the progress of extensions' listeners, and admits the shipping rates of extensions."""

import sqlalchemy as sa
from alembic import op

revision = "0053"
down_revision = "0052"
branch_labels = None
depends_on = None

_NAME = "ck_shipping_methods_calculator_is_known"
_OWN = "calculator in ('flat', 'per_item', 'by_weight')"


def upgrade() -> None:
    op.create_table(
        "extension_listeners",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("extension", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("failure_count", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("next_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_error", sa.Text(), nullable=True),
        sa.Column("failed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("failed_position", sa.BigInteger(), nullable=True),
        sa.Column("leased_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_extension_listeners"),
        sa.UniqueConstraint("extension", "name", name="uq_extension_listeners_extension_name"),
    )
    _replace_check(rf"{_OWN} or calculator like 'x\_%'")


def downgrade() -> None:
    _replace_check(_OWN)
    op.drop_table("extension_listeners")


def _replace_check(condition: str) -> None:
    # offline: a shop has a few shipping methods, which are validated within a millisecond
    op.execute(f"alter table shipping_methods drop constraint {_NAME}")
    op.execute(f"alter table shipping_methods add constraint {_NAME} check ({condition}) not valid")
    op.execute(f"alter table shipping_methods validate constraint {_NAME}")
