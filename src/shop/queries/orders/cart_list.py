"""Statements for the list of open carts."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import msgspec
from sqlalchemy import Text, bindparam, or_, select

from shop.base.listing import CursorPosition
from shop.db.pool import DatabaseSession
from shop.db.statements import Statement, dynamic_statement, into
from shop.models.cart.orders import Order, abandoned_carts, order_lookups, orders
from shop.queries.dashboard import SortOrder, count_rows, like_prefix, load_page, paginate

SORTS: Mapping[str, SortOrder] = {
    "newest": SortOrder(orders.c.created_at),
    "oldest": SortOrder(orders.c.created_at, is_ascending=True),
}


class CartFilter(msgspec.Struct, frozen=True):
    """Which carts to list; None disables a filter."""

    text: str | None = None
    """The start of a number, or an e-mail address."""
    kind: str | None = None
    """`email` for carts with an e-mail address, or `abandoned`."""


def _select_carts(criteria: CartFilter) -> Any:
    clause = select(orders).where(
        orders.c.completed_at.is_(None), orders.c.author_id.is_(None), orders.c.item_count > 0
    )
    if criteria.text:
        has_email = order_lookups.c.email.in_([bindparam("text", type_=Text()), bindparam("lower", type_=Text())])
        ids: Any = select(order_lookups.c.order_id).where(has_email)
        clause = clause.where(or_(orders.c.number.like(bindparam("prefix", type_=Text())), orders.c.id.in_(ids)))
    if criteria.kind == "email":
        clause = clause.where(orders.c.email.is_not(None))
    if criteria.kind == "abandoned":
        clause = clause.where(orders.c.id.in_(select(abandoned_carts.c.order_id)))
    return clause


@lru_cache(maxsize=64)
def _list_statement(criteria: CartFilter, sort: str, side: str | None) -> Statement[Order]:
    return dynamic_statement(paginate(_select_carts(criteria), SORTS[sort], orders.c.id, side), into(Order))


@lru_cache(maxsize=8)
def _count_statement(criteria: CartFilter) -> Statement[int]:
    return count_rows(_select_carts(criteria))


async def list_carts(
    db: DatabaseSession, criteria: CartFilter, cursor: CursorPosition | None, *, sort: str, most: int
) -> list[Order]:
    """Returns the carts with items."""
    kind, values = _filters(criteria)
    page_statement = _list_statement(kind, sort, cursor.side if cursor else None)
    return await load_page(db, page_statement, cursor, **values, most=most)


async def count_carts(db: DatabaseSession, criteria: CartFilter) -> int:
    """Returns the number of carts with items, at most one more than `COUNT_LIMIT`."""
    kind, values = _filters(criteria)
    return await db.one(_count_statement(kind), **values) or 0


def _filters(criteria: CartFilter) -> tuple[CartFilter, dict[str, str]]:
    """Returns what the statement of a filter depends on, and its values."""
    text = criteria.text or ""
    values = {"text": text, "lower": text.lower(), "prefix": like_prefix(text.upper())}
    return CartFilter("-" if text else None, criteria.kind), values
