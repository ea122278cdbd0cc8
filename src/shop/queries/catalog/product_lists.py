"""Product lists of the storefront: filters, sorting, pagination and totals.

A statement's shape depends on the request, so each shape is compiled once and cached. A page is selected from
`listings`; prices are joined to the rows of the page, and to all rows only where a price sorts or filters.
"""

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any, cast
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Select,
    Text,
    and_,
    bindparam,
    column,
    func,
    literal_column,
    or_,
    select,
    union_all,
)
from sqlalchemy import any_ as sql_any
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects.postgresql import ARRAY, REGCONFIG, TSQUERY
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.base.listing import Keyset, Sort
from shop.base.product_query import MOST_PAIRS, ProductQuery, query_shape, search_query
from shop.db.pool import DatabaseSession
from shop.db.statements import Statement, dynamic_statement, explain, into, statement
from shop.models.catalog.prices import prices
from shop.models.catalog.product_index import listing_sales, listings
from shop.models.catalog.products import (
    option_types,
    option_values,
    product_properties,
    products,
    properties,
    variant_option_values,
    variants,
)
from shop.models.catalog.storefront import Facets, ShownProduct
from shop.models.catalog.taxons import classifications
from shop.queries.catalog.prices import Pricing
from shop.queries.catalog.prices_shown import (
    BEST_PRICE,
    CURRENCY,
    HAS_PRICE,
    IS_LISTED_NOW,
    IS_VISIBLE_OR_DISCONTINUED,
    select_products_with_prices,
)
from shop.queries.records import EXACT, plan_rows

_ID = PG_UUID(as_uuid=True)
_IDS = ARRAY(_ID)
_TEXTS = ARRAY(Text())
RANK_LIMIT = 1_000
"""Maximum number of search results that are ranked and counted; ranking a very common word is pointless."""
COMMON = 5


def _query(name: str) -> ColumnElement[Any]:
    return func.to_tsquery(
        sql_cast(literal_column("'simple'"), REGCONFIG), bindparam(name, type_=Text()), type_=TSQUERY()
    )


# Has a base price in the currency: price lists change prices, not which products are sold.
_is_priced = listings.c.currencies.contains(func.array_append(literal_column("'{}'::text[]"), CURRENCY))
_marks = listings.c.within_taxon_ids.op("||")(listings.c.facet_ids)


def _has_all_options() -> ColumnElement[bool]:
    """Returns whether one variant has a requested value of every option type among the requested values."""
    value_ids = bindparam("option_value_ids", type_=_IDS)
    types = select(func.count(option_values.c.option_type_id.distinct())).where(
        option_values.c.id == sql_any(value_ids)
    )
    fitting = (
        select(variants.c.product_id)
        .join(variant_option_values, variant_option_values.c.variant_id == variants.c.id)
        .join(option_values, option_values.c.id == variant_option_values.c.option_value_id)
        .where(variants.c.deleted_at.is_(None), option_values.c.id == sql_any(value_ids))
        .group_by(variants.c.id)
        .having(func.count(option_values.c.option_type_id.distinct()) == types.scalar_subquery())
    )
    return listings.c.product_id.in_(fitting)


def _ids(name: str) -> Any:
    return bindparam(name, type_=_IDS)


def _has_any(name: str) -> ColumnElement[bool]:
    return _marks.op("&&")(_ids(name))


