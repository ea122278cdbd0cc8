"""What the daily figures of reports are calculated from: one query for each table, over one day.

Orders are found by their index of times, and their parts by the order's id, so that a day costs the same however many
orders there are. `OFFSET 0` keeps the planner from reading whole tables instead.
"""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Date,
    DateTime,
    Select,
    String,
    Table,
    Text,
    and_,
    bindparam,
    case,
    distinct,
    exists,
    func,
    literal,
    literal_column,
    or_,
    select,
    true,
    tuple_,
    union_all,
)
from sqlalchemy import cast as sql_cast

from shop.models.cart.archived_orders import archived_orders
from shop.models.cart.orders import customer_of, line_items, order_lookups, orders
from shop.models.catalog.products import variants
from shop.models.checkout.coupons import adjustments
from shop.models.checkout.payments import STORE_CREDIT_METHOD, payments, refunds
from shop.models.checkout.shipments import shipments
from shop.models.customers.addresses import addresses
from shop.models.operations.report_days import (
    adjustment_days,
    cart_days,
    payment_days,
    product_days,
    refund_days,
    sales_days,
)
from shop.models.setup.countries import countries

MAX_LABEL = 200
"""Longer texts are cut: they are part of a key."""
VOID_REASON = "Payment voided"
"""The reason of captured payments that were voided: they have no refund."""
_day = sql_cast(bindparam("day"), Date)
_starts_at = sql_cast(bindparam("starts_at"), DateTime(timezone=True))
_ends_at = sql_cast(bindparam("ends_at"), DateTime(timezone=True))
_FENCE = literal_column("0", BigInteger)


def _is_on_day(column: Any) -> Any:
    return (column >= _starts_at) & (column < _ends_at)


def _sum(column: Any, *where: Any) -> ColumnElement[int]:
    total = func.sum(column)
    return sql_cast(func.coalesce(total.filter(*where) if where else total, 0), BigInteger)


def _count(*where: Any) -> ColumnElement[int]:
    return func.count().filter(*where) if where else func.count()


def _short(column: Any) -> ColumnElement[str]:
    return func.left(column, literal_column(str(MAX_LABEL)), type_=Text())


_earlier = orders.alias("earlier")
_is_first = ~exists(
    select(literal_column("1"))
    .select_from(order_lookups.join(_earlier, _earlier.c.id == order_lookups.c.order_id))
    .where(
        order_lookups.c.is_completed,
        literal_column(customer_of("order_lookups.email"), Text())
        == literal_column(customer_of("orders.email"), Text()),
        tuple_(_earlier.c.completed_at, _earlier.c.id) < tuple_(orders.c.completed_at, orders.c.id),
    )
    .correlate(orders)
)
_is_first &= ~exists(
    select(literal_column("1"))
    .where(
        literal_column(customer_of("archived_orders.email"), Text())
        == literal_column(customer_of("orders.email"), Text()),
        tuple_(archived_orders.c.completed_at, archived_orders.c.id) < tuple_(orders.c.completed_at, orders.c.id),
    )
    .correlate(orders)
)
_of_address = addresses.c.id == func.coalesce(orders.c.ship_address_id, orders.c.bill_address_id)
_country_id = select(addresses.c.country_id).where(_of_address).correlate(orders).scalar_subquery()


def _with_country(sums: Select[Any], table: Table) -> Select[Any]:
    """Replaces the ids of countries by their codes, after the summation: a look-up for each order would take longer."""
    rows = sums.subquery("sums")
    code = func.coalesce(countries.c.iso, literal_column("''")).label("country")
    return select(*(code if column.name == "country" else rows.c[column.name] for column in table.c)).select_from(
        rows.outerjoin(countries, countries.c.id == rows.c.country_id)
    )


_orders = (
    select(
        orders,
        _country_id.label("country_id"),
        orders.c.canceled_at.is_not(None).label("is_canceled"),
        _is_first.label("is_first"),
    )
    .where(_is_on_day(orders.c.completed_at))
    .subquery("day_orders")
)
_is_sold = ~_orders.c.is_canceled
_tax = _orders.c.included_tax_total + _orders.c.additional_tax_total
_manual = _orders.c.adjustment_total - _orders.c.promo_total - _orders.c.additional_tax_total
_channel = _short(_orders.c.channel)
_SALES = _with_country(
    select(
        _day.label("day"),
        _orders.c.currency,
        _channel.label("channel"),
        _orders.c.country_id,
        _count(_is_sold).label("orders"),
        _count(_orders.c.is_canceled).label("canceled_orders"),
        _count(_is_sold, _orders.c.is_first).label("first_orders"),
        _sum(_orders.c.item_count, _is_sold).label("units"),
        _sum(_orders.c.item_total, _is_sold).label("items"),
        _sum(_orders.c.promo_total, _is_sold).label("discounts"),
        _sum(_manual, _is_sold).label("manual"),
        _sum(_orders.c.ship_total, _is_sold).label("shipping"),
        _sum(_tax, _is_sold).label("tax"),
        _sum(_orders.c.additional_tax_total, _is_sold).label("added_tax"),
        _sum(_orders.c.total, _is_sold).label("total"),
    )
    .select_from(_orders)
    .group_by(_orders.c.currency, _channel, _orders.c.country_id),
    sales_days,
)
_sold_orders = (
    select(orders.c.id, orders.c.currency, _country_id.label("country_id"))
    .where(_is_on_day(orders.c.completed_at), orders.c.canceled_at.is_(None))
    .subquery("sold_orders")
)


def _parts(table: Table, *columns: Any) -> Any:
    """Returns the rows of a table that belong to an order of the day."""
    return (
        select(*columns)
        .where(table.c.order_id == _sold_orders.c.id)
        .correlate(_sold_orders)
        .offset(_FENCE)
        .lateral(f"{table.name}_of_order")
    )


