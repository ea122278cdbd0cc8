"""Statements for the dashboard's customer group pages."""

from collections.abc import Mapping
from typing import Any, cast
from uuid import UUID

import msgspec
from sqlalchemy import BigInteger, Text, bindparam, func, select
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.base.listing import CursorPosition
from shop.db.pool import DatabaseSession
from shop.db.statements import into, statement
from shop.models.access.users import CustomerGroup, customer_group_members, customer_groups, users
from shop.models.catalog.prices import PriceList, price_list_groups, price_lists
from shop.queries.dashboard import SortOrder, count_rows, like_prefix, load_page, paginate

_ID = PG_UUID(as_uuid=True)
_group_id = bindparam("group_id", type_=_ID)


class CountedGroup(CustomerGroup, frozen=True, kw_only=True):
    """A customer group with its number of members and its price lists."""

    member_count: int
    list_names: list[str]


class Member(msgspec.Struct, frozen=True):
    """A customer in a group; `id` is that of the membership."""

    id: UUID
    user_id: UUID
    email: str
    email_key: str


_member_count = (
    select(func.count())
    .select_from(customer_group_members)
    .where(customer_group_members.c.customer_group_id == customer_groups.c.id)
    .correlate(customer_groups)
    .scalar_subquery()
)
_list_names = func.array(
    select(price_lists.c.name)
    .join(price_list_groups, price_list_groups.c.price_list_id == price_lists.c.id)
    .where(price_list_groups.c.customer_group_id == customer_groups.c.id)
    .order_by(price_lists.c.priority.desc(), price_lists.c.name)
    .correlate(customer_groups)
    .scalar_subquery(),
    type_=ARRAY(Text()),
)
_group_select = select(
    customer_groups,
    sql_cast(_member_count, BigInteger).label("member_count"),
    _list_names.label("list_names"),
)
SORTS: Mapping[str, tuple[Any, ...]] = {
    "name": (customer_groups.c.name,),
    "members": (_member_count.desc(), customer_groups.c.name),
    "newest": (customer_groups.c.created_at.desc(), customer_groups.c.id.desc()),
}
_GROUPS = {
    sort: statement(
        _group_select.order_by(*columns)
        .limit(bindparam("most", type_=BigInteger()))
        .offset(bindparam("skip", type_=BigInteger())),
        into(CountedGroup),
    )
    for sort, columns in SORTS.items()
}
_COUNT = statement(select(func.count()).select_from(customer_groups), lambda record: cast(int, record[0]))
_ONE = statement(_group_select.where(customer_groups.c.id == _group_id), into(CountedGroup))
_members = (
    select(customer_group_members.c.id, users.c.id.label("user_id"), users.c.email, users.c.email_key)
    .join(users, users.c.id == customer_group_members.c.user_id)
    .where(
        customer_group_members.c.customer_group_id == _group_id,
        users.c.email_key.like(bindparam("pattern", type_=Text())),
    )
)
_by_email = SortOrder(users.c.email_key, is_ascending=True)
_MEMBERS = {
    side: statement(paginate(_members, _by_email, customer_group_members.c.id, side), into(Member))
    for side in (None, "before", "after")
}
_COUNT_MEMBERS = count_rows(_members)
_LISTS = statement(
    select(price_lists)
    .join(price_list_groups, price_list_groups.c.price_list_id == price_lists.c.id)
    .where(price_list_groups.c.customer_group_id == _group_id)
    .order_by(price_lists.c.priority.desc(), price_lists.c.name),
    into(PriceList),
)


async def list_groups(db: DatabaseSession, *, most: int, skip: int = 0, sort: str = "name") -> list[CountedGroup]:
    return await db.all(_GROUPS[sort], skip=skip, most=most)


async def count_groups(db: DatabaseSession) -> int:
    return await db.one(_COUNT) or 0


async def find_group(db: DatabaseSession, group_id: UUID) -> CountedGroup | None:
    return await db.one(_ONE, group_id=group_id)


async def list_members(
    db: DatabaseSession, group_id: UUID, search: str, cursor: CursorPosition | None, *, most: int
) -> list[Member]:
    """Returns members by address; `search` is a prefix of the address."""
    values = {"group_id": group_id, "pattern": like_prefix(search.lower())}
    return await load_page(db, _MEMBERS[cursor.side if cursor else None], cursor, **values, most=most)


async def count_members(db: DatabaseSession, group_id: UUID, search: str) -> int:
    """Returns the number of members, at most one more than `COUNT_LIMIT`."""
    return await db.one(_COUNT_MEMBERS, group_id=group_id, pattern=like_prefix(search.lower())) or 0


async def list_lists_of(db: DatabaseSession, group_id: UUID) -> list[PriceList]:
    return await db.all(_LISTS, group_id=group_id)
