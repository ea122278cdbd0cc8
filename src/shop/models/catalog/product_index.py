"""What a page of products is chosen and drawn from: one row a product, kept up to date by every write that it shows.

    products, variants, option values, properties, taxons, images, stock   --refresh-->   listings
    listings                                                               --refresh-->   listing_facets

All of it but `sold_count` is derived: `queries/catalog/product_index.py` rebuilds it from the catalog tables.
"""

from datetime import datetime
from uuid import UUID

from sqlalchemy import Column, Index, text
from sqlalchemy.dialects.postgresql import TSVECTOR

from shop.db.rows import Row, index, key, refers, search_index, table
from shop.models.catalog.products import products, variants


class Listing(Row, frozen=True, kw_only=True):
    """Ids of what belongs to a product, in the order in which it is shown."""

    product_id: UUID
    master_id: UUID
    default_variant_id: UUID
    """The first other variant that can be bought, else the first, else the master."""
    variant_ids: list[UUID] = []  # noqa: RUF012  msgspec copies it.
    option_type_ids: list[UUID] = []  # noqa: RUF012
    property_ids: list[UUID] = []  # noqa: RUF012
    taxon_ids: list[UUID] = []  # noqa: RUF012
    image_ids: list[UUID] = []  # noqa: RUF012
    within_taxon_ids: list[UUID] = []  # noqa: RUF012
    """Its taxons and those above them."""
    facet_ids: list[UUID] = []  # noqa: RUF012
    """The option values of its variants, the values of its properties, and the currencies it has a price in."""
    currencies: list[str] = []  # noqa: RUF012
    """In which the default variant has a price for anybody."""
    sku: str = ""
    in_stock: bool = False
    backorderable: bool = False
    is_active: bool = False
    """To be seen: active, not deleted, and within its two times when it was last looked at."""
    available_on: datetime | None = None
    discontinue_on: datetime | None = None
    next_look_at: datetime | None = None
    """The first of its two times that is still to come."""
    sold_count: int = 0


class ListingSales(Row, frozen=True, kw_only=True):
    """How often a product was sold, copied by a trigger: what lists of the best-selling are sorted by."""

    product_id: UUID
    sold_count: int


class ListingFacet(Row, frozen=True, kw_only=True):
    """How many products that are to be seen have a facet: within a taxon, or in all (the id of zeros)."""

    scope_id: UUID
    facet_id: UUID
    product_count: int


class CatalogVersion(Row, frozen=True, kw_only=True):
    """Of what anybody can see. There are many rows so that no writer waits for another: each transaction notes its own
    number in one that is free (triggers of the migration do), and the sum of all tells whether anything has changed.
    """

    slot: int
    version: int = 0


listings = table(
    "listings",
    Listing,
    # Written and searched by the database alone.
    Column("search", TSVECTOR(), nullable=False),
    key("product_id"),
    refers("product_id", products, on_delete="cascade"),
    refers("master_id", variants, on_delete="cascade"),
    refers("default_variant_id", variants, on_delete="cascade"),
    # A page of the newest and the count of all are read from this index alone.
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
    # One index for both, so that a taxon with some options is one search in it.
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
