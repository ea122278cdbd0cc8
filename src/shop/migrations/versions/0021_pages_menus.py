"""Adds pages, policies and menus; their changes become part of the catalog version."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

PUBLIC_TABLES = ("cms_pages", "policies", "menus", "menu_items")


def upgrade() -> None:
    op.create_table(
        "cms_pages",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("slug", sa.Text(), nullable=False),
        sa.Column("locale", sa.Text(), nullable=False),
        sa.Column("type", sa.Text(), server_default=sa.text("'standard'"), nullable=False),
        sa.Column("visible", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.Column("content", sa.Text(), nullable=True),
        sa.Column("content_html", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("meta_title", sa.Text(), nullable=True),
        sa.Column("meta_description", sa.Text(), nullable=True),
        _metadata("public_metadata"),
        _metadata("private_metadata"),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("type in ('standard', 'homepage', 'feature')", name=op.f("ck_cms_pages_type")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_cms_pages")),
        sa.UniqueConstraint("slug", name=op.f("uq_cms_pages_slug")),
    )
    op.create_index("ix_cms_pages_visible", "cms_pages", ["id"], postgresql_where=sa.text("visible"))
    op.create_table(
        "policies",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("slug", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=True),
        sa.Column("body_html", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("body_text", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("show_in_checkout_footer", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        _metadata("public_metadata"),
        _metadata("private_metadata"),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_policies")),
        sa.UniqueConstraint("slug", name=op.f("uq_policies_slug")),
    )
    op.create_table(
        "menus",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("location", sa.Text(), nullable=False),
        sa.Column("locale", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_menus")),
        sa.UniqueConstraint("locale", "location", name=op.f("uq_menus_locale_location")),
    )
    _create_menu_items()
    for name in PUBLIC_TABLES:
        op.execute(
            f"create trigger catalog_has_changed after insert or update or delete on {name} "
            "for each statement execute function catalog_has_changed()"
        )


def _create_menu_items() -> None:
    op.create_table(
        "menu_items",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("menu_id", sa.UUID(), nullable=False),
        sa.Column("parent_id", sa.UUID(), nullable=True),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("subtitle", sa.Text(), nullable=True),
        sa.Column("code", sa.Text(), nullable=True),
        sa.Column("item_type", sa.Text(), server_default=sa.text("'Link'"), nullable=False),
        sa.Column("linked_resource_type", sa.Text(), server_default=sa.text("'url'"), nullable=False),
        sa.Column("taxon_id", sa.UUID(), nullable=True),
        sa.Column("product_id", sa.UUID(), nullable=True),
        sa.Column("cms_page_id", sa.UUID(), nullable=True),
        sa.Column("destination", sa.Text(), nullable=True),
        sa.Column("new_window", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("position", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("lft", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("rgt", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("depth", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("item_type in ('Link', 'Container')", name=op.f("ck_menu_items_item_type")),
        sa.CheckConstraint("num_nonnulls(taxon_id, product_id, cms_page_id) <= 1", name=op.f("ck_menu_items_one_link")),
        _reference("menu_id", "menus", "cascade"),
        _reference("parent_id", "menu_items", "cascade"),
        _reference("taxon_id", "taxons", "set null"),
        _reference("product_id", "products", "set null"),
        _reference("cms_page_id", "cms_pages", "set null"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_menu_items")),
    )
    is_root = sa.text("parent_id is null")
    op.create_index("uq_menu_items_root", "menu_items", ["menu_id"], unique=True, postgresql_where=is_root)
    op.create_index("ix_menu_items_menu_id", "menu_items", ["menu_id", "lft"])
    op.create_index("ix_menu_items_parent_id", "menu_items", ["parent_id"])
    for name in ("taxon_id", "product_id", "cms_page_id"):
        is_linked = sa.text(f"{name} is not null")
        op.create_index(f"ix_menu_items_{name}", "menu_items", [name], postgresql_where=is_linked)


def _metadata(name: str) -> sa.Column[object]:
    return sa.Column(
        name, postgresql.JSONB(astext_type=sa.Text()), server_default=sa.text("'{}'::jsonb"), nullable=False
    )


def _reference(column: str, table: str, on_delete: str) -> sa.ForeignKeyConstraint:
    name = op.f(f"fk_menu_items_{column}")
    return sa.ForeignKeyConstraint([column], [f"{table}.id"], name=name, ondelete=on_delete)
