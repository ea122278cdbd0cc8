"""Makes a change of the tax categories a change of the catalog: the quotes of variants have the default category."""

from alembic import op

revision = "0062"
down_revision = "0061"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        "create trigger catalog_has_changed after insert or update or delete on tax_categories "
        "for each statement execute function catalog_has_changed()"
    )


def downgrade() -> None:
    op.execute("drop trigger catalog_has_changed on tax_categories")
