"""Statements that list, find and change drafts and their discounts."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any, cast
from uuid import UUID

import msgspec
from sqlalchemy import Text, bindparam, delete, func, insert, or_, select, update
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.base.listing import CursorPosition
from shop.db.pool import DatabaseSession
from shop.db.statements import Statement, any_of, dynamic_statement, into, statement
from shop.models.access.operators import operators
from shop.models.access.users import users
from shop.models.cart.orders import Order, orders
from shop.models.catalog.stock import stock_items, stock_locations
from shop.models.customers.addresses import addresses
from shop.models.drafts.drafts import DraftDiscount, draft_discounts, drafts
from shop.queries.dashboard import SortOrder, count_rows, like_prefix, load_page, paginate

CHANNEL = "manual"
SORTS: Mapping[str, SortOrder] = {
    "newest": SortOrder(drafts.c.created_at),
    "oldest": SortOrder(drafts.c.created_at, is_ascending=True),
    "highest": SortOrder(orders.c.total),
}
_ID = PG_UUID(as_uuid=True)
_order_id = bindparam("order_id_", type_=_ID)
_is_open = orders.c.completed_at.is_(None)


class ListedDraft(msgspec.Struct, frozen=True, kw_only=True):
    """A draft with the names of its customer and its author."""

    id: UUID
    number: str
    email: str | None
    customer_name: str
    item_count: int
    total: int
    currency: str
    author_email: str | None
    created_at: datetime


class StockAtLocation(msgspec.Struct, frozen=True):
    """The stock of a variant at a location."""

    variant_id: UUID
    location_name: str
    count_on_hand: int
    backorderable: bool


_source = (
    drafts.join(orders, orders.c.id == drafts.c.order_id)
    .outerjoin(operators, operators.c.id == orders.c.author_id)
    .outerjoin(users, users.c.id == orders.c.user_id)
    .outerjoin(addresses, addresses.c.id == orders.c.bill_address_id)
)
_customer_name = func.coalesce(
    func.nullif(func.concat_ws(" ", users.c.first_name, users.c.last_name), ""),
    func.concat_ws(" ", addresses.c.firstname, addresses.c.lastname),
)


def _matches_search() -> Any:
    pattern = bindparam("pattern", type_=Text())
    names = (users.c.first_name, users.c.last_name, addresses.c.firstname, addresses.c.lastname, _customer_name)
    columns = (orders.c.number, orders.c.email, operators.c.email, *names)
    return or_(*(func.lower(column).like(pattern) for column in columns))


def _select_drafts(is_searched: bool) -> Any:
    clause = (
        select(
            orders.c.id,
            orders.c.number,
            orders.c.email,
            _customer_name.label("customer_name"),
            orders.c.item_count,
            orders.c.total,
            orders.c.currency,
            operators.c.email.label("author_email"),
            drafts.c.created_at,
        )
        .select_from(_source)
        .where(_is_open)
    )
    return clause.where(_matches_search()) if is_searched else clause


@lru_cache(maxsize=32)
def _list_statement(is_searched: bool, sort: str, side: str | None) -> Statement[ListedDraft]:
    return dynamic_statement(
        paginate(_select_drafts(is_searched), SORTS[sort], drafts.c.order_id, side), into(ListedDraft)
    )


@lru_cache(maxsize=2)
def _count_statement(is_searched: bool) -> Statement[int]:
    return count_rows(_select_drafts(is_searched))


_FIND = statement(
    select(orders).where(orders.c.number == bindparam("number"), orders.c.author_id.is_not(None)), into(Order)
)
_INSERT = statement(
    insert(drafts).values(order_id=_order_id, created_at=func.now()).returning(drafts.c.order_id),
    lambda record: cast(UUID, record[0]),
)
_MARK = statement(
    update(orders)
    .where(orders.c.id == _order_id)
    .values(author_id=bindparam("author", type_=_ID), channel=CHANNEL, updated_at=func.now())
    .returning(orders),
    into(Order),
)
_DELETE = statement(
    delete(drafts).where(drafts.c.order_id == _order_id).returning(drafts.c.order_id),
    lambda record: cast(UUID, record[0]),
)
_DISCOUNTS = statement(
    select(draft_discounts)
    .where(draft_discounts.c.order_id == _order_id)
    .order_by(draft_discounts.c.line_item_id.nulls_last(), draft_discounts.c.id),
    into(DraftDiscount),
)
_line_item_id = bindparam("line_item_id_", type_=_ID)
_DELETE_DISCOUNT = statement(
    delete(draft_discounts)
    .where(draft_discounts.c.order_id == _order_id, draft_discounts.c.line_item_id.is_not_distinct_from(_line_item_id))
    .returning(draft_discounts.c.id),
    lambda record: cast(UUID, record[0]),
)
_DELETE_DISCOUNTS = statement(
    delete(draft_discounts).where(draft_discounts.c.order_id == _order_id).returning(draft_discounts.c.id),
    lambda record: cast(UUID, record[0]),
)
_STOCK = statement(
    select(
        stock_items.c.variant_id,
        stock_locations.c.name.label("location_name"),
        stock_items.c.count_on_hand,
        stock_items.c.backorderable,
    )
    .join(stock_locations, stock_locations.c.id == stock_items.c.stock_location_id)
    .where(stock_items.c.variant_id == any_of("variant_ids", _ID), stock_locations.c.active)
    .order_by(stock_locations.c.default.desc(), stock_locations.c.name),
    into(StockAtLocation),
)


async def list_drafts(
    db: DatabaseSession, search: str, cursor: CursorPosition | None, *, sort: str, most: int
) -> list[ListedDraft]:
    """Returns drafts; `search` is a prefix of a number, an e-mail address or a name."""
    page_statement = _list_statement(bool(search), sort, cursor.side if cursor else None)
    return await load_page(db, page_statement, cursor, pattern=like_prefix(search.lower()), most=most)


async def count_drafts(db: DatabaseSession, search: str) -> int:
    """Returns the number of drafts, at most one more than `COUNT_LIMIT`."""
    return await db.one(_count_statement(bool(search)), pattern=like_prefix(search.lower())) or 0


async def find_order(db: DatabaseSession, number: str) -> Order | None:
    """Returns an order that an operator took, placed or not."""
    return await db.one(_FIND, number=number)


async def insert_draft(db: DatabaseSession, order_id: UUID, author_id: UUID | None) -> Order:
    """Turns a new cart into a draft."""
    order = await db.one(_MARK, order_id_=order_id, author=author_id)
    await db.one(_INSERT, order_id_=order_id)
    return cast(Order, order)


async def delete_draft(db: DatabaseSession, order_id: UUID) -> bool:
    """Deletes the draft but not its order; returns whether there was one."""
    await db.all(_DELETE_DISCOUNTS, order_id_=order_id)
    return await db.one(_DELETE, order_id_=order_id) is not None


async def list_discounts(db: DatabaseSession, order_id: UUID) -> list[DraftDiscount]:
    """Returns the discounts of a draft, those of line items first."""
    return await db.all(_DISCOUNTS, order_id_=order_id)


async def delete_discount(db: DatabaseSession, order_id: UUID, line_item_id: UUID | None) -> bool:
    """Deletes the discount of a line item or of the whole order; returns whether there was one."""
    return bool(await db.all(_DELETE_DISCOUNT, order_id_=order_id, line_item_id_=line_item_id))


async def list_stock(db: DatabaseSession, variant_ids: Iterable[UUID]) -> list[StockAtLocation]:
    """Returns the stock of variants at active locations, the default location first."""
    return await db.all(_STOCK, variant_ids=list(variant_ids))
