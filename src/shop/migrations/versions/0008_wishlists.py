"""Adds wishlists and their items."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "wishlists",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("user_id", sa.UUID(), nullable=False),
        sa.Column("token", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("is_private", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.Column("is_default", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_wishlists_user_id"), ondelete="cascade"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_wishlists")),
        sa.UniqueConstraint("token", name=op.f("uq_wishlists_token")),
    )
    op.create_index("ix_wishlists_created_at", "wishlists", ["created_at", "id"])
    op.create_index("ix_wishlists_user_id", "wishlists", ["user_id", "created_at"])
    op.create_index(
        "uq_wishlists_default", "wishlists", ["user_id"], unique=True, postgresql_where=sa.text("is_default")
    )
    op.create_table(
        "wished_items",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("wishlist_id", sa.UUID(), nullable=False),
        sa.Column("variant_id", sa.UUID(), nullable=False),
        sa.Column("quantity", sa.BigInteger(), server_default=sa.text("1"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("quantity > 0", name=op.f("ck_wished_items_quantity_is_positive")),
        sa.ForeignKeyConstraint(
            ["variant_id"], ["variants.id"], name=op.f("fk_wished_items_variant_id"), ondelete="cascade"
        ),
        sa.ForeignKeyConstraint(
            ["wishlist_id"], ["wishlists.id"], name=op.f("fk_wished_items_wishlist_id"), ondelete="cascade"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_wished_items")),
        sa.UniqueConstraint("wishlist_id", "variant_id", name=op.f("uq_wished_items_wishlist_id_variant_id")),
    )
    op.create_index("ix_wished_items_created_at", "wished_items", ["created_at", "id"])
    op.create_index("ix_wished_items_variant_id", "wished_items", ["variant_id"])
