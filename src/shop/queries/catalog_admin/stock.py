"""Statements for the dashboard's stock pages."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any
from uuid import UUID

import msgspec
from sqlalchemy import BigInteger, Text, and_, bindparam, func, select
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.base.listing import CursorPosition
from shop.db.pool import DatabaseSession
from shop.db.statements import Statement, dynamic_statement, into, statement
from shop.models.access.applications import applications
from shop.models.access.operators import operators
from shop.models.catalog.product_index import listings
from shop.models.catalog.products import products, variants
from shop.models.catalog.stock import (
    StockItem,
    StockLocation,
    StockMovement,
    stock_items,
    stock_levels,
    stock_locations,
    stock_movements,
)
from shop.models.setup.shop import shops
from shop.models.stock.thresholds import stock_thresholds
from shop.queries.catalog.columns import OPTIONS_TEXT
from shop.queries.catalog_admin.products import matches_search
from shop.queries.dashboard import SortOrder, count_rows, load_page, paginate

_ID = PG_UUID(as_uuid=True)
SORTS: Mapping[str, SortOrder] = {
    "lowest": SortOrder(stock_levels.c.count_on_hand, is_ascending=True),
    "highest": SortOrder(stock_levels.c.count_on_hand),
}


class StockFilter(msgspec.Struct, frozen=True):
    """Filters for stock items; `None` disables a filter."""

    query: str | None = None
    location_id: UUID | None = None
    level: str | None = None
    """`low` or `out`."""


class NamedItem(StockItem, frozen=True, kw_only=True):
    """A stock item with the names of its variant and location."""

    product_id: UUID
    product_name: str
    sku: str
    options_text: str
    location_name: str
    threshold: int
    """The count is low at this number or fewer."""


class LedgerLine(StockMovement, frozen=True, kw_only=True):
    """A stock movement with its actor and the resulting count."""

    actor_name: str | None
    count_after: int


class CountedLocation(StockLocation, frozen=True, kw_only=True):
    """A stock location with its number of items and units."""

    item_count: int
    unit_count: int


_shop_threshold = select(shops.c.low_stock_threshold).scalar_subquery()
_highest_threshold = select(func.max(stock_thresholds.c.low_at)).scalar_subquery()


def _threshold_of(item_id: Any) -> Any:
    """Returns the threshold of a stock item, or else the shop's."""
    clause = select(stock_thresholds.c.low_at).where(stock_thresholds.c.stock_item_id == item_id)
    return func.coalesce(clause.scalar_subquery(), _shop_threshold)


# The first condition limits the part of the index that is read.
IS_LOW = and_(
    stock_levels.c.count_on_hand <= func.greatest(_shop_threshold, _highest_threshold),
    stock_levels.c.count_on_hand <= _threshold_of(stock_levels.c.stock_item_id),
)
_item_select = (
    select(
        stock_items,
        products.c.id.label("product_id"),
        products.c.name.label("product_name"),
        variants.c.sku,
        OPTIONS_TEXT.label("options_text"),
        stock_locations.c.name.label("location_name"),
        _threshold_of(stock_items.c.id).label("threshold"),
    )
    .select_from(
        stock_items.join(variants, variants.c.id == stock_items.c.variant_id)
        .join(products, products.c.id == variants.c.product_id)
        .join(stock_locations, stock_locations.c.id == stock_items.c.stock_location_id)
    )
    .where(variants.c.deleted_at.is_(None))
)
_LEVELS = {"low": IS_LOW, "out": stock_levels.c.count_on_hand <= 0}


def _select_items(is_searched: bool, is_at: bool, level: str | None) -> Any:
    clause = _item_select.join(stock_levels, stock_levels.c.stock_item_id == stock_items.c.id)
    if is_searched:
        fits = select(listings.c.product_id).where(matches_search(bindparam("query", type_=Text())))
        clause = clause.where(products.c.id.in_(fits))
    if is_at:
        clause = clause.where(stock_items.c.stock_location_id == bindparam("location_id", type_=_ID))
    if level:
        clause = clause.where(_LEVELS[level])
    return clause


@lru_cache(maxsize=128)
def _list_statement(names: tuple[bool, bool, str | None], sort: str, side: str | None) -> Statement[NamedItem]:
    clause = paginate(_select_items(*names), SORTS[sort], stock_items.c.id, side)
    return dynamic_statement(clause, into(NamedItem))


@lru_cache(maxsize=16)
def _count_statement(names: tuple[bool, bool, str | None]) -> Statement[int]:
    return count_rows(_select_items(*names))


