"""Statements for the list of orders: filters, search, sorting, and how much work waits."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, cast
from uuid import UUID

import msgspec
from sqlalchemy import BigInteger, Boolean, DateTime, Text, bindparam, func, literal_column, select, tuple_
from sqlalchemy.dialects.postgresql import ARRAY, REGCONFIG
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.base.listing import CursorPosition, NumberCursor
from shop.db.pool import DatabaseSession
from shop.db.statements import Statement, dynamic_statement, into, statement
from shop.models.cart.order_index import order_listings
from shop.models.cart.orders import orders
from shop.models.cart.promotions import promotions
from shop.models.catalog.products import products, variants

COUNT_LIMIT = 1000
"""Tabs count at most so many orders."""
_ID = PG_UUID(as_uuid=True)


class OrderQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which orders to list; None disables a filter."""

    tab: str | None = None
    """`to_ship`, `unpaid` or `open`."""
    words: str | None = None
    """A PostgreSQL `tsquery`."""
    payment_state: str | None = None
    shipment_state: str | None = None
    country: str | None = None
    currency: str | None = None
    channel: str | None = None
    tag: str | None = None
    product_id: UUID | None = None
    promotion_id: UUID | None = None
    since: datetime | None = None
    until: datetime | None = None
    numbers: tuple[str, ...] | None = None
    sort: str = "newest"


class ListedOrder(msgspec.Struct, frozen=True, kw_only=True):
    """An order in the list: found by the index, with its current state."""

    id: UUID
    number: str
    placed_at: datetime
    name: str
    email: str | None
    country: str | None
    channel: str
    item_count: int
    total: int
    currency: str
    payment_state: str | None
    shipment_state: str | None
    canceled_at: datetime | None
    tags: list[str]


class WorkCounts(msgspec.Struct, frozen=True):
    """How many orders wait, each at most one more than COUNT_LIMIT."""

    to_ship: int
    unpaid: int
    open: int
    all: int


class PromotionChoice(msgspec.Struct, frozen=True):
    """A promotion in the filter."""

    id: UUID
    name: str


SORTS: Mapping[str, tuple[str, bool]] = {
    "newest": ("placed_at", False),
    "oldest": ("placed_at", True),
    "highest": ("total", False),
    "lowest": ("total", True),
}
"""The column of each sort order, and whether it ascends."""
_listing = order_listings.c
_TABS = {"to_ship": _listing.is_to_ship, "unpaid": _listing.is_unpaid, "open": _listing.is_open}
_COLUMNS = (
    orders.c.id,
    orders.c.number,
    _listing.placed_at,
    _listing.name,
    orders.c.email,
    _listing.country,
    orders.c.channel,
    orders.c.item_count,
    orders.c.total,
    orders.c.currency,
    orders.c.payment_state,
    orders.c.shipment_state,
    orders.c.canceled_at,
    orders.c.tags,
)
_marks = _listing.product_ids.op("||")(_listing.promotion_ids)


def _has_mark(name: str) -> Any:
    return _marks.op("@>", return_type=Boolean())(bindparam(name, type_=ARRAY(_ID)))


_CONDITIONS: Mapping[str, Any] = {
    "words": _listing.search.op("@@", return_type=Boolean())(
        func.to_tsquery(literal_column("'simple'", REGCONFIG()), bindparam("words", type_=Text()))
    ),
    "payment_state": _listing.payment_state == bindparam("payment_state", type_=Text()),
    "shipment_state": _listing.shipment_state == bindparam("shipment_state", type_=Text()),
    "country": _listing.country == bindparam("country", type_=Text()),
    "currency": _listing.currency == bindparam("currency", type_=Text()),
    "channel": _listing.channel == bindparam("channel", type_=Text()),
    "tag": _listing.tags.op("@>", return_type=Boolean())(bindparam("tag", type_=ARRAY(Text()))),
    "product_id": _has_mark("product_id"),
    "promotion_id": _has_mark("promotion_id"),
    "since": _listing.placed_at >= bindparam("since", type_=DateTime(timezone=True)),
    "until": _listing.placed_at < bindparam("until", type_=DateTime(timezone=True)),
    "numbers": orders.c.number == func.any(bindparam("numbers", type_=ARRAY(Text()))),
}


