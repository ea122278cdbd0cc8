"""Statements for the dashboard's customer group pages."""

from uuid import UUID

import msgspec
from sqlalchemy import BigInteger, Text, bindparam, func, select
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.db.pool import DatabaseSession
from shop.db.statements import into, statement
from shop.models.access.users import CustomerGroup, customer_group_members, customer_groups, users
from shop.models.catalog.prices import PriceList, price_list_groups, price_lists
from shop.queries.dashboard import like_prefix

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
_GROUPS = statement(
    _group_select.order_by(customer_groups.c.name).limit(bindparam("most", type_=BigInteger())), into(CountedGroup)
)
_ONE = statement(_group_select.where(customer_groups.c.id == _group_id), into(CountedGroup))
_MEMBERS = statement(
    select(customer_group_members.c.id, users.c.id.label("user_id"), users.c.email)
    .join(users, users.c.id == customer_group_members.c.user_id)
    .where(
        customer_group_members.c.customer_group_id == _group_id,
        users.c.email_key.like(bindparam("pattern", type_=Text())),
    )
    .order_by(users.c.email_key)
    .limit(bindparam("most", type_=BigInteger())),
    into(Member),
)
_LISTS = statement(
    select(price_lists)
    .join(price_list_groups, price_list_groups.c.price_list_id == price_lists.c.id)
    .where(price_list_groups.c.customer_group_id == _group_id)
    .order_by(price_lists.c.priority.desc(), price_lists.c.name),
    into(PriceList),
)


async def list_groups(db: DatabaseSession, *, most: int) -> list[CountedGroup]:
    return await db.all(_GROUPS, most=most)


async def find_group(db: DatabaseSession, group_id: UUID) -> CountedGroup | None:
    return await db.one(_ONE, group_id=group_id)


async def list_members(db: DatabaseSession, group_id: UUID, search: str, *, most: int) -> list[Member]:
    """Returns members by address; `search` is a prefix of the address."""
    return await db.all(_MEMBERS, group_id=group_id, pattern=like_prefix(search.lower()), most=most)


async def list_lists_of(db: DatabaseSession, group_id: UUID) -> list[PriceList]:
    return await db.all(_LISTS, group_id=group_id)
