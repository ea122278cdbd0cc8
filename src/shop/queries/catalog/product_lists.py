"""Product lists of the storefront: filters, sorting, pagination and totals.

Each combination of filters and sort order has its own statement, compiled once and cached. A page is selected from
`listings`; prices are joined to the rows of the page, and to all rows only where a price sorts or filters.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, TypeVar, cast
from uuid import UUID

from sqlalchemy import (
    CTE,
    BigInteger,
    ColumnElement,
    Select,
    and_,
    bindparam,
    column,
    func,
    literal_column,
    or_,
    select,
)
from sqlalchemy import any_ as sql_any
from sqlalchemy.dialects.postgresql import ARRAY

from shop.base.listing import Keyset, Sort
from shop.db.pool import DatabaseSession
from shop.db.statements import Statement, dynamic_statement, explain, into, opaque_param
from shop.models.catalog.prices import prices
from shop.models.catalog.product_index import listing_sales, listings
from shop.models.catalog.product_query import MAX_PAIRS, ProductQuery, query_shape, search_query
from shop.models.catalog.products import (
    products,
)
from shop.models.catalog.storefront import Facets, ProductMatches, ProductOnPage, StorefrontProduct
from shop.models.catalog.taxons import classifications
from shop.queries.catalog.priced_products import (
    BEST_PRICE,
    HAS_PRICE,
    IS_LISTED_NOW,
    IS_PRICED,
    IS_VISIBLE_OR_DISCONTINUED,
    SELECT_BY_ROW,
)
from shop.queries.catalog.prices import Pricing
from shop.queries.catalog.product_filters import FILTERS, ID, ids_param, text_query
from shop.queries.record_counts import EXACT, plan_rows

R = TypeVar("R", StorefrontProduct, ProductOnPage)

RANK_LIMIT = 1_000
"""The maximum number of search results that are ranked and counted; ranking a very common word is not useful."""
COMMON = 5
MAX_MATCHES = 500
"""The maximum number of matches of a query that are read at once."""
_STABLE_FILTERS = frozenset(
    {"q", "name", "taxons", "one_taxon", "concat_taxons", "marks", *(f"any_marks_{n}" for n in range(MAX_PAIRS))}
)


_COLUMNS: dict[str, Any] = {
    "id": listings.c.product_id,
    "number": listings.c.product_id,
    "name": products.c.name,
    "slug": products.c.slug,
    "updated_at": products.c.updated_at,
    "created_at": products.c.created_at,
    "deleted_at": products.c.deleted_at,
    "available_on": products.c.available_on,
    "sku": listings.c.sku,
    "sold": listing_sales.c.sold_count,
    "seen": func.coalesce(products.c.available_on, products.c.created_at),
}
_OF_PRODUCTS = {name for name, column in _COLUMNS.items() if getattr(column, "table", products) is products}


class _List:
    """Builds the query for one combination of filters and sort order."""

    def __init__(self, shape: tuple[Any, ...], *, is_personal: bool) -> None:
        self.filters, self.sort = shape
        self.is_personal = is_personal
        self.by_price = "price" in self.filters or any(sort.name == "price" for sort in self.sort)
        self.amount: Any = func.coalesce(BEST_PRICE.c.amount, prices.c.amount) if is_personal else prices.c.amount
        self.by_product = bool({"slug", "tags", "show_discontinued"} & self.filters) or any(
            sort.name in _OF_PRODUCTS for sort in self.sort
        )
        self._is_by_position = "one_taxon" in self.filters and any(sort.name == "position" for sort in self.sort)

    def chosen(self, *columns: Any, is_index_scan: bool = False) -> Select[Any]:
        """Selects the matching listings; `is_index_scan` scans them in index order instead of looking them up by
        facet.
        """
        source: Any = listings
        if any(sort.name == "sold" for sort in self.sort):
            source = source.join(listing_sales, listing_sales.c.product_id == listings.c.product_id)
        if self.by_product:
            source = source.join(products, products.c.id == listings.c.product_id)
        if self.by_price:
            source = source.join(prices, HAS_PRICE)
            if self.is_personal:
                source = source.outerjoin(BEST_PRICE, literal_column("true"))
        if self._is_by_position:
            is_in_taxon = and_(
                classifications.c.product_id == listings.c.product_id,
                classifications.c.taxon_id == sql_any(ids_param("taxons")),
            )
            source = source.outerjoin(classifications, is_in_taxon)
        return select(*columns).select_from(source).where(*self._conditions(is_index_scan=is_index_scan))

    def _conditions(self, *, is_index_scan: bool) -> list[ColumnElement[bool]]:
        visibility = IS_VISIBLE_OR_DISCONTINUED if "show_discontinued" in self.filters else IS_LISTED_NOW
        conditions = [visibility, IS_PRICED]
        conditions += [
            FILTERS[name]()
            for name in sorted(self.filters)
            if name in FILTERS and not (is_index_scan and name == "taxons")
        ]
        if is_index_scan and "taxons" in self.filters:
            conditions.append(listings.c.within_taxon_ids.overlap(ids_param("taxons")))
        if "price" in self.filters:
            conditions.append(self.amount >= bindparam("price_from", type_=BigInteger))
        if "price_end" in self.filters:
            conditions.append(self.amount <= bindparam("price_to", type_=BigInteger))
        if {"after", "after_nothing"} & self.filters:
            conditions.append(self._comes_after())
        return conditions

    def _comes_after(self) -> ColumnElement[bool]:
        """Returns the condition for rows after the cursor. Null is the largest value, as PostgreSQL sorts it."""
        (column, is_down), *ties = self.order()
        key, last_id = listings.c.product_id, bindparam("after_id", type_=ID)
        if not ties:
            return key < last_id if is_down else key > last_id
        if "after_nothing" in self.filters:
            tie = and_(column.is_(None), key > last_id)
            return or_(tie, column.is_not(None)) if is_down else tie
        last_value = bindparam("after", type_=column.type)
        later = or_(column < last_value if is_down else column > last_value, and_(column == last_value, key > last_id))
        return later if is_down else or_(later, column.is_(None))

    def order(self) -> list[tuple[Any, bool]]:
        """Returns the sort columns, each with whether it is descending: other columns, then price, then SKU,
        regardless of their order in the request, as in Spree.
        """
        rank = {"price": 1, "sku": 2}
        sorts = sorted(self.sort, key=lambda sort: rank.get(sort.name, 0))
        columns = [(self._column(sort), sort.is_descending) for sort in sorts]
        newest_first = not self.sort
        return [*(pair for pair in columns if pair[0] is not None), (listings.c.product_id, newest_first)]

    def _column(self, sort: Sort) -> Any:
        if sort.name == "price":
            return self.amount
        if sort.name == "position":
            return classifications.c.position if self._is_by_position else None
        return _COLUMNS[sort.name]


def _order_by(columns: Sequence[tuple[Any, bool]]) -> list[Any]:
    return [column.desc() if is_down else column.asc() for column, is_down in columns]


def _gather(product_list: _List, strategy: str) -> tuple[CTE, list[tuple[Any, bool]]]:
    """Selects all matches, or some search results with their ranks; returns the columns to sort them by, too."""
    order = [(column.label(f"by_{index}"), is_down) for index, (column, is_down) in enumerate(product_list.order())]
    columns = [listings.c.product_id, *(column for column, _ in order)]
    if strategy == "rank":
        rank = func.ts_rank(listings.c.search, text_query("q")).label("by_0")
        order, columns = [(rank, True), (listings.c.product_id, True)], [listings.c.product_id, rank]
    some = product_list.chosen(*columns)
    if strategy == "rank":
        some = some.limit(literal_column(str(RANK_LIMIT + 1)))
    matches = some.cte("gathered")
    return matches, [(matches.c[column.name], is_down) for column, is_down in order]


@lru_cache(maxsize=1024)
def _page(shape: tuple[Any, ...], strategy: str, row: Any, *, is_personal: bool) -> Statement[Any]:
    """Builds the statement of a page. `walk` scans an index in order until the page is full, which is fast if many rows
    match; `gather` finds all matches by their facets, counts and sorts them; `rank` does so for some search results.
    """
    product_list = _List(shape, is_personal=is_personal)
    most, skip = bindparam("most", type_=BigInteger), bindparam("skip", type_=BigInteger)
    if strategy == "walk":
        order = [(column.label(f"by_{index}"), is_down) for index, (column, is_down) in enumerate(product_list.order())]
        columns = [listings.c.product_id, *(column for column, _ in order)]
        page = (
            product_list.chosen(*columns, is_index_scan=True)
            .order_by(*_order_by(product_list.order()))
            .limit(most)
            .offset(skip)
            .cte("page")
        )
        total: Any = literal_column("null::bigint")
    else:
        matches, order = _gather(product_list, strategy)
        page = select(matches).order_by(*_order_by(order)).limit(most).offset(skip).cte("page")
        total = select(func.count()).select_from(matches).scalar_subquery()
    last = [(page.c[column.name], is_down) for column, is_down in order]
    clause = SELECT_BY_ROW[row](page, is_personal=is_personal).add_columns(
        total.label("total"), page.c[order[0][0].name].label("cursor_value")
    )
    clause = clause.order_by(*_order_by(last))
    return dynamic_statement(clause, into(row))


@lru_cache(maxsize=512)
def _matches(shape: tuple[Any, ...], strategy: str) -> Statement[ProductMatches]:
    matches, order = _gather(_List(shape, is_personal=False), strategy)
    first = select(matches.c.product_id).order_by(*_order_by(order)).limit(literal_column(str(MAX_MATCHES)))
    total = select(func.count()).select_from(matches).scalar_subquery()
    return dynamic_statement(
        select(func.array(first.scalar_subquery()), total),
        lambda record: ProductMatches(b"".join([each.bytes for each in record[0]]), record[1]),
    )


@lru_cache(maxsize=4)
def _matching(row: Any, *, is_personal: bool) -> Statement[Any]:
    ids = func.unnest(opaque_param("ids", ARRAY(ID))).table_valued(column("id", ID), name="asked").render_derived()
    page = select(ids.c.id.label("product_id")).cte("page")
    clause = SELECT_BY_ROW[row](page, is_personal=is_personal).where(IS_LISTED_NOW, IS_PRICED)
    return dynamic_statement(clause, into(row))


@lru_cache(maxsize=512)
def _count(shape: tuple[Any, ...], *, is_personal: bool) -> Statement[int]:
    some = _List(shape, is_personal=is_personal).chosen(listings.c.product_id).limit(EXACT + 1).subquery()
    return dynamic_statement(select(func.count()).select_from(some), lambda record: cast(int, record[0]))


@lru_cache(maxsize=512)
def _estimate(shape: tuple[Any, ...], *, is_personal: bool) -> Statement[int]:
    return explain(_List(shape, is_personal=is_personal).chosen(listings.c.product_id), plan_rows)


def _values(criteria: ProductQuery, pricing: Pricing) -> dict[str, Any]:
    values: dict[str, Any] = {"currency": criteria.currency, **pricing.values}
    for name in ("ids", "skus", "slug", "tags", "taxons", "concat_taxons", "option_value_ids", "marks"):
        values[name] = getattr(criteria, name)
    values |= {f"any_marks_{index}": marks for index, marks in enumerate(criteria.any_marks)}
    if isinstance(criteria.page, Keyset) and criteria.page.after:
        values["after"], values["after_id"] = criteria.page.after
    values["q"] = criteria.q and search_query(criteria.q)
    values["name"] = criteria.name and search_query(criteria.name, "A")
    if criteria.price:
        values["price_from"], values["price_to"] = criteria.price
    return values


def _strategy(criteria: ProductQuery, facets: Facets) -> str:
    if criteria.q and not criteria.sort:
        return "rank"
    if not (criteria.taxons or criteria.marks or criteria.any_marks or criteria.concat_taxons):
        return "gather" if criteria.q or criteria.name else "walk"
    counts = {facet.id: facet.product_count for facet in facets.values}
    groups = [*((mark,) for mark in criteria.marks), *criteria.any_marks]
    fewest = min([facets.in_scope, *(sum(counts.get(mark, 0) for mark in group) for group in groups)])
    # A scan quickly finds a facet that every fifth product has; `gather` would read all of these products.
    return "walk" if not criteria.concat_taxons and fewest * COMMON >= facets.everywhere else "gather"


async def list_products(
    db: DatabaseSession, criteria: ProductQuery, pricing: Pricing, facets: Facets, row: type[R]
) -> Sequence[R]:
    """Returns a page as rows of this type: whole products, or only what tells whether cached ones are current."""
    if criteria.is_nothing:
        return []
    query = _page(query_shape(criteria), _strategy(criteria, facets), row, is_personal=pricing.is_personal)
    page = criteria.page
    if isinstance(page, Keyset):
        # One more row than the page size detects a next page.
        return await db.all(query, **_values(criteria, pricing), most=page.size + 1, skip=0)
    return await db.all(query, **_values(criteria, pricing), most=page.size, skip=page.offset)


def has_stable_matches(criteria: ProductQuery, facets: Facets) -> bool:
    """Returns whether a page needs all matches, and only texts, taxons, options and properties decide which products
    match, and in which order: what `catalog_versions.matches` is the version of.
    """
    active, sort = query_shape(criteria)
    if not active <= _STABLE_FILTERS:
        return False
    # No index has the positions of a taxon with those of the taxons below it: all are sorted for each page.
    is_by_position = "one_taxon" in active and [each.name for each in sort] == ["position"]
    return is_by_position or (not sort and _strategy(criteria, facets) != "walk")


async def find_matches(db: DatabaseSession, criteria: ProductQuery, pricing: Pricing, facets: Facets) -> ProductMatches:
    """Returns the first products that match a query with stable matches, and their total number."""
    query = _matches(query_shape(criteria), _strategy(criteria, facets))
    found = (await db.all(query, **_values(criteria, pricing)))[0]
    return ProductMatches(found.ids, *await count_products(db, criteria, pricing, found.total))


async def list_matching(db: DatabaseSession, ids: Sequence[UUID], pricing: Pricing, row: type[R]) -> Sequence[R] | None:
    """Returns these products in this order; None if any of them is not sold now."""
    query, values = _matching(row, is_personal=pricing.is_personal), {"currency": pricing.currency, **pricing.values}
    rows = {each.id: each for each in await db.all(query, ids=ids, **values)} if ids else {}
    return [rows[product_id] for product_id in ids] if len(rows) == len(ids) else None


async def count_products(
    db: DatabaseSession, criteria: ProductQuery, pricing: Pricing, total: int | None = None
) -> tuple[int, bool]:
    """Returns the total number of products and whether it is an estimate."""
    if criteria.is_nothing:
        return 0, False
    is_ranked = bool(criteria.q) and not criteria.sort
    if total is not None and not (is_ranked and total > RANK_LIMIT):
        return total, False
    shape, values = query_shape(criteria), _values(criteria, pricing)
    least = RANK_LIMIT if is_ranked else EXACT
    # A page after the last one has no rows, and no total with them.
    if not is_ranked or total is None:
        count = await db.one(_count(shape, is_personal=pricing.is_personal), **values) or 0
        if count <= least:
            return count, False
    return max(await db.one(_estimate(shape, is_personal=pricing.is_personal), **values) or 0, least + 1), True
