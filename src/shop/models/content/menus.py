"""Menus: trees of links to taxons, products, pages and URLs."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKeyConstraint

from shop.db.rows import Row, check, index, key, refers, table, unique
from shop.models.catalog.products import products
from shop.models.catalog.taxons import taxons
from shop.models.content.pages import cms_pages

ITEM_TYPES = ("Link", "Container")
LINKED_TYPES = ("taxon", "product", "cms_page")
"""Types of records a menu item can link to, besides URLs; each has its own column."""


class Menu(Row, frozen=True, kw_only=True):
    """A tree of menu items for one location of the storefront, such as `header`."""

    id: UUID
    name: str
    location: str
    locale: str
    created_at: datetime
    updated_at: datetime


class MenuItem(Row, frozen=True, kw_only=True):
    """A node of a menu; the root represents the menu. `lft`, `rgt` and `depth` are derived from its position."""

    id: UUID
    menu_id: UUID
    parent_id: UUID | None = None
    name: str
    subtitle: str | None = None
    code: str | None = None
    item_type: str = "Link"
    linked_resource_type: str = "url"
    taxon_id: UUID | None = None
    product_id: UUID | None = None
    cms_page_id: UUID | None = None
    destination: str | None = None
    new_window: bool = False
    position: int = 0
    lft: int = 0
    rgt: int = 0
    depth: int = 0
    created_at: datetime
    updated_at: datetime


class PlatformMenuItem(MenuItem, frozen=True, kw_only=True):
    """A menu item with the id of its target, and its link in a storefront."""

    linked_resource_id: UUID | None
    link: str | None


class PublicMenuItem(PlatformMenuItem, frozen=True, kw_only=True):
    """A menu item, and whether its target is visible to shoppers."""

    is_shown: bool


menus = table("menus", Menu, key("id"), unique("locale", "location"))
menu_items = table(
    "menu_items",
    MenuItem,
    key("id"),
    refers("menu_id", menus, on_delete="cascade"),
    ForeignKeyConstraint(["parent_id"], ["menu_items.id"], ondelete="cascade"),
    refers("taxon_id", taxons, on_delete="set null"),
    refers("product_id", products, on_delete="set null"),
    refers("cms_page_id", cms_pages, on_delete="set null"),
    check("item_type", "item_type in ('Link', 'Container')"),
    check("one_link", "num_nonnulls(taxon_id, product_id, cms_page_id) <= 1"),
    index("uq_menu_items_root", "menu_id", where="parent_id is null", is_unique=True),
    index("ix_menu_items_menu_id", "menu_id", "lft"),
    index("ix_menu_items_parent_id", "parent_id"),
    index("ix_menu_items_taxon_id", "taxon_id", where="taxon_id is not null"),
    index("ix_menu_items_product_id", "product_id", where="product_id is not null"),
    index("ix_menu_items_cms_page_id", "cms_page_id", where="cms_page_id is not null"),
)
