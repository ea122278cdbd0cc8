"""Adds the settings of e-mails, test e-mails, and requests to be told when a product is back in stock."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("shops", sa.Column("mails", postgresql.JSONB(), server_default=sa.text("'{}'"), nullable=False))
    op.add_column("outbox_mails", sa.Column("is_test", sa.Boolean(), server_default="false", nullable=False))
    op.add_column(
        "wished_items", sa.Column("notify_when_in_stock", sa.Boolean(), server_default="false", nullable=False)
    )
    op.create_index(
        "ix_wished_items_notify",
        "wished_items",
        ["variant_id"],
        postgresql_where=sa.text("notify_when_in_stock"),
    )
    op.create_table(
        "restocked_variants",
        sa.Column("variant_id", sa.UUID(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["variant_id"], ["variants.id"], name=op.f("fk_restocked_variants_variant_id"), ondelete="cascade"
        ),
        sa.PrimaryKeyConstraint("variant_id", name=op.f("pk_restocked_variants")),
    )