_ITEM = statement(_item_select.where(stock_items.c.id == bindparam("item_id", type_=_ID)), into(NamedItem))
# The window starts at the newest movement, so that a page reads only newer movements.
_after = bindparam("count", type_=BigInteger()) - func.coalesce(
    func.sum(stock_movements.c.quantity).over(order_by=stock_movements.c.id.desc(), rows=(None, -1)), 0
)
_ledger = (
    select(
        stock_movements,
        func.coalesce(operators.c.email, applications.c.name).label("actor_name"),
        sql_cast(_after, BigInteger).label("count_after"),
    )
    .select_from(
        stock_movements.outerjoin(
            operators,
            and_(stock_movements.c.actor_kind == "operator", operators.c.id == stock_movements.c.actor_id),
        ).outerjoin(
            applications,
            and_(stock_movements.c.actor_kind == "application", applications.c.id == stock_movements.c.actor_id),
        )
    )
    .where(stock_movements.c.stock_item_id == bindparam("item_id", type_=_ID))
    .order_by(stock_movements.c.id.desc())
    .limit(bindparam("most", type_=BigInteger()))
)
_COUNT_LEDGER = count_rows(
    select(stock_movements).where(stock_movements.c.stock_item_id == bindparam("item_id", type_=_ID))
)
_before = stock_movements.c.id < bindparam("before", type_=_ID)
_NEWEST = statement(_ledger, into(LedgerLine))
_OLDER = statement(_ledger.where(_before), into(LedgerLine))
_COUNT_BEFORE = statement(
    select(sql_cast(func.coalesce(func.sum(stock_movements.c.quantity), 0), BigInteger)).where(
        stock_movements.c.stock_item_id == bindparam("item_id", type_=_ID), _before
    ),
    lambda record: int(record[0]),
)


def _at_location(what: Any) -> Any:
    clause = select(what).where(stock_items.c.stock_location_id == stock_locations.c.id)
    return sql_cast(clause.correlate(stock_locations).scalar_subquery(), BigInteger)


_LOCATIONS = statement(
    select(
        stock_locations,
        _at_location(func.count(stock_items.c.id)).label("item_count"),
        _at_location(func.coalesce(func.sum(stock_items.c.count_on_hand), 0)).label("unit_count"),
    ).order_by(stock_locations.c.default.desc(), stock_locations.c.active.desc(), stock_locations.c.name),
    into(CountedLocation),
)
_PLACES = statement(
    select(stock_locations).order_by(stock_locations.c.default.desc(), stock_locations.c.name), into(StockLocation)
)


def _filters(stock_filter: StockFilter) -> tuple[tuple[bool, bool, str | None], dict[str, Any]]:
    """Returns what the statement of a filter depends on, and its values."""
    names = (stock_filter.query is not None, stock_filter.location_id is not None, stock_filter.level)
    return names, {"query": stock_filter.query, "location_id": stock_filter.location_id}


async def list_items(
    db: DatabaseSession, stock_filter: StockFilter, cursor: CursorPosition | None, *, sort: str, most: int
) -> list[NamedItem]:
    names, values = _filters(stock_filter)
    page_statement = _list_statement(names, sort, cursor.side if cursor else None)
    return await load_page(db, page_statement, cursor, **values, most=most)


async def count_items(db: DatabaseSession, stock_filter: StockFilter) -> int:
    """Returns the number of stock items, at most one more than `COUNT_LIMIT`."""
    names, values = _filters(stock_filter)
    return await db.one(_count_statement(names), **values) or 0


async def find_item(db: DatabaseSession, item_id: UUID) -> NamedItem | None:
    return await db.one(_ITEM, item_id=item_id)


async def list_ledger(db: DatabaseSession, item: StockItem, before: UUID | None, *, most: int) -> list[LedgerLine]:
    """Returns stock movements, newest first."""
    if before is None:
        return await db.all(_NEWEST, item_id=item.id, count=item.count_on_hand, most=most)
    count = await db.one(_COUNT_BEFORE, item_id=item.id, before=before)
    return await db.all(_OLDER, item_id=item.id, before=before, count=count, most=most)


async def count_ledger(db: DatabaseSession, item_id: UUID) -> int:
    """Returns the number of stock movements, at most one more than `COUNT_LIMIT`."""
    return await db.one(_COUNT_LEDGER, item_id=item_id) or 0


async def list_counted_locations(db: DatabaseSession) -> list[CountedLocation]:
    return await db.all(_LOCATIONS)


async def list_locations(db: DatabaseSession) -> list[StockLocation]:
    return await db.all(_PLACES)
