"""Products with their listings and prices as a shopper sees them."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Select,
    Text,
    and_,
    bindparam,
    func,
    literal_column,
    or_,
    select,
    tuple_,
    union_all,
)
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.db.pool import DatabaseSession
from shop.db.statements import Statement, any_of, dynamic_statement, into, into_parts, parameter_rows
from shop.models.catalog.prices import prices
from shop.models.catalog.product_index import listings, product_versions
from shop.models.catalog.products import product_slugs, products, variants
from shop.models.catalog.storefront import ProductMoment, ProductOnPage, StorefrontProduct
from shop.models.catalog.taxons import classifications
from shop.queries.catalog.prices import Pricing, select_best_price
from shop.queries.catalog.versions import CatalogState, catalog_state

_ID = PG_UUID(as_uuid=True)
_master = variants.alias("master")
ONE = literal_column("1", BigInteger)
CURRENCY = bindparam("currency", type_=Text())
_is_available = or_(listings.c.available_on.is_(None), listings.c.available_on <= func.now())
_is_current = or_(listings.c.discontinue_on.is_(None), listings.c.discontinue_on > func.now())
# Checks the dates again, since the refresh of listings may be late.
IS_LISTED_NOW = and_(listings.c.is_active, _is_available, _is_current)
IS_VISIBLE_OR_DISCONTINUED = and_(products.c.status == "active", products.c.deleted_at.is_(None), _is_available)


def _has_price(currency: Any) -> Any:
    return and_(prices.c.variant_id == listings.c.default_variant_id, prices.c.currency == currency)


HAS_PRICE = _has_price(CURRENCY)
BEST_PRICE = select_best_price(listings.c.default_variant_id, prices.c.amount, ONE, listings, prices)
_IS_DUE = func.coalesce(listings.c.next_look_at <= func.now(), literal_column("false")).label("is_due")
# Has a base price in the currency: price lists change prices, not which products are sold.
IS_PRICED = listings.c.currencies.contains(func.array_append(literal_column("'{}'::text[]"), CURRENCY))
_LISTING_COLUMNS = (
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


def select_products_with_prices(page: Any, *, is_personal: bool, callers: Any = None) -> Select[Any]:
    """Selects the products of a page, or all products if it is None, with their listings and prices in the currency of
    the parameter, or in those of the rows `callers`.
    """
    source: Any = listings if page is None else page.join(listings, listings.c.product_id == page.c.product_id)
    currency: Any = CURRENCY
    if callers is not None:
        source, currency = callers.join(listings, literal_column("true")), callers.c.currency
    source = (
        source.join(products, products.c.id == listings.c.product_id)
        .join(_master, _master.c.id == listings.c.master_id)
        .outerjoin(prices, _has_price(currency))
    )
    amount: Any = prices.c.amount
    price_list: list[Any] = [
        literal_column("null::uuid").label("price_list_id"),
        literal_column("null::text").label("price_list_name"),
    ]
    if is_personal:
        source = source.outerjoin(BEST_PRICE, literal_column("true"))
        amount = func.coalesce(BEST_PRICE.c.amount, prices.c.amount)
        price_list = [BEST_PRICE.c.id.label("price_list_id"), BEST_PRICE.c.name.label("price_list_name")]
    return select(
        products,
        *(listings.c[name] for name in _LISTING_COLUMNS),
        _master.c.barcode,
        currency.label("currency"),
        amount.label("price"),
        prices.c.amount.label("base_price"),
        prices.c.compare_at_amount.label("compare_at_price"),
        IS_LISTED_NOW.label("available"),
        *price_list,
    ).select_from(source)


def select_versions_with_prices(page: Any, *, is_personal: bool) -> Select[Any]:
    """Selects what tells whether the cached documents of a page's products are current, and personal prices."""
    source = page.join(listings, listings.c.product_id == page.c.product_id).outerjoin(
        product_versions, product_versions.c.product_id == listings.c.product_id
    )
    amount: Any = literal_column("null::bigint")
    if is_personal:
        source = source.outerjoin(prices, HAS_PRICE).outerjoin(BEST_PRICE, literal_column("true"))
        amount = func.coalesce(BEST_PRICE.c.amount, prices.c.amount)
    return select(
        listings.c.product_id.label("id"),
        product_versions.c.version,
        listings.c.default_variant_id,
        IS_LISTED_NOW.label("available"),
        _IS_DUE,
        amount.label("price"),
    ).select_from(source)


SELECT_BY_ROW: dict[Any, Any] = {
    StorefrontProduct: select_products_with_prices,
    ProductOnPage: select_versions_with_prices,
}


def _select_by_key(clause: Any, key: Any) -> Any:
    """Restricts a selection of products to the visible one with this id or slug."""
    clause = clause.where(IS_VISIBLE_OR_DISCONTINUED)
    if key.key == "id":
        return clause.where(listings.c.product_id == key)
    # A current slug takes precedence over an old one.
    others = products.alias("others")
    current = select(others.c.id).where(others.c.slug == key, others.c.deleted_at.is_(None))
    old = select(product_slugs.c.product_id).where(product_slugs.c.slug == key)
    return clause.where(listings.c.product_id == func.coalesce(current.scalar_subquery(), old.scalar_subquery()))


_MOMENT_WIDTH = len(ProductMoment.__struct_fields__)
_KEY_TYPES: dict[str, Any] = {"id": _ID, "slug": Text()}


@lru_cache(maxsize=4)
def _one_product(by: str, *, is_personal: bool) -> Statement[StorefrontProduct]:
    key: Any = bindparam(by, type_=_KEY_TYPES[by])
    clause = _select_by_key(select_products_with_prices(None, is_personal=is_personal), key)
    return dynamic_statement(clause, into(StorefrontProduct))


