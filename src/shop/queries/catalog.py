"""Which products a shopper sees: lists by every filter and order, one by its slug or id, and what may be filtered by.

A statement's shape depends on the request, so it is compiled once per shape and kept. A page is found in `listings`;
what each product costs is joined to the page's rows, and to all of them only where a personal price sorts or filters.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, cast
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Select,
    Text,
    and_,
    bindparam,
    exists,
    func,
    literal_column,
    or_,
    select,
)
from sqlalchemy import any_ as sql_any
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects.postgresql import ARRAY, REGCONFIG, TSQUERY
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.base.browsing import ProductWishes, search_query, shape_of
from shop.base.listing import Sort
from shop.db.pool import Session
from shop.db.statements import Statement, into, shaped_statement
from shop.models.catalog import ShownProduct
from shop.models.listings import listings
from shop.models.prices import price_list_entries, prices
from shop.models.products import (
    option_types,
    option_values,
    product_properties,
    product_slugs,
    products,
    properties,
    variant_option_values,
    variants,
)
from shop.models.taxons import classifications
from shop.queries.prices import Pricing, resolved
from shop.queries.records import EXACT, plan_rows

_ID = PG_UUID(as_uuid=True)
_IDS = ARRAY(_ID)
_TEXTS = ARRAY(Text())
_currency = bindparam("currency", type_=Text())
_master = variants.alias("master")
_one = literal_column("1", BigInteger)
RANKED = 1_000
"""Of what a search finds, so many are ranked: a word that half the shop has in common ranks nothing."""

_is_seen = and_(listings.c.is_active, or_(listings.c.available_on.is_(None), listings.c.available_on <= func.now()))
_is_current = or_(listings.c.discontinue_on.is_(None), listings.c.discontinue_on > func.now())
_has_price = and_(prices.c.variant_id == listings.c.default_variant_id, prices.c.currency == _currency)
_decided = resolved(listings.c.default_variant_id, prices.c.amount, _one, listings, prices)
_SHOWN = (
    "master_id",
    "default_variant_id",
    "variant_ids",
    "option_type_ids",
    "property_ids",
    "taxon_ids",
    "image_ids",
    "sku",
    "in_stock",
    "backorderable",
)


def _query(name: str) -> ColumnElement[Any]:
    return func.to_tsquery(
        sql_cast(literal_column("'simple'"), REGCONFIG), bindparam(name, type_=Text()), type_=TSQUERY()
    )


def _is_priced(*, is_personal: bool) -> ColumnElement[bool]:
    """Sold in the currency: to anybody, or to this customer by an entry of a list of theirs."""
    base = listings.c.currencies.contains(func.array_append(literal_column("'{}'::text[]"), _currency))
    if not is_personal:
        return base
    entry = exists().where(
        price_list_entries.c.variant_id == listings.c.default_variant_id,
        price_list_entries.c.price_list_id == sql_any(bindparam("lists", type_=_IDS)),
        price_list_entries.c.min_quantity <= _one,
    )
    return or_(base, entry)


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


def _option(place: int) -> Any:
    named = (
        select(option_values.c.id)
        .join(option_types, option_types.c.id == option_values.c.option_type_id)
        .where(
            option_types.c.name == bindparam(f"option_type_{place}", type_=Text()),
            option_values.c.name == bindparam(f"option_value_{place}", type_=Text()),
        )
    )
    return listings.c.facet_ids.overlap(func.array(named.scalar_subquery()))


def _property(place: int) -> Any:
    named = (
        select(product_properties.c.facet_id)
        .join(properties, properties.c.id == product_properties.c.property_id)
        .where(
            properties.c.name == bindparam(f"property_{place}", type_=Text()),
            product_properties.c.filter_param == bindparam(f"value_{place}", type_=Text()),
        )
        .limit(_one)
    )
    return listings.c.facet_ids.overlap(func.array(named.scalar_subquery()))


def _ids(name: str) -> Any:
    return bindparam(name, type_=_IDS)


_FILTERS: dict[str, Any] = {
    "ids": lambda: listings.c.product_id == sql_any(_ids("ids")),
    "skus": lambda: listings.c.product_id.in_(
        select(variants.c.product_id).where(
            variants.c.sku == sql_any(bindparam("skus", type_=_TEXTS)), variants.c.deleted_at.is_(None)
        )
    ),
    "slug": lambda: products.c.slug == bindparam("slug", type_=Text()),
    "tags": lambda: products.c.tags.overlap(bindparam("tags", type_=_TEXTS)),
    "taxons": lambda: listings.c.within_taxon_ids.overlap(_ids("taxons")),
    "concat_taxons": lambda: listings.c.within_taxon_ids.contains(_ids("concat_taxons")),
    "name": lambda: listings.c.search.op("@@")(_query("name")),
    "q": lambda: listings.c.search.op("@@")(_query("q")),
    "option_value_ids": _has_all_options,
    "in_stock": lambda: listings.c.in_stock,
    "backorderable": lambda: listings.c.backorderable,
    "purchasable": lambda: or_(listings.c.in_stock, listings.c.backorderable),
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
    "sold": listings.c.sold_count,
}


class _List:
    """How one shape of list is chosen."""

    def __init__(self, shape: tuple[Any, ...], *, is_personal: bool) -> None:
        self.asked, self.options, self.properties, self.sort, self.has_position = shape
        self.is_personal = is_personal
        self.by_price = "price" in self.asked or any(sort.name == "price" for sort in self.sort)
        self.amount: Any = func.coalesce(_decided.c.amount, prices.c.amount) if is_personal else prices.c.amount
        self.by_product = bool({"slug", "tags"} & self.asked) or any(
            getattr(_COLUMNS.get(sort.name), "table", None) is products for sort in self.sort
        )

    def chosen(self, *columns: Any) -> Select[Any]:
        """The listings that fit."""
        source: Any = listings
        if self.by_product:
            source = source.join(products, products.c.id == listings.c.product_id)
        if self.by_price:
            source = source.outerjoin(prices, _has_price) if self.is_personal else source.join(prices, _has_price)
            if self.is_personal:
                source = source.outerjoin(_decided, literal_column("true"))
        if self._placed:
            place = and_(
                classifications.c.product_id == listings.c.product_id,
                classifications.c.taxon_id == sql_any(_ids("taxons")),
            )
            source = source.outerjoin(classifications, place)
        return select(*columns).select_from(source).where(*self._conditions())

    @property
    def _placed(self) -> bool:
        return self.has_position and any(sort.name == "position" for sort in self.sort)

    def _conditions(self) -> list[ColumnElement[bool]]:
        found = [_is_seen, _is_priced(is_personal=self.is_personal)]
        if "show_discontinued" not in self.asked:
            found.append(_is_current)
        found += [_FILTERS[name]() for name in sorted(self.asked) if name in _FILTERS]
        found += [_option(place) for place in range(self.options)]
        found += [_property(place) for place in range(self.properties)]
        if "price" in self.asked:
            found.append(self.amount >= bindparam("price_from", type_=BigInteger))
        if "price_end" in self.asked:
            found.append(self.amount <= bindparam("price_to", type_=BigInteger))
        return found

    def order(self) -> list[Any]:
        """Columns before the price, then the number, whatever their order in the wish, as the family does it."""
        rank = {"price": 1, "sku": 2}
        terms = []
        for sort in sorted(self.sort, key=lambda sort: rank.get(sort.name, 0)):
            column = self._column(sort)
            if column is not None:
                terms.append(column.desc() if sort.is_descending else column.asc())
        newest_first = not self.sort
        return [*terms, listings.c.product_id.desc() if newest_first else listings.c.product_id]

    def _column(self, sort: Sort) -> Any:
        if sort.name == "price":
            return self.amount
        if sort.name == "position":
            return classifications.c.position if self._placed else None
        return _COLUMNS[sort.name]


@lru_cache(maxsize=1024)
def _page(shape: tuple[Any, ...], *, is_personal: bool) -> Statement[ShownProduct]:
    found = _List(shape, is_personal=is_personal)
    limits = {"limit": bindparam("most", type_=BigInteger), "offset": bindparam("skip", type_=BigInteger)}
    if "q" in found.asked and not found.sort:
        rank = func.ts_rank(listings.c.search, _query("q")).label("rank")
        some = found.chosen(listings.c.product_id, rank).limit(literal_column(str(RANKED))).subquery("some")
        order = [some.c.rank.desc(), some.c.product_id.desc()]
        ids = select(some.c.product_id, func.row_number().over(order_by=order).label("place")).order_by(*order)
    else:
        order = found.order()
        ids = found.chosen(listings.c.product_id, func.row_number().over(order_by=order).label("place")).order_by(
            *order
        )
        if not found.sort:
            # Without the numbering the newest are read from the index, as many as the page has.
            ids = found.chosen(listings.c.product_id, literal_column("0").label("place")).order_by(*order)
    page = ids.limit(limits["limit"]).offset(limits["offset"]).cte("page")
    clause = _shown(page, is_personal=is_personal).order_by(page.c.place, listings.c.product_id.desc())
    return shaped_statement(clause, into(ShownProduct))


def _shown(page: Any, *, is_personal: bool) -> Select[Any]:
    """Products with their listings and what they cost."""
    listed = (
        page.join(listings, listings.c.product_id == page.c.product_id)
        .join(products, products.c.id == listings.c.product_id)
        .join(_master, _master.c.id == listings.c.master_id)
        .outerjoin(prices, _has_price)
    )
    amount: Any = prices.c.amount
    why: list[Any] = [
        literal_column("null::uuid").label("price_list_id"),
        literal_column("null::text").label("price_list_name"),
    ]
    if is_personal:
        listed = listed.outerjoin(_decided, literal_column("true"))
        amount = func.coalesce(_decided.c.amount, prices.c.amount)
        why = [_decided.c.id.label("price_list_id"), _decided.c.name.label("price_list_name")]
    return select(
        products,
        *(listings.c[name] for name in _SHOWN),
        _master.c.barcode,
        _currency.label("currency"),
        amount.label("price"),
        prices.c.amount.label("base_price"),
        prices.c.compare_at_amount.label("compare_at_price"),
        and_(_is_seen, _is_current).label("available"),
        *why,
    ).select_from(listed)


@lru_cache(maxsize=512)
def _count(shape: tuple[Any, ...], *, is_personal: bool) -> Statement[int]:
    some = _List(shape, is_personal=is_personal).chosen(listings.c.product_id).limit(EXACT + 1).subquery()
    return shaped_statement(select(func.count()).select_from(some), lambda record: cast(int, record[0]))


@lru_cache(maxsize=512)
def _estimate(shape: tuple[Any, ...], *, is_personal: bool) -> Statement[int]:
    made = shaped_statement(_List(shape, is_personal=is_personal).chosen(listings.c.product_id), plan_rows)
    return Statement(f"EXPLAIN (FORMAT JSON) {made.sql}", made.parameters, made.constants, False, made.read)


def _values(wishes: ProductWishes, pricing: Pricing) -> dict[str, Any]:
    values: dict[str, Any] = {"currency": wishes.currency, **pricing.values}
    for name in ("ids", "skus", "slug", "tags", "taxons", "concat_taxons", "option_value_ids"):
        values[name] = getattr(wishes, name)
    values["q"] = wishes.q and search_query(wishes.q)
    values["name"] = wishes.name and search_query(wishes.name, "A")
    if wishes.price:
        values["price_from"], values["price_to"] = wishes.price
    for place, (kind, value) in enumerate(wishes.options):
        values[f"option_type_{place}"], values[f"option_value_{place}"] = kind, value
    for place, (name, value) in enumerate(wishes.properties):
        values[f"property_{place}"], values[f"value_{place}"] = name, value
    return values


async def list_products(db: Session, wishes: ProductWishes, pricing: Pricing) -> Sequence[ShownProduct]:
    if wishes.is_nothing:
        return []
    found = _page(shape_of(wishes), is_personal=pricing.is_personal)
    page = wishes.page
    return await db.all(found, **_values(wishes, pricing), most=page.size, skip=page.offset)


async def count_products(db: Session, wishes: ProductWishes, pricing: Pricing) -> tuple[int, bool]:
    """How many there are in all, and whether that is an estimate."""
    if wishes.is_nothing:
        return 0, False
    shape, values = shape_of(wishes), _values(wishes, pricing)
    count = await db.one(_count(shape, is_personal=pricing.is_personal), **values) or 0
    if count <= EXACT:
        return count, False
    return max(await db.one(_estimate(shape, is_personal=pricing.is_personal), **values) or 0, EXACT + 1), True


@lru_cache(maxsize=8)
def _one_product(by: str, *, is_personal: bool) -> Statement[ShownProduct]:
    named = select(listings.c.product_id).where(_is_seen)
    if by == "id":
        named = named.where(listings.c.product_id == bindparam("id", type_=_ID))
    else:
        # A slug of today before one of old.
        slug = bindparam("slug", type_=Text())
        current = select(products.c.id).where(products.c.slug == slug, products.c.deleted_at.is_(None))
        old = select(product_slugs.c.product_id).where(product_slugs.c.slug == slug)
        named = named.where(listings.c.product_id == func.coalesce(current.scalar_subquery(), old.scalar_subquery()))
    return shaped_statement(_shown(named.cte("page"), is_personal=is_personal), into(ShownProduct))


async def find_product(db: Session, key: UUID | str, pricing: Pricing) -> ShownProduct | None:
    """By id, or by a slug that it has or once had."""
    by = "id" if isinstance(key, UUID) else "slug"
    found = _one_product(by, is_personal=pricing.is_personal)
    return await db.one(found, **{by: key}, currency=pricing.currency, **pricing.values)


@lru_cache(maxsize=4)
def _of_ids(*, is_personal: bool) -> Statement[ShownProduct]:
    named = select(listings.c.product_id).where(_is_seen, listings.c.product_id == sql_any(_ids("ids"))).cte("page")
    return shaped_statement(_shown(named, is_personal=is_personal), into(ShownProduct))


async def list_products_of(db: Session, ids: Sequence[UUID], pricing: Pricing) -> Sequence[ShownProduct]:
    """Those of these that can be seen."""
    found = _of_ids(is_personal=pricing.is_personal)
    return await db.all(found, ids=list(ids), currency=pricing.currency, **pricing.values) if ids else []
