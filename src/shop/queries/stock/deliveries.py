"""Statements that list, lock and change deliveries, transfers and their lines."""

from collections.abc import Iterable, Mapping
from datetime import date
from functools import lru_cache
from typing import Any, cast
from uuid import UUID

import msgspec
from sqlalchemy import BigInteger, Text, bindparam, func, literal_column, select, update
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects.postgresql import UUID as PG_UUID
from sqlalchemy.dialects.postgresql import insert

from shop.base.ids import new_id
from shop.db.pool import DatabaseSession
from shop.db.statements import Statement, any_of, dynamic_statement, into, statement
from shop.models.catalog.product_index import listings
from shop.models.catalog.products import products, variants
from shop.models.catalog.stock import stock_items, stock_locations
from shop.models.stock.deliveries import StockDelivery, StockDeliveryLine, stock_deliveries, stock_delivery_lines
from shop.queries.catalog.columns import ON_HAND, OPTIONS_TEXT
from shop.queries.catalog_admin.products import matches_search

_ID = PG_UUID(as_uuid=True)
MAX_RESULTS = 25


class ListedDelivery(StockDelivery, frozen=True, kw_only=True):
    """A delivery with the names of its locations and its sums."""

    location_name: str
    source_name: str | None
    line_count: int
    unit_count: int
    received_count: int


class NamedLine(StockDeliveryLine, frozen=True, kw_only=True):
    """A line with the names of its variant, and its stock at the location that a transfer leaves."""

    product_id: UUID
    product_name: str
    sku: str
    options_text: str
    source_count: int | None
    source_backorderable: bool | None

    @property
    def exceeds_source(self) -> bool:
        """Whether the location that a transfer leaves has too little, so that it cannot be sent."""
        return not self.source_backorderable and self.quantity > (self.source_count or 0)


class SearchedVariant(msgspec.Struct, frozen=True):
    """A variant that can be added to a delivery."""

    id: UUID
    product_name: str
    sku: str
    options_text: str
    on_hand: int


class ExpectedStock(msgspec.Struct, frozen=True):
    """What open deliveries bring of a variant, and the first day on which some of it is expected."""

    variant_id: UUID
    quantity: int
    expected_on: date | None


def _sum_of(column: Any) -> Any:
    clause = select(sql_cast(func.coalesce(func.sum(column), 0), BigInteger))
    return clause.where(stock_delivery_lines.c.delivery_id == stock_deliveries.c.id).correlate(stock_deliveries)


_sources = stock_locations.alias("sources")
_deliveries = select(
    stock_deliveries,
    stock_locations.c.name.label("location_name"),
    _sources.c.name.label("source_name"),
    _sum_of(literal_column("1")).scalar_subquery().label("line_count"),
    _sum_of(stock_delivery_lines.c.quantity).scalar_subquery().label("unit_count"),
    _sum_of(stock_delivery_lines.c.received_quantity).scalar_subquery().label("received_count"),
).select_from(
    stock_deliveries.join(stock_locations, stock_locations.c.id == stock_deliveries.c.stock_location_id).outerjoin(
        _sources, _sources.c.id == stock_deliveries.c.source_location_id
    )
)
_FIND = statement(_deliveries.where(stock_deliveries.c.id == bindparam("id", type_=_ID)), into(ListedDelivery))
_LOCK = statement(
    select(stock_deliveries).where(stock_deliveries.c.id == bindparam("id", type_=_ID)).with_for_update(),
    into(StockDelivery),
)
_COUNTS = statement(
    select(stock_deliveries.c.state, func.count()).group_by(stock_deliveries.c.state),
    lambda record: cast(tuple[str, int], tuple(record)),
)
_LINES = statement(
    select(
        stock_delivery_lines,
        products.c.id.label("product_id"),
        products.c.name.label("product_name"),
        variants.c.sku,
        OPTIONS_TEXT.label("options_text"),
        stock_items.c.count_on_hand.label("source_count"),
        # An item that does not exist yet becomes backorderable as its location says.
        func.coalesce(stock_items.c.backorderable, stock_locations.c.backorderable_default).label(
            "source_backorderable"
        ),
    )
    .select_from(
        stock_delivery_lines.join(stock_deliveries, stock_deliveries.c.id == stock_delivery_lines.c.delivery_id)
        .join(variants, variants.c.id == stock_delivery_lines.c.variant_id)
        .join(products, products.c.id == variants.c.product_id)
        .outerjoin(
            stock_items,
            (stock_items.c.variant_id == variants.c.id)
            & (stock_items.c.stock_location_id == stock_deliveries.c.source_location_id),
        )
        .outerjoin(stock_locations, stock_locations.c.id == stock_deliveries.c.source_location_id)
    )
    .where(stock_delivery_lines.c.delivery_id == bindparam("id", type_=_ID))
    .order_by(products.c.name, variants.c.sku, stock_delivery_lines.c.id),
    into(NamedLine),
)
_ADD_LINE = statement(
    insert(stock_delivery_lines)
    .values(
        id=bindparam("id"),
        delivery_id=bindparam("delivery_id"),
        variant_id=bindparam("variant_id"),
        quantity=bindparam("quantity"),
        created_at=func.now(),
        updated_at=func.now(),
    )
    .on_conflict_do_update(
        index_elements=["delivery_id", "variant_id"],
        set_={"quantity": stock_delivery_lines.c.quantity + bindparam("quantity"), "updated_at": func.now()},
    )
    .returning(stock_delivery_lines.c.quantity),
    lambda record: cast(int, record[0]),
)
_RECEIVE_LINE = statement(
    update(stock_delivery_lines)
    .where(stock_delivery_lines.c.id == bindparam("line_id", type_=_ID))
    .values(
        received_quantity=stock_delivery_lines.c.received_quantity + bindparam("new_quantity", type_=BigInteger()),
        updated_at=func.now(),
    )
    .returning(stock_delivery_lines.c.id),
    lambda record: cast(UUID, record[0]),
)
_open_lines = stock_delivery_lines.join(
    stock_deliveries,
    (stock_deliveries.c.id == stock_delivery_lines.c.delivery_id) & (stock_deliveries.c.state == "open"),
)
_remaining = func.greatest(stock_delivery_lines.c.quantity - stock_delivery_lines.c.received_quantity, 0)
_EXPECTED = statement(
    select(
        stock_delivery_lines.c.variant_id,
        sql_cast(func.sum(_remaining), BigInteger).label("quantity"),
        func.min(stock_deliveries.c.expected_on).label("expected_on"),
    )
    .select_from(_open_lines)
    .where(
        stock_delivery_lines.c.variant_id == any_of("ids", _ID),
        stock_delivery_lines.c.quantity > stock_delivery_lines.c.received_quantity,
    )
    .group_by(stock_delivery_lines.c.variant_id),
    into(ExpectedStock),
)
_fits = select(listings.c.product_id).where(matches_search(bindparam("query", type_=Text())))
_SEARCH = statement(
    select(
        variants.c.id,
        products.c.name.label("product_name"),
        variants.c.sku,
        OPTIONS_TEXT.label("options_text"),
        ON_HAND.label("on_hand"),
    )
    .select_from(variants.join(products, products.c.id == variants.c.product_id))
    .where(
        products.c.id.in_(_fits),
        products.c.deleted_at.is_(None),
        variants.c.deleted_at.is_(None),
        # The master of a product with variants is not sold itself.
        ~variants.c.is_master
        | ~select(literal_column("1"))
        .select_from(_others := variants.alias("others"))
        .where(_others.c.product_id == variants.c.product_id, ~_others.c.is_master, _others.c.deleted_at.is_(None))
        .exists(),
    )
    .order_by(products.c.name, variants.c.position, variants.c.id)
    .limit(literal_column(str(MAX_RESULTS))),
    into(SearchedVariant),
)


