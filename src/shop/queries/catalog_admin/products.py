"""Statements for the dashboard's product pages."""

from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any
from uuid import UUID

import msgspec
from sqlalchemy import BigInteger, ColumnElement, Text, and_, bindparam, func, literal_column, or_, select
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects.postgresql import ARRAY, REGCONFIG
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.base.listing import CursorPosition
from shop.db.pool import DatabaseSession
from shop.db.statements import Statement, any_of, dynamic_statement, into, statement
from shop.models.catalog.images import images
from shop.models.catalog.prices import Price, prices
from shop.models.catalog.product_index import listings
from shop.models.catalog.products import (
    OptionType,
    OptionValue,
    ProductProperty,
    Property,
    Variant,
    option_types,
    option_values,
    product_option_types,
    product_properties,
    products,
    properties,
    variant_option_values,
    variants,
)
from shop.models.catalog.stock import stock_items, stock_locations
from shop.queries.catalog.columns import ON_HAND, OPTIONS_TEXT
from shop.queries.dashboard import SortOrder, load_page, paginate

_ID = PG_UUID(as_uuid=True)
_IDS = ARRAY(_ID)
_product_id = bindparam("product_id", type_=_ID)
_any_id = any_of("ids", _ID)


class ProductFilter(msgspec.Struct, frozen=True):
    """Filters for products; `None` disables a filter."""

    query: str | None = None
    """A PostgreSQL `tsquery`."""
    status: str | None = None
    stock: str | None = None
    """`out`: out of stock and not backorderable; `in`: all others."""


SORTS: Mapping[str, SortOrder] = {
    "newest": SortOrder(products.c.created_at),
    "oldest": SortOrder(products.c.created_at, is_ascending=True),
    "name": SortOrder(products.c.name, is_ascending=True),
    "changed": SortOrder(products.c.updated_at),
}


class ListedProduct(msgspec.Struct, frozen=True):
    """A row of the product list, with the lowest and highest price in the requested currency."""

    id: UUID
    name: str
    status: str
    created_at: datetime
    updated_at: datetime
    sku: str
    variant_count: int
    lowest: int | None
    highest: int | None
    on_hand: int
    is_out: bool
    image_id: UUID | None
    image_width: int | None
    image_height: int | None


class AdminVariant(Variant, frozen=True, kw_only=True):
    """A variant with its options as text and by id, and its stock."""

    options_text: str
    option_value_ids: list[UUID]
    total_on_hand: int

    @property
    def label(self) -> str:
        """Returns the display name of the variant within its product."""
        return self.options_text or ("The product itself" if self.is_master else "No options")


class VariantStock(msgspec.Struct, frozen=True):
    """The stock of a variant at one location; `item_id` is `None` if there is no stock item."""

    variant_id: UUID
    location_id: UUID
    location_name: str
    item_id: UUID | None
    count_on_hand: int


class ChosenOptionType(OptionType, frozen=True, kw_only=True):
    """An option type and its position in a product; `None` if the product does not have it."""

    product_position: int | None


class NamedProperty(ProductProperty, frozen=True, kw_only=True):
    """A product property with the property's presentation."""

    presentation: str


# Variants of a product that are for sale: its master only if it has no others.
_is_sold = and_(
    variants.c.product_id == products.c.id,
    variants.c.deleted_at.is_(None),
    or_(~variants.c.is_master, func.cardinality(listings.c.variant_ids) == 0),
)
_currency = bindparam("currency", type_=Text())


def _amount(which: Any) -> ColumnElement[Any]:
    return (
        select(which(prices.c.amount))
        .select_from(variants.join(prices, prices.c.variant_id == variants.c.id))
        .where(_is_sold, prices.c.currency == _currency)
        .correlate(products, listings)
        .scalar_subquery()
    )


def _image(column: Any) -> ColumnElement[Any]:
    # PostgreSQL arrays start at 1; an index out of range yields null.
    return select(column).where(images.c.id == listings.c.image_ids[1]).correlate(listings).scalar_subquery()


_on_hand = (
    select(func.coalesce(func.sum(stock_items.c.count_on_hand), 0))
    .select_from(
        variants.join(stock_items, stock_items.c.variant_id == variants.c.id).join(
            stock_locations,
            and_(stock_locations.c.id == stock_items.c.stock_location_id, stock_locations.c.active),
        )
    )
    .where(_is_sold)
    .correlate(products, listings)
    .scalar_subquery()
)
_is_out = and_(~listings.c.in_stock, ~listings.c.backorderable)
_BY_STOCK = {"out": _is_out, "in": ~_is_out}
_listed_columns: tuple[Any, ...] = (
    products.c.id,
    products.c.name,
    products.c.status,
    products.c.created_at,
    products.c.updated_at,
    listings.c.sku,
    func.cardinality(listings.c.variant_ids).label("variant_count"),
    _amount(func.min).label("lowest"),
    _amount(func.max).label("highest"),
    sql_cast(_on_hand, BigInteger).label("on_hand"),
    _is_out.label("is_out"),
    _image(images.c.id).label("image_id"),
    _image(images.c.width).label("image_width"),
    _image(images.c.height).label("image_height"),
)


def matches_search(query: Any) -> ColumnElement[bool]:
    """Returns whether a listing matches a `tsquery` of `prefix_query`."""
    return listings.c.search.op("@@")(func.to_tsquery(literal_column("'simple'", REGCONFIG()), query))


