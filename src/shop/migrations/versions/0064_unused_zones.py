"""Unlinks deleted shipping methods from their zones and shipping categories, which could never be deleted otherwise."""

from alembic import op

revision = "0064"
down_revision = "0063"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # offline: a shop has a few shipping methods, whose links are deleted within milliseconds
    for table in ("shipping_method_zones", "shipping_method_categories"):
        op.execute(
            f"delete from {table} using shipping_methods m where m.id = shipping_method_id and m.deleted_at is not null"
        )


def downgrade() -> None:
    pass
