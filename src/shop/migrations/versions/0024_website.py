"""Settings of the website, images of the shop, and the progress of filling a demo shop."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "shops",
        sa.Column(
            "website",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
        ),
    )
    op.add_column("images", sa.Column("shop_id", sa.BigInteger(), nullable=True))
    op.create_foreign_key("fk_images_shop_id", "images", "shops", ["shop_id"], ["id"])
    op.drop_constraint(op.f("ck_images_one_owner"), "images", type_="check")
    op.create_check_constraint(op.f("ck_images_one_owner"), "images", "num_nonnulls(product_id, taxon_id, shop_id) = 1")
    op.create_table(
        "demo_fills",
        sa.Column("id", sa.BigInteger(), server_default=sa.text("1"), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("order_count", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("id = 1", name=op.f("ck_demo_fills_only_one")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_demo_fills")),
    )
