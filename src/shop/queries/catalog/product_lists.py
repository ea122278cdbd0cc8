"""Which products are listed: by every filter and in every order, a page of them, and how many there are.

A statement's shape depends on the request, so it is compiled once per shape and kept. A page is found in `listings`;
what each product costs is joined to the page's rows, and to all of them only where a personal price sorts or filters.
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

from shop.base.browsing import MOST_PAIRS, ProductWishes, search_query, shape_of
from shop.base.listing import Keyset, Sort
from shop.db.pool import Session
from shop.db.statements import Statement, into, planned, shaped_statement, statement
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
from shop.queries.catalog.prices_shown import CURRENCY, DECIDED, HAS_PRICE, IS_SEEN, IS_SEEN_TO_THE_END, shown
from shop.queries.records import EXACT, plan_rows

_ID = PG_UUID(as_uuid=True)
_IDS = ARRAY(_ID)
_TEXTS = ARRAY(Text())
RANKED = 1_000
"""Of what a search finds, so many are ranked and counted: a word that half the shop has in common ranks nothing."""
COMMON = 5


def _query(name: str) -> ColumnElement[Any]:
    return func.to_tsquery(
        sql_cast(literal_column("'simple'"), REGCONFIG), bindparam(name, type_=Text()), type_=TSQUERY()
    )


# Sold in the currency: a list may change what a customer pays, and not what the shop sells.
_is_priced = listings.c.currencies.contains(func.array_append(literal_column("'{}'::text[]"), CURRENCY))
_marks = listings.c.within_taxon_ids.op("||")(listings.c.facet_ids)


def _has_all_options() -> ColumnElement[bool]:
    """Of one variant the values that are named: as many option types as they are of."""
    wanted = bindparam("option_value_ids", type_=_IDS)
    types = select(func.count(option_values.c.option_type_id.distinct())).where(option_values.c.id == sql_any(wanted))
    fitting = (
        select(variants.c.product_id)
        .join(variant_option_values, variant_option_values.c.variant_id == variants.c.id)
        .join(option_values, option_values.c.id == variant_option_values.c.option_value_id)
        .where(variants.c.deleted_at.is_(None), option_values.c.id == sql_any(wanted))
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
    "purchasable": lambda: and_(IS_SEEN, or_(listings.c.in_stock, listings.c.backorderable)),
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


def _named(name: str) -> Any:
    """Pairs of names as a table."""
    given = func.unnest(bindparam(f"{name}_owners", type_=_TEXTS), bindparam(f"{name}_values", type_=_TEXTS))
    return given.table_valued(column("owner", Text), column("value", Text), name=f"wanted_{name}").render_derived(
        name=f"wanted_{name}"
    )


class _List:
    """How one shape of list is chosen."""

    def __init__(self, shape: tuple[Any, ...], *, is_personal: bool) -> None:
        self.asked, self.sort = shape
        self.is_personal = is_personal
        self.by_price = "price" in self.asked or any(sort.name == "price" for sort in self.sort)
        self.amount: Any = func.coalesce(DECIDED.c.amount, prices.c.amount) if is_personal else prices.c.amount
        self.by_product = bool({"slug", "tags", "show_discontinued"} & self.asked) or any(
            sort.name in _OF_PRODUCTS for sort in self.sort
        )
        self._is_placed = "one_taxon" in self.asked and any(sort.name == "position" for sort in self.sort)

    def chosen(self, *columns: Any, is_walk: bool = False) -> Select[Any]:
        """The listings that fit. On a walk they are looked at one after the other, and not looked up by their marks."""
        source: Any = listings
        if any(sort.name == "sold" for sort in self.sort):
            source = source.join(listing_sales, listing_sales.c.product_id == listings.c.product_id)
        if self.by_product:
            source = source.join(products, products.c.id == listings.c.product_id)
        if self.by_price:
            source = source.join(prices, HAS_PRICE)
            if self.is_personal:
                source = source.outerjoin(DECIDED, literal_column("true"))
        if self._is_placed:
            place = and_(
                classifications.c.product_id == listings.c.product_id,
                classifications.c.taxon_id == sql_any(_ids("taxons")),
            )
            source = source.outerjoin(classifications, place)
        return select(*columns).select_from(source).where(*self._conditions(is_walk=is_walk))

    def _conditions(self, *, is_walk: bool) -> list[ColumnElement[bool]]:
        seen = IS_SEEN_TO_THE_END if "show_discontinued" in self.asked else IS_SEEN
        found = [seen, _is_priced]
        found += [
            _FILTERS[name]() for name in sorted(self.asked) if name in _FILTERS and not (is_walk and name == "taxons")
        ]
        if is_walk and "taxons" in self.asked:
            found.append(listings.c.within_taxon_ids.overlap(_ids("taxons")))
        if "price" in self.asked:
            found.append(self.amount >= bindparam("price_from", type_=BigInteger))
        if "price_end" in self.asked:
            found.append(self.amount <= bindparam("price_to", type_=BigInteger))
        if {"after", "after_nothing"} & self.asked:
            found.append(self._comes_after())
        return found

    def _comes_after(self) -> ColumnElement[bool]:
        """After the last product of the page before. Null counts as the largest, as the database sorts it."""
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
        """Columns before the price, then the number, whatever their order in the wish, as the family does it; each with
        whether the largest comes first.
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


def _ordered(columns: Sequence[tuple[Any, bool]]) -> list[Any]:
    return [column.desc() if is_down else column.asc() for column, is_down in columns]


