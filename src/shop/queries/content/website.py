"""Statements for the website settings: the categories, products and promotions that they name."""

from collections.abc import Sequence
from uuid import UUID

import msgspec
from sqlalchemy import BigInteger, Text, bindparam, func, or_, select
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.db.pool import DatabaseSession
from shop.db.statements import any_of, into, statement
from shop.models.cart.promotions import promotions
from shop.models.catalog.products import products
from shop.models.catalog.taxons import taxons

_ID = PG_UUID(as_uuid=True)
_most = bindparam("most", type_=BigInteger)


class SettingChoice(msgspec.Struct, frozen=True):
    """A record that a setting can name: its key is the slug of a product or the permalink of a category."""

    id: UUID
    key: str
    name: str


_products = select(products.c.id, products.c.slug.label("key"), products.c.name).where(products.c.deleted_at.is_(None))
_taxons = select(taxons.c.id, taxons.c.permalink.label("key"), taxons.c.name).where(taxons.c.parent_id.is_not(None))
_PRODUCTS = statement(_products.order_by(products.c.created_at.desc(), products.c.id).limit(_most), into(SettingChoice))
_PRODUCTS_BY_ID = statement(_products.where(products.c.id == any_of("ids", _ID)), into(SettingChoice))
_PRODUCTS_BY_WORD = statement(
    _products.where(
        or_(
            products.c.slug == any_of("words", Text()),
            func.lower(products.c.name) == any_of("lower_words", Text()),
        )
    ).order_by(products.c.id),
    into(SettingChoice),
)
_TAXONS = statement(_taxons.order_by(taxons.c.taxonomy_id, taxons.c.lft).limit(_most), into(SettingChoice))
_TAXONS_BY_ID = statement(_taxons.where(taxons.c.id == any_of("ids", _ID)), into(SettingChoice))
_TAXONS_BY_WORD = statement(
    _taxons.where(
        or_(
            taxons.c.permalink == any_of("words", Text()),
            func.lower(taxons.c.name) == any_of("lower_words", Text()),
        )
    ).order_by(taxons.c.id),
    into(SettingChoice),
)
_PROMOTIONS = statement(
    select(promotions.c.id, func.coalesce(promotions.c.code, "").label("key"), promotions.c.name)
    .order_by(promotions.c.created_at.desc(), promotions.c.id)
    .limit(_most),
    into(SettingChoice),
)
_PROMOTIONS_BY_ID = statement(
    select(promotions.c.id, func.coalesce(promotions.c.code, "").label("key"), promotions.c.name).where(
        promotions.c.id == any_of("ids", _ID)
    ),
    into(SettingChoice),
)


async def list_products(db: DatabaseSession, *, most: int) -> list[SettingChoice]:
    """Returns the newest products."""
    return await db.all(_PRODUCTS, most=most)


async def list_products_by_id(db: DatabaseSession, ids: Sequence[UUID]) -> list[SettingChoice]:
    return await db.all(_PRODUCTS_BY_ID, ids=list(ids)) if ids else []


async def list_products_by_word(db: DatabaseSession, words: Sequence[str]) -> list[SettingChoice]:
    """Returns the products with one of these slugs or names."""
    return await db.all(_PRODUCTS_BY_WORD, words=list(words), lower_words=_lower(words)) if words else []


async def list_taxons(db: DatabaseSession, *, most: int) -> list[SettingChoice]:
    """Returns categories in the order of their trees."""
    return await db.all(_TAXONS, most=most)


async def list_taxons_by_id(db: DatabaseSession, ids: Sequence[UUID]) -> list[SettingChoice]:
    return await db.all(_TAXONS_BY_ID, ids=list(ids)) if ids else []


async def list_taxons_by_word(db: DatabaseSession, words: Sequence[str]) -> list[SettingChoice]:
    """Returns the categories with one of these permalinks or names."""
    return await db.all(_TAXONS_BY_WORD, words=list(words), lower_words=_lower(words)) if words else []


async def list_promotions(db: DatabaseSession, *, most: int) -> list[SettingChoice]:
    """Returns the newest promotions."""
    return await db.all(_PROMOTIONS, most=most)


async def list_promotions_by_id(db: DatabaseSession, ids: Sequence[UUID]) -> list[SettingChoice]:
    return await db.all(_PROMOTIONS_BY_ID, ids=list(ids)) if ids else []


def _lower(words: Sequence[str]) -> list[str]:
    return [word.lower() for word in words]
