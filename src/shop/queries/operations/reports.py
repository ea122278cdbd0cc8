"""Statements that read reports: sums of daily figures over a period, in one currency."""

from collections.abc import Sequence
from datetime import date
from functools import lru_cache
from typing import Any, cast
from uuid import UUID

import msgspec
from sqlalchemy import (
    BigInteger,
    Date,
    Table,
    Text,
    and_,
    bindparam,
    case,
    func,
    literal_column,
    select,
    union_all,
)
from sqlalchemy import cast as sql_cast

from shop.db.pool import DatabaseSession
from shop.db.statements import Statement, any_of, dynamic_statement, into, statement
from shop.models.cart.order_index import order_listings
from shop.models.catalog.prices import prices
from shop.models.catalog.products import products, variants
from shop.models.catalog.stock import stock_items, stock_levels, stock_locations
from shop.models.catalog.taxons import classifications, taxons
from shop.models.checkout.payments import payment_methods
from shop.models.operations.report_days import (
    adjustment_days,
    cart_days,
    payment_days,
    product_days,
    refund_days,
    sales_days,
)
from shop.models.order_edits.approvals import refund_requests
from shop.models.setup.countries import countries
from shop.queries.catalog_admin.stock import IS_LOW
from shop.queries.order_edits.approvals import IS_OPEN

COUNT_LIMIT = 1000
"""Open work is counted up to this number."""


class DayRange(msgspec.Struct, frozen=True):
    """The days and the currency of a report; `end` is the last day."""

    currency: str
    start: date
    end: date


class SalesFigures(msgspec.Struct, frozen=True):
    """The sums of orders with the same day, country or channel."""

    key: Any
    orders: int
    canceled_orders: int
    first_orders: int
    units: int
    items: int
    discounts: int
    manual: int
    shipping: int
    tax: int
    added_tax: int
    total: int


class ProductFigures(msgspec.Struct, frozen=True):
    """The sums of the line items of a product or category; `id` is None without one."""

    id: UUID | None
    name: str | None
    orders: int
    units: int
    items: int
    discounts: int
    tax: int
    total: int


class AdjustmentFigures(msgspec.Struct, frozen=True):
    label: str
    country: str
    orders: int
    net: int
    amount: int


class PaymentFigures(msgspec.Struct, frozen=True):
    """The money that was received and returned with a payment method."""

    name: str | None
    type: str | None
    payments: int
    captured_amount: int
    refunds: int
    refunded_amount: int


class RefundFigures(msgspec.Struct, frozen=True):
    key: Any
    is_canceled: bool
    refunds: int
    amount: int


class StockValue(msgspec.Struct, frozen=True):
    """The units on hand of a product or location, and their value at cost and at the price of a currency."""

    id: UUID
    name: str
    units: int
    cost: int
    units_without_cost: int
    """Units without a cost price in this currency."""
    price: int
    units_without_price: int
    """Units without a price in this currency."""


class CartCount(msgspec.Struct, frozen=True):
    day: date
    carts: int


class OpenWork(msgspec.Struct, frozen=True):
    """What waits for an operator; counts end at `COUNT_LIMIT`."""

    to_ship: int
    unpaid: int
    low_stock: int
    approvals: int
    """Refunds that other operators asked for."""


def _in_range(table: Table) -> Any:
    return and_(
        table.c.currency == bindparam("currency", type_=Text()),
        table.c.day >= sql_cast(bindparam("start"), Date),
        table.c.day <= sql_cast(bindparam("end"), Date),
    )


def _sum(column: Any) -> Any:
    return sql_cast(func.coalesce(func.sum(column), literal_column("0")), BigInteger)


def _sums(table: Any, *names: str) -> list[Any]:
    return [_sum(table.c[name]).label(name) for name in names]


@lru_cache(maxsize=8)
def _sales_statement(by: str) -> Statement[SalesFigures]:
    names = [name for name in SalesFigures.__struct_fields__ if name != "key"]
    column = sales_days.c[by]
    clause = select(column.label("key"), *_sums(sales_days, *names)).where(_in_range(sales_days)).group_by(column)
    return dynamic_statement(clause.order_by(column), into(SalesFigures))


