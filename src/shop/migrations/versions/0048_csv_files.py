"""Stores the files of imports in chunks, and remembers the addresses of merged accounts."""

import sqlalchemy as sa
from alembic import op

revision = "0048"
down_revision = "0047"
branch_labels = None
depends_on = None


def upgrade() -> None:
    state_check = op.f("ck_csv_imports_state_is_known")
    # Files that wait for their import are uploaded again.
    op.execute("delete from csv_imports where state not in ('done', 'failed')")
    op.drop_column("csv_imports", "content")
    op.add_column(
        "csv_imports", sa.Column("encoding", sa.Text(), server_default=sa.text("'utf-8-sig'"), nullable=False)
    )
    op.add_column("csv_imports", sa.Column("size", sa.BigInteger(), server_default=sa.text("0"), nullable=False))
    op.drop_constraint(state_check, "csv_imports", type_="check")
    op.create_check_constraint(
        state_check,
        "csv_imports",
        "state in ('uploading', 'uploaded', 'checking', 'checked', 'running', 'done', 'failed')",
    )
    op.create_table(
        "csv_import_chunks",
        sa.Column("import_id", sa.UUID(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["import_id"], ["csv_imports.id"], name=op.f("fk_csv_import_chunks_import_id"), ondelete="cascade"
        ),
        sa.PrimaryKeyConstraint("import_id", "number", name=op.f("pk_csv_import_chunks")),
    )
    op.create_table(
        "merged_addresses",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("user_id", sa.UUID(), nullable=False),
        sa.Column("email_key", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_merged_addresses_user_id"), ondelete="cascade"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_merged_addresses")),
        sa.UniqueConstraint("user_id", "email_key", name=op.f("uq_merged_addresses_user_id_email_key")),
    )
