"""Adds the time before which credentials are void, and a table of server keys."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("shops", sa.Column("not_before", sa.DateTime(timezone=True), nullable=True))
    op.create_table(
        "server_keys",
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("key_id", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("order_tokens_void_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("fingerprint", name=op.f("pk_server_keys")),
    )
