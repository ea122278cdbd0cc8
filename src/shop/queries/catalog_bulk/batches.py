"""Statements that select the products of a filtered list, and those of batches of changes."""

from functools import lru_cache
from typing import Any, cast

from sqlalchemy import BigInteger, bindparam, func, select
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.db.pool import DatabaseSession
from shop.db.statements import Statement, dynamic_statement
from shop.models.catalog.product_index import listings
from shop.models.catalog.products import products
from shop.queries.catalog_admin.products import ProductFilter, filter_products

_ID = PG_UUID(as_uuid=True)


def _select(columns: Any, is_searched: bool, status: str | None, stock: str | None) -> Any:
    clause = (
        select(columns)
        .select_from(products.join(listings, listings.c.product_id == products.c.id))
        .where(products.c.deleted_at.is_(None))
    )
    return filter_products(clause, is_searched=is_searched, status=status, stock=stock)


@lru_cache(maxsize=64)
def _count_statement(is_searched: bool, status: str | None, stock: str | None) -> Statement[int]:
    ids = _select(products.c.id, is_searched, status, stock).limit(bindparam("most", type_=BigInteger())).subquery()
    return dynamic_statement(select(func.count()).select_from(ids), lambda record: cast(int, record[0]))


async def count_products(db: DatabaseSession, product_filter: ProductFilter, *, most: int) -> int:
    """Returns the number of products of a filtered list, at most `most`."""
    count = await db.one(
        _count_statement(product_filter.query is not None, product_filter.status and "-", product_filter.stock),
        query=product_filter.query,
        status=product_filter.status,
        most=most,
    )
    return count or 0