_PRODUCT_SUMS = ("orders", "units", "items", "discounts", "tax", "total")
_by_product = (
    select(product_days.c.product_id, *_sums(product_days, *_PRODUCT_SUMS))
    .where(_in_range(product_days))
    .group_by(product_days.c.product_id)
    .subquery("by_product")
)
_products = (
    select(products.c.id, products.c.name, *(_by_product.c[name] for name in _PRODUCT_SUMS))
    .select_from(_by_product.outerjoin(products, products.c.id == _by_product.c.product_id))
    .order_by(_by_product.c.total.desc(), _by_product.c.product_id)
)
_LIST_PRODUCTS = statement(_products, into(ProductFigures))
_LIST_BEST_PRODUCTS = statement(_products.limit(bindparam("most", type_=BigInteger)), into(ProductFigures))
_LIST_CATEGORIES = statement(
    select(taxons.c.id, func.max(taxons.c.pretty_name).label("name"), *_sums(_by_product, *_PRODUCT_SUMS))
    .select_from(
        _by_product.outerjoin(classifications, classifications.c.product_id == _by_product.c.product_id).outerjoin(
            taxons, taxons.c.id == classifications.c.taxon_id
        )
    )
    .group_by(taxons.c.id),
    into(ProductFigures),
)
_LIST_ADJUSTMENTS = statement(
    select(adjustment_days.c.label, adjustment_days.c.country, *_sums(adjustment_days, "orders", "net", "amount"))
    .where(_in_range(adjustment_days), adjustment_days.c.source == any_of("sources", Text()))
    .group_by(adjustment_days.c.label, adjustment_days.c.country),
    into(AdjustmentFigures),
)
_none = literal_column("0", BigInteger)
_money = union_all(
    select(
        payment_days.c.payment_method_id,
        payment_days.c.payments,
        payment_days.c.amount.label("captured_amount"),
        _none.label("refunds"),
        _none.label("refunded_amount"),
    ).where(_in_range(payment_days)),
    select(refund_days.c.payment_method_id, _none, _none, refund_days.c.refunds, refund_days.c.amount).where(
        _in_range(refund_days)
    ),
).subquery("money")
_LIST_PAYMENTS = statement(
    select(
        func.max(payment_methods.c.name).label("name"),
        func.max(payment_methods.c.type).label("type"),
        *_sums(_money, "payments", "captured_amount", "refunds", "refunded_amount"),
    )
    .select_from(_money.outerjoin(payment_methods, payment_methods.c.id == _money.c.payment_method_id))
    .group_by(_money.c.payment_method_id),
    into(PaymentFigures),
)


@lru_cache(maxsize=4)
def _refunds_statement(by: str) -> Statement[RefundFigures]:
    keys = (refund_days.c[by], refund_days.c.is_canceled)
    clause = select(keys[0].label("key"), keys[1], *_sums(refund_days, "refunds", "amount"))
    return dynamic_statement(clause.where(_in_range(refund_days)).group_by(*keys), into(RefundFigures))


_LIST_CARTS = statement(
    select(cart_days.c.day, cart_days.c.carts).where(_in_range(cart_days)).order_by(cart_days.c.day), into(CartCount)
)
_LIST_CURRENCIES = statement(
    select(cart_days.c.currency).distinct().order_by(cart_days.c.currency), lambda record: cast(str, record[0])
)
_LIST_COUNTRIES = statement(
    select(countries.c.iso, countries.c.name), lambda record: cast(tuple[str, str], tuple(record))
)


