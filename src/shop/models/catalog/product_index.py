"""The index of product lists: one row per product, updated by every write that changes its display.

    products, variants, option values, properties, taxons, images, stock   --refresh-->   listings
    listings                                                               --refresh-->   listing_facets

All columns except `sold_count` are derived: `queries/catalog/product_index.py` rebuilds them from the catalog tables.
"""

from datetime import datetime
from uuid import UUID

from sqlalchemy import Column, Index, text
from sqlalchemy.dialects.postgresql import TSVECTOR

from shop.db.rows import Row, index, key, refers, search_index, table
from shop.models.catalog.products import products, variants


class Listing(Row, frozen=True, kw_only=True):
    """The ids of a product's related rows, in display order."""

    product_id: UUID
    master_id: UUID
    default_variant_id: UUID
    """The first purchasable variant other than the master, else the first other variant, else the master."""
    variant_ids: list[UUID] = []  # noqa: RUF012  msgspec copies it.
    option_type_ids: list[UUID] = []  # noqa: RUF012
    property_ids: list[UUID] = []  # noqa: RUF012
    taxon_ids: list[UUID] = []  # noqa: RUF012
    image_ids: list[UUID] = []  # noqa: RUF012
    within_taxon_ids: list[UUID] = []  # noqa: RUF012
    """Its taxons and their ancestors."""
    facet_ids: list[UUID] = []  # noqa: RUF012
    """The option values of its variants, the values of its properties, and the currencies it has a price in."""
    currencies: list[str] = []  # noqa: RUF012
    """Currencies in which the default variant has a base price."""
    sku: str = ""
    in_stock: bool = False
    backorderable: bool = False
    is_active: bool = False
    """Whether it was visible at the last refresh: active, not deleted, and within its dates."""
    available_on: datetime | None = None
    discontinue_on: datetime | None = None
    next_look_at: datetime | None = None
    """The next date on which its visibility or variants change."""
    sold_count: int = 0


class ListingSales(Row, frozen=True, kw_only=True):
    """The sales count of a product, copied by a trigger, to sort best-seller lists."""

    product_id: UUID
    sold_count: int


class ListingFacet(Row, frozen=True, kw_only=True):
    """The number of visible products with a facet, in a taxon or in the whole shop (the nil UUID)."""

    scope_id: UUID
    facet_id: UUID
    product_count: int


class CatalogVersion(Row, frozen=True, kw_only=True):
    """The version of the visible catalog. It has many rows so that writers do not wait for each other: triggers write
    each transaction's number to a free row, and the sum of all rows changes with every write.
    """

    slot: int
    version: int = 0
    shared: int = 0
    """The version of what many products show: options, properties, taxons, stock locations."""
    facets: int = 0
    """The version of the facet counts and the texts of facets."""
    matches: int = 0
    """The version of what decides which products match a search or a choice of taxons, options and properties."""


class ProductVersion(Row, frozen=True, kw_only=True):
    """The version of a product's document, which triggers renew with every change of its rows; products that have not
    changed since an upgrade have none.
    """

    product_id: UUID
    version: int


listings = table(
    "listings",
    Listing,
    # Written and searched in SQL only.
    Column("search", TSVECTOR(), nullable=False),
    key("product_id"),
    refers("product_id", products, on_delete="cascade"),
    refers("master_id", variants, on_delete="cascade"),
    refers("default_variant_id", variants, on_delete="cascade"),
    # For index-only scans of the newest page and the total count.
    Index(
        "ix_listings_active",
        "product_id",
        postgresql_include=["currencies", "available_on", "discontinue_on"],
        postgresql_where=text("is_active"),
    ),
    index("ix_listings_master_id", "master_id"),
    index("ix_listings_default_variant_id", "default_variant_id"),
    index("ix_listings_sku", "sku", "product_id"),
    search_index("ix_listings_search", "search"),
    # One index for both, so that a taxon with options is a single search.
    Index("ix_listings_marks", text("(within_taxon_ids || facet_ids)"), postgresql_using="gin"),
    index("ix_listings_next_look_at", "next_look_at", where="next_look_at is not null"),
    fill_factor=80,
)
listing_sales = table(
    "listing_sales",
    ListingSales,
    key("product_id"),
    refers("product_id", products, on_delete="cascade"),
    index("ix_listing_sales_sold_count", "sold_count", "product_id"),
)
listing_facets = table("listing_facets", ListingFacet, key("scope_id", "facet_id"))
catalog_versions = table("catalog_versions", CatalogVersion, key("slot"))
product_versions = table(
    "product_versions",
    ProductVersion,
    key("product_id"),
    refers("product_id", products, on_delete="cascade"),
    fill_factor=50,
)
