"""Allows one default tax category: with several, the tax of a product depended on the order of the rows."""

import sqlalchemy as sa
from alembic import op

revision = "0063"
down_revision = "0062"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # offline: a shop has a few tax categories, which are changed and indexed within milliseconds
    op.execute(
        "update tax_categories set is_default = false where is_default and id <> "
        "(select id from tax_categories where is_default order by created_at, id limit 1)"
    )
    op.create_index(
        "uq_tax_categories_is_default",
        "tax_categories",
        ["is_default"],
        unique=True,
        postgresql_where=sa.text("is_default"),
    )


def downgrade() -> None:
    op.drop_index("uq_tax_categories_is_default", "tax_categories")
