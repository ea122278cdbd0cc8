"""Lookups of variants by SKU, and of their display names."""

from typing import cast
from uuid import UUID

import msgspec
from sqlalchemy import Text, bindparam, select
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.db.pool import DatabaseSession
from shop.db.statements import any_of, into, statement
from shop.models.catalog.products import products, variants
from shop.queries.catalog.columns import OPTIONS_TEXT

_ID = PG_UUID(as_uuid=True)


class NamedVariant(msgspec.Struct, frozen=True):
    """A variant with its display names."""

    id: UUID
    product_id: UUID
    product_name: str
    sku: str
    options_text: str


_BY_SKU = statement(
    select(variants.c.sku, variants.c.id).where(
        variants.c.sku == any_of("skus", Text()),
        variants.c.sku != "",
        variants.c.deleted_at.is_(None),
    ),
    lambda record: cast(tuple[str, UUID], tuple(record)),
)
_VARIANT = statement(
    select(
        variants.c.id,
        variants.c.product_id,
        products.c.name.label("product_name"),
        variants.c.sku,
        OPTIONS_TEXT.label("options_text"),
    )
    .join(products, products.c.id == variants.c.product_id)
    .where(variants.c.id == bindparam("variant_id", type_=_ID), variants.c.deleted_at.is_(None)),
    into(NamedVariant),
)


async def find_variants(db: DatabaseSession, skus: list[str]) -> dict[str, UUID]:
    """Returns variant ids by SKU; unknown SKUs are missing."""
    return dict(await db.all(_BY_SKU, skus=skus)) if skus else {}


async def find_named(db: DatabaseSession, variant_id: UUID) -> NamedVariant | None:
    return await db.one(_VARIANT, variant_id=variant_id)
