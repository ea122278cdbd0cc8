"""Allows CSV files of customers."""

from alembic import op

revision = "0044"
down_revision = "0043"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.drop_constraint(op.f("ck_csv_imports_kind_is_known"), "csv_imports", type_="check")
    op.create_check_constraint(
        op.f("ck_csv_imports_kind_is_known"), "csv_imports", "kind in ('products', 'stock', 'customers')"
    )