_FILTERS: dict[str, Any] = {
    "ids": lambda: listings.c.product_id == sql_any(_ids("ids")),
    "skus": lambda: listings.c.product_id.in_(
        select(variants.c.product_id).where(
            variants.c.sku == sql_any(bindparam("skus", type_=_TEXTS)), variants.c.deleted_at.is_(None)
        )
    ),
    "slug": lambda: products.c.slug == bindparam("slug", type_=Text()),
    "tags": lambda: products.c.tags.overlap(bindparam("tags", type_=_TEXTS)),
    "taxons": lambda: _marks.op("&&")(_ids("taxons")),
    "concat_taxons": lambda: _marks.op("@>")(_ids("concat_taxons")),
    "marks": lambda: _marks.op("@>")(_ids("marks")),
    **{f"any_marks_{place}": partial(_has_any, f"any_marks_{place}") for place in range(MOST_PAIRS)},
    "name": lambda: listings.c.search.op("@@")(_query("name")),
    "q": lambda: listings.c.search.op("@@")(_query("q")),
    "option_value_ids": _has_all_options,
    "in_stock": lambda: listings.c.in_stock,
    "backorderable": lambda: listings.c.backorderable,
    "purchasable": lambda: and_(IS_LISTED_NOW, or_(listings.c.in_stock, listings.c.backorderable)),
}
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


def _name_pairs(name: str) -> Any:
    """Returns pairs of names as a table."""
    arrays = func.unnest(bindparam(f"{name}_owners", type_=_TEXTS), bindparam(f"{name}_values", type_=_TEXTS))
    return arrays.table_valued(column("owner", Text), column("value", Text), name=f"wanted_{name}").render_derived(
        name=f"wanted_{name}"
    )


