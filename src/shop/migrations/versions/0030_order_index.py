"""Adds the index of completed orders, and tags."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None


def upgrade() -> None:
    empty = sa.text("'{}'::text[]")
    op.add_column("orders", sa.Column("tags", postgresql.ARRAY(sa.Text()), server_default=empty, nullable=False))
    no_ids = sa.text("'{}'::uuid[]")
    op.create_table(
        "order_listings",
        sa.Column("order_id", sa.UUID(), nullable=False),
        sa.Column("placed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("name", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("country", sa.Text(), nullable=True),
        sa.Column("currency", sa.Text(), nullable=False),
        sa.Column("channel", sa.Text(), server_default=sa.text("'shop'"), nullable=False),
        sa.Column("total", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("payment_state", sa.Text(), nullable=True),
        sa.Column("shipment_state", sa.Text(), nullable=True),
        sa.Column("is_to_ship", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("is_unpaid", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("is_open", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("product_ids", postgresql.ARRAY(sa.UUID()), server_default=no_ids, nullable=False),
        sa.Column("promotion_ids", postgresql.ARRAY(sa.UUID()), server_default=no_ids, nullable=False),
        sa.Column("tags", postgresql.ARRAY(sa.Text()), server_default=empty, nullable=False),
        sa.Column("search", postgresql.TSVECTOR(), nullable=False),
        sa.ForeignKeyConstraint(
            ["order_id"], ["orders.id"], name=op.f("fk_order_listings_order_id"), ondelete="cascade"
        ),
        sa.PrimaryKeyConstraint("order_id", name=op.f("pk_order_listings")),
        postgresql_with={"fillfactor": 80},
    )
    op.create_index("ix_order_listings_placed_at", "order_listings", ["placed_at", "order_id"])
    op.create_index("ix_order_listings_total", "order_listings", ["total", "order_id"])
    for name in ("to_ship", "unpaid", "open"):
        op.create_index(
            f"ix_order_listings_{name}",
            "order_listings",
            ["placed_at", "order_id"],
            postgresql_where=sa.text(f"is_{name}"),
        )
    op.create_index("ix_order_listings_search", "order_listings", ["search"], postgresql_using="gin")
    op.create_index(
        "ix_order_listings_marks",
        "order_listings",
        [sa.text("(product_ids || promotion_ids)")],
        postgresql_using="gin",
    )
    op.create_index("ix_order_listings_tags", "order_listings", ["tags"], postgresql_using="gin")
    op.create_table(
        "order_index_progress",
        sa.Column("id", sa.BigInteger(), server_default=sa.text("1"), nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=True),
        sa.Column("filled_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("filled_id", sa.UUID(), nullable=True),
        sa.Column("is_filled", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.CheckConstraint("id = 1", name=op.f("ck_order_index_progress_only_one")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_order_index_progress")),
    )
    op.execute("insert into order_index_progress default values")
