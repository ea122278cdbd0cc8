"""Consistency checks of copies against what they copy: lookup tables, and archived orders."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import ColumnElement, Text, and_, func, literal, or_, select
from sqlalchemy import cast as sql_cast

from shop.db.statements import Statement
from shop.models.cart.archived_orders import archived_orders
from shop.models.cart.orders import order_lookups, orders
from shop.models.catalog.product_index import listing_sales, listings
from shop.models.catalog.stock import stock_items, stock_levels
from shop.models.checkout.payments import payment_attempts, unsettled_attempts
from shop.queries.lookups import hour_of
from shop.queries.operations.verify_promotions import Finding, build_check

_COPY_COLUMNS = ("email", "payment_state", "shipment_state", "bill_address_id", "ship_address_id")


def _differs(*pairs: tuple[Any, Any]) -> ColumnElement[bool]:
    return or_(*(column.is_distinct_from(copy) for column, copy in pairs))


def _stale(name: Any, source: Any, copy: Any, key: Any, *pairs: tuple[Any, Any]) -> Statement[Finding]:
    clause: Any = select(sql_cast(name, Text()), literal(f"{copy.name} is out of date", Text()))
    return build_check(clause.select_from(source.outerjoin(copy, key)).where(_differs(*pairs)))


_of_attempt = and_(
    unsettled_attempts.c.attempt_id == payment_attempts.c.id,
    unsettled_attempts.c.payment_id == payment_attempts.c.payment_id,
)
_unsettled_stale: Any = (
    select(sql_cast(payment_attempts.c.id, Text()), literal("unsettled_attempts is out of date", Text()))
    .select_from(payment_attempts.outerjoin(unsettled_attempts, _of_attempt))
    .where((payment_attempts.c.outcome == "unknown") != unsettled_attempts.c.attempt_id.is_not(None))
)
COPY_CHECKS: Mapping[str, Statement[Finding]] = {
    "lookups of orders": _stale(
        orders.c.number,
        orders,
        order_lookups,
        order_lookups.c.order_id == orders.c.id,
        *((orders.c[name], order_lookups.c[name]) for name in _COPY_COLUMNS),
        (orders.c.completed_at.is_not(None), func.coalesce(order_lookups.c.is_completed, False)),
    ),
    "hours of orders": build_check(
        select(orders.c.number, literal("updated_hour is out of date", Text())).where(
            orders.c.updated_hour != hour_of(orders.c.updated_at)
        )
    ),
    "lookups of stock": _stale(
        stock_items.c.id,
        stock_items,
        stock_levels,
        stock_levels.c.stock_item_id == stock_items.c.id,
        (stock_items.c.count_on_hand, stock_levels.c.count_on_hand),
    ),
    "lookups of sales": _stale(
        listings.c.product_id,
        listings,
        listing_sales,
        listing_sales.c.product_id == listings.c.product_id,
        (listings.c.sold_count, listing_sales.c.sold_count),
    ),
    "lookups of attempts": build_check(_unsettled_stale),
    "archived orders": build_check(
        select(archived_orders.c.number, literal("is both in the tables and in the archive", Text())).join_from(
            archived_orders, orders, orders.c.id == archived_orders.c.id
        )
    ),
}
