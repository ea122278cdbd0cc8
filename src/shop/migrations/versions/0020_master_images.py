"""Assigns images without a variant to the product's master, as in Spree."""

from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        "update images set variant_id = variants.id from variants "
        "where images.variant_id is null and variants.product_id = images.product_id and variants.is_master"
    )