_product_id = (
    select(variants.c.product_id)
    .where(variants.c.id == line_items.c.variant_id)
    .correlate(line_items)
    .scalar_subquery()
)
_lines = _parts(
    line_items,
    _product_id.label("product_id"),
    line_items.c.quantity,
    (func.coalesce(line_items.c.price, 0) * line_items.c.quantity).label("amount"),
    line_items.c.promo_total,
    line_items.c.adjustment_total,
    (line_items.c.included_tax_total + line_items.c.additional_tax_total).label("tax"),
)
_PRODUCTS = (
    select(
        _day.label("day"),
        _sold_orders.c.currency,
        _lines.c.product_id,
        func.count(distinct(_sold_orders.c.id)).label("orders"),
        _sum(_lines.c.quantity).label("units"),
        _sum(_lines.c.amount).label("items"),
        _sum(_lines.c.promo_total).label("discounts"),
        _sum(_lines.c.tax).label("tax"),
        _sum(_lines.c.amount + _lines.c.adjustment_total).label("total"),
    )
    .select_from(_sold_orders.join(_lines, true()))
    .group_by(_sold_orders.c.currency, _lines.c.product_id)
)


def _net_of(table: Table) -> Any:
    where = table.c.id == adjustments.c.adjustable_id
    return select(table.c.pre_tax_amount).where(where).correlate(adjustments).scalar_subquery()


_net = case(
    (adjustments.c.source_type.is_distinct_from("tax_rate"), literal_column("0")),
    (adjustments.c.adjustable_type == "line_item", _net_of(line_items)),
    (adjustments.c.adjustable_type == "shipment", _net_of(shipments)),
    else_=literal_column("0"),
)
_changes = _parts(
    adjustments,
    func.coalesce(adjustments.c.source_type, literal_column("'manual'")).label("source"),
    _short(adjustments.c.label).label("label"),
    _net.label("net"),
    adjustments.c.amount,
)
_ADJUSTMENTS = _with_country(
    select(
        _day.label("day"),
        _sold_orders.c.currency,
        _changes.c.source,
        _changes.c.label,
        _sold_orders.c.country_id,
        func.count(distinct(_sold_orders.c.id)).label("orders"),
        _sum(_changes.c.net).label("net"),
        _sum(_changes.c.amount).label("amount"),
    )
    .select_from(_sold_orders.join(_changes, true()))
    .group_by(_sold_orders.c.currency, _changes.c.source, _changes.c.label, _sold_orders.c.country_id),
    adjustment_days,
)


def _of_order(column: Any, table: Any) -> Any:
    return select(column).where(orders.c.id == table.c.order_id).correlate(table).scalar_subquery()


_captures = (
    select(
        _of_order(orders.c.currency, payments).label("currency"),
        payments.c.payment_method_id,
        payments.c.captured_amount,
    )
    .where(_is_on_day(payments.c.captured_at))
    .subquery("captures")
)
_PAYMENTS = (
    select(
        _day.label("day"),
        _captures.c.currency,
        _captures.c.payment_method_id,
        _count().label("payments"),
        _sum(_captures.c.captured_amount).label("amount"),
    )
    .select_from(_captures)
    .group_by(_captures.c.currency, _captures.c.payment_method_id)
)
# A refund that the customer got as store credit returned no money of the provider.
_method_id = case(
    (refunds.c.store_credit_id.is_not(None), literal(STORE_CREDIT_METHOD, payments.c.payment_method_id.type)),
    else_=select(payments.c.payment_method_id)
    .where(payments.c.id == refunds.c.payment_id)
    .correlate(refunds)
    .scalar_subquery(),
)
_returns = union_all(
    select(
        _of_order(orders.c.currency, refunds).label("currency"),
        _method_id.label("payment_method_id"),
        _short(refunds.c.reason).label("reason"),
        _of_order(orders.c.canceled_at.is_not(None), refunds).label("is_canceled"),
        refunds.c.amount,
    ).where(refunds.c.state == literal_column("'completed'"), _is_on_day(refunds.c.updated_at)),
    select(
        _of_order(orders.c.currency, payments),
        payments.c.payment_method_id,
        literal(VOID_REASON, String()),
        _of_order(orders.c.canceled_at.is_not(None), payments),
        payments.c.captured_amount,
    ).where(payments.c.captured_amount > literal_column("0"), _is_on_day(payments.c.voided_at)),
).subquery("returned")
_refund_keys = tuple(_returns.c[name] for name in ("currency", "payment_method_id", "reason", "is_canceled"))
_REFUNDS = (
    select(_day.label("day"), *_refund_keys, _count().label("refunds"), _sum(_returns.c.amount).label("amount"))
    .select_from(_returns)
    .group_by(*_refund_keys)
)
CARTS: Select[Any] = (
    select(_day.label("day"), orders.c.currency, _count().label("carts"))
    .where(
        _is_on_day(orders.c.created_at),
        # A draft of an operator counts once it is an order.
        or_(and_(orders.c.item_count > 0, orders.c.author_id.is_(None)), orders.c.completed_at.is_not(None)),
    )
    .group_by(orders.c.currency)
)
SOURCES: Mapping[Table, Select[Any]] = {
    sales_days: _SALES,
    product_days: _PRODUCTS,
    adjustment_days: _ADJUSTMENTS,
    payment_days: _PAYMENTS,
    refund_days: _REFUNDS,
}
"""The query that calculates the rows of a day, by table; without carts, which are deleted after a while."""
ALL_DAYS: tuple[Table, ...] = (*SOURCES, cart_days)