def _select_moment(clause: Any, key: Any) -> Any:
    """Adds the columns of `ProductMoment` and of `CatalogState` to a selection of products."""
    current_version = select(product_versions.c.version).where(product_versions.c.product_id == listings.c.product_id)
    version, is_listed = current_version.scalar_subquery().label("version"), IS_LISTED_NOW.label("available")
    return clause.add_columns(
        key.label("key"), listings.c.product_id, version, is_listed, _IS_DUE, *catalog_state.subquery().c
    )


@lru_cache(maxsize=2)
def _products_and_moments(by: str) -> Statement[Any]:
    callers = parameter_rows(**{by: _KEY_TYPES[by]}, currency=Text())
    products_of = select_products_with_prices(None, is_personal=False, callers=callers)
    clause = _select_moment(_select_by_key(products_of, callers.c[by]), callers.c[by])
    return dynamic_statement(clause, into_parts(StorefrontProduct, len(products_of.selected_columns)))


@lru_cache(maxsize=2)
def _moments(by: str) -> Statement[tuple[ProductMoment, CatalogState]]:
    callers = parameter_rows(**{by: _KEY_TYPES[by]})
    source = callers.join(listings, literal_column("true")).join(products, products.c.id == listings.c.product_id)
    clause = _select_by_key(select().select_from(source), callers.c[by])
    return dynamic_statement(_select_moment(clause, callers.c[by]), _read_moment)


def _read_moment(values: Sequence[Any]) -> tuple[ProductMoment, CatalogState]:
    return ProductMoment(*values[:_MOMENT_WIDTH]), CatalogState(*values[_MOMENT_WIDTH:])


def _key(key: UUID | str) -> str:
    return "id" if isinstance(key, UUID) else "slug"


async def find_product(db: DatabaseSession, key: UUID | str, pricing: Pricing) -> StorefrontProduct | None:
    """Finds a product by its id, or by a current or former slug."""
    query = _one_product(_key(key), is_personal=pricing.is_personal)
    return await db.one(query, **{_key(key): key}, currency=pricing.currency, **pricing.values)


async def find_product_and_moment(
    db: DatabaseSession, key: UUID | str, currency: str
) -> tuple[StorefrontProduct, ProductMoment, CatalogState] | None:
    """Finds a product like `find_product`, at its regular price."""
    rows = await db.combined(_products_and_moments(_key(key)), **{_key(key): key}, currency=currency)
    for product, values in rows:
        moment, state = _read_moment(values)
        if (moment.key, product.currency) == (key, currency):
            return product, moment, state
    return None


async def find_moment(db: DatabaseSession, key: UUID | str) -> tuple[ProductMoment, CatalogState] | None:
    rows = await db.combined(_moments(_key(key)), **{_key(key): key})
    return next((row for row in rows if row[0].key == key), None)


@lru_cache(maxsize=4)
def _of_ids(*, is_personal: bool) -> Statement[StorefrontProduct]:
    page = select(listings.c.product_id).join(products, products.c.id == listings.c.product_id)
    page = page.where(IS_VISIBLE_OR_DISCONTINUED, listings.c.product_id == any_of("ids", _ID))
    return dynamic_statement(
        select_products_with_prices(page.cte("page"), is_personal=is_personal), into(StorefrontProduct)
    )


async def list_products_of(db: DatabaseSession, ids: Sequence[UUID], pricing: Pricing) -> Sequence[StorefrontProduct]:
    """Returns the visible products among these ids."""
    query = _of_ids(is_personal=pricing.is_personal)
    return await db.all(query, ids=list(ids), currency=pricing.currency, **pricing.values) if ids else []


@lru_cache(maxsize=2)
def _neighbors(*, is_personal: bool) -> Statement[StorefrontProduct]:
    """Builds the statement of the products around one product of a taxon; walks the index in both directions."""
    product_id, taxon_id = bindparam("product_id", type_=_ID), bindparam("taxon_id", type_=_ID)
    own, most = classifications.alias("own"), bindparam("most", type_=BigInteger)
    place = select(own.c.position).where(own.c.product_id == product_id, own.c.taxon_id == taxon_id).scalar_subquery()
    key, own_key = tuple_(classifications.c.position, classifications.c.product_id), tuple_(place, product_id)

    def walk(rank: int, side: ColumnElement[bool]) -> Any:
        rank_column = literal_column(str(rank), BigInteger).label("rank")
        source = classifications.join(listings, listings.c.product_id == classifications.c.product_id)
        return (
            select(classifications.c.product_id, classifications.c.position, rank_column)
            .select_from(source)
            .where(classifications.c.taxon_id == taxon_id, side, IS_LISTED_NOW, IS_PRICED)
            .order_by(classifications.c.position, classifications.c.product_id)
            .limit(most)
            .subquery()
            .select()
        )

    around = union_all(walk(0, key > own_key), walk(1, key < own_key)).subquery()
    order = (around.c.rank, around.c.position, around.c.product_id)
    page = select(around).order_by(*order).limit(most).cte("page")
    clause = select_products_with_prices(page, is_personal=is_personal)
    return dynamic_statement(clause.order_by(page.c.rank, page.c.position, page.c.product_id), into(StorefrontProduct))


async def list_neighbors(
    db: DatabaseSession, product_id: UUID, taxon_id: UUID, pricing: Pricing, most: int
) -> Sequence[StorefrontProduct]:
    """Returns the products that follow one product in a taxon; after the last one, those from the start."""
    values = {"product_id": product_id, "taxon_id": taxon_id, "most": most, "currency": pricing.currency}
    return await db.all(_neighbors(is_personal=pricing.is_personal), **values, **pricing.values)
