"""Current prices and availability of variants for a customer, in one statement."""

from collections.abc import Mapping
from decimal import Decimal
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
    case,
    column,
    exists,
    func,
    literal,
    literal_column,
    or_,
    select,
)
from sqlalchemy import any_ as sql_any
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.db.pool import DatabaseSession
from shop.db.statements import Statement, dynamic_statement, into, opaque_param
from shop.models.cart.quotes import Quote
from shop.models.catalog.prices import prices
from shop.models.catalog.products import products, variants
from shop.models.catalog.stock import stock_items, stock_locations
from shop.models.setup.taxes import DEFAULT_SHIPPING_CATEGORY, tax_categories
from shop.queries.catalog.columns import OPTIONS_TEXT, is_not_discontinued, is_visible
from shop.queries.catalog.prices import Pricing, select_best_price

_ID = PG_UUID(as_uuid=True)
_IDS = ARRAY(_ID)
_quantities = (
    func.unnest(opaque_param("ids", _IDS), opaque_param("quantities", ARRAY(BigInteger)))
    .table_valued(column("id", _ID), column("quantity", BigInteger), name="asked")
    .render_derived()
)
_others = variants.alias("others")
_is_purchasable = or_(
    ~variants.c.is_master,
    ~exists()
    .where(_others.c.product_id == variants.c.product_id, ~_others.c.is_master, _others.c.deleted_at.is_(None))
    .correlate(variants),
)
"""A master can be bought only if there are no other variants."""
IS_SOLD = and_(
    is_visible(),
    is_not_discontinued(),
    variants.c.deleted_at.is_(None),
    or_(variants.c.discontinue_on.is_(None), variants.c.discontinue_on > func.now()),
    _is_purchasable,
)
"""Whether a variant, joined with its product, is for sale, regardless of stock."""
_CHANGES_AT = func.least(
    *(
        case((date > func.now(), date))
        for date in (products.c.available_on, products.c.discontinue_on, variants.c.discontinue_on)
    )
)
_default_tax_id = (
    select(tax_categories.c.id).where(tax_categories.c.is_default).limit(literal_column("1")).scalar_subquery()
)
_tax_category_id = func.coalesce(variants.c.tax_category_id, products.c.tax_category_id, _default_tax_id)


# The locations are read once for all variants.
_active_locations = sql_any(func.array(select(stock_locations.c.id).where(stock_locations.c.active).scalar_subquery()))


def select_stock(variant_id: Any) -> Select[Any, Any]:
    """Selects the stock of a variant at all active locations."""
    return (
        # PostgreSQL sums bigint as numeric.
        select(
            sql_cast(func.coalesce(func.sum(stock_items.c.count_on_hand), 0), BigInteger).label("on_hand"),
            func.coalesce(func.bool_or(stock_items.c.backorderable), literal_column("false")).label("backorderable"),
        ).where(stock_items.c.variant_id == variant_id, stock_items.c.stock_location_id == _active_locations)
    )


def _at_active_locations(variant_ids: Any) -> ColumnElement[bool]:
    return and_(stock_items.c.variant_id == sql_any(variant_ids), stock_items.c.stock_location_id == _active_locations)


def select_stock_arrays(variant_ids: Any) -> Any:
    """Selects the stock items of variants at all active locations as three arrays, null if there are none."""
    return select(
        *(func.array_agg(stock_items.c[name]).label(name) for name in ("variant_id", "count_on_hand", "backorderable"))
    ).where(_at_active_locations(variant_ids))


def select_location_stock_text(variant_ids: Any) -> Any:
    """Selects the stock of variants at each active location as a JSON array."""
    columns = ("id", "stock_location_id", "variant_id", "count_on_hand", "backorderable")
    rows = func.json_build_array(*(stock_items.c[name] for name in columns))
    return select(sql_cast(func.json_agg(rows), Text)).where(_at_active_locations(variant_ids))


STOCK = select_stock(variants.c.id).correlate(variants).lateral("stock")
_has_price = and_(prices.c.variant_id == variants.c.id, prices.c.currency == bindparam("currency", type_=Text()))


@lru_cache(maxsize=2)
def _quotes(*, is_personal: bool) -> Statement[Quote]:
    source: Any = (
        _quantities.join(variants, variants.c.id == _quantities.c.id)
        .join(products, products.c.id == variants.c.product_id)
        .outerjoin(prices, _has_price)
        .join(STOCK, literal_column("true"))
    )
    price: Any = prices.c.amount
    list_id: Any = literal_column("null::uuid")
    if is_personal:
        best_price = select_best_price(
            variants.c.id, prices.c.amount, _quantities.c.quantity, _quantities, variants, prices
        )
        source = source.outerjoin(best_price, literal_column("true"))
        price, list_id = func.coalesce(best_price.c.amount, prices.c.amount), best_price.c.id
    return dynamic_statement(select(*_quote_columns(price, list_id)).select_from(source), into(Quote))


def _quote_columns(price: Any, list_id: Any) -> list[ColumnElement[Any]]:
    """Returns the columns of a `Quote` for a variant joined with its product, price and stock."""
    return [
        variants.c.id.label("variant_id"),
        products.c.id.label("product_id"),
        products.c.name,
        products.c.slug,
        variants.c.sku,
        OPTIONS_TEXT.label("options_text"),
        _tax_category_id.label("tax_category_id"),
        func.coalesce(products.c.shipping_category_id, literal(DEFAULT_SHIPPING_CATEGORY, _ID)).label(
            "shipping_category_id"
        ),
        func.coalesce(variants.c.weight, literal(Decimal(0))).label("weight"),
        IS_SOLD.label("is_sold"),
        or_(variants.c.deleted_at.isnot(None), products.c.deleted_at.isnot(None)).label("is_deleted"),
        products.c.promotionable.label("is_promotionable"),
        variants.c.track_inventory.label("is_tracked"),
        STOCK.c.on_hand,
        STOCK.c.backorderable,
        price.label("price"),
        prices.c.compare_at_amount.label("compare_at_price"),
        list_id.label("price_list_id"),
        _CHANGES_AT.label("changes_at"),
    ]


async def list_quotes(db: DatabaseSession, pricing: Pricing, quantities: Mapping[UUID, int]) -> dict[UUID, Quote]:
    """Returns quotes by variant for the given quantities; unknown variants are missing."""
    if not quantities:
        return {}
    values = {"ids": list(quantities), "quantities": list(quantities.values()), "currency": pricing.currency}
    lists = pricing.values if pricing.is_personal else {}
    rows = await db.all(_quotes(is_personal=pricing.is_personal), **values, **lists)
    return {quote.variant_id: quote for quote in rows}
