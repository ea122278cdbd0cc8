"""How products are read as a shopper sees them: with their listings and what they cost; one by its slug or id."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, Select, Text, and_, bindparam, func, literal_column, or_, select
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.db.pool import Session
from shop.db.statements import Statement, among, into, shaped_statement
from shop.models.catalog.prices import prices
from shop.models.catalog.product_index import listings
from shop.models.catalog.products import product_slugs, products, variants
from shop.models.catalog.storefront import ShownProduct
from shop.queries.catalog.prices import Pricing, resolved

_ID = PG_UUID(as_uuid=True)
_master = variants.alias("master")
ONE = literal_column("1", BigInteger)
CURRENCY = bindparam("currency", type_=Text())
_is_available = or_(listings.c.available_on.is_(None), listings.c.available_on <= func.now())
_is_current = or_(listings.c.discontinue_on.is_(None), listings.c.discontinue_on > func.now())
# The times are looked at again: whoever keeps the listings may be late.
IS_SEEN = and_(listings.c.is_active, _is_available, _is_current)
IS_SEEN_TO_THE_END = and_(products.c.status == "active", products.c.deleted_at.is_(None), _is_available)
HAS_PRICE = and_(prices.c.variant_id == listings.c.default_variant_id, prices.c.currency == CURRENCY)
DECIDED = resolved(listings.c.default_variant_id, prices.c.amount, ONE, listings, prices)
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


def shown(page: Any, *, is_personal: bool) -> Select[Any]:
    """Products with their listings and what they cost."""
    listed = (
        page.join(listings, listings.c.product_id == page.c.product_id)
        .join(products, products.c.id == listings.c.product_id)
        .join(_master, _master.c.id == listings.c.master_id)
        .outerjoin(prices, HAS_PRICE)
    )
    amount: Any = prices.c.amount
    why: list[Any] = [
        literal_column("null::uuid").label("price_list_id"),
        literal_column("null::text").label("price_list_name"),
    ]
    if is_personal:
        listed = listed.outerjoin(DECIDED, literal_column("true"))
        amount = func.coalesce(DECIDED.c.amount, prices.c.amount)
        why = [DECIDED.c.id.label("price_list_id"), DECIDED.c.name.label("price_list_name")]
    return select(
        products,
        *(listings.c[name] for name in _SHOWN),
        _master.c.barcode,
        CURRENCY.label("currency"),
        amount.label("price"),
        prices.c.amount.label("base_price"),
        prices.c.compare_at_amount.label("compare_at_price"),
        IS_SEEN.label("available"),
        *why,
    ).select_from(listed)


@lru_cache(maxsize=8)
def _one_product(by: str, *, is_personal: bool) -> Statement[ShownProduct]:
    named = select(listings.c.product_id).join(products, products.c.id == listings.c.product_id)
    named = named.where(IS_SEEN_TO_THE_END)
    if by == "id":
        named = named.where(listings.c.product_id == bindparam("id", type_=_ID))
    else:
        # A slug of today before one of old.
        slug = bindparam("slug", type_=Text())
        others = products.alias("others")
        current = select(others.c.id).where(others.c.slug == slug, others.c.deleted_at.is_(None))
        old = select(product_slugs.c.product_id).where(product_slugs.c.slug == slug)
        named = named.where(listings.c.product_id == func.coalesce(current.scalar_subquery(), old.scalar_subquery()))
    return shaped_statement(shown(named.cte("page"), is_personal=is_personal), into(ShownProduct))


async def find_product(db: Session, key: UUID | str, pricing: Pricing) -> ShownProduct | None:
    """By id, or by a slug that it has or once had."""
    by = "id" if isinstance(key, UUID) else "slug"
    found = _one_product(by, is_personal=pricing.is_personal)
    return await db.one(found, **{by: key}, currency=pricing.currency, **pricing.values)


@lru_cache(maxsize=4)
def _of_ids(*, is_personal: bool) -> Statement[ShownProduct]:
    named = select(listings.c.product_id).join(products, products.c.id == listings.c.product_id)
    named = named.where(IS_SEEN_TO_THE_END, listings.c.product_id == among("ids", _ID))
    return shaped_statement(shown(named.cte("page"), is_personal=is_personal), into(ShownProduct))


async def list_products_of(db: Session, ids: Sequence[UUID], pricing: Pricing) -> Sequence[ShownProduct]:
    """Those of these that can be seen."""
    found = _of_ids(is_personal=pricing.is_personal)
    return await db.all(found, ids=list(ids), currency=pricing.currency, **pricing.values) if ids else []
