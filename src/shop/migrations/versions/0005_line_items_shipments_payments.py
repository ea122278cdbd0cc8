"""Adds line items, shipments, payments, taxes and shipping methods."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "payment_methods",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("active", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.Column("display_on", sa.Text(), server_default=sa.text("'both'"), nullable=False),
        sa.Column("auto_capture", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.Column("position", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column(
            "preferences",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
        ),
        sa.Column(
            "public_metadata",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
        ),
        sa.Column(
            "private_metadata",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
        ),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "display_on in ('both', 'front_end', 'back_end')", name=op.f("ck_payment_methods_display_is_known")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_payment_methods")),
    )
    op.create_table(
        "shipping_categories",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_shipping_categories")),
        sa.UniqueConstraint("name", name=op.f("uq_shipping_categories_name")),
    )
    op.create_table(
        "zones",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("kind", sa.Text(), server_default=sa.text("'country'"), nullable=False),
        sa.Column("default_tax", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("kind in ('country', 'state')", name=op.f("ck_zones_kind_is_known")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_zones")),
        sa.UniqueConstraint("name", name=op.f("uq_zones_name")),
    )
    op.create_index(
        "uq_zones_default_tax", "zones", ["default_tax"], unique=True, postgresql_where=sa.text("default_tax")
    )
    op.create_table(
        "payment_sources",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("user_id", sa.UUID(), nullable=True),
        sa.Column("payment_method_id", sa.UUID(), nullable=False),
        sa.Column("reference", sa.Text(), nullable=True),
        sa.Column("cc_type", sa.Text(), nullable=True),
        sa.Column("last_digits", sa.Text(), nullable=True),
        sa.Column("month", sa.BigInteger(), nullable=True),
        sa.Column("year", sa.BigInteger(), nullable=True),
        sa.Column("name", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["payment_method_id"], ["payment_methods.id"], name=op.f("fk_payment_sources_payment_method_id")
        ),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_payment_sources_user_id"), ondelete="cascade"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_payment_sources")),
    )
    op.create_index(
        "ix_payment_sources_payment_method_id",
        "payment_sources",
        ["payment_method_id"],
        unique=False,
        postgresql_where=None,
    )
    op.create_index(
        "ix_payment_sources_user_id",
        "payment_sources",
        ["user_id"],
        unique=False,
        postgresql_where=sa.text("user_id is not null"),
    )
    op.create_table(
        "shipping_methods",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("admin_name", sa.Text(), nullable=True),
        sa.Column("code", sa.Text(), nullable=True),
        sa.Column("tracking_url", sa.Text(), nullable=True),
        sa.Column("display_on", sa.Text(), server_default=sa.text("'both'"), nullable=False),
        sa.Column("calculator", sa.Text(), server_default=sa.text("'flat'"), nullable=False),
        sa.Column("tax_category_id", sa.UUID(), nullable=True),
        sa.Column(
            "public_metadata",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
        ),
        sa.Column(
            "private_metadata",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
        ),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "calculator in ('flat', 'per_item', 'by_weight')", name=op.f("ck_shipping_methods_calculator_is_known")
        ),
        sa.CheckConstraint(
            "display_on in ('both', 'front_end', 'back_end')", name=op.f("ck_shipping_methods_display_is_known")
        ),
        sa.ForeignKeyConstraint(
            ["tax_category_id"], ["tax_categories.id"], name=op.f("fk_shipping_methods_tax_category_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_shipping_methods")),
    )
    op.create_table(
        "tax_rates",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("amount", sa.Numeric(), nullable=False),
        sa.Column("included_in_price", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("show_rate_in_label", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.Column("zone_id", sa.UUID(), nullable=False),
        sa.Column("tax_category_id", sa.UUID(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("amount >= 0 and amount < 10", name=op.f("ck_tax_rates_amount_is_a_share")),
        sa.ForeignKeyConstraint(["tax_category_id"], ["tax_categories.id"], name=op.f("fk_tax_rates_tax_category_id")),
        sa.ForeignKeyConstraint(["zone_id"], ["zones.id"], name=op.f("fk_tax_rates_zone_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tax_rates")),
    )
    op.create_index(
        "ix_tax_rates_tax_category_id", "tax_rates", ["tax_category_id"], unique=False, postgresql_where=None
    )
    op.create_index("ix_tax_rates_zone_id", "tax_rates", ["zone_id"], unique=False, postgresql_where=None)
    op.create_table(
        "shipping_method_amounts",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("shipping_method_id", sa.UUID(), nullable=False),
        sa.Column("currency", sa.Text(), nullable=False),
        sa.Column("amount", sa.BigInteger(), nullable=False),
        sa.Column("from_weight", sa.Numeric(), server_default=sa.text("0"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "amount >= 0 and from_weight >= 0", name=op.f("ck_shipping_method_amounts_amount_not_negative")
        ),
        sa.ForeignKeyConstraint(
            ["shipping_method_id"],
            ["shipping_methods.id"],
            name=op.f("fk_shipping_method_amounts_shipping_method_id"),
            ondelete="cascade",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_shipping_method_amounts")),
        sa.UniqueConstraint(
            "shipping_method_id",
            "currency",
            "from_weight",
            name=op.f("uq_shipping_method_amounts_shipping_method_id_currency_from_weight"),
        ),
    )
    op.create_table(
        "shipping_method_categories",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("shipping_method_id", sa.UUID(), nullable=False),
        sa.Column("shipping_category_id", sa.UUID(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["shipping_category_id"],
            ["shipping_categories.id"],
            name=op.f("fk_shipping_method_categories_shipping_category_id"),
        ),
        sa.ForeignKeyConstraint(
            ["shipping_method_id"],
            ["shipping_methods.id"],
            name=op.f("fk_shipping_method_categories_shipping_method_id"),
            ondelete="cascade",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_shipping_method_categories")),
        sa.UniqueConstraint(
            "shipping_method_id",
            "shipping_category_id",
            name=op.f("uq_shipping_method_categories_shipping_method_id_shipping_category_id"),
        ),
    )
    op.create_index(
        "ix_shipping_method_categories_shipping_category_id",
        "shipping_method_categories",
        ["shipping_category_id"],
        unique=False,
        postgresql_where=None,
    )
    op.create_table(
        "shipping_method_zones",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("shipping_method_id", sa.UUID(), nullable=False),
        sa.Column("zone_id", sa.UUID(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["shipping_method_id"],
            ["shipping_methods.id"],
            name=op.f("fk_shipping_method_zones_shipping_method_id"),
            ondelete="cascade",
        ),
        sa.ForeignKeyConstraint(["zone_id"], ["zones.id"], name=op.f("fk_shipping_method_zones_zone_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_shipping_method_zones")),
        sa.UniqueConstraint(
            "shipping_method_id", "zone_id", name=op.f("uq_shipping_method_zones_shipping_method_id_zone_id")
        ),
    )
    op.create_index(
        "ix_shipping_method_zones_zone_id", "shipping_method_zones", ["zone_id"], unique=False, postgresql_where=None
    )
    op.create_table(
        "zone_members",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("zone_id", sa.UUID(), nullable=False),
        sa.Column("country_id", sa.UUID(), nullable=True),
        sa.Column("state_id", sa.UUID(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "num_nonnulls(country_id, state_id) = 1", name=op.f("ck_zone_members_is_a_country_or_a_state")
        ),
        sa.ForeignKeyConstraint(["country_id"], ["countries.id"], name=op.f("fk_zone_members_country_id")),
        sa.ForeignKeyConstraint(["state_id"], ["states.id"], name=op.f("fk_zone_members_state_id")),
        sa.ForeignKeyConstraint(["zone_id"], ["zones.id"], name=op.f("fk_zone_members_zone_id"), ondelete="cascade"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_zone_members")),
        sa.UniqueConstraint("zone_id", "country_id", name=op.f("uq_zone_members_zone_id_country_id")),
        sa.UniqueConstraint("zone_id", "state_id", name=op.f("uq_zone_members_zone_id_state_id")),
    )
    op.create_index(
        "ix_zone_members_country_id",
        "zone_members",
        ["country_id"],
        unique=False,
        postgresql_where=sa.text("country_id is not null"),
    )
    op.create_index(
        "ix_zone_members_state_id",
        "zone_members",
        ["state_id"],
        unique=False,
        postgresql_where=sa.text("state_id is not null"),
    )
    op.create_table(
        "line_items",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("order_id", sa.UUID(), nullable=False),
        sa.Column("variant_id", sa.UUID(), nullable=False),
        sa.Column("quantity", sa.BigInteger(), nullable=False),
        sa.Column("price", sa.BigInteger(), nullable=True),
        sa.Column("quoted_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("price_list_id", sa.UUID(), nullable=True),
        sa.Column("compare_at_price", sa.BigInteger(), nullable=True),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("sku", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("slug", sa.Text(), nullable=False),
        sa.Column("options_text", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("tax_category_id", sa.UUID(), nullable=True),
        sa.Column("promo_total", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("adjustment_total", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("additional_tax_total", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("included_tax_total", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("pre_tax_amount", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column(
            "public_metadata",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
        ),
        sa.Column(
            "private_metadata",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
        ),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("price >= 0", name=op.f("ck_line_items_price_not_negative")),
        sa.CheckConstraint("quantity > 0", name=op.f("ck_line_items_quantity_is_positive")),
        sa.ForeignKeyConstraint(["order_id"], ["orders.id"], name=op.f("fk_line_items_order_id"), ondelete="cascade"),
        sa.ForeignKeyConstraint(["tax_category_id"], ["tax_categories.id"], name=op.f("fk_line_items_tax_category_id")),
        sa.ForeignKeyConstraint(["variant_id"], ["variants.id"], name=op.f("fk_line_items_variant_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_line_items")),
        sa.UniqueConstraint("order_id", "variant_id", name=op.f("uq_line_items_order_id_variant_id")),
    )
    op.create_index("ix_line_items_created_at", "line_items", ["created_at", "id"], unique=False, postgresql_where=None)
    op.create_index("ix_line_items_variant_id", "line_items", ["variant_id"], unique=False, postgresql_where=None)
    op.create_table(
        "payments",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("order_id", sa.UUID(), nullable=False),
        sa.Column("payment_method_id", sa.UUID(), nullable=False),
        sa.Column("source_id", sa.UUID(), nullable=True),
        sa.Column("number", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), server_default=sa.text("'checkout'"), nullable=False),
        sa.Column("amount", sa.BigInteger(), nullable=False),
        sa.Column("captured_amount", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("refunded_amount", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("response_code", sa.Text(), nullable=True),
        sa.Column(
            "public_metadata",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
        ),
        sa.Column(
            "private_metadata",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
        ),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "state in ('checkout', 'processing', 'pending', 'completed', 'failed', 'void', 'invalid')",
            name=op.f("ck_payments_state_is_known"),
        ),
        sa.CheckConstraint(
            "amount >= 0 and captured_amount between 0 and amount and refunded_amount between 0 and captured_amount",
            name=op.f("ck_payments_amounts_fit"),
        ),
        sa.ForeignKeyConstraint(["order_id"], ["orders.id"], name=op.f("fk_payments_order_id"), ondelete="cascade"),
        sa.ForeignKeyConstraint(
            ["payment_method_id"], ["payment_methods.id"], name=op.f("fk_payments_payment_method_id")
        ),
        sa.ForeignKeyConstraint(["source_id"], ["payment_sources.id"], name=op.f("fk_payments_source_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_payments")),
        sa.UniqueConstraint("number", name=op.f("uq_payments_number")),
    )
    op.create_index("ix_payments_created_at", "payments", ["created_at", "id"], unique=False, postgresql_where=None)
    op.create_index("ix_payments_order_id", "payments", ["order_id", "id"], unique=False, postgresql_where=None)
    op.create_index(
        "ix_payments_payment_method_id", "payments", ["payment_method_id"], unique=False, postgresql_where=None
    )
    op.create_index(
        "ix_payments_source_id",
        "payments",
        ["source_id"],
        unique=False,
        postgresql_where=sa.text("source_id is not null"),
    )
    op.create_table(
        "shipments",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("order_id", sa.UUID(), nullable=False),
        sa.Column("number", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), server_default=sa.text("'pending'"), nullable=False),
        sa.Column("stock_location_id", sa.UUID(), nullable=False),
        sa.Column("cost", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("promo_total", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("adjustment_total", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("additional_tax_total", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("included_tax_total", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("pre_tax_amount", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("tracking", sa.Text(), nullable=True),
        sa.Column("shipped_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column(
            "public_metadata",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
        ),
        sa.Column(
            "private_metadata",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
        ),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "state in ('pending', 'ready', 'shipped', 'canceled')", name=op.f("ck_shipments_state_is_known")
        ),
        sa.CheckConstraint("cost >= 0", name=op.f("ck_shipments_cost_not_negative")),
        sa.ForeignKeyConstraint(["order_id"], ["orders.id"], name=op.f("fk_shipments_order_id"), ondelete="cascade"),
        sa.ForeignKeyConstraint(
            ["stock_location_id"], ["stock_locations.id"], name=op.f("fk_shipments_stock_location_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_shipments")),
        sa.UniqueConstraint("number", name=op.f("uq_shipments_number")),
    )
    op.create_index("ix_shipments_created_at", "shipments", ["created_at", "id"], unique=False, postgresql_where=None)
    op.create_index("ix_shipments_order_id", "shipments", ["order_id", "id"], unique=False, postgresql_where=None)
    op.create_index(
        "ix_shipments_stock_location_id", "shipments", ["stock_location_id"], unique=False, postgresql_where=None
    )
    op.create_table(
        "stock_holds",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("order_id", sa.UUID(), nullable=False),
        sa.Column("stock_item_id", sa.UUID(), nullable=False),
        sa.Column("quantity", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("quantity > 0", name=op.f("ck_stock_holds_quantity_is_positive")),
        sa.ForeignKeyConstraint(["order_id"], ["orders.id"], name=op.f("fk_stock_holds_order_id"), ondelete="cascade"),
        sa.ForeignKeyConstraint(["stock_item_id"], ["stock_items.id"], name=op.f("fk_stock_holds_stock_item_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_stock_holds")),
    )
    op.create_index("ix_stock_holds_expires_at", "stock_holds", ["expires_at"], unique=False, postgresql_where=None)
    op.create_index("ix_stock_holds_order_id", "stock_holds", ["order_id"], unique=False, postgresql_where=None)
    op.create_index(
        "ix_stock_holds_stock_item_id", "stock_holds", ["stock_item_id"], unique=False, postgresql_where=None
    )
    op.create_table(
        "payment_attempts",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("order_id", sa.UUID(), nullable=False),
        sa.Column("payment_id", sa.UUID(), nullable=False),
        sa.Column("act", sa.Text(), nullable=False),
        sa.Column("amount", sa.BigInteger(), nullable=False),
        sa.Column("outcome", sa.Text(), server_default=sa.text("'unknown'"), nullable=False),
        sa.Column("reference", sa.Text(), nullable=True),
        sa.Column("message", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "outcome in ('unknown', 'approved', 'declined')", name=op.f("ck_payment_attempts_outcome_is_known")
        ),
        sa.ForeignKeyConstraint(
            ["order_id"], ["orders.id"], name=op.f("fk_payment_attempts_order_id"), ondelete="cascade"
        ),
        sa.ForeignKeyConstraint(
            ["payment_id"], ["payments.id"], name=op.f("fk_payment_attempts_payment_id"), ondelete="cascade"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_payment_attempts")),
    )
    op.create_index(
        "ix_payment_attempts_open",
        "payment_attempts",
        ["created_at"],
        unique=False,
        postgresql_where=sa.text("outcome = 'unknown'"),
    )
    op.create_index(
        "uq_payment_attempts_open",
        "payment_attempts",
        ["payment_id"],
        unique=True,
        postgresql_where=sa.text("outcome = 'unknown'"),
    )
    op.create_index(
        "ix_payment_attempts_order_id", "payment_attempts", ["order_id"], unique=False, postgresql_where=None
    )
    op.create_index(
        "ix_payment_attempts_payment_id", "payment_attempts", ["payment_id", "id"], unique=False, postgresql_where=None
    )
    op.create_table(
        "payment_notices",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("payment_method_id", sa.UUID(), nullable=False),
        sa.Column("reference", sa.Text(), nullable=False),
        sa.Column("payment_id", sa.UUID(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["payment_id"], ["payments.id"], name=op.f("fk_payment_notices_payment_id"), ondelete="cascade"
        ),
        sa.ForeignKeyConstraint(
            ["payment_method_id"], ["payment_methods.id"], name=op.f("fk_payment_notices_payment_method_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_payment_notices")),
        sa.UniqueConstraint(
            "payment_method_id", "reference", name=op.f("uq_payment_notices_payment_method_id_reference")
        ),
    )
    op.create_index(
        "ix_payment_notices_payment_id",
        "payment_notices",
        ["payment_id"],
        unique=False,
        postgresql_where=sa.text("payment_id is not null"),
    )
    op.create_table(
        "refunds",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("order_id", sa.UUID(), nullable=False),
        sa.Column("payment_id", sa.UUID(), nullable=False),
        sa.Column("amount", sa.BigInteger(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), server_default=sa.text("'pending'"), nullable=False),
        sa.Column("reference", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("state in ('pending', 'completed', 'failed')", name=op.f("ck_refunds_state_is_known")),
        sa.CheckConstraint("amount > 0", name=op.f("ck_refunds_amount_is_something")),
        sa.ForeignKeyConstraint(["order_id"], ["orders.id"], name=op.f("fk_refunds_order_id"), ondelete="cascade"),
        sa.ForeignKeyConstraint(
            ["payment_id"], ["payments.id"], name=op.f("fk_refunds_payment_id"), ondelete="cascade"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_refunds")),
    )
    op.create_index("ix_refunds_order_id", "refunds", ["order_id"], unique=False, postgresql_where=None)
    op.create_index("ix_refunds_payment_id", "refunds", ["payment_id", "id"], unique=False, postgresql_where=None)
    op.create_table(
        "shipment_items",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("order_id", sa.UUID(), nullable=False),
        sa.Column("shipment_id", sa.UUID(), nullable=False),
        sa.Column("line_item_id", sa.UUID(), nullable=False),
        sa.Column("variant_id", sa.UUID(), nullable=False),
        sa.Column("quantity", sa.BigInteger(), nullable=False),
        sa.Column("backordered", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.CheckConstraint(
            "quantity > 0 and backordered between 0 and quantity", name=op.f("ck_shipment_items_quantity_is_something")
        ),
        sa.ForeignKeyConstraint(
            ["line_item_id"], ["line_items.id"], name=op.f("fk_shipment_items_line_item_id"), ondelete="cascade"
        ),
        sa.ForeignKeyConstraint(
            ["order_id"], ["orders.id"], name=op.f("fk_shipment_items_order_id"), ondelete="cascade"
        ),
        sa.ForeignKeyConstraint(
            ["shipment_id"], ["shipments.id"], name=op.f("fk_shipment_items_shipment_id"), ondelete="cascade"
        ),
        sa.ForeignKeyConstraint(["variant_id"], ["variants.id"], name=op.f("fk_shipment_items_variant_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_shipment_items")),
        sa.UniqueConstraint("shipment_id", "line_item_id", name=op.f("uq_shipment_items_shipment_id_line_item_id")),
    )
    op.create_index(
        "ix_shipment_items_line_item_id", "shipment_items", ["line_item_id"], unique=False, postgresql_where=None
    )
    op.create_index("ix_shipment_items_order_id", "shipment_items", ["order_id"], unique=False, postgresql_where=None)
    op.create_index(
        "ix_shipment_items_variant_id", "shipment_items", ["variant_id"], unique=False, postgresql_where=None
    )
    op.create_table(
        "shipping_rates",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("order_id", sa.UUID(), nullable=False),
        sa.Column("shipment_id", sa.UUID(), nullable=False),
        sa.Column("shipping_method_id", sa.UUID(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("cost", sa.BigInteger(), nullable=False),
        sa.Column("tax_amount", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("tax_category_id", sa.UUID(), nullable=True),
        sa.Column("is_selected", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("cost >= 0", name=op.f("ck_shipping_rates_cost_not_negative")),
        sa.ForeignKeyConstraint(
            ["order_id"], ["orders.id"], name=op.f("fk_shipping_rates_order_id"), ondelete="cascade"
        ),
        sa.ForeignKeyConstraint(
            ["shipment_id"], ["shipments.id"], name=op.f("fk_shipping_rates_shipment_id"), ondelete="cascade"
        ),
        sa.ForeignKeyConstraint(
            ["shipping_method_id"], ["shipping_methods.id"], name=op.f("fk_shipping_rates_shipping_method_id")
        ),
        sa.ForeignKeyConstraint(
            ["tax_category_id"], ["tax_categories.id"], name=op.f("fk_shipping_rates_tax_category_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_shipping_rates")),
        sa.UniqueConstraint(
            "shipment_id", "shipping_method_id", name=op.f("uq_shipping_rates_shipment_id_shipping_method_id")
        ),
    )
    op.create_index("ix_shipping_rates_order_id", "shipping_rates", ["order_id"], unique=False, postgresql_where=None)
    op.create_index(
        "ix_shipping_rates_shipping_method_id",
        "shipping_rates",
        ["shipping_method_id"],
        unique=False,
        postgresql_where=None,
    )
    op.create_index(
        "uq_shipping_rates_selected",
        "shipping_rates",
        ["shipment_id"],
        unique=True,
        postgresql_where=sa.text("is_selected"),
    )
    op.add_column(
        "orders", sa.Column("considered_risky", sa.Boolean(), server_default=sa.text("false"), nullable=False)
    )
    op.add_column("orders", sa.Column("approver_id", sa.UUID(), nullable=True))
    op.add_column("orders", sa.Column("canceler_id", sa.UUID(), nullable=True))
    op.add_column(
        "orders", sa.Column("confirmation_delivered", sa.Boolean(), server_default=sa.text("false"), nullable=False)
    )
    op.add_column("orders", sa.Column("explained", postgresql.JSONB(astext_type=sa.Text()), nullable=True))
    op.add_column("products", sa.Column("shipping_category_id", sa.UUID(), nullable=True))
    op.create_index(
        "ix_products_shipping_category_id",
        "products",
        ["shipping_category_id"],
        unique=False,
        postgresql_where=sa.text("shipping_category_id is not null"),
    )
    op.create_foreign_key(
        op.f("fk_products_shipping_category_id"), "products", "shipping_categories", ["shipping_category_id"], ["id"]
    )
    op.create_index(
        "ix_stock_movements_note",
        "stock_movements",
        ["note"],
        unique=False,
        postgresql_where=sa.text("reason in ('sold', 'returned')"),
    )
    op.execute(
        """
        insert into shipping_categories (id, name, created_at, updated_at)
        values ('00000000-0000-7000-8000-000000000001', 'Usual', now(), now())
        """
    )
