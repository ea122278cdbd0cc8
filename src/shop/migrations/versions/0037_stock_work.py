"""Adds deliveries, transfers and thresholds of low stock."""

import sqlalchemy as sa
from alembic import op

revision = "0037"
down_revision = "0036"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "shops", sa.Column("low_stock_threshold", sa.BigInteger(), server_default=sa.text("5"), nullable=False)
    )
    op.create_table(
        "stock_thresholds",
        sa.Column("stock_item_id", sa.UUID(), nullable=False),
        sa.Column("low_at", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("low_at >= 0", name=op.f("ck_stock_thresholds_low_at_is_not_negative")),
        sa.ForeignKeyConstraint(
            ["stock_item_id"], ["stock_items.id"], name=op.f("fk_stock_thresholds_stock_item_id"), ondelete="cascade"
        ),
        sa.PrimaryKeyConstraint("stock_item_id", name=op.f("pk_stock_thresholds")),
    )
    op.create_index("ix_stock_thresholds_low_at", "stock_thresholds", ["low_at"])
    _create_deliveries()
    _create_lines()


def _create_deliveries() -> None:
    op.create_table(
        "stock_deliveries",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("reference", sa.Text(), nullable=False),
        sa.Column("stock_location_id", sa.UUID(), nullable=False),
        sa.Column("source_location_id", sa.UUID(), nullable=True),
        sa.Column("expected_on", sa.Date(), nullable=True),
        sa.Column("state", sa.Text(), server_default=sa.text("'open'"), nullable=False),
        sa.Column("version", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "state in ('draft', 'open', 'received', 'canceled')", name=op.f("ck_stock_deliveries_state_is_known")
        ),
        sa.CheckConstraint(
            "source_location_id <> stock_location_id", name=op.f("ck_stock_deliveries_locations_differ")
        ),
        sa.ForeignKeyConstraint(
            ["stock_location_id"], ["stock_locations.id"], name=op.f("fk_stock_deliveries_stock_location_id")
        ),
        sa.ForeignKeyConstraint(
            ["source_location_id"], ["stock_locations.id"], name=op.f("fk_stock_deliveries_source_location_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_stock_deliveries")),
    )
    op.create_index("ix_stock_deliveries_state", "stock_deliveries", ["state", "expected_on", "id"])
    op.create_index("ix_stock_deliveries_stock_location_id", "stock_deliveries", ["stock_location_id"])
    op.create_index(
        "ix_stock_deliveries_source_location_id",
        "stock_deliveries",
        ["source_location_id"],
        postgresql_where=sa.text("source_location_id is not null"),
    )


def _create_lines() -> None:
    op.create_table(
        "stock_delivery_lines",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("delivery_id", sa.UUID(), nullable=False),
        sa.Column("variant_id", sa.UUID(), nullable=False),
        sa.Column("quantity", sa.BigInteger(), nullable=False),
        sa.Column("received_quantity", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("quantity > 0", name=op.f("ck_stock_delivery_lines_quantity_is_positive")),
        sa.CheckConstraint("received_quantity >= 0", name=op.f("ck_stock_delivery_lines_received_is_not_negative")),
        sa.ForeignKeyConstraint(
            ["delivery_id"],
            ["stock_deliveries.id"],
            name=op.f("fk_stock_delivery_lines_delivery_id"),
            ondelete="cascade",
        ),
        sa.ForeignKeyConstraint(["variant_id"], ["variants.id"], name=op.f("fk_stock_delivery_lines_variant_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_stock_delivery_lines")),
        sa.UniqueConstraint("delivery_id", "variant_id", name=op.f("uq_stock_delivery_lines_delivery_id_variant_id")),
    )
    op.create_index("ix_stock_delivery_lines_variant_id", "stock_delivery_lines", ["variant_id", "delivery_id"])
