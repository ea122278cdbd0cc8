"""Taxonomies, taxons, and the classification of products."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ForeignKeyConstraint

from shop.db.rows import Row, index, key, refers, table, unique
from shop.models.catalog.products import products


class Taxonomy(Row, frozen=True, kw_only=True):
    """A tree of taxons: "Categories", "Brands"."""

    id: UUID
    name: str
    position: int = 0
    public_metadata: dict[str, Any] = {}  # noqa: RUF012  msgspec copies it.
    private_metadata: dict[str, Any] = {}  # noqa: RUF012
    created_at: datetime
    updated_at: datetime


class Taxon(Row, frozen=True, kw_only=True):
    """A node of a taxonomy. `lft`, `rgt`, `depth`, `permalink` and `pretty_name` are derived from the tree."""

    id: UUID
    taxonomy_id: UUID
    parent_id: UUID | None = None
    name: str
    slug: str
    """Its own part of the permalink."""
    position: int = 0
    permalink: str = ""
    pretty_name: str = ""
    lft: int = 0
    rgt: int = 0
    depth: int = 0
    description: str | None = None
    meta_title: str | None = None
    meta_description: str | None = None
    meta_keywords: str | None = None
    public_metadata: dict[str, Any] = {}  # noqa: RUF012
    private_metadata: dict[str, Any] = {}  # noqa: RUF012
    created_at: datetime
    updated_at: datetime


class Classification(Row, frozen=True, kw_only=True):
    """A product in a taxon, with its position."""

    id: UUID
    product_id: UUID
    taxon_id: UUID
    position: int = 0
    created_at: datetime
    updated_at: datetime


class StorefrontTaxon(Taxon, frozen=True, kw_only=True):
    """A taxon with the ids of its children and image, and whether it or a descendant has visible products."""

    child_ids: list[UUID]
    has_products: bool
    image_id: UUID | None


taxonomies = table("taxonomies", Taxonomy, key("id"), unique("name"))
taxons = table(
    "taxons",
    Taxon,
    key("id"),
    refers("taxonomy_id", taxonomies),
    ForeignKeyConstraint(["parent_id"], ["taxons.id"], ondelete="cascade"),
    # Makes every permalink unique, because it is built from these.
    unique("parent_id", "slug"),
    index("uq_taxons_root_slug", "slug", where="parent_id is null", is_unique=True),
    index("uq_taxons_root", "taxonomy_id", where="parent_id is null", is_unique=True),
    index("ix_taxons_taxonomy_id", "taxonomy_id", "lft"),
    index("ix_taxons_permalink", "permalink"),
)
classifications = table(
    "classifications",
    Classification,
    key("id"),
    refers("product_id", products, on_delete="cascade"),
    refers("taxon_id", taxons, on_delete="cascade"),
    unique("product_id", "taxon_id"),
    index("ix_classifications_taxon_id", "taxon_id", "position", "product_id"),
)
