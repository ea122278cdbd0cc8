"""Statements for the list of open carts."""

from functools import lru_cache
from typing import Any

import msgspec
from sqlalchemy import Text, bindparam, or_, select

from shop.base.listing import CursorPosition
from shop.db.pool import DatabaseSession
from shop.db.statements import Statement, dynamic_statement, into
from shop.models.cart.orders import Order, abandoned_carts, order_lookups, orders
from shop.queries.dashboard import like_prefix, paginate


class CartFilter(msgspec.Struct, frozen=True):
    """Which carts to list; None disables a filter."""

    text: str | None = None
    """The start of a number, or an e-mail address."""
    kind: str | None = None
    """`email` for carts with an e-mail address, or `abandoned`."""


@lru_cache(maxsize=32)
def _list_statement(criteria: CartFilter, side: str | None) -> Statement[Order]:
    clause = select(orders).where(
        orders.c.completed_at.is_(None), orders.c.author_id.is_(None), orders.c.item_count > 0
    )
    if criteria.text:
        has_email = order_lookups.c.email.in_([bindparam("text", type_=Text()), bindparam("lower", type_=Text())])
        found: Any = select(order_lookups.c.order_id).where(has_email)
        clause = clause.where(or_(orders.c.number.like(bindparam("prefix", type_=Text())), orders.c.id.in_(found)))
    if criteria.kind == "email":
        clause = clause.where(orders.c.email.is_not(None))
    if criteria.kind == "abandoned":
        clause = clause.where(orders.c.id.in_(select(abandoned_carts.c.order_id)))
    return dynamic_statement(paginate(clause, orders.c.created_at, orders.c.id, side), into(Order))


async def list_carts(
    db: DatabaseSession, criteria: CartFilter, cursor: CursorPosition | None, *, most: int
) -> list[Order]:
    """Returns the carts with items, newest first."""
    text = criteria.text or ""
    side = cursor.side if cursor else None
    rows = await db.all(
        _list_statement(CartFilter("-" if text else None, criteria.kind), side),
        text=text,
        lower=text.lower(),
        prefix=like_prefix(text.upper()),
        at_=cursor and cursor.at,
        id_=cursor and cursor.id,
        most=most,
    )
    return rows[::-1] if side == "after" else rows