@lru_cache(maxsize=1024)
def _page(shape: tuple[Any, ...], way: str, *, is_personal: bool) -> Statement[ShownProduct]:
    """`walk`: in the order of an index, until the page is full, which is quick where much fits. `gather`: all that fit
    are found by what they have in common, counted and sorted. `rank`: so are some that a search finds.
    """
    found = _List(shape, is_personal=is_personal)
    most, skip = bindparam("most", type_=BigInteger), bindparam("skip", type_=BigInteger)
    order = [(column.label(f"by_{place}"), is_down) for place, (column, is_down) in enumerate(found.order())]
    columns = [listings.c.product_id, *(column for column, _ in order)]
    if way == "walk":
        page = (
            found.chosen(*columns, is_walk=True).order_by(*_ordered(found.order())).limit(most).offset(skip).cte("page")
        )
        total: Any = literal_column("null::bigint")
    else:
        if way == "rank":
            rank = func.ts_rank(listings.c.search, _query("q")).label("by_0")
            order, columns = [(rank, True), (listings.c.product_id, True)], [listings.c.product_id, rank]
        some = found.chosen(*columns)
        if way == "rank":
            some = some.limit(literal_column(str(RANKED + 1)))
        gathered = some.cte("gathered")
        inner = [(gathered.c[column.name], is_down) for column, is_down in order]
        page = select(gathered).order_by(*_ordered(inner)).limit(most).offset(skip).cte("page")
        total = select(func.count()).select_from(gathered).scalar_subquery()
    last = [(page.c[column.name], is_down) for column, is_down in order]
    clause = shown(page, is_personal=is_personal).add_columns(
        total.label("total"), page.c[order[0][0].name].label("place")
    )
    clause = clause.order_by(*_ordered(last))
    return shaped_statement(clause, into(ShownProduct))


@lru_cache(maxsize=512)
def _count(shape: tuple[Any, ...], *, is_personal: bool) -> Statement[int]:
    some = _List(shape, is_personal=is_personal).chosen(listings.c.product_id).limit(EXACT + 1).subquery()
    return shaped_statement(select(func.count()).select_from(some), lambda record: cast(int, record[0]))


@lru_cache(maxsize=512)
def _estimate(shape: tuple[Any, ...], *, is_personal: bool) -> Statement[int]:
    return planned(_List(shape, is_personal=is_personal).chosen(listings.c.product_id), plan_rows)


def _values(wishes: ProductWishes, pricing: Pricing) -> dict[str, Any]:
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


def _way(wishes: ProductWishes, facets: Facets) -> str:
    if wishes.q and not wishes.sort:
        return "rank"
    if not (wishes.taxons or wishes.marks or wishes.any_marks or wishes.concat_taxons):
        return "gather" if wishes.q or wishes.name else "walk"
    counts = {facet.id: facet.product_count for facet in facets.values}
    groups = [*((mark,) for mark in wishes.marks), *wishes.any_marks]
    fewest = min([facets.in_scope, *(sum(counts.get(mark, 0) for mark in group) for group in groups)])
    # A walk meets what every fifth product has soon enough, and gathering it would touch them all.
    return "walk" if not wishes.concat_taxons and fewest * COMMON >= facets.everywhere else "gather"


async def list_products(db: Session, wishes: ProductWishes, pricing: Pricing, facets: Facets) -> Sequence[ShownProduct]:
    if wishes.is_nothing:
        return []
    found = _page(shape_of(wishes), _way(wishes, facets), is_personal=pricing.is_personal)
    page = wishes.page
    if isinstance(page, Keyset):
        # One more tells whether there is a next page.
        return await db.all(found, **_values(wishes, pricing), most=page.size + 1, skip=0)
    return await db.all(found, **_values(wishes, pricing), most=page.size, skip=page.offset)


async def count_products(
    db: Session, wishes: ProductWishes, pricing: Pricing, gathered: int | None = None
) -> tuple[int, bool]:
    """How many there are in all, and whether that is an estimate."""
    if wishes.is_nothing:
        return 0, False
    ranked = bool(wishes.q) and not wishes.sort
    if gathered is not None and not (ranked and gathered > RANKED):
        return gathered, False
    shape, values = shape_of(wishes), _values(wishes, pricing)
    if not ranked:
        count = await db.one(_count(shape, is_personal=pricing.is_personal), **values) or 0
        if count <= EXACT:
            return count, False
    least = RANKED if ranked else EXACT
    return max(await db.one(_estimate(shape, is_personal=pricing.is_personal), **values) or 0, least + 1), True


_options, _properties = _named("options"), _named("properties")
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


async def list_property_names(db: Session) -> list[str]:
    return await db.all(_PROPERTY_NAMES)


async def find_marks(db: Session, wishes: ProductWishes) -> list[tuple[UUID, ...]]:
    """The facets of each option and each property that is named; an empty one is no product's."""
    pairs = {
        "options": wishes.options,
        "properties": [(name, value) for name, values in wishes.properties for value in values],
    }
    values = {
        f"{name}_{part}": [pair[place] for pair in named]
        for name, named in pairs.items()
        for place, part in enumerate(("owners", "values"))
    }
    found = await db.all(_MARKS, **values)
    named = [("options", name) for name, _ in wishes.options] + [("properties", name) for name, _ in wishes.properties]
    return [tuple(mark for kind, owner, mark in found if (kind, owner) == each) for each in named]
