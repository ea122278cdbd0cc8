"""The public records of sitemaps and the offers of merchant feeds."""

from datetime import datetime
from typing import Literal
from uuid import UUID

import msgspec

SitemapKind = Literal["pages", "policies", "categories", "products"]
SITEMAP_KINDS: tuple[SitemapKind, ...] = ("pages", "policies", "categories", "products")


class SitemapEntry(msgspec.Struct, frozen=True):
    """A public record: the slug or permalink of its page, and the time of its last change."""

    id: UUID
    slug: str
    updated_at: datetime


class SitemapPart(msgspec.Struct, frozen=True):
    """The last record of a sitemap file, the number of its records, and the time of their last change."""

    last_id: UUID
    size: int
    updated_at: datetime


class SitemapFile(msgspec.Struct, frozen=True):
    """A sitemap file: the records of one kind that follow the id `after`."""

    kind: SitemapKind
    after: UUID | None
    updated_at: datetime | None


class FeedOffer(msgspec.Struct, frozen=True):
    """A variant that the shop sells, with the data of its product, its base price and its first image."""

    id: UUID
    product_id: UUID
    sku: str
    barcode: str | None
    name: str
    slug: str
    description: str | None
    has_variants: bool
    in_stock: bool
    backorderable: bool
    options: list[list[str]]
    """Name and presentation of each option, in the order of the option types."""
    brand: str | None
    price: int
    compare_at_price: int | None
    image_id: UUID | None
    image_width: int | None
