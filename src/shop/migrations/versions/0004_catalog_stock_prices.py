"""Adds products, taxons, prices, price lists, stock, images, and the index of product lists."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


# Public responses depend on these tables.
PUBLIC_TABLES = [
    "shops",
    "countries",
    "states",
    "products",
    "product_slugs",
    "variants",
    "option_types",
    "option_values",
    "product_option_types",
    "variant_option_values",
    "properties",
    "product_properties",
    "taxonomies",
    "taxons",
    "classifications",
    "prices",
    "price_lists",
    "price_list_entries",
    "images",
    "stock_locations",
    "listing_facets",
]
# Public responses depend on these columns: not on the count of sales, nor on a sale that leaves some stock.
PUBLIC_COLUMNS = (
    "default_variant_id, variant_ids, option_type_ids, property_ids, taxon_ids, image_ids, within_taxon_ids, facet_ids, "
    "currencies, sku, in_stock, backorderable, is_active, available_on, discontinue_on, search"
)


def upgrade() -> None:
    op.create_table(
        "customer_groups",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_customer_groups")),
        sa.UniqueConstraint("name", name=op.f("uq_customer_groups_name")),
    )
    op.create_table(
        "catalog_versions",
        sa.Column("slot", sa.BigInteger(), nullable=False),
        sa.Column("version", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.PrimaryKeyConstraint("slot", name=op.f("pk_catalog_versions")),
    )
    op.create_table(
        "listing_facets",
        sa.Column("scope_id", sa.UUID(), nullable=False),
        sa.Column("facet_id", sa.UUID(), nullable=False),
        sa.Column("product_count", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("scope_id", "facet_id", name=op.f("pk_listing_facets")),
    )
    op.create_table(
        "option_types",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("presentation", sa.Text(), nullable=False),
        sa.Column("position", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("filterable", sa.Boolean(), server_default=sa.text("true"), nullable=False),
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
        sa.PrimaryKeyConstraint("id", name=op.f("pk_option_types")),
        sa.UniqueConstraint("name", name=op.f("uq_option_types_name")),
    )
    op.create_table(
        "price_lists",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("currency", sa.Text(), nullable=False),
        sa.Column("priority", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("percent_off", sa.Numeric(), nullable=True),
        sa.Column("starts_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ends_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("active", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("currency ~ '^[A-Z]{3}$'", name=op.f("ck_price_lists_currency_is_a_code")),
        sa.CheckConstraint("ends_at > starts_at", name=op.f("ck_price_lists_ends_after_start")),
        sa.CheckConstraint("percent_off > 0 and percent_off <= 100", name=op.f("ck_price_lists_percent_is_one")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_price_lists")),
        sa.UniqueConstraint("name", name=op.f("uq_price_lists_name")),
    )
    op.create_table(
        "properties",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("presentation", sa.Text(), nullable=False),
        sa.Column("filterable", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_properties")),
        sa.UniqueConstraint("name", name=op.f("uq_properties_name")),
    )
    op.create_table(
        "taxonomies",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("position", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
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
        sa.PrimaryKeyConstraint("id", name=op.f("pk_taxonomies")),
        sa.UniqueConstraint("name", name=op.f("uq_taxonomies_name")),
    )
    op.create_table(
        "customer_group_members",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("customer_group_id", sa.UUID(), nullable=False),
        sa.Column("user_id", sa.UUID(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["customer_group_id"],
            ["customer_groups.id"],
            name=op.f("fk_customer_group_members_customer_group_id"),
            ondelete="cascade",
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_customer_group_members_user_id"), ondelete="cascade"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_customer_group_members")),
        sa.UniqueConstraint(
            "user_id", "customer_group_id", name=op.f("uq_customer_group_members_user_id_customer_group_id")
        ),
    )
    op.create_index(
        "ix_customer_group_members_customer_group_id",
        "customer_group_members",
        ["customer_group_id"],
        unique=False,
        postgresql_where=None,
    )
    op.create_table(
        "option_values",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("option_type_id", sa.UUID(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("presentation", sa.Text(), nullable=False),
        sa.Column("position", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
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
        sa.ForeignKeyConstraint(
            ["option_type_id"], ["option_types.id"], name=op.f("fk_option_values_option_type_id"), ondelete="cascade"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_option_values")),
        sa.UniqueConstraint("option_type_id", "name", name=op.f("uq_option_values_option_type_id_name")),
    )
    op.create_table(
        "price_list_groups",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("price_list_id", sa.UUID(), nullable=False),
        sa.Column("customer_group_id", sa.UUID(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["customer_group_id"],
            ["customer_groups.id"],
            name=op.f("fk_price_list_groups_customer_group_id"),
            ondelete="cascade",
        ),
        sa.ForeignKeyConstraint(
            ["price_list_id"], ["price_lists.id"], name=op.f("fk_price_list_groups_price_list_id"), ondelete="cascade"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_price_list_groups")),
        sa.UniqueConstraint(
            "customer_group_id", "price_list_id", name=op.f("uq_price_list_groups_customer_group_id_price_list_id")
        ),
    )
    op.create_index(
        "ix_price_list_groups_price_list_id",
        "price_list_groups",
        ["price_list_id"],
        unique=False,
        postgresql_where=None,
    )
    op.create_table(
        "price_list_users",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("price_list_id", sa.UUID(), nullable=False),
        sa.Column("user_id", sa.UUID(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["price_list_id"], ["price_lists.id"], name=op.f("fk_price_list_users_price_list_id"), ondelete="cascade"
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_price_list_users_user_id"), ondelete="cascade"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_price_list_users")),
        sa.UniqueConstraint("user_id", "price_list_id", name=op.f("uq_price_list_users_user_id_price_list_id")),
    )
    op.create_index(
        "ix_price_list_users_price_list_id", "price_list_users", ["price_list_id"], unique=False, postgresql_where=None
    )
    op.create_table(
        "products",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("slug", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("status", sa.Text(), server_default=sa.text("'draft'"), nullable=False),
        sa.Column("available_on", sa.DateTime(timezone=True), nullable=True),
        sa.Column("make_active_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("discontinue_on", sa.DateTime(timezone=True), nullable=True),
        sa.Column("meta_title", sa.Text(), nullable=True),
        sa.Column("meta_description", sa.Text(), nullable=True),
        sa.Column("meta_keywords", sa.Text(), nullable=True),
        sa.Column("promotionable", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.Column("tags", postgresql.ARRAY(sa.Text()), server_default=sa.text("'{}'"), nullable=False),
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
        sa.CheckConstraint("status in ('draft', 'active', 'archived')", name=op.f("ck_products_status_is_known")),
        sa.ForeignKeyConstraint(["tax_category_id"], ["tax_categories.id"], name=op.f("fk_products_tax_category_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_products")),
    )
    op.create_index("ix_products_available_on", "products", ["available_on", "id"], unique=False, postgresql_where=None)
    op.create_index("ix_products_created_at", "products", ["created_at", "id"], unique=False, postgresql_where=None)
    op.create_index(
        "ix_products_make_active_at",
        "products",
        ["make_active_at"],
        unique=False,
        postgresql_where=sa.text("make_active_at is not null and status = 'draft'"),
    )
    op.create_index("ix_products_tags", "products", ["tags"], unique=False, postgresql_using="gin")
    op.create_index("ix_products_name", "products", ["name", "id"], unique=False, postgresql_where=None)
    op.create_index(
        "ix_products_tax_category_id",
        "products",
        ["tax_category_id"],
        unique=False,
        postgresql_where=sa.text("tax_category_id is not null"),
    )
    op.create_index("ix_products_updated_at", "products", ["updated_at", "id"], unique=False, postgresql_where=None)
    op.create_index(
        "uq_products_slug", "products", ["slug"], unique=True, postgresql_where=sa.text("deleted_at is null")
    )
    op.create_table(
        "stock_locations",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("admin_name", sa.Text(), nullable=True),
        sa.Column("default", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("active", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.Column("backorderable_default", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("address1", sa.Text(), nullable=True),
        sa.Column("address2", sa.Text(), nullable=True),
        sa.Column("city", sa.Text(), nullable=True),
        sa.Column("zipcode", sa.Text(), nullable=True),
        sa.Column("state_name", sa.Text(), nullable=True),
        sa.Column("phone", sa.Text(), nullable=True),
        sa.Column("country_id", sa.UUID(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["country_id"], ["countries.id"], name=op.f("fk_stock_locations_country_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_stock_locations")),
        sa.UniqueConstraint("name", name=op.f("uq_stock_locations_name")),
    )
    op.create_index(
        "uq_stock_locations_default", "stock_locations", ["default"], unique=True, postgresql_where=sa.text('"default"')
    )
    op.create_table(
        "taxons",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("taxonomy_id", sa.UUID(), nullable=False),
        sa.Column("parent_id", sa.UUID(), nullable=True),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("slug", sa.Text(), nullable=False),
        sa.Column("position", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("permalink", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("pretty_name", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("lft", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("rgt", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("depth", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("meta_title", sa.Text(), nullable=True),
        sa.Column("meta_description", sa.Text(), nullable=True),
        sa.Column("meta_keywords", sa.Text(), nullable=True),
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
        sa.ForeignKeyConstraint(["parent_id"], ["taxons.id"], name=op.f("fk_taxons_parent_id"), ondelete="cascade"),
        sa.ForeignKeyConstraint(["taxonomy_id"], ["taxonomies.id"], name=op.f("fk_taxons_taxonomy_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_taxons")),
        sa.UniqueConstraint("parent_id", "slug", name=op.f("uq_taxons_parent_id_slug")),
    )
    op.create_index("ix_taxons_permalink", "taxons", ["permalink"], unique=False, postgresql_where=None)
    op.create_index("ix_taxons_taxonomy_id", "taxons", ["taxonomy_id", "lft"], unique=False, postgresql_where=None)
    op.create_index(
        "uq_taxons_root", "taxons", ["taxonomy_id"], unique=True, postgresql_where=sa.text("parent_id is null")
    )
    op.create_index(
        "uq_taxons_root_slug", "taxons", ["slug"], unique=True, postgresql_where=sa.text("parent_id is null")
    )
    op.create_table(
        "classifications",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("product_id", sa.UUID(), nullable=False),
        sa.Column("taxon_id", sa.UUID(), nullable=False),
        sa.Column("position", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["product_id"], ["products.id"], name=op.f("fk_classifications_product_id"), ondelete="cascade"
        ),
        sa.ForeignKeyConstraint(
            ["taxon_id"], ["taxons.id"], name=op.f("fk_classifications_taxon_id"), ondelete="cascade"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_classifications")),
        sa.UniqueConstraint("product_id", "taxon_id", name=op.f("uq_classifications_product_id_taxon_id")),
    )
    op.create_index(
        "ix_classifications_taxon_id",
        "classifications",
        ["taxon_id", "position", "product_id"],
        unique=False,
        postgresql_where=None,
    )
    op.create_table(
        "product_option_types",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("product_id", sa.UUID(), nullable=False),
        sa.Column("option_type_id", sa.UUID(), nullable=False),
        sa.Column("position", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["option_type_id"], ["option_types.id"], name=op.f("fk_product_option_types_option_type_id")
        ),
        sa.ForeignKeyConstraint(
            ["product_id"], ["products.id"], name=op.f("fk_product_option_types_product_id"), ondelete="cascade"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_product_option_types")),
        sa.UniqueConstraint(
            "product_id", "option_type_id", name=op.f("uq_product_option_types_product_id_option_type_id")
        ),
    )
    op.create_index(
        "ix_product_option_types_option_type_id",
        "product_option_types",
        ["option_type_id"],
        unique=False,
        postgresql_where=None,
    )
    op.create_table(
        "product_properties",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("product_id", sa.UUID(), nullable=False),
        sa.Column("property_id", sa.UUID(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("filter_param", sa.Text(), nullable=False),
        sa.Column("facet_id", sa.UUID(), nullable=False),
        sa.Column("show_property", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.Column("position", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["product_id"], ["products.id"], name=op.f("fk_product_properties_product_id"), ondelete="cascade"
        ),
        sa.ForeignKeyConstraint(["property_id"], ["properties.id"], name=op.f("fk_product_properties_property_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_product_properties")),
        sa.UniqueConstraint("product_id", "property_id", name=op.f("uq_product_properties_product_id_property_id")),
    )
    op.create_index(
        "ix_product_properties_facet_id", "product_properties", ["facet_id", "id"], unique=False, postgresql_where=None
    )
    op.create_index(
        "ix_product_properties_property_id",
        "product_properties",
        ["property_id", "filter_param"],
        unique=False,
        postgresql_where=None,
    )
    op.create_table(
        "product_slugs",
        sa.Column("slug", sa.Text(), nullable=False),
        sa.Column("product_id", sa.UUID(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["product_id"], ["products.id"], name=op.f("fk_product_slugs_product_id"), ondelete="cascade"
        ),
        sa.PrimaryKeyConstraint("slug", name=op.f("pk_product_slugs")),
    )
    op.create_index("ix_product_slugs_product_id", "product_slugs", ["product_id"], unique=False, postgresql_where=None)
    op.create_table(
        "variants",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("product_id", sa.UUID(), nullable=False),
        sa.Column("is_master", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("sku", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("barcode", sa.Text(), nullable=True),
        sa.Column("weight", sa.Numeric(), nullable=True),
        sa.Column("height", sa.Numeric(), nullable=True),
        sa.Column("width", sa.Numeric(), nullable=True),
        sa.Column("depth", sa.Numeric(), nullable=True),
        sa.Column("position", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("track_inventory", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.Column("discontinue_on", sa.DateTime(timezone=True), nullable=True),
        sa.Column("cost_price", sa.BigInteger(), nullable=True),
        sa.Column("cost_currency", sa.Text(), nullable=True),
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
        sa.CheckConstraint("cost_price >= 0", name=op.f("ck_variants_cost_not_negative")),
        sa.ForeignKeyConstraint(
            ["product_id"], ["products.id"], name=op.f("fk_variants_product_id"), ondelete="cascade"
        ),
        sa.ForeignKeyConstraint(["tax_category_id"], ["tax_categories.id"], name=op.f("fk_variants_tax_category_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_variants")),
    )
    op.create_index("ix_variants_created_at", "variants", ["created_at", "id"], unique=False, postgresql_where=None)
    op.create_index(
        "ix_variants_product_id", "variants", ["product_id", "position"], unique=False, postgresql_where=None
    )
    op.create_index(
        "ix_variants_tax_category_id",
        "variants",
        ["tax_category_id"],
        unique=False,
        postgresql_where=sa.text("tax_category_id is not null"),
    )
    op.create_index(
        "uq_variants_master", "variants", ["product_id"], unique=True, postgresql_where=sa.text("is_master")
    )
    op.create_index(
        "uq_variants_sku",
        "variants",
        ["sku"],
        unique=True,
        postgresql_where=sa.text("sku <> '' and deleted_at is null"),
    )
    op.create_table(
        "images",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("product_id", sa.UUID(), nullable=False),
        sa.Column("variant_id", sa.UUID(), nullable=True),
        sa.Column("position", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("alt", sa.Text(), nullable=True),
        sa.Column("width", sa.BigInteger(), nullable=False),
        sa.Column("height", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("width > 0 and height > 0", name=op.f("ck_images_has_a_size")),
        sa.ForeignKeyConstraint(["product_id"], ["products.id"], name=op.f("fk_images_product_id"), ondelete="cascade"),
        sa.ForeignKeyConstraint(["variant_id"], ["variants.id"], name=op.f("fk_images_variant_id"), ondelete="cascade"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_images")),
    )
    op.create_index("ix_images_created_at", "images", ["created_at", "id"], unique=False, postgresql_where=None)
    op.create_index(
        "ix_images_product_id", "images", ["product_id", "position", "id"], unique=False, postgresql_where=None
    )
    op.create_index(
        "ix_images_variant_id",
        "images",
        ["variant_id"],
        unique=False,
        postgresql_where=sa.text("variant_id is not null"),
    )
    op.create_table(
        "loose_files",
        sa.Column("image_id", sa.UUID(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("image_id", name=op.f("pk_loose_files")),
    )
    op.create_index("ix_loose_files_created_at", "loose_files", ["created_at"], unique=False, postgresql_where=None)
    op.create_table(
        "listings",
        sa.Column("product_id", sa.UUID(), nullable=False),
        sa.Column("master_id", sa.UUID(), nullable=False),
        sa.Column("default_variant_id", sa.UUID(), nullable=False),
        sa.Column("variant_ids", postgresql.ARRAY(sa.UUID()), server_default=sa.text("'{}'"), nullable=False),
        sa.Column("option_type_ids", postgresql.ARRAY(sa.UUID()), server_default=sa.text("'{}'"), nullable=False),
        sa.Column("property_ids", postgresql.ARRAY(sa.UUID()), server_default=sa.text("'{}'"), nullable=False),
        sa.Column("taxon_ids", postgresql.ARRAY(sa.UUID()), server_default=sa.text("'{}'"), nullable=False),
        sa.Column("image_ids", postgresql.ARRAY(sa.UUID()), server_default=sa.text("'{}'"), nullable=False),
        sa.Column("within_taxon_ids", postgresql.ARRAY(sa.UUID()), server_default=sa.text("'{}'"), nullable=False),
        sa.Column("facet_ids", postgresql.ARRAY(sa.UUID()), server_default=sa.text("'{}'"), nullable=False),
        sa.Column("currencies", postgresql.ARRAY(sa.Text()), server_default=sa.text("'{}'"), nullable=False),
        sa.Column("sku", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("in_stock", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("backorderable", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("is_active", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("available_on", sa.DateTime(timezone=True), nullable=True),
        sa.Column("discontinue_on", sa.DateTime(timezone=True), nullable=True),
        sa.Column("next_look_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("sold_count", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("search", postgresql.TSVECTOR(), nullable=False),
        sa.ForeignKeyConstraint(
            ["default_variant_id"], ["variants.id"], name=op.f("fk_listings_default_variant_id"), ondelete="cascade"
        ),
        sa.ForeignKeyConstraint(["master_id"], ["variants.id"], name=op.f("fk_listings_master_id"), ondelete="cascade"),
        sa.ForeignKeyConstraint(
            ["product_id"], ["products.id"], name=op.f("fk_listings_product_id"), ondelete="cascade"
        ),
        sa.PrimaryKeyConstraint("product_id", name=op.f("pk_listings")),
    )
    op.create_index(
        "ix_listings_default_variant_id", "listings", ["default_variant_id"], unique=False, postgresql_where=None
    )
    op.create_index(
        "ix_listings_active",
        "listings",
        ["product_id"],
        unique=False,
        postgresql_include=["currencies", "available_on", "discontinue_on"],
        postgresql_where=sa.text("is_active"),
    )
    op.create_index(
        "ix_listings_marks",
        "listings",
        [sa.literal_column("(within_taxon_ids || facet_ids)")],
        unique=False,
        postgresql_using="gin",
    )
    op.create_index(
        "ix_listings_next_look_at",
        "listings",
        ["next_look_at"],
        unique=False,
        postgresql_where=sa.text("next_look_at is not null"),
    )
    op.create_index("ix_listings_master_id", "listings", ["master_id"], unique=False, postgresql_where=None)
    op.create_index("ix_listings_search", "listings", ["search"], unique=False, postgresql_using="gin")
    op.create_index("ix_listings_sku", "listings", ["sku", "product_id"], unique=False, postgresql_where=None)
    op.create_index(
        "ix_listings_sold_count", "listings", ["sold_count", "product_id"], unique=False, postgresql_where=None
    )
    op.create_table(
        "price_list_entries",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("price_list_id", sa.UUID(), nullable=False),
        sa.Column("variant_id", sa.UUID(), nullable=False),
        sa.Column("amount", sa.BigInteger(), nullable=False),
        sa.Column("min_quantity", sa.BigInteger(), server_default=sa.text("1"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("amount >= 0", name=op.f("ck_price_list_entries_amount_not_negative")),
        sa.CheckConstraint("min_quantity >= 1", name=op.f("ck_price_list_entries_from_one_on")),
        sa.ForeignKeyConstraint(
            ["price_list_id"], ["price_lists.id"], name=op.f("fk_price_list_entries_price_list_id"), ondelete="cascade"
        ),
        sa.ForeignKeyConstraint(
            ["variant_id"], ["variants.id"], name=op.f("fk_price_list_entries_variant_id"), ondelete="cascade"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_price_list_entries")),
        sa.UniqueConstraint(
            "variant_id",
            "price_list_id",
            "min_quantity",
            name=op.f("uq_price_list_entries_variant_id_price_list_id_min_quantity"),
        ),
    )
    op.create_index(
        "ix_price_list_entries_price_list_id",
        "price_list_entries",
        ["price_list_id", "id"],
        unique=False,
        postgresql_where=None,
    )
    op.create_table(
        "prices",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("variant_id", sa.UUID(), nullable=False),
        sa.Column("currency", sa.Text(), nullable=False),
        sa.Column("amount", sa.BigInteger(), nullable=False),
        sa.Column("compare_at_amount", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("currency ~ '^[A-Z]{3}$'", name=op.f("ck_prices_currency_is_a_code")),
        sa.CheckConstraint("amount >= 0 and compare_at_amount >= 0", name=op.f("ck_prices_amount_not_negative")),
        sa.ForeignKeyConstraint(["variant_id"], ["variants.id"], name=op.f("fk_prices_variant_id"), ondelete="cascade"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_prices")),
        sa.UniqueConstraint("variant_id", "currency", name=op.f("uq_prices_variant_id_currency")),
    )
    op.create_index(
        "ix_prices_currency_amount", "prices", ["currency", "amount", "variant_id"], unique=False, postgresql_where=None
    )
    op.create_table(
        "stock_items",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("stock_location_id", sa.UUID(), nullable=False),
        sa.Column("variant_id", sa.UUID(), nullable=False),
        sa.Column("count_on_hand", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("backorderable", sa.Boolean(), server_default=sa.text("false"), nullable=False),
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
        sa.CheckConstraint("count_on_hand >= 0 or backorderable", name=op.f("ck_stock_items_on_hand_or_backorderable")),
        sa.ForeignKeyConstraint(
            ["stock_location_id"], ["stock_locations.id"], name=op.f("fk_stock_items_stock_location_id")
        ),
        sa.ForeignKeyConstraint(["variant_id"], ["variants.id"], name=op.f("fk_stock_items_variant_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_stock_items")),
        sa.UniqueConstraint(
            "variant_id", "stock_location_id", name=op.f("uq_stock_items_variant_id_stock_location_id")
        ),
    )
    op.create_index(
        "ix_stock_items_count_on_hand", "stock_items", ["count_on_hand", "id"], unique=False, postgresql_where=None
    )
    op.create_index(
        "ix_stock_items_stock_location_id",
        "stock_items",
        ["stock_location_id", "id"],
        unique=False,
        postgresql_where=None,
    )
    op.create_table(
        "variant_option_values",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("variant_id", sa.UUID(), nullable=False),
        sa.Column("option_value_id", sa.UUID(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["option_value_id"], ["option_values.id"], name=op.f("fk_variant_option_values_option_value_id")
        ),
        sa.ForeignKeyConstraint(
            ["variant_id"], ["variants.id"], name=op.f("fk_variant_option_values_variant_id"), ondelete="cascade"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_variant_option_values")),
        sa.UniqueConstraint(
            "variant_id", "option_value_id", name=op.f("uq_variant_option_values_variant_id_option_value_id")
        ),
    )
    op.create_index(
        "ix_variant_option_values_option_value_id",
        "variant_option_values",
        ["option_value_id"],
        unique=False,
        postgresql_where=None,
    )
    op.create_table(
        "stock_movements",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("stock_item_id", sa.UUID(), nullable=False),
        sa.Column("quantity", sa.BigInteger(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("note", sa.Text(), nullable=True),
        sa.Column("actor_kind", sa.Text(), nullable=False),
        sa.Column("actor_id", sa.UUID(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("quantity <> 0", name=op.f("ck_stock_movements_quantity_is_something")),
        sa.ForeignKeyConstraint(["stock_item_id"], ["stock_items.id"], name=op.f("fk_stock_movements_stock_item_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_stock_movements")),
    )
    op.create_index(
        "ix_stock_movements_created_at", "stock_movements", ["created_at", "id"], unique=False, postgresql_where=None
    )
    op.create_index(
        "ix_stock_movements_stock_item_id",
        "stock_movements",
        ["stock_item_id", "id"],
        unique=False,
        postgresql_where=None,
    )
    op.execute(
        """
        create function stock_is_append_only() returns trigger language plpgsql as $$
        begin
            raise exception 'stock movements are kept as they are' using errcode = 'insufficient_privilege';
        end $$
        """
    )
    op.execute(
        "create trigger stock_is_append_only before update or delete on stock_movements "
        "for each row execute function stock_is_append_only()"
    )
    op.execute(
        "create trigger stock_is_never_emptied before truncate on stock_movements "
        "for each statement execute function stock_is_append_only()"
    )
    # Stock needs a location: a shop with only one does not have to create it.
    op.execute(
        """
        insert into stock_locations (id, name, "default", created_at, updated_at)
        values ('00000000-0000-7000-8000-000000000001', 'Main', true, now(), now())
        """
    )
    op.execute("insert into catalog_versions (slot) select generate_series(1, 32)")
    op.execute(
        """
        create function catalog_has_changed() returns trigger language plpgsql as $$
        declare
            ours bigint := pg_current_xact_id()::text::bigint;
        begin
            if exists (select from catalog_versions where version = ours) then
                return null;
            end if;
            update catalog_versions set version = ours where slot = (
                select slot from catalog_versions order by slot limit 1 for update skip locked
            );
            if not found then
                insert into catalog_versions (slot, version)
                values (-ours, ours);
            end if;
            return null;
        end $$
        """
    )
    for name in PUBLIC_TABLES:
        op.execute(
            f"create trigger catalog_has_changed after insert or update or delete on {name} "
            "for each statement execute function catalog_has_changed()"
        )
    op.execute(
        f"create trigger catalog_has_changed after insert or delete or update of {PUBLIC_COLUMNS} on listings "
        "for each statement execute function catalog_has_changed()"
    )
    op.execute(
        "create trigger catalog_has_changed after insert or delete on stock_items "
        "for each statement execute function catalog_has_changed()"
    )
    op.execute(
        """
        create trigger stock_is_seen after update on stock_items for each row
        when (
            (old.count_on_hand > 0, old.backorderable, old.variant_id, old.stock_location_id)
            is distinct from
            (new.count_on_hand > 0, new.backorderable, new.variant_id, new.stock_location_id)
        )
        execute function catalog_has_changed()
        """
    )
