"""Adds images of taxons: an image belongs to a product or to a taxon."""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.alter_column("images", "product_id", existing_type=sa.UUID(), nullable=True)
    op.add_column("images", sa.Column("taxon_id", sa.UUID(), nullable=True))
    op.create_foreign_key("fk_images_taxon_id", "images", "taxons", ["taxon_id"], ["id"], ondelete="CASCADE")
    op.create_check_constraint(op.f("ck_images_one_owner"), "images", "num_nonnulls(product_id, taxon_id) = 1")
    has_taxon = sa.text("taxon_id is not null")
    op.create_index("uq_images_taxon_id", "images", ["taxon_id"], unique=True, postgresql_where=has_taxon)