SORTS: Mapping[str, tuple[Any, ...]] = {
    "expected": (stock_deliveries.c.expected_on.asc().nulls_last(), stock_deliveries.c.id),
    "newest": (stock_deliveries.c.id.desc(),),
    "reference": (func.lower(stock_deliveries.c.reference), stock_deliveries.c.id),
}


@lru_cache(maxsize=8)
def _list_statement(sort: str) -> Statement[ListedDelivery]:
    clause = _deliveries.where(stock_deliveries.c.state == bindparam("state", type_=Text())).order_by(*SORTS[sort])
    return dynamic_statement(
        clause.limit(bindparam("most", type_=BigInteger())).offset(bindparam("skip", type_=BigInteger())),
        into(ListedDelivery),
    )


async def list_deliveries(db: DatabaseSession, state: str, *, sort: str, skip: int, most: int) -> list[ListedDelivery]:
    return await db.all(_list_statement(sort), state=state, skip=skip, most=most)


async def count_deliveries(db: DatabaseSession) -> dict[str, int]:
    """Returns the number of deliveries by state."""
    return dict(await db.all(_COUNTS))


async def find_delivery(db: DatabaseSession, delivery_id: UUID) -> ListedDelivery | None:
    return await db.one(_FIND, id=delivery_id)


async def lock_delivery(db: DatabaseSession, delivery_id: UUID) -> StockDelivery | None:
    return await db.one(_LOCK, id=delivery_id)


async def list_lines(db: DatabaseSession, delivery_id: UUID) -> list[NamedLine]:
    return await db.all(_LINES, id=delivery_id)


async def add_line(db: DatabaseSession, delivery_id: UUID, variant_id: UUID, quantity: int) -> int:
    """Adds a quantity of a variant; returns the quantity of its line."""
    return cast(
        int, await db.one(_ADD_LINE, id=new_id(), delivery_id=delivery_id, variant_id=variant_id, quantity=quantity)
    )


async def receive_line(db: DatabaseSession, line_id: UUID, quantity: int) -> None:
    await db.one(_RECEIVE_LINE, line_id=line_id, new_quantity=quantity)


async def list_expected(db: DatabaseSession, variant_ids: Iterable[UUID]) -> dict[UUID, ExpectedStock]:
    """Returns what open deliveries bring, by variant."""
    ids = list(set(variant_ids))
    return {row.variant_id: row for row in await db.all(_EXPECTED, ids=ids)} if ids else {}


async def search_variants(db: DatabaseSession, query: str) -> list[SearchedVariant]:
    """Returns the first variants of the products that match a `tsquery` of `prefix_query`."""
    return await db.all(_SEARCH, query=query)
