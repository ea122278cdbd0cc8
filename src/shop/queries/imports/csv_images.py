"""The statement that finds the products whose images an import may add."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import msgspec
from sqlalchemy import Text, func, select

from shop.db.pool import DatabaseSession
from shop.db.statements import any_of, into, statement
from shop.models.catalog.images import images
from shop.models.catalog.products import products


class ProductImages(msgspec.Struct, frozen=True):
    """A product, when it was created, and the number of its images."""

    id: UUID
    slug: str
    created_at: datetime
    image_count: int


_image_count = (
    select(func.count(images.c.id)).where(images.c.product_id == products.c.id).correlate(products).scalar_subquery()
)
_FIND = statement(
    select(products.c.id, products.c.slug, products.c.created_at, _image_count.label("image_count")).where(
        products.c.slug == any_of("slugs", Text()), products.c.deleted_at.is_(None)
    ),
    into(ProductImages),
)


async def find_products(db: DatabaseSession, slugs: Sequence[str]) -> dict[str, ProductImages]:
    return {row.slug: row for row in await db.all(_FIND, slugs=list(slugs))}