def filter_products(clause: Any, *, is_searched: bool, status: str | None, stock: str | None) -> Any:
    """Adds the conditions of a `ProductFilter` to a statement over products and listings."""
    if is_searched:
        clause = clause.where(matches_search(bindparam("query", type_=Text())))
    if status:
        clause = clause.where(products.c.status == bindparam("status", type_=Text()))
    return clause.where(_BY_STOCK[stock]) if stock else clause


@lru_cache(maxsize=256)
def _list_statement(
    is_searched: bool, status: str | None, stock: str | None, sort: str, side: str | None
) -> Statement[ListedProduct]:
    clause = (
        select(*_listed_columns)
        .select_from(products.join(listings, listings.c.product_id == products.c.id))
        .where(products.c.deleted_at.is_(None))
    )
    clause = filter_products(clause, is_searched=is_searched, status=status, stock=stock)
    return dynamic_statement(paginate(clause, SORTS[sort], products.c.id, side), into(ListedProduct))


_value_ids = func.array(
    select(variant_option_values.c.option_value_id)
    .where(variant_option_values.c.variant_id == variants.c.id)
    .correlate(variants)
    .scalar_subquery(),
    type_=_IDS,
)
_VARIANTS = statement(
    select(
        variants,
        OPTIONS_TEXT.label("options_text"),
        _value_ids.label("option_value_ids"),
        sql_cast(ON_HAND, BigInteger).label("total_on_hand"),
    )
    .where(variants.c.product_id == _product_id, variants.c.deleted_at.is_(None))
    .order_by(variants.c.is_master.desc(), variants.c.position, variants.c.id),
    into(AdminVariant),
)
_PRICES = statement(select(prices).where(prices.c.variant_id == _any_id), into(Price))
_STOCK = statement(
    select(
        variants.c.id.label("variant_id"),
        stock_locations.c.id.label("location_id"),
        stock_locations.c.name.label("location_name"),
        stock_items.c.id.label("item_id"),
        func.coalesce(stock_items.c.count_on_hand, 0).label("count_on_hand"),
    )
    .select_from(
        variants.join(stock_locations, literal_column("true")).outerjoin(
            stock_items,
            and_(stock_items.c.variant_id == variants.c.id, stock_items.c.stock_location_id == stock_locations.c.id),
        )
    )
    .where(variants.c.id == _any_id, or_(stock_locations.c.active, stock_items.c.id.is_not(None)))
    .order_by(stock_locations.c.default.desc(), stock_locations.c.name),
    into(VariantStock),
)
_OPTION_TYPES = statement(
    select(option_types, product_option_types.c.position.label("product_position"))
    .select_from(
        option_types.outerjoin(
            product_option_types,
            and_(
                product_option_types.c.option_type_id == option_types.c.id,
                product_option_types.c.product_id == _product_id,
            ),
        )
    )
    .order_by(product_option_types.c.position.asc().nulls_last(), option_types.c.position, option_types.c.name),
    into(ChosenOptionType),
)
_OPTION_VALUES = statement(
    select(option_values)
    .where(option_values.c.option_type_id == _any_id)
    .order_by(option_values.c.position, option_values.c.name, option_values.c.id),
    into(OptionValue),
)
_PROPERTIES = statement(
    select(product_properties, properties.c.presentation)
    .join(properties, properties.c.id == product_properties.c.property_id)
    .where(product_properties.c.product_id == _product_id)
    .order_by(product_properties.c.position, product_properties.c.id),
    into(NamedProperty),
)
_ALL_PROPERTIES = statement(select(properties).order_by(properties.c.presentation), into(Property))


async def list_products(
    db: DatabaseSession,
    product_filter: ProductFilter,
    cursor: CursorPosition | None,
    *,
    currency: str,
    most: int,
    sort: str = "newest",
) -> list[ListedProduct]:
    return await load_page(
        db,
        _list_statement(
            product_filter.query is not None,
            product_filter.status and "-",
            product_filter.stock,
            sort,
            cursor.side if cursor else None,
        ),
        cursor,
        query=product_filter.query,
        status=product_filter.status,
        currency=currency,
        most=most,
    )


async def list_variants(db: DatabaseSession, product_id: UUID) -> list[AdminVariant]:
    """Returns the variants of a product, the master first."""
    return await db.all(_VARIANTS, product_id=product_id)


async def list_prices(db: DatabaseSession, variant_ids: list[UUID]) -> list[Price]:
    return await db.all(_PRICES, ids=variant_ids)


async def list_stock(db: DatabaseSession, variant_ids: list[UUID]) -> list[VariantStock]:
    """Returns the stock of each variant at each location that is active or has a stock item of it."""
    return await db.all(_STOCK, ids=variant_ids)


async def list_option_types(db: DatabaseSession, product_id: UUID) -> list[ChosenOptionType]:
    """Returns all option types, the product's own first."""
    return await db.all(_OPTION_TYPES, product_id=product_id)


async def list_option_values(db: DatabaseSession, type_ids: list[UUID]) -> list[OptionValue]:
    return await db.all(_OPTION_VALUES, ids=type_ids)


async def list_product_properties(db: DatabaseSession, product_id: UUID) -> list[NamedProperty]:
    return await db.all(_PROPERTIES, product_id=product_id)


async def list_properties(db: DatabaseSession) -> list[Property]:
    return await db.all(_ALL_PROPERTIES)
