"""The statements that find the products whose images an import may add, and their variants."""

from collections.abc import Sequence
from datetime import datetime
from typing import cast
from uuid import UUID

import msgspec
from sqlalchemy import BigInteger, Text, func, select
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.db.pool import DatabaseSession
from shop.db.statements import any_of, into, statement
from shop.models.catalog.images import images
from shop.models.catalog.products import products, variants


class ProductImages(msgspec.Struct, frozen=True):
    """A product, when it was created, and the positions of its images."""

    id: UUID
    slug: str
    created_at: datetime
    positions: list[int]


_positions = func.array(
    select(images.c.position).where(images.c.product_id == products.c.id).correlate(products).scalar_subquery(),
    type_=ARRAY(BigInteger()),
)
_FIND = statement(
    select(products.c.id, products.c.slug, products.c.created_at, _positions.label("positions")).where(
        products.c.slug == any_of("slugs", Text()), products.c.deleted_at.is_(None)
    ),
    into(ProductImages),
)
_VARIANTS = statement(
    select(variants.c.product_id, variants.c.sku, variants.c.id).where(
        variants.c.product_id == any_of("ids", PG_UUID(as_uuid=True)),
        variants.c.sku != "",
        variants.c.deleted_at.is_(None),
    ),
    lambda record: cast(tuple[UUID, str, UUID], tuple(record)),
)


async def find_products(db: DatabaseSession, slugs: Sequence[str]) -> dict[str, ProductImages]:
    return {row.slug: row for row in await db.all(_FIND, slugs=list(slugs))}


async def find_variants(db: DatabaseSession, product_ids: Sequence[UUID]) -> dict[tuple[UUID, str], UUID]:
    """Returns the ids of variants by product and SKU."""
    rows = await db.all(_VARIANTS, ids=list(product_ids))
    return {(product_id, sku): variant_id for product_id, sku, variant_id in rows}
