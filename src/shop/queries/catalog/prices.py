"""The price of a variant for a customer, currency, quantity and time. The only decision made in SQL, because lists
sort and filter by it.

    the customer's lists: active, in their window, in the currency, assigned to them or to a group of theirs
    in one list:          the entry with the largest `min_quantity` up to the quantity; else the percentage, if any,
                          off the base price
    among lists:          the highest priority that has a price; of equal ones the lower price, then the older list
    no list has one:      the base price
"""

from collections.abc import Iterable
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
    case,
    column,
    exists,
    func,
    literal_column,
    null,
    or_,
    select,
    union_all,
)
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects.postgresql import ARRAY, distinct_on
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.db.pool import DatabaseSession
from shop.db.statements import any_of, into, statement
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
from shop.queries.catalog.versions import CatalogState, catalog_state

_ID = PG_UUID(as_uuid=True)
_IDS = ARRAY(_ID)


class Pricing(msgspec.Struct, frozen=True):
    """The pricing context of a customer: the currency and the price lists that apply now."""

    currency: str
    list_ids: tuple[UUID, ...] = ()
    percent_ids: tuple[UUID, ...] = ()
    """The percentage lists that can apply: only those of the highest priority, since each of them prices every variant
    that has a base price.
    """
    user_id: UUID | None = None
    version: CatalogState | None = None
    """The catalog version, if it was read with the lists."""

    @property
    def is_personal(self) -> bool:
        return bool(self.list_ids)

    @property
    def cache_key(self) -> bytes:
        """The price lists in any order. To hash and compare hundreds of ids would run Python code for each."""
        return b"".join(sorted([list_id.bytes for list_id in self.list_ids]))

    @property
    def values(self) -> dict[str, Any]:
        """Returns the parameters of statements that use `resolved`."""
        return {"lists": self.list_ids, "percent_lists": self.percent_ids}


class ResolvedPrice(msgspec.Struct, frozen=True):
    """A resolved price with the price list it comes from; no list for the base price."""

    variant_id: UUID
    amount: int | None
    base_amount: int | None
    compare_at_amount: int | None
    price_list_id: UUID | None
    price_list_name: str | None
    priority: int | None
    min_quantity: int | None
    percent_off: Any


_percent_lists = (
    select(price_lists.c.id, price_lists.c.name, price_lists.c.priority, price_lists.c.percent_off)
    .where(price_lists.c.id == any_of("percent_lists", _ID))
    .cte("percent_lists")
    # Reads the lists once, not once for each variant.
    .prefix_with("materialized")
)


def select_best_price(variant_id: Any, base_amount: Any, quantity: ColumnElement[int], *outer: Any) -> Any:
    """Selects the winning list of the parameters `lists` and `percent_lists`; no row if none has a price. `outer` are
    the tables of the variant and its base price.
    """
    entries, lists = price_list_entries, price_lists
    from_entries = (
        select(
            lists.c.id,
            lists.c.name,
            lists.c.priority,
            entries.c.amount,
            entries.c.min_quantity,
            sql_cast(null(), Numeric).label("percent_off"),
        )
        .join(lists, lists.c.id == entries.c.price_list_id)
        .where(entries.c.variant_id == variant_id, entries.c.min_quantity <= quantity)
        .where(entries.c.price_list_id == any_of("lists", _ID))
        .order_by(entries.c.price_list_id, entries.c.min_quantity.desc())
        .ext(distinct_on(entries.c.price_list_id))
        .correlate(*outer)
        .cte("entries", nesting=True)
    )
    percents = _percent_lists
    off = (
        select(
            percents.c.id,
            percents.c.name,
            percents.c.priority,
            sql_cast(func.round(base_amount * (100 - percents.c.percent_off) / 100), BigInteger).label("amount"),
            sql_cast(null(), BigInteger).label("min_quantity"),
            percents.c.percent_off,
        )
        .where(base_amount.is_not(None), ~exists().where(from_entries.c.id == percents.c.id))
        .correlate(*outer)
    )
    return _first_candidate(union_all(select(from_entries), off).subquery("candidates"))


def _first_candidate(candidates: Any) -> Any:
    order = (candidates.c.priority.desc(), candidates.c.amount, candidates.c.id)
    return select(candidates).order_by(*order).limit(literal_column("1")).lateral("decided")


def deciding_columns(best_price: Any, base_amount: Any) -> list[ColumnElement[Any]]:
    """Returns the price and its price list as the columns of `Resolved`."""
    return [
        func.coalesce(best_price.c.amount, base_amount).label("amount"),
        base_amount.label("base_amount"),
        best_price.c.id.label("price_list_id"),
        best_price.c.name.label("price_list_name"),
        best_price.c.priority,
        best_price.c.min_quantity,
        best_price.c.percent_off,
    ]