@lru_cache(maxsize=4)
def _stock_statement(by: str) -> Statement[StockValue]:
    """Builds the statement that values the stock of each product or location."""
    table, units = (products if by == "product" else stock_locations), stock_items.c.count_on_hand
    currency = bindparam("currency", type_=Text())
    cost_currency = func.coalesce(variants.c.cost_currency, bindparam("default_currency", type_=Text()))
    has_cost = and_(variants.c.cost_price.is_not(None), cost_currency == currency)
    clause = (
        select(
            table.c.id,
            table.c.name,
            _sum(units).label("units"),
            _sum(case((has_cost, units * variants.c.cost_price), else_=_none)).label("cost"),
            _sum(case((has_cost, _none), else_=units)).label("units_without_cost"),
            _sum(units * prices.c.amount).label("price"),
            _sum(case((prices.c.id.is_(None), units), else_=_none)).label("units_without_price"),
        )
        .select_from(
            stock_items.join(variants, variants.c.id == stock_items.c.variant_id)
            .join(products, products.c.id == variants.c.product_id)
            .join(stock_locations, stock_locations.c.id == stock_items.c.stock_location_id)
            .outerjoin(prices, and_(prices.c.variant_id == variants.c.id, prices.c.currency == currency))
        )
        .where(units > _none, variants.c.track_inventory, variants.c.deleted_at.is_(None))
        .group_by(table.c.id)
    )
    return dynamic_statement(clause, into(StockValue))


def _count(table: Table, *where: Any) -> Any:
    rows: Any = select(literal_column("1")).select_from(table).where(*where).limit(literal_column(str(COUNT_LIMIT)))
    return select(func.count()).select_from(rows.subquery()).scalar_subquery()


_is_of_others = refund_requests.c.requester_id != bindparam("operator_id")
_OPEN_WORK = statement(
    select(
        _count(order_listings, order_listings.c.is_to_ship).label("to_ship"),
        _count(order_listings, order_listings.c.is_unpaid).label("unpaid"),
        _count(stock_levels, IS_LOW).label("low_stock"),
        _count(refund_requests, refund_requests.c.requester_id != bindparam("operator_id"), *IS_OPEN).label(
            "approvals"
        ),
    ),
    into(OpenWork),
)


def _values(days: DayRange) -> dict[str, Any]:
    return {"currency": days.currency, "start": days.start, "end": days.end}


async def list_sales(db: DatabaseSession, days: DayRange, by: str) -> list[SalesFigures]:
    """Returns the sums of orders by `day`, `country` or `channel`."""
    return await db.all(_sales_statement(by), **_values(days))


async def list_products(db: DatabaseSession, days: DayRange) -> list[ProductFigures]:
    return await db.all(_LIST_PRODUCTS, **_values(days))


async def list_best_products(db: DatabaseSession, days: DayRange, *, most: int) -> list[ProductFigures]:
    return await db.all(_LIST_BEST_PRODUCTS, **_values(days), most=most)


async def list_categories(db: DatabaseSession, days: DayRange) -> list[ProductFigures]:
    """Returns the sums of each category; a product with several categories counts in each of them."""
    return await db.all(_LIST_CATEGORIES, **_values(days))


async def list_adjustments(db: DatabaseSession, days: DayRange, sources: Sequence[str]) -> list[AdjustmentFigures]:
    """Returns the sums of taxes (`tax_rate`) or discounts (`promotion`, `manual`) by label and country."""
    return await db.all(_LIST_ADJUSTMENTS, **_values(days), sources=list(sources))


async def list_payments(db: DatabaseSession, days: DayRange) -> list[PaymentFigures]:
    return await db.all(_LIST_PAYMENTS, **_values(days))


async def list_refunds(db: DatabaseSession, days: DayRange, by: str) -> list[RefundFigures]:
    """Returns the sums of refunds by `day` or `reason`."""
    return await db.all(_refunds_statement(by), **_values(days))


async def list_carts(db: DatabaseSession, days: DayRange) -> list[CartCount]:
    return await db.all(_LIST_CARTS, **_values(days))


async def list_currencies(db: DatabaseSession) -> list[str]:
    """Returns the currencies of all carts there have been."""
    return await db.all(_LIST_CURRENCIES)


async def list_country_names(db: DatabaseSession) -> dict[str, str]:
    """Returns the names of countries by their two-letter codes."""
    return dict(await db.all(_LIST_COUNTRIES))


async def list_stock_values(db: DatabaseSession, by: str, *, currency: str, default_currency: str) -> list[StockValue]:
    """Returns the stock by `product` or `location`. A cost price without a currency is in the default currency."""
    return await db.all(_stock_statement(by), currency=currency, default_currency=default_currency)


async def find_open_work(db: DatabaseSession, operator_id: UUID) -> OpenWork:
    return cast(OpenWork, await db.one(_OPEN_WORK, operator_id=operator_id))
