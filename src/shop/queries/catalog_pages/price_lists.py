"""Which statements fill the dashboard's pages of price lists."""

from functools import lru_cache
from typing import Any, cast
from uuid import UUID

import msgspec
from sqlalchemy import BigInteger, Text, and_, bindparam, func, or_, select
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.db.pool import Session
from shop.db.statements import Statement, among, into, shaped_statement, statement
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
from shop.queries.dashboard import like_prefix

_ID = PG_UUID(as_uuid=True)
_list_id = bindparam("list_id", type_=_ID)


class CountedList(PriceList, frozen=True, kw_only=True):
    """A price list, how many prices are in it, and whose it is."""

    entry_count: int
    user_count: int
    group_names: list[str]
    is_current: bool
    """Within its time."""


class NamedEntry(PriceListEntry, frozen=True, kw_only=True):
    """An entry with the variant it is about and what anybody pays for that."""

    product_id: UUID
    product_name: str
    sku: str
    options_text: str
    base_amount: int | None


class AssignedUser(msgspec.Struct, frozen=True):
    """A customer who has a list; `id` is that of the assignment."""

    id: UUID
    user_id: UUID
    email: str


class AssignedGroup(msgspec.Struct, frozen=True):
    """A group that has a list, or with no assignment one that could."""

    id: UUID | None
    group_id: UUID
    name: str


def _count_of(table: Any) -> Any:
    found = select(func.count()).select_from(table).where(table.c.price_list_id == price_lists.c.id)
    return sql_cast(found.correlate(price_lists).scalar_subquery(), BigInteger)


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
_counted = select(
    price_lists,
    _count_of(price_list_entries).label("entry_count"),
    _count_of(price_list_users).label("user_count"),
    _group_names.label("group_names"),
    _is_current.label("is_current"),
)
_LISTS = statement(
    _counted.order_by(price_lists.c.priority.desc(), price_lists.c.name).limit(bindparam("most", type_=BigInteger())),
    into(CountedList),
)
_ONE = statement(_counted.where(price_lists.c.id == _list_id), into(CountedList))


@lru_cache(maxsize=8)
def _entries(is_searched: bool, is_older: bool) -> Statement[NamedEntry]:
    found = (
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
    if is_searched:
        found = found.where(func.lower(variants.c.sku).like(bindparam("pattern", type_=Text())))
    if is_older:
        found = found.where(price_list_entries.c.id < bindparam("before", type_=_ID))
    most = bindparam("most", type_=BigInteger())
    return shaped_statement(found.order_by(price_list_entries.c.id.desc()).limit(most), into(NamedEntry))


_OF_VARIANTS = statement(
    select(price_list_entries.c.variant_id, price_list_entries.c.min_quantity, price_list_entries.c.id).where(
        price_list_entries.c.price_list_id == _list_id,
        price_list_entries.c.variant_id == among("ids", _ID),
    ),
    lambda record: cast(tuple[UUID, int, UUID], tuple(record)),
)
_USERS = statement(
    select(price_list_users.c.id, users.c.id.label("user_id"), users.c.email)
    .join(users, users.c.id == price_list_users.c.user_id)
    .where(price_list_users.c.price_list_id == _list_id, users.c.email_key.like(bindparam("pattern", type_=Text())))
    .order_by(users.c.email_key)
    .limit(bindparam("most", type_=BigInteger())),
    into(AssignedUser),
)
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


async def list_price_lists(db: Session, *, most: int) -> list[CountedList]:
    """Those that are asked first come first."""
    return await db.all(_LISTS, most=most)


async def find_price_list(db: Session, list_id: UUID) -> CountedList | None:
    return await db.one(_ONE, list_id=list_id)


async def list_entries(
    db: Session, price_list: PriceList, search: str, before: UUID | None, *, most: int
) -> list[NamedEntry]:
    """Newest first; with a search, those whose SKU begins so."""
    return await db.all(
        _entries(bool(search), before is not None),
        list_id=price_list.id,
        currency=price_list.currency,
        pattern=like_prefix(search.lower()),
        before=before,
        most=most,
    )


async def find_entries(db: Session, list_id: UUID, variant_ids: list[UUID]) -> dict[tuple[UUID, int], UUID]:
    """The ids of a list's entries by variant and quantity."""
    found = await db.all(_OF_VARIANTS, list_id=list_id, ids=variant_ids)
    return {(variant_id, quantity): entry_id for variant_id, quantity, entry_id in found}


async def list_assigned_users(db: Session, list_id: UUID, search: str, *, most: int) -> list[AssignedUser]:
    return await db.all(_USERS, list_id=list_id, pattern=like_prefix(search.lower()), most=most)


async def list_groups_for(db: Session, list_id: UUID) -> list[AssignedGroup]:
    """All groups there are."""
    return await db.all(_GROUPS, list_id=list_id)