class _List:
    """Builds the query for one shape of list."""

    def __init__(self, shape: tuple[Any, ...], *, is_personal: bool) -> None:
        self.asked, self.sort = shape
        self.is_personal = is_personal
        self.by_price = "price" in self.asked or any(sort.name == "price" for sort in self.sort)
        self.amount: Any = func.coalesce(BEST_PRICE.c.amount, prices.c.amount) if is_personal else prices.c.amount
        self.by_product = bool({"slug", "tags", "show_discontinued"} & self.asked) or any(
            sort.name in _OF_PRODUCTS for sort in self.sort
        )
        self._is_placed = "one_taxon" in self.asked and any(sort.name == "position" for sort in self.sort)

    def chosen(self, *columns: Any, is_walk: bool = False) -> Select[Any]:
        """Selects the matching listings; `is_walk` scans them in index order instead of looking them up by marks."""
        source: Any = listings
        if any(sort.name == "sold" for sort in self.sort):
            source = source.join(listing_sales, listing_sales.c.product_id == listings.c.product_id)
        if self.by_product:
            source = source.join(products, products.c.id == listings.c.product_id)
        if self.by_price:
            source = source.join(prices, HAS_PRICE)
            if self.is_personal:
                source = source.outerjoin(BEST_PRICE, literal_column("true"))
        if self._is_placed:
            place = and_(
                classifications.c.product_id == listings.c.product_id,
                classifications.c.taxon_id == sql_any(_ids("taxons")),
            )
            source = source.outerjoin(classifications, place)
        return select(*columns).select_from(source).where(*self._conditions(is_walk=is_walk))

    def _conditions(self, *, is_walk: bool) -> list[ColumnElement[bool]]:
        visibility = IS_VISIBLE_OR_DISCONTINUED if "show_discontinued" in self.asked else IS_LISTED_NOW
        conditions = [visibility, _is_priced]
        conditions += [
            _FILTERS[name]() for name in sorted(self.asked) if name in _FILTERS and not (is_walk and name == "taxons")
        ]
        if is_walk and "taxons" in self.asked:
            conditions.append(listings.c.within_taxon_ids.overlap(_ids("taxons")))
        if "price" in self.asked:
            conditions.append(self.amount >= bindparam("price_from", type_=BigInteger))
        if "price_end" in self.asked:
            conditions.append(self.amount <= bindparam("price_to", type_=BigInteger))
        if {"after", "after_nothing"} & self.asked:
            conditions.append(self._comes_after())
        return conditions

    def _comes_after(self) -> ColumnElement[bool]:
        """Returns the condition for rows after the cursor. Null is the largest value, as PostgreSQL sorts it."""
        (column, is_down), *ties = self.order()
        key, last_id = listings.c.product_id, bindparam("after_id", type_=_ID)
        if not ties:
            return key < last_id if is_down else key > last_id
        if "after_nothing" in self.asked:
            tie = and_(column.is_(None), key > last_id)
            return or_(tie, column.is_not(None)) if is_down else tie
        place = bindparam("after", type_=column.type)
        later = or_(column < place if is_down else column > place, and_(column == place, key > last_id))
        return later if is_down else or_(later, column.is_(None))

    def order(self) -> list[tuple[Any, bool]]:
        """Returns the sort columns, each with whether it is descending: other columns, then price, then SKU, whatever
        their order in the request, as in Spree.
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
            return classifications.c.position if self._is_placed else None
        return _COLUMNS[sort.name]


def _order_by(columns: Sequence[tuple[Any, bool]]) -> list[Any]:
    return [column.desc() if is_down else column.asc() for column, is_down in columns]


@lru_cache(maxsize=1024)
def _page(shape: tuple[Any, ...], way: str, *, is_personal: bool) -> Statement[ShownProduct]:
    """Builds the statement of a page. `walk` scans an index in order until the page is full, which is fast if many rows
    match; `gather` finds all matches by their marks, counts and sorts them; `rank` does so for some search results.
    """
    product_list = _List(shape, is_personal=is_personal)
    most, skip = bindparam("most", type_=BigInteger), bindparam("skip", type_=BigInteger)
    order = [(column.label(f"by_{place}"), is_down) for place, (column, is_down) in enumerate(product_list.order())]
    columns = [listings.c.product_id, *(column for column, _ in order)]
    if way == "walk":
        page = (
            product_list.chosen(*columns, is_walk=True)
            .order_by(*_order_by(product_list.order()))
            .limit(most)
            .offset(skip)
            .cte("page")
        )
        total: Any = literal_column("null::bigint")
    else:
        if way == "rank":
            rank = func.ts_rank(listings.c.search, _query("q")).label("by_0")
            order, columns = [(rank, True), (listings.c.product_id, True)], [listings.c.product_id, rank]
        some = product_list.chosen(*columns)
        if way == "rank":
            some = some.limit(literal_column(str(RANK_LIMIT + 1)))
        matches = some.cte("gathered")
        inner = [(matches.c[column.name], is_down) for column, is_down in order]
        page = select(matches).order_by(*_order_by(inner)).limit(most).offset(skip).cte("page")
        total = select(func.count()).select_from(matches).scalar_subquery()
    last = [(page.c[column.name], is_down) for column, is_down in order]
    clause = select_products_with_prices(page, is_personal=is_personal).add_columns(
        total.label("total"), page.c[order[0][0].name].label("place")
    )
    clause = clause.order_by(*_order_by(last))
    return dynamic_statement(clause, into(ShownProduct))


@lru_cache(maxsize=512)
def _count(shape: tuple[Any, ...], *, is_personal: bool) -> Statement[int]:
    some = _List(shape, is_personal=is_personal).chosen(listings.c.product_id).limit(EXACT + 1).subquery()
    return dynamic_statement(select(func.count()).select_from(some), lambda record: cast(int, record[0]))


@lru_cache(maxsize=512)
def _estimate(shape: tuple[Any, ...], *, is_personal: bool) -> Statement[int]:
    return explain(_List(shape, is_personal=is_personal).chosen(listings.c.product_id), plan_rows)


def _values(wishes: ProductQuery, pricing: Pricing) -> dict[str, Any]:
    values: dict[str, Any] = {"currency": wishes.currency, **pricing.values}
    for name in ("ids", "skus", "slug", "tags", "taxons", "concat_taxons", "option_value_ids", "marks"):
        values[name] = getattr(wishes, name)
    values |= {f"any_marks_{place}": marks for place, marks in enumerate(wishes.any_marks)}
    if isinstance(wishes.page, Keyset) and wishes.page.after:
        values["after"], values["after_id"] = wishes.page.after
    values["q"] = wishes.q and search_query(wishes.q)
    values["name"] = wishes.name and search_query(wishes.name, "A")
    if wishes.price:
        values["price_from"], values["price_to"] = wishes.price
    return values


def _way(wishes: ProductQuery, facets: Facets) -> str:
    if wishes.q and not wishes.sort:
        return "rank"
    if not (wishes.taxons or wishes.marks or wishes.any_marks or wishes.concat_taxons):
        return "gather" if wishes.q or wishes.name else "walk"
    counts = {facet.id: facet.product_count for facet in facets.values}
    groups = [*((mark,) for mark in wishes.marks), *wishes.any_marks]
    fewest = min([facets.in_scope, *(sum(counts.get(mark, 0) for mark in group) for group in groups)])
    # A scan finds a mark that every fifth product has quickly; gathering would read all of them.
    return "walk" if not wishes.concat_taxons and fewest * COMMON >= facets.everywhere else "gather"


async def list_products(
    db: DatabaseSession, wishes: ProductQuery, pricing: Pricing, facets: Facets
) -> Sequence[ShownProduct]:
    if wishes.is_nothing:
        return []
    query = _page(query_shape(wishes), _way(wishes, facets), is_personal=pricing.is_personal)
    page = wishes.page
    if isinstance(page, Keyset):
        # One more row than the page size detects a next page.
        return await db.all(query, **_values(wishes, pricing), most=page.size + 1, skip=0)
    return await db.all(query, **_values(wishes, pricing), most=page.size, skip=page.offset)


async def count_products(
    db: DatabaseSession, wishes: ProductQuery, pricing: Pricing, total: int | None = None
) -> tuple[int, bool]:
    """Returns the total number of products and whether it is an estimate."""
    if wishes.is_nothing:
        return 0, False
    is_ranked = bool(wishes.q) and not wishes.sort
    if total is not None and not (is_ranked and total > RANK_LIMIT):
        return total, False
    shape, values = query_shape(wishes), _values(wishes, pricing)
    if not is_ranked:
        count = await db.one(_count(shape, is_personal=pricing.is_personal), **values) or 0
        if count <= EXACT:
            return count, False
    least = RANK_LIMIT if is_ranked else EXACT
    return max(await db.one(_estimate(shape, is_personal=pricing.is_personal), **values) or 0, least + 1), True


_options, _properties = _name_pairs("options"), _name_pairs("properties")
_MARKS = statement(
    union_all(
        select(literal_column("'options'", Text), option_types.c.name, option_values.c.id)
        .join(option_types, option_types.c.id == option_values.c.option_type_id)
        .join(_options, and_(option_types.c.name == _options.c.owner, option_values.c.name == _options.c.value)),
        select(literal_column("'properties'", Text), properties.c.name, product_properties.c.facet_id)
        .select_from(product_properties)
        .join(properties, properties.c.id == product_properties.c.property_id)
        .join(
            _properties,
            and_(properties.c.name == _properties.c.owner, product_properties.c.filter_param == _properties.c.value),
        )
        .distinct(),
    ),
    lambda record: (cast(str, record[0]), cast(str, record[1]), cast(UUID, record[2])),
)
_PROPERTY_NAMES = statement(
    select(properties.c.name).order_by(properties.c.name).limit(literal_column("10000")),
    lambda record: cast(str, record[0]),
)


async def list_property_names(db: DatabaseSession) -> list[str]:
    return await db.all(_PROPERTY_NAMES)


async def find_marks(db: DatabaseSession, wishes: ProductQuery) -> list[tuple[UUID, ...]]:
    """Returns the facets of each option and property filter; an empty tuple matches no product."""
    pairs = {
        "options": wishes.options,
        "properties": [(name, value) for name, values in wishes.properties for value in values],
    }
    values = {
        f"{name}_{part}": [pair[place] for pair in filters]
        for name, filters in pairs.items()
        for place, part in enumerate(("owners", "values"))
    }
    rows = await db.all(_MARKS, **values)
    filters = [("options", name) for name, _ in wishes.options] + [
        ("properties", name) for name, _ in wishes.properties
    ]
    return [tuple(mark for kind, owner, mark in rows if (kind, owner) == each) for each in filters]
