"""Products with their listings and prices as a shopper sees them."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, Select, Text, and_, bindparam, func, literal_column, or_, select
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.db.pool import DatabaseSession
from shop.db.statements import Statement, any_of, dynamic_statement, into
from shop.models.catalog.prices import prices
from shop.models.catalog.product_index import listings
from shop.models.catalog.products import product_slugs, products, variants
from shop.models.catalog.storefront import StorefrontProduct
from shop.queries.catalog.prices import Pricing, select_best_price

_ID = PG_UUID(as_uuid=True)
_master = variants.alias("master")
ONE = literal_column("1", BigInteger)
CURRENCY = bindparam("currency", type_=Text())
_is_available = or_(listings.c.available_on.is_(None), listings.c.available_on <= func.now())
_is_current = or_(listings.c.discontinue_on.is_(None), listings.c.discontinue_on > func.now())
# Checks the dates again, since the refresh of listings may be late.
IS_LISTED_NOW = and_(listings.c.is_active, _is_available, _is_current)
IS_VISIBLE_OR_DISCONTINUED = and_(products.c.status == "active", products.c.deleted_at.is_(None), _is_available)
HAS_PRICE = and_(prices.c.variant_id == listings.c.default_variant_id, prices.c.currency == CURRENCY)
BEST_PRICE = select_best_price(listings.c.default_variant_id, prices.c.amount, ONE, listings, prices)
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


def select_products_with_prices(page: Any, *, is_personal: bool) -> Select[Any]:
    """Selects the products of a page with their listings and prices."""
    source = (
        page.join(listings, listings.c.product_id == page.c.product_id)
        .join(products, products.c.id == listings.c.product_id)
        .join(_master, _master.c.id == listings.c.master_id)
        .outerjoin(prices, HAS_PRICE)
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
        CURRENCY.label("currency"),
        amount.label("price"),
        prices.c.amount.label("base_price"),
        prices.c.compare_at_amount.label("compare_at_price"),
        IS_LISTED_NOW.label("available"),
        *price_list,
    ).select_from(source)


@lru_cache(maxsize=8)
def _one_product(by: str, *, is_personal: bool) -> Statement[StorefrontProduct]:
    page = select(listings.c.product_id).join(products, products.c.id == listings.c.product_id)
    page = page.where(IS_VISIBLE_OR_DISCONTINUED)
    if by == "id":
        page = page.where(listings.c.product_id == bindparam("id", type_=_ID))
    else:
        # A current slug takes precedence over an old one.
        slug = bindparam("slug", type_=Text())
        others = products.alias("others")
        current = select(others.c.id).where(others.c.slug == slug, others.c.deleted_at.is_(None))
        old = select(product_slugs.c.product_id).where(product_slugs.c.slug == slug)
        page = page.where(listings.c.product_id == func.coalesce(current.scalar_subquery(), old.scalar_subquery()))
    return dynamic_statement(
        select_products_with_prices(page.cte("page"), is_personal=is_personal), into(StorefrontProduct)
    )


async def find_product(db: DatabaseSession, key: UUID | str, pricing: Pricing) -> StorefrontProduct | None:
    """Finds a product by its id, or by a current or former slug."""
    by = "id" if isinstance(key, UUID) else "slug"
    query = _one_product(by, is_personal=pricing.is_personal)
    return await db.one(query, **{by: key}, currency=pricing.currency, **pricing.values)


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
