"""Sums over the whole shop, which a migration must not change."""

from typing import Any, cast

from sqlalchemy import ColumnElement, Text, func, literal_column, select, union_all
from sqlalchemy import cast as sql_cast

from shop.db.pool import DatabaseSession
from shop.db.statements import statement
from shop.models.cart.orders import orders
from shop.models.catalog.stock import stock_items
from shop.models.checkout.payments import payments


def _sum(column: ColumnElement[Any]) -> ColumnElement[str]:
    return sql_cast(func.coalesce(func.sum(column), literal_column("0")), Text()).label("total")


def _name(text: str) -> ColumnElement[str]:
    return literal_column(f"'{text}'", type_=Text())


_LIST = statement(
    union_all(
        select((_name("completed orders in ") + orders.c.currency).label("name"), _sum(orders.c.total))
        .where(orders.c.completed_at.is_not(None))
        .group_by(orders.c.currency),
        select((_name("payments, ") + payments.c.state).label("name"), _sum(payments.c.amount)).group_by(
            payments.c.state
        ),
        select(_name("stock on hand").label("name"), _sum(stock_items.c.count_on_hand)),
    ),
    lambda record: cast(tuple[str, str], (record["name"], record["total"])),
)


async def list_totals(db: DatabaseSession) -> dict[str, str]:
    """Returns sums of money in the smallest unit, and of stock."""
    return dict(await db.all(_LIST))