@lru_cache(maxsize=512)
def _list_statement(tab: str | None, names: tuple[str, ...], sort: str, side: str | None) -> Statement[ListedOrder]:
    """Builds one statement for each combination of filters, so that each can use its index."""
    column, is_ascending = SORTS[sort]
    at, key = _listing[column], _listing.order_id
    clause = (
        select(*_COLUMNS)
        .select_from(order_listings.join(orders, orders.c.id == _listing.order_id))
        .where(*(_CONDITIONS[name] for name in names))
    )
    if tab:
        clause = clause.where(_TABS[tab])
    rises = is_ascending == (side not in {"after", "back"})
    if side:
        cursor = tuple_(bindparam("at_", type_=at.type), bindparam("id_", type_=_ID))
        clause = clause.where(tuple_(at, key) > cursor if rises else tuple_(at, key) < cursor)
    clause = clause.order_by(at, key) if rises else clause.order_by(at.desc(), key.desc())
    return dynamic_statement(clause.limit(bindparam("most", type_=BigInteger)), into(ListedOrder))


def _count(condition: Any = None) -> Any:
    rows: Any = select(literal_column("1").label("one")).select_from(order_listings)
    if condition is not None:
        rows = rows.where(condition)
    limit: Any = literal_column(str(COUNT_LIMIT + 1))
    return select(func.count()).select_from(rows.limit(limit).subquery()).scalar_subquery()


_COUNTS = statement(
    select(*(_count(condition).label(name) for name, condition in _TABS.items()), _count().label("all")),
    into(WorkCounts),
)
_PROMOTIONS = statement(
    select(promotions.c.id, promotions.c.name).order_by(promotions.c.created_at.desc()).limit(literal_column("100")),
    into(PromotionChoice),
)
_word = bindparam("word", type_=Text)
_FIND_PRODUCT = statement(
    select(variants.c.product_id)
    .where(variants.c.sku == _word, variants.c.sku != literal_column("''"), variants.c.deleted_at.is_(None))
    .union_all(select(products.c.id).where(products.c.slug == _word, products.c.deleted_at.is_(None)))
    .limit(literal_column("1")),
    lambda record: cast(UUID, record[0]),
)


async def list_orders(
    db: DatabaseSession, query: OrderQuery, cursor: CursorPosition | NumberCursor | None, *, most: int
) -> list[ListedOrder]:
    """Returns the orders of a page, in the sort order of the query."""
    values: dict[str, Any] = {name: value for name in _CONDITIONS if (value := getattr(query, name)) is not None}
    side = cursor.side if cursor else None
    arrays: dict[str, Any] = {name: [values[name]] for name in ("tag", "product_id", "promotion_id") if name in values}
    rows = await db.all(
        _list_statement(query.tab, tuple(sorted(values)), query.sort, side),
        **{**values, **arrays, "numbers": list(query.numbers or ())},
        at_=cursor and cursor.at,
        id_=cursor and cursor.id,
        most=most,
    )
    return rows[::-1] if side in {"after", "back"} else rows


async def count_work(db: DatabaseSession) -> WorkCounts:
    counts = await db.one(_COUNTS)
    if counts is None:
        raise AssertionError("counts always have a row")
    return counts


async def list_promotions(db: DatabaseSession) -> Sequence[PromotionChoice]:
    """Returns the newest promotions, for the filter."""
    return await db.all(_PROMOTIONS)


async def find_product(db: DatabaseSession, sku_or_slug: str) -> UUID | None:
    """Returns the id of the product with this SKU or slug."""
    return await db.one(_FIND_PRODUCT, word=sku_or_slug)
