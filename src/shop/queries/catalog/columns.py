"""Additional columns of products and variants in the Platform API and the dashboard."""

from typing import Any

from sqlalchemy import BigInteger, ColumnElement, and_, case, func, or_, select
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.models.catalog.images import images
from shop.models.catalog.prices import price_lists, prices
from shop.models.catalog.product_index import listings
from shop.models.catalog.products import option_types, option_values, products, variant_option_values, variants
from shop.models.catalog.stock import stock_items, stock_locations
from shop.models.catalog.taxons import classifications, taxons
from shop.models.setup.shop import shops
from shop.queries.lookups import Lookup

_ID = PG_UUID(as_uuid=True)
SHOPS_CURRENCY: ColumnElement[Any] = select(shops.c.currencies[1]).scalar_subquery()
"""The shop's first currency, the default for prices."""


def is_visible() -> ColumnElement[bool]:
    """Returns whether a product is visible to shoppers now."""
    return and_(
        products.c.status == "active",
        products.c.deleted_at.is_(None),
        or_(products.c.available_on.is_(None), products.c.available_on <= func.now()),
    )


def is_not_discontinued() -> ColumnElement[bool]:
    return or_(products.c.discontinue_on.is_(None), products.c.discontinue_on > func.now())


def _listing_column(name: str) -> ColumnElement[Any]:
    clause = select(listings.c[name]).where(listings.c.product_id == products.c.id)
    return clause.correlate(products).scalar_subquery()


def shops_price(name: str, variant_id: Any) -> ColumnElement[Any]:
    """Returns a column of a variant's base price in the shop's first currency."""
    return (
        select(prices.c[name])
        .where(prices.c.variant_id == variant_id, prices.c.currency == SHOPS_CURRENCY)
        .scalar_subquery()
    )


TAXON_IMAGE_ID: ColumnElement[Any] = (
    select(images.c.id).where(images.c.taxon_id == taxons.c.id).correlate(taxons).scalar_subquery()
)
_POSITION: ColumnElement[Any] = (
    select(func.min(classifications.c.position))
    .where(classifications.c.product_id == products.c.id)
    .correlate(products)
    .scalar_subquery()
)
"""The lowest position of a product in its taxons."""
PRODUCT_COLUMNS: dict[str, ColumnElement[Any]] = {
    "primary_variant_id": _listing_column("master_id"),
    "default_variant_id": _listing_column("default_variant_id"),
    "sku": _listing_column("sku"),
    "in_stock": _listing_column("in_stock"),
    "backorderable": _listing_column("backorderable"),
    "available": and_(is_visible(), is_not_discontinued()),
    "currency": SHOPS_CURRENCY,
    "price": shops_price("amount", _listing_column("default_variant_id")),
    "compare_at_price": shops_price("compare_at_amount", _listing_column("default_variant_id")),
    "position": _POSITION,
}
MASTER_SKU = Lookup(
    variants.c.product_id,
    variants.c.sku,
    only=and_(variants.c.is_master, variants.c.sku != "", variants.c.deleted_at.is_(None)),
)

_at_variant = stock_items.join(
    stock_locations, and_(stock_locations.c.id == stock_items.c.stock_location_id, stock_locations.c.active)
)
ON_HAND = (
    # PostgreSQL sums bigint as numeric.
    select(sql_cast(func.coalesce(func.sum(stock_items.c.count_on_hand), 0), BigInteger))
    .select_from(_at_variant)
    .where(stock_items.c.variant_id == variants.c.id)
    .correlate(variants)
    .scalar_subquery()
)
BACKORDERABLE = (
    select(func.coalesce(func.bool_or(stock_items.c.backorderable), False))
    .select_from(_at_variant)
    .where(stock_items.c.variant_id == variants.c.id)
    .correlate(variants)
    .scalar_subquery()
)
OPTIONS_TEXT = func.coalesce(
    select(
        func.string_agg(option_types.c.presentation + ": " + option_values.c.presentation, ", ").aggregate_order_by(
            option_types.c.position, option_types.c.name
        )
    )
    .select_from(
        variant_option_values.join(option_values, option_values.c.id == variant_option_values.c.option_value_id).join(
            option_types, option_types.c.id == option_values.c.option_type_id
        )
    )
    .where(variant_option_values.c.variant_id == variants.c.id)
    .correlate(variants)
    .scalar_subquery(),
    "",
)
IN_STOCK = case((~variants.c.track_inventory, True), else_=ON_HAND > 0)

VARIANT_COLUMNS: dict[str, ColumnElement[Any]] = {
    "name": select(products.c.name).where(products.c.id == variants.c.product_id).scalar_subquery(),
    "options_text": OPTIONS_TEXT,
    "total_on_hand": ON_HAND,
    "in_stock": IN_STOCK,
    "backorderable": BACKORDERABLE,
    "available": and_(
        select(and_(is_visible(), is_not_discontinued()))
        .where(products.c.id == variants.c.product_id)
        .scalar_subquery(),
        or_(variants.c.discontinue_on.is_(None), variants.c.discontinue_on > func.now()),
    ),
    "currency": SHOPS_CURRENCY,
    "price": shops_price("amount", variants.c.id),
    "compare_at_price": shops_price("compare_at_amount", variants.c.id),
}


def entry_currency(table: Any) -> ColumnElement[Any]:
    return select(price_lists.c.currency).where(price_lists.c.id == table.c.price_list_id).scalar_subquery()
