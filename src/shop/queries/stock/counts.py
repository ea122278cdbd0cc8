"""Statements for stock counts: the items of a location, in the order of their product names."""

from functools import lru_cache
from typing import cast
from uuid import UUID

import msgspec
from sqlalchemy import BigInteger, Text, bindparam, func, select
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.db.pool import DatabaseSession
from shop.db.statements import Statement, dynamic_statement, into
from shop.models.catalog.product_index import listings
from shop.models.catalog.products import products, variants
from shop.models.catalog.stock import stock_items
from shop.queries.catalog.columns import OPTIONS_TEXT
from shop.queries.catalog_admin.products import matches_search

_ID = PG_UUID(as_uuid=True)


class CountRow(msgspec.Struct, frozen=True):
    """A stock item to be counted."""

    id: UUID
    product_name: str
    sku: str
    options_text: str
    count_on_hand: int


_columns = (
    stock_items.c.id,
    products.c.name.label("product_name"),
    variants.c.sku,
    OPTIONS_TEXT.label("options_text"),
    stock_items.c.count_on_hand,
)


@lru_cache(maxsize=4)
def _statements(is_searched: bool) -> tuple[Statement[CountRow], Statement[int]]:
    """Builds the statements that list and count the items of a location."""
    source = stock_items.join(variants, variants.c.id == stock_items.c.variant_id).join(
        products, products.c.id == variants.c.product_id
    )
    conditions = [
        stock_items.c.stock_location_id == bindparam("location_id", type_=_ID),
        variants.c.deleted_at.is_(None),
    ]
    if is_searched:
        fits = select(listings.c.product_id).where(matches_search(bindparam("query", type_=Text())))
        conditions.append(products.c.id.in_(fits))
    rows = select(*_columns).select_from(source).where(*conditions)
    rows = rows.order_by(products.c.name, variants.c.sku, stock_items.c.id)
    rows = rows.limit(bindparam("most", type_=BigInteger())).offset(bindparam("skip", type_=BigInteger()))
    total = select(func.count()).select_from(source).where(*conditions)
    return dynamic_statement(rows, into(CountRow)), dynamic_statement(total, lambda record: cast(int, record[0]))


async def list_rows(
    db: DatabaseSession, location_id: UUID, query: str | None, *, skip: int, most: int
) -> list[CountRow]:
    values = {"location_id": location_id, "query": query, "skip": skip, "most": most}
    return await db.all(_statements(query is not None)[0], **values)


async def count_rows(db: DatabaseSession, location_id: UUID, query: str | None) -> int:
    return await db.one(_statements(query is not None)[1], location_id=location_id, query=query) or 0
