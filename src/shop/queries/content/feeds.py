"""The statement of merchant feeds: the variants that are sold, in the order of their ids."""

from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, and_, bindparam, func, literal_column, or_, select
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.db.pool import DatabaseSession
from shop.db.statements import into, statement
from shop.models.catalog.images import images
from shop.models.catalog.prices import prices
from shop.models.catalog.product_index import listings
from shop.models.catalog.products import (
    option_types,
    option_values,
    product_properties,
    products,
    properties,
    variant_option_values,
    variants,
)
from shop.models.content.public_urls import FeedOffer
from shop.queries.catalog.columns import BACKORDERABLE, IN_STOCK
from shop.queries.catalog.priced_products import CURRENCY, IS_LISTED_NOW

_has_variants = func.cardinality(listings.c.variant_ids) > 0
# The master is sold only if there are no other variants.
_is_sold = and_(
    variants.c.deleted_at.is_(None),
    or_(variants.c.discontinue_on.is_(None), variants.c.discontinue_on > func.now()),
    or_(~variants.c.is_master, ~_has_variants),
)
_options: Any = func.coalesce(
    select(
        func.jsonb_agg(func.jsonb_build_array(option_types.c.name, option_values.c.presentation)).aggregate_order_by(
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
    literal_column("'[]'::jsonb"),
)
_brand = (
    select(product_properties.c.value)
    .join(properties, properties.c.id == product_properties.c.property_id)
    .where(product_properties.c.product_id == products.c.id, func.lower(properties.c.name) == "brand")
    .order_by(product_properties.c.position, product_properties.c.id)
    .limit(literal_column("1"))
    .correlate(products)
    .scalar_subquery()
)
# The variant's own image, or else the product's, or else that of another variant.
_image = (
    select(images.c.id, images.c.width)
    .where(images.c.product_id == products.c.id)
    .order_by(
        (images.c.variant_id == variants.c.id).desc(),
        (images.c.variant_id == listings.c.master_id).desc(),
        images.c.position,
        images.c.id,
    )
    .limit(literal_column("1"))
    .correlate(products, variants, listings)
    .lateral("image")
)
_OFFERS = statement(
    select(
        variants.c.id,
        variants.c.product_id,
        variants.c.sku,
        variants.c.barcode,
        products.c.name,
        products.c.slug,
        products.c.description,
        _has_variants.label("has_variants"),
        IN_STOCK.label("in_stock"),
        BACKORDERABLE.label("backorderable"),
        _options.label("options"),
        _brand.label("brand"),
        prices.c.amount.label("price"),
        prices.c.compare_at_amount.label("compare_at_price"),
        _image.c.id.label("image_id"),
        _image.c.width.label("image_width"),
    )
    .select_from(
        variants.join(listings, listings.c.product_id == variants.c.product_id)
        .join(products, products.c.id == variants.c.product_id)
        .join(prices, and_(prices.c.variant_id == variants.c.id, prices.c.currency == CURRENCY))
        .outerjoin(_image, literal_column("true"))
    )
    .where(variants.c.id > bindparam("after", type_=PG_UUID(as_uuid=True)), _is_sold, IS_LISTED_NOW)
    .order_by(variants.c.id)
    .limit(bindparam("most", type_=BigInteger)),
    into(FeedOffer),
)


async def list_offers_after(db: DatabaseSession, currency: str, after: UUID, most: int) -> list[FeedOffer]:
    """Returns the next variants that are sold at a price in this currency."""
    return await db.all(_OFFERS, currency=currency, after=after, most=most)
