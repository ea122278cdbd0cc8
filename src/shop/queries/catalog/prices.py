"""What a variant costs: for whom, in which currency, at which quantity, now. The one decision that lives in SQL,
because lists sort and filter by it.

    the customer's lists: active, in their window, in the currency, assigned to them or to a group of theirs
    in one list:          the entry with the largest `min_quantity` up to the quantity; else the percentage, if any,
                          off the base price
    among lists:          the largest priority that has a price; of equal ones the lower price, then the older list
    no list has one:      the base price, which is what anybody pays
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, cast
from uuid import UUID

import msgspec
from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Numeric,
    Text,
    and_,
    bindparam,
    column,
    exists,
    func,
    literal_column,
    null,
    or_,
    select,
    union,
    union_all,
)
from sqlalchemy import any_ as sql_any
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects.postgresql import ARRAY, distinct_on
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.db.pool import Session
from shop.db.statements import among, into, statement
from shop.models.access.sessions import access_tokens, sessions
from shop.models.access.users import customer_group_members, users
from shop.models.catalog.prices import (
    PriceList,
    price_list_entries,
    price_list_groups,
    price_list_users,
    price_lists,
    prices,
)
from shop.queries.access.sessions import IS_OPEN_SESSION
from shop.queries.catalog.versions import DUE, WRITTEN, version_of

_ID = PG_UUID(as_uuid=True)
_IDS = ARRAY(_ID)


class Pricing(msgspec.Struct, frozen=True):
    """For whom a price is asked: the currency, and the lists that count for the customer now."""

    currency: str
    list_ids: tuple[UUID, ...] = ()
    percent_ids: tuple[UUID, ...] = ()
    """Of these, the lists with a percentage that may decide: those of the largest priority among them, for in each of
    those every variant with a base price has a price.
    """
    user_id: UUID | None = None
    version: tuple[Any, ...] | None = None
    """Of the catalogue, where it was read with the lists."""

    @property
    def is_personal(self) -> bool:
        return bool(self.list_ids)

    @property
    def values(self) -> dict[str, Any]:
        """The parameters of a statement that asks `resolved`."""
        return {"lists": self.list_ids, "percent_lists": self.percent_ids}


class Resolved(msgspec.Struct, frozen=True):
    """The answer, and why: the list that decided, or none when it is the price anybody pays."""

    variant_id: UUID
    amount: int | None
    base_amount: int | None
    compare_at_amount: int | None
    price_list_id: UUID | None
    price_list_name: str | None
    priority: int | None
    min_quantity: int | None
    percent_off: Any


class AssignedList(msgspec.Struct, frozen=True):
    """A list that counts for a customer."""

    id: UUID
    priority: int
    has_percent: bool


def pricing_of(currency: str, lists: Sequence[AssignedList], user_id: UUID | None = None) -> Pricing:
    top = max((found.priority for found in lists if found.has_percent), default=None)
    percent_ids = tuple(found.id for found in lists if found.has_percent and found.priority == top)
    return Pricing(currency, tuple(found.id for found in lists), percent_ids, user_id)


def resolved(variant_id: Any, base_amount: Any, quantity: ColumnElement[int], *outer: Any) -> Any:
    """Of the lists in the parameters `lists` and `percent_lists` the one that decides; no row when none has a price.
    `outer` is where the variant and its base price stand.
    """
    entries, lists = price_list_entries, price_lists
    fits = and_(entries.c.variant_id == variant_id, entries.c.min_quantity <= quantity)
    listed = (
        select(
            lists.c.id,
            lists.c.name,
            lists.c.priority,
            entries.c.amount,
            entries.c.min_quantity,
            sql_cast(null(), Numeric).label("percent_off"),
        )
        .join(lists, lists.c.id == entries.c.price_list_id)
        .where(fits, entries.c.price_list_id == sql_any(bindparam("lists", type_=_IDS)))
        .order_by(entries.c.price_list_id, entries.c.min_quantity.desc())
        .ext(distinct_on(entries.c.price_list_id))
        .correlate(*outer)
    )
    off = (
        select(
            lists.c.id,
            lists.c.name,
            lists.c.priority,
            sql_cast(func.round(base_amount * (100 - lists.c.percent_off) / 100), BigInteger).label("amount"),
            sql_cast(null(), BigInteger).label("min_quantity"),
            lists.c.percent_off,
        )
        .where(
            lists.c.id == sql_any(bindparam("percent_lists", type_=_IDS)),
            base_amount.is_not(None),
            ~exists().where(fits, entries.c.price_list_id == lists.c.id).correlate(lists, *outer),
        )
        .correlate(*outer)
    )
    candidates = union_all(listed.subquery().select(), off).subquery("candidates")
    order = (candidates.c.priority.desc(), candidates.c.amount, candidates.c.id)
    return select(candidates).order_by(*order).limit(literal_column("1")).lateral("decided")


def deciding_columns(decided: Any, base_amount: Any) -> list[ColumnElement[Any]]:
    """The price with the list that made it, as `Resolved` names them."""
    return [
        func.coalesce(decided.c.amount, base_amount).label("amount"),
        base_amount.label("base_amount"),
        decided.c.id.label("price_list_id"),
        decided.c.name.label("price_list_name"),
        decided.c.priority,
        decided.c.min_quantity,
        decided.c.percent_off,
    ]


_asked = func.unnest(bindparam("ids", type_=_IDS)).table_valued(column("id", _ID), name="asked").render_derived()
_variant_id = _asked.c.id
_has_price = and_(prices.c.variant_id == _variant_id, prices.c.currency == bindparam("currency", type_=Text()))
_decided = resolved(_variant_id, prices.c.amount, bindparam("quantity", type_=BigInteger), _asked, prices)
_RESOLVE = statement(
    select(
        _variant_id.label("variant_id"), prices.c.compare_at_amount, *deciding_columns(_decided, prices.c.amount)
    ).select_from(_asked.outerjoin(prices, _has_price).outerjoin(_decided, literal_column("true"))),
    into(Resolved),
)
_BASE = statement(
    select(prices.c.variant_id, prices.c.amount, prices.c.compare_at_amount).where(
        prices.c.variant_id == among("ids", _ID),
        prices.c.currency == bindparam("currency", type_=Text()),
    ),
    lambda record: Resolved(record[0], record[1], record[1], record[2], None, None, None, None, None),
)


def _assigned(user_id: Any) -> Any:
    """The lists that count for a user now, in the currency of the parameter."""
    direct = select(price_list_users.c.price_list_id).where(price_list_users.c.user_id == user_id).correlate(users)
    by_group = (
        select(price_list_groups.c.price_list_id)
        .join(
            customer_group_members,
            customer_group_members.c.customer_group_id == price_list_groups.c.customer_group_id,
        )
        .where(customer_group_members.c.user_id == user_id)
        .correlate(users)
    )
    return select(
        price_lists.c.id, price_lists.c.priority, price_lists.c.percent_off.is_not(None).label("has_percent")
    ).where(
        price_lists.c.id.in_(union(direct, by_group)),
        price_lists.c.active,
        price_lists.c.currency == bindparam("currency", type_=Text()),
        or_(price_lists.c.starts_at.is_(None), price_lists.c.starts_at <= moment()),
        or_(price_lists.c.ends_at.is_(None), price_lists.c.ends_at > moment()),
    )


def moment() -> ColumnElement[datetime]:
    """When the price is asked for; none is now."""
    asked: Any = bindparam("at", value=None, type_=price_lists.c.starts_at.type, required=False)
    return cast(ColumnElement[datetime], func.coalesce(asked, func.now()))


_LIST = statement(select(price_lists).where(price_lists.c.id == bindparam("id", type_=_ID)), into(PriceList))
_LISTS = statement(_assigned(bindparam("user_id", type_=_ID)), into(AssignedList))


class _Shopper(msgspec.Struct, frozen=True):
    user_id: UUID
    lists: list[AssignedList]
    version: tuple[Any, ...]


def _shopper(record: Any) -> _Shopper:
    # One array a column: a list of rows would have to be read from text.
    parts = zip(record["ids"] or (), record["priorities"] or (), record["percents"] or (), strict=True)
    return _Shopper(record["user_id"], [AssignedList(*part) for part in parts], version_of(record))


_theirs = _assigned(users.c.id).lateral("theirs")
_gathered = (
    select(
        func.array_agg(_theirs.c.id, type_=_IDS).label("ids"),
        func.array_agg(_theirs.c.priority, type_=ARRAY(BigInteger)).label("priorities"),
        func.array_agg(_theirs.c.has_percent).label("percents"),
    )
    .select_from(_theirs)
    .lateral("gathered")
)
_SHOPPER = statement(
    select(users.c.id.label("user_id"), _gathered.c.ids, _gathered.c.priorities, _gathered.c.percents, WRITTEN, DUE)
    .select_from(
        access_tokens.join(sessions, sessions.c.id == access_tokens.c.session_id)
        .join(users, users.c.id == sessions.c.user_id)
        .join(_gathered, literal_column("true"))
    )
    .where(access_tokens.c.hash == bindparam("hash"), access_tokens.c.expires_at > func.now(), IS_OPEN_SESSION),
    _shopper,
)


async def find_bearers_pricing(db: Session, token_hash: bytes, currency: str) -> Pricing | None:
    """What counts for the user whose token this is; none when it is no valid one. One statement for both."""
    found = await db.one(_SHOPPER, hash=token_hash, currency=currency)
    if found is None:
        return None
    return msgspec.structs.replace(pricing_of(currency, found.lists, found.user_id), version=found.version)


async def find_list(db: Session, list_id: UUID) -> PriceList | None:
    return await db.one(_LIST, id=list_id)


async def find_pricing(db: Session, user_id: UUID, currency: str, at: datetime | None = None) -> Pricing:
    """What counts for a user now, or at another time."""
    return pricing_of(currency, await db.all(_LISTS, user_id=user_id, currency=currency, at=at), user_id)


async def resolve(
    db: Session, pricing: Pricing, variant_ids: Iterable[UUID], quantity: int = 1
) -> dict[UUID, Resolved]:
    """What each variant costs; one that is not sold in this currency has no amount, or is not in the answer."""
    ids = list(set(variant_ids))
    if not ids:
        return {}
    if pricing.is_personal:
        found = await db.all(_RESOLVE, ids=ids, currency=pricing.currency, quantity=quantity, **pricing.values)
    else:
        found = await db.all(_BASE, ids=ids, currency=pricing.currency)
    return {price.variant_id: price for price in found}
