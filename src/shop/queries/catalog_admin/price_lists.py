"""Statements for the dashboard's price list pages."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, cast
from uuid import UUID

import msgspec
from sqlalchemy import BigInteger, Text, and_, bindparam, func, or_, select
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.base.listing import CursorPosition
from shop.db.pool import DatabaseSession
from shop.db.statements import Statement, any_of, dynamic_statement, into, statement
from shop.models.access.users import customer_groups, users
from shop.models.catalog.prices import (
    PriceList,
    PriceListEntry,
    price_list_entries,
    price_list_groups,
    price_list_users,
    price_lists,
    prices,
)
from shop.models.catalog.products import products, variants
from shop.queries.catalog.columns import OPTIONS_TEXT
from shop.queries.dashboard import SortOrder, count_rows, like_prefix, load_page, paginate

_ID = PG_UUID(as_uuid=True)
_list_id = bindparam("list_id", type_=_ID)


class CountedList(PriceList, frozen=True, kw_only=True):
    """A price list with its number of entries and its assignments."""

    entry_count: int
    user_count: int
    group_names: list[str]
    is_current: bool
    """Whether now is between `starts_at` and `ends_at`."""


class NamedEntry(PriceListEntry, frozen=True, kw_only=True):
    """A price list entry with its variant and the base price."""

    product_id: UUID
    product_name: str
    sku: str
    options_text: str
    base_amount: int | None


class AssignedUser(msgspec.Struct, frozen=True):
    """A customer to whom a list is assigned; `id` is that of the assignment."""

    id: UUID
    user_id: UUID
    email: str
    email_key: str


class AssignedGroup(msgspec.Struct, frozen=True):
    """A customer group; `id` is that of the assignment, `None` if the list is not assigned to it."""

    id: UUID | None
    group_id: UUID
    name: str


def _count_of(table: Any) -> Any:
    clause = select(func.count()).select_from(table).where(table.c.price_list_id == price_lists.c.id)
    return sql_cast(clause.correlate(price_lists).scalar_subquery(), BigInteger)


_group_names = func.array(
    select(customer_groups.c.name)
    .join(price_list_groups, price_list_groups.c.customer_group_id == customer_groups.c.id)
    .where(price_list_groups.c.price_list_id == price_lists.c.id)
    .order_by(customer_groups.c.name)
    .correlate(price_lists)
    .scalar_subquery(),
    type_=ARRAY(Text()),
)
_is_current = and_(
    or_(price_lists.c.starts_at.is_(None), price_lists.c.starts_at <= func.now()),
    or_(price_lists.c.ends_at.is_(None), price_lists.c.ends_at > func.now()),
)
_list_select = select(
    price_lists,
    _count_of(price_list_entries).label("entry_count"),
    _count_of(price_list_users).label("user_count"),
    _group_names.label("group_names"),
    _is_current.label("is_current"),
)
SORTS: Mapping[str, tuple[Any, ...]] = {
    "priority": (price_lists.c.priority.desc(), price_lists.c.name, price_lists.c.id),
    "name": (func.lower(price_lists.c.name), price_lists.c.id),
    "newest": (price_lists.c.created_at.desc(), price_lists.c.id.desc()),
}
_LISTS = {
    sort: statement(
        _list_select.order_by(*columns)
        .limit(bindparam("most", type_=BigInteger()))
        .offset(bindparam("skip", type_=BigInteger())),
        into(CountedList),
    )
    for sort, columns in SORTS.items()
}
_COUNT = statement(select(func.count()).select_from(price_lists), lambda record: cast(int, record[0]))
_ONE = statement(_list_select.where(price_lists.c.id == _list_id), into(CountedList))


ENTRY_SORTS: Mapping[str, SortOrder] = {
    "newest": SortOrder(price_list_entries.c.created_at),
    "oldest": SortOrder(price_list_entries.c.created_at, is_ascending=True),
    "lowest": SortOrder(price_list_entries.c.amount, is_ascending=True),
}


def _select_entries(is_searched: bool) -> Any:
    clause = (
        select(
            price_list_entries,
            products.c.id.label("product_id"),
            products.c.name.label("product_name"),
            variants.c.sku,
            OPTIONS_TEXT.label("options_text"),
            prices.c.amount.label("base_amount"),
        )
        .select_from(
            price_list_entries.join(variants, variants.c.id == price_list_entries.c.variant_id)
            .join(products, products.c.id == variants.c.product_id)
            .outerjoin(
                prices,
                and_(prices.c.variant_id == variants.c.id, prices.c.currency == bindparam("currency", type_=Text())),
            )
        )
        .where(price_list_entries.c.price_list_id == _list_id)
    )
    return clause.where(func.lower(variants.c.sku).like(bindparam("pattern", type_=Text()))) if is_searched else clause


@lru_cache(maxsize=32)
def _list_statement(is_searched: bool, sort: str, side: str | None) -> Statement[NamedEntry]:
    clause = paginate(_select_entries(is_searched), ENTRY_SORTS[sort], price_list_entries.c.id, side)
    return dynamic_statement(clause, into(NamedEntry))


@lru_cache(maxsize=2)
def _count_statement(is_searched: bool) -> Statement[int]:
    return count_rows(_select_entries(is_searched))


_OF_VARIANTS = statement(
    select(price_list_entries.c.variant_id, price_list_entries.c.min_quantity, price_list_entries.c.id).where(
        price_list_entries.c.price_list_id == _list_id,
        price_list_entries.c.variant_id == any_of("ids", _ID),
    ),
    lambda record: cast(tuple[UUID, int, UUID], tuple(record)),
)
_users = (
    select(price_list_users.c.id, users.c.id.label("user_id"), users.c.email, users.c.email_key)
    .join(users, users.c.id == price_list_users.c.user_id)
    .where(price_list_users.c.price_list_id == _list_id, users.c.email_key.like(bindparam("pattern", type_=Text())))
)
_by_email = SortOrder(users.c.email_key, is_ascending=True)
_USERS = {
    side: statement(paginate(_users, _by_email, price_list_users.c.id, side), into(AssignedUser))
    for side in (None, "before", "after")
}
_COUNT_USERS = count_rows(_users)
_GROUPS = statement(
    select(price_list_groups.c.id, customer_groups.c.id.label("group_id"), customer_groups.c.name)
    .select_from(
        customer_groups.outerjoin(
            price_list_groups,
            and_(
                price_list_groups.c.customer_group_id == customer_groups.c.id,
                price_list_groups.c.price_list_id == _list_id,
            ),
        )
    )
    .order_by(customer_groups.c.name),
    into(AssignedGroup),
)


async def list_price_lists(db: DatabaseSession, *, sort: str, skip: int, most: int) -> list[CountedList]:
    return await db.all(_LISTS[sort], skip=skip, most=most)


async def count_price_lists(db: DatabaseSession) -> int:
    return await db.one(_COUNT) or 0


async def find_price_list(db: DatabaseSession, list_id: UUID) -> CountedList | None:
    return await db.one(_ONE, list_id=list_id)


async def list_entries(
    db: DatabaseSession, price_list: PriceList, search: str, cursor: CursorPosition | None, *, sort: str, most: int
) -> list[NamedEntry]:
    """Returns entries; `search` is a prefix of the SKU."""
    page_statement = _list_statement(bool(search), sort, cursor.side if cursor else None)
    return await load_page(db, page_statement, cursor, **_entry_values(price_list, search), most=most)


async def count_entries(db: DatabaseSession, price_list: PriceList, search: str) -> int:
    """Returns the number of entries, at most one more than `COUNT_LIMIT`."""
    return await db.one(_count_statement(bool(search)), **_entry_values(price_list, search)) or 0


def _entry_values(price_list: PriceList, search: str) -> dict[str, Any]:
    return {
        "list_id": price_list.id,
        "currency": price_list.currency,
        "pattern": like_prefix(search.lower()),
    }


async def find_entries(db: DatabaseSession, list_id: UUID, variant_ids: list[UUID]) -> dict[tuple[UUID, int], UUID]:
    """Returns the ids of a list's entries by variant and minimum quantity."""
    rows = await db.all(_OF_VARIANTS, list_id=list_id, ids=variant_ids)
    return {(variant_id, quantity): entry_id for variant_id, quantity, entry_id in rows}


async def list_assigned_users(
    db: DatabaseSession, list_id: UUID, search: str, cursor: CursorPosition | None, *, most: int
) -> list[AssignedUser]:
    """Returns customers by address; `search` is a prefix of the address."""
    page_statement = _USERS[cursor.side if cursor else None]
    return await load_page(db, page_statement, cursor, list_id=list_id, pattern=like_prefix(search.lower()), most=most)


async def count_assigned_users(db: DatabaseSession, list_id: UUID, search: str) -> int:
    """Returns the number of customers, at most one more than `COUNT_LIMIT`."""
    return await db.one(_COUNT_USERS, list_id=list_id, pattern=like_prefix(search.lower())) or 0


async def list_groups_for(db: DatabaseSession, list_id: UUID) -> list[AssignedGroup]:
    """Returns all customer groups."""
    return await db.all(_GROUPS, list_id=list_id)
