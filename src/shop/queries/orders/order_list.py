"""Statements for the list of orders: filters, search, sorting, and how much work waits."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, cast
from uuid import UUID

import msgspec
from sqlalchemy import BigInteger, Boolean, DateTime, Text, bindparam, func, literal_column, select, tuple_
from sqlalchemy.dialects.postgresql import ARRAY, REGCONFIG
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.base.listing import CursorPosition
from shop.db.pool import DatabaseSession
from shop.db.statements import Statement, dynamic_statement, into, statement
from shop.models.cart.order_index import order_listings
from shop.models.cart.orders import orders
from shop.models.cart.promotions import promotions
from shop.models.catalog.products import products, variants
from shop.queries.dashboard import SortOrder, count_rows
from shop.rules.form_values import AND

COUNT_LIMIT = 1000
"""Tabs count at most so many orders."""
WINDOW = 5000
"""The first orders of a list are searched one by one; that is the fastest way to find a word that many have."""
SAMPLE = 500
COMMON = 100
"""A word that so many orders of the sample have is not looked up in the index, which would collect them all."""
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


_listing = order_listings.c
_page_listing = order_listings.alias("page_listings")
SORTS: Mapping[str, SortOrder] = {
    "newest": SortOrder(_listing.placed_at),
    "oldest": SortOrder(_listing.placed_at, is_ascending=True),
    "highest": SortOrder(_listing.total),
    "lowest": SortOrder(_listing.total, is_ascending=True),
}
_TABS = {"to_ship": _listing.is_to_ship, "unpaid": _listing.is_unpaid, "open": _listing.is_open}
_COLUMNS = (
    orders.c.id,
    orders.c.number,
    orders.c.email,
    orders.c.channel,
    orders.c.item_count,
    orders.c.total,
    orders.c.currency,
    orders.c.payment_state,
    orders.c.shipment_state,
    orders.c.canceled_at,
    orders.c.tags,
)


def _matches(vector: Any, name: str) -> Any:
    query = func.to_tsquery(literal_column("'simple'", REGCONFIG()), bindparam(name, type_=Text()))
    return vector.op("@@", return_type=Boolean())(query)


def _has_mark(listing: Any, name: str) -> Any:
    marks = listing.product_ids.op("||")(listing.promotion_ids)
    return marks.op("@>", return_type=Boolean())(bindparam(name, type_=ARRAY(_ID)))


def _equals(name: str) -> Callable[[Any], Any]:
    return lambda listing: listing[name] == bindparam(name, type_=Text())


_CONDITIONS: Mapping[str, Callable[[Any], Any]] = {
    "rare_words": lambda listing: _matches(listing.search, "rare_words"),
    # An expression, which has no index; one that copies no words.
    "common_words": lambda listing: func.coalesce(_matches(listing.search, "common_words"), literal_column("false")),
    **{name: _equals(name) for name in ("payment_state", "shipment_state", "country", "currency", "channel")},
    "tag": lambda listing: listing.tags.op("@>", return_type=Boolean())(bindparam("tag", type_=ARRAY(Text()))),
    "product_id": lambda listing: _has_mark(listing, "product_id"),
    "promotion_id": lambda listing: _has_mark(listing, "promotion_id"),
    "since": lambda listing: listing.placed_at >= bindparam("since", type_=DateTime(timezone=True)),
    "until": lambda listing: listing.placed_at < bindparam("until", type_=DateTime(timezone=True)),
    "numbers": lambda _listing: orders.c.number == func.any(bindparam("numbers", type_=ARRAY(Text()))),
}
"""The condition of each filter, by the columns of the index table."""
_FILTERS = tuple(name for name in _CONDITIONS if name not in {"rare_words", "common_words"})


class _ListKind(msgspec.Struct, frozen=True):
    """What the statement of a list depends on."""

    names: tuple[str, ...]
    """The names of its conditions."""
    tab: str | None
    sort: str
    side: str | None
    """The side of the cursor."""

    @property
    def column(self) -> str:
        return SORTS[self.sort].field

    @property
    def rises(self) -> bool:
        return SORTS[self.sort].is_ascending == (self.side != "after")


def _order(clause: Any, kind: _ListKind, at: Any, key: Any) -> Any:
    return clause.order_by(*(each if kind.rises else each.desc() for each in (at, key)))


def _limit_scope(clause: Any, kind: _ListKind) -> Any:
    """Limits a selection to the tab and to what follows the cursor."""
    if kind.tab:
        clause = clause.where(_TABS[kind.tab])
    if not kind.side:
        return clause
    place = tuple_(_listing[kind.column], _listing.order_id)
    cursor = tuple_(bindparam("at_", type_=_listing[kind.column].type), bindparam("id_", type_=_ID))
    return clause.where(place > cursor if kind.rises else place < cursor)


def _build(kind: _ListKind, listing: Any, rows: Any, at: Any) -> Statement[ListedOrder]:
    """Builds a statement that finds the orders of a page, if possible in an index alone, and then reads only those."""
    if "numbers" in kind.names:
        rows = rows.join(orders, orders.c.id == listing.order_id)
    rows = rows.where(*(_CONDITIONS[name](listing) for name in kind.names))
    rows = _order(rows, kind, at, listing.order_id).limit(bindparam("most", type_=BigInteger)).subquery("listed")
    columns = (*_COLUMNS, _page_listing.c.placed_at, _page_listing.c.name, _page_listing.c.country)
    clause = (
        select(*columns)
        .join_from(rows, _page_listing, _page_listing.c.order_id == rows.c.order_id)
        .join(orders, orders.c.id == rows.c.order_id)
    )
    return dynamic_statement(_order(clause, kind, rows.c.at, rows.c.order_id), into(ListedOrder))


def _select_rows(listing: Any, at: Any) -> Any:
    return select(listing.order_id, at.label("at"))


def _avoid_index(kind: _ListKind) -> Any:
    """Returns the sorted column as an expression, which has no index."""
    return _listing[kind.column] + literal_column("interval '0'" if kind.column == "placed_at" else "0")


@lru_cache(maxsize=512)
def _list_statement(kind: _ListKind) -> Statement[ListedOrder]:
    """Builds one statement for each combination of filters, so that each can use its index."""
    at = _listing[kind.column]
    # Few orders are in a tab: to sort them reads less than to look for them in the order of all totals.
    by = _avoid_index(kind) if kind.tab and kind.column == "total" else at
    return _build(kind, _listing, _limit_scope(_select_rows(_listing, at), kind), by)


@lru_cache(maxsize=512)
def _window_statement(kind: _ListKind) -> Statement[ListedOrder]:
    """Searches the first orders only, in their order."""
    first = _order(_limit_scope(select(order_listings), kind), kind, _listing[kind.column], _listing.order_id)
    window = first.limit(literal_column(str(WINDOW))).subquery("first").c
    return _build(kind, window, _select_rows(window, window[kind.column]), window[kind.column])


@lru_cache(maxsize=512)
def _search_statement(kind: _ListKind) -> Statement[ListedOrder]:
    """Searches all orders by the index of words, and sorts what it finds."""
    at = _listing[kind.column]
    return _build(kind, _listing, _limit_scope(_select_rows(_listing, at), kind), _avoid_index(kind))


@lru_cache(maxsize=512)
def _count_statement(names: tuple[str, ...], tab: str | None) -> Statement[int]:
    rows: Any = select(order_listings).where(*(_CONDITIONS[name](_listing) for name in names))
    if "numbers" in names:
        rows = rows.join(orders, orders.c.id == _listing.order_id)
    return count_rows(rows.where(_TABS[tab]) if tab else rows)


_sample = (
    select(_listing.search)
    .order_by(_listing.placed_at.desc(), _listing.order_id.desc())
    .limit(literal_column(str(SAMPLE)))
    .subquery()
)
_sampled_word = (
    func.unnest(bindparam("sampled_words", type_=ARRAY(Text()))).table_valued("word", name="sampled").render_derived()
)
_COUNT_WORDS = statement(
    select(_sampled_word.c.word, func.count())
    .select_from(_sampled_word.join(_sample, literal_column("true")))
    .where(
        _sample.c.search.op("@@", return_type=Boolean())(
            func.to_tsquery(literal_column("'simple'", REGCONFIG()), _sampled_word.c.word)
        )
    )
    .group_by(_sampled_word.c.word),
    lambda record: cast(tuple[str, int], tuple(record)),
)


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
_is_chosen = func.coalesce(promotions.c.id == bindparam("chosen_id", type_=_ID), literal_column("false"))
_PROMOTIONS = statement(
    select(promotions.c.id, promotions.c.name)
    .order_by(_is_chosen.desc(), promotions.c.created_at.desc())
    .limit(literal_column("100")),
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
    db: DatabaseSession, query: OrderQuery, cursor: CursorPosition | None, *, most: int
) -> list[ListedOrder]:
    """Returns the orders of a page, in the sort order of the query."""
    values, side = _filter_values(query), cursor.side if cursor else None
    places = {"at_": cursor and cursor.at, "id_": cursor and cursor.id, "most": most}

    async def run(build: Callable[[_ListKind], Statement[ListedOrder]], **words: str) -> list[ListedOrder]:
        kind = _ListKind(tuple(sorted(values | words)), query.tab, query.sort, side)
        return await db.all(build(kind), **values, **words, **places)

    if query.words is None:
        rows = await run(_list_statement)
    else:
        rows = await run(_window_statement, common_words=query.words)
        if len(rows) < most:
            rows = await run(_search_statement, **await _divide_words(db, query.words))
    return rows[::-1] if side == "after" else rows


def _filter_values(query: OrderQuery) -> dict[str, Any]:
    values: dict[str, Any] = {name: value for name in _FILTERS if (value := getattr(query, name)) is not None}
    values |= {name: [values[name]] for name in ("tag", "product_id", "promotion_id") if name in values}
    return values | ({"numbers": list(query.numbers)} if query.numbers else {})


async def count_orders(db: DatabaseSession, query: OrderQuery, size: int) -> int:
    """Returns the number of orders of a list that is longer than a page, at most one more than that of `count_rows`.
    Those of a search are not counted: the index would collect all orders that have a common word.
    """
    if query.words:
        return size + 1
    values = _filter_values(query)
    return await db.one(_count_statement(tuple(sorted(values)), query.tab), **values) or 0


async def _divide_words(db: DatabaseSession, query: str) -> dict[str, str]:
    """Returns the rare words, which the index finds, and the common ones, which are checked afterwards."""
    words = query.split(AND)
    if len(words) == 1:
        return {"rare_words": query}
    counts = dict.fromkeys(words, 0) | dict(await db.all(_COUNT_WORDS, sampled_words=words))
    rarest = min(words, key=lambda word: counts[word])
    rare = [word for word in words if counts[word] < COMMON or word == rarest]
    common = [word for word in words if word not in rare]
    return {"rare_words": AND.join(rare)} | ({"common_words": AND.join(common)} if common else {})


async def count_work(db: DatabaseSession) -> WorkCounts:
    counts = await db.one(_COUNTS)
    if counts is None:
        raise AssertionError("counts always have a row")
    return counts


async def list_promotions(db: DatabaseSession, chosen_id: UUID | None) -> Sequence[PromotionChoice]:
    """Returns the newest promotions and the one that is chosen, for the filter."""
    return await db.all(_PROMOTIONS, chosen_id=chosen_id)


async def find_product(db: DatabaseSession, sku_or_slug: str) -> UUID | None:
    """Returns the id of the product with this SKU or slug."""
    return await db.one(_FIND_PRODUCT, word=sku_or_slug)