_id_table = func.unnest(bindparam("ids", type_=_IDS)).table_valued(column("id", _ID), name="asked").render_derived()
_variant_id = _id_table.c.id
_has_price = and_(prices.c.variant_id == _variant_id, prices.c.currency == bindparam("currency", type_=Text()))
_best_price = select_best_price(
    _variant_id, prices.c.amount, bindparam("quantity", type_=BigInteger), _id_table, prices
)
_RESOLVE = statement(
    select(
        _variant_id.label("variant_id"), prices.c.compare_at_amount, *deciding_columns(_best_price, prices.c.amount)
    ).select_from(_id_table.outerjoin(prices, _has_price).outerjoin(_best_price, literal_column("true"))),
    into(ResolvedPrice),
)
_BASE = statement(
    select(prices.c.variant_id, prices.c.amount, prices.c.compare_at_amount).where(
        prices.c.variant_id == any_of("ids", _ID),
        prices.c.currency == bindparam("currency", type_=Text()),
    ),
    lambda record: ResolvedPrice(record[0], record[1], record[1], record[2], None, None, None, None, None),
)


def _lists_of_user(user_id: Any) -> Any:
    """Selects the price lists that apply to a user now, in the currency of the parameter: the arrays of `Pricing`."""
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
    has_percent = price_lists.c.percent_off.is_not(None)
    top = func.max(case((has_percent, price_lists.c.priority))).over()
    theirs = (
        select(price_lists.c.id, (has_percent & (price_lists.c.priority == top)).label("may_take_off"))
        .where(
            price_lists.c.id.in_(union_all(direct, by_group)),
            price_lists.c.active,
            price_lists.c.currency == bindparam("currency", type_=Text()),
            or_(price_lists.c.starts_at.is_(None), price_lists.c.starts_at <= pricing_time()),
            or_(price_lists.c.ends_at.is_(None), price_lists.c.ends_at > pricing_time()),
        )
        .lateral("theirs")
    )
    return select(
        func.array_agg(theirs.c.id, type_=_IDS).label("list_ids"),
        func.array_agg(theirs.c.id, type_=_IDS).filter(theirs.c.may_take_off).label("percent_ids"),
    ).select_from(theirs)


def pricing_time() -> ColumnElement[datetime]:
    """Returns the parameter `at`; its default is now."""
    at: Any = bindparam("at", value=None, type_=price_lists.c.starts_at.type, required=False)
    return cast(ColumnElement[datetime], func.coalesce(at, func.now()))


_LIST = statement(select(price_lists).where(price_lists.c.id == bindparam("id", type_=_ID)), into(PriceList))
_LISTS = statement(_lists_of_user(bindparam("user_id", type_=_ID)), lambda record: [tuple(ids or ()) for ids in record])


def _shopper(record: Any) -> Pricing:
    version = CatalogState(record["version"], record["shared"], record["facets"], record["matches"], record["due"])
    ids, percent_ids = tuple(record["list_ids"] or ()), tuple(record["percent_ids"] or ())
    return Pricing(record["currency"], ids, percent_ids, record["user_id"], version)


_user_lists = _lists_of_user(users.c.id).lateral("gathered")
_catalog_state = catalog_state.subquery("catalog")
_SHOPPER = statement(
    select(
        users.c.id.label("user_id"),
        bindparam("currency", type_=Text()).label("currency"),
        _user_lists.c.list_ids,
        _user_lists.c.percent_ids,
        *_catalog_state.c,
    )
    .select_from(
        access_tokens.join(sessions, sessions.c.id == access_tokens.c.session_id)
        .join(users, users.c.id == sessions.c.user_id)
        .join(_user_lists, literal_column("true"))
        .join(_catalog_state, literal_column("true"))
    )
    .where(access_tokens.c.hash == bindparam("hash"), access_tokens.c.expires_at > func.now(), IS_OPEN_SESSION),
    _shopper,
)


async def find_bearers_pricing(db: DatabaseSession, token_hash: bytes, currency: str) -> Pricing | None:
    """Returns the pricing of a token's user, or `None` if the token is invalid, in one statement."""
    return await db.one(_SHOPPER, hash=token_hash, currency=currency)


async def find_list(db: DatabaseSession, list_id: UUID) -> PriceList | None:
    return await db.one(_LIST, id=list_id)


async def find_pricing(db: DatabaseSession, user_id: UUID, currency: str, at: datetime | None = None) -> Pricing:
    """Returns the pricing of a user now or at another time."""
    list_ids, percent_ids = (await db.all(_LISTS, user_id=user_id, currency=currency, at=at))[0]
    return Pricing(currency, list_ids, percent_ids, user_id)


async def resolve(
    db: DatabaseSession, pricing: Pricing, variant_ids: Iterable[UUID], quantity: int = 1
) -> dict[UUID, ResolvedPrice]:
    """Returns prices by variant; without a price in this currency, the amount is `None` or the variant is missing."""
    ids = list(set(variant_ids))
    if not ids:
        return {}
    if pricing.is_personal:
        rows = await db.all(_RESOLVE, ids=ids, currency=pricing.currency, quantity=quantity, **pricing.values)
    else:
        rows = await db.all(_BASE, ids=ids, currency=pricing.currency)
    return {price.variant_id: price for price in rows}
