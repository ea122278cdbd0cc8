"""Statements for users, their addresses, and countries and states."""

from typing import Any, cast
from uuid import UUID

from sqlalchemy import BigInteger, Text, bindparam, case, delete, exists, func, or_, select, union_all, update
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects.postgresql import insert

from shop.db.pool import DatabaseSession
from shop.db.statements import any_of, into, statement
from shop.models.access.sessions import access_tokens, sessions
from shop.models.access.users import AccountUser, Customer, User, users
from shop.models.cart.archived_orders import archived_orders
from shop.models.cart.orders import order_lookups, orders
from shop.models.checkout.store_credit import store_credits
from shop.models.customers.addresses import AddressWithCountry, addresses
from shop.models.journal import OutboxMail, outbox_mails
from shop.models.setup.countries import Country, State, countries, states
from shop.queries.access.sessions import IS_OPEN_SESSION
from shop.queries.records import Records

_now = func.now()
_is_unverified = users.c.verified_at.is_(None)


def _first_name_wins(name: str) -> Any:
    """Returns the name after a sign-in: for an unverified user, the name of the redeemed request, even if empty, which
    discards names that others entered; the name of a verified user never changes.
    """
    new_name = bindparam(f"given_{name}", type_=Text)
    return case((_is_unverified, new_name), else_=users.c[name])


_VERIFY = statement(
    update(users)
    .where(users.c.id == bindparam("user_id"))
    .values(
        first_name=_first_name_wins("first_name"),
        last_name=_first_name_wins("last_name"),
        verified_at=func.coalesce(users.c.verified_at, _now),
        updated_at=case((_is_unverified, _now), else_=users.c.updated_at),
    )
    .returning(users.c.id),
    lambda record: cast(UUID, record[0]),
)


_purchases = union_all(
    select(orders.c.currency, orders.c.total)
    .where(orders.c.user_id == users.c.id, orders.c.completed_at.is_not(None))
    .correlate(users),
    select(archived_orders.c.currency, archived_orders.c.total)
    .where(archived_orders.c.user_id == users.c.id)
    .correlate(users),
).subquery("purchases")
ORDER_COUNT = select(func.count()).select_from(_purchases).scalar_subquery()
"""The number of a user's completed orders, archived ones included."""
_credits_left = (
    select(
        store_credits.c.currency,
        sql_cast(func.sum(store_credits.c.amount - store_credits.c.amount_used), BigInteger).label("amount"),
    )
    .where(store_credits.c.user_id == users.c.id, store_credits.c.amount_used < store_credits.c.amount)
    .group_by(store_credits.c.currency)
    .order_by(store_credits.c.currency)
    .correlate(users)
    .subquery("credits_left")
)
_credits = select(
    func.coalesce(func.jsonb_agg(func.to_jsonb(_credits_left.table_valued())), func.jsonb_build_array())
).scalar_subquery()
_by_currency = (
    select(
        _purchases.c.currency,
        func.sum(_purchases.c.total).label("total"),
        func.avg(_purchases.c.total).label("average"),
    )
    .group_by(_purchases.c.currency)
    .order_by(_purchases.c.currency)
    .subquery("by_currency")
)
_spending = select(
    func.coalesce(func.jsonb_agg(func.to_jsonb(_by_currency.table_valued())), func.jsonb_build_array())
).scalar_subquery()
FULL_NAME = func.concat_ws(" ", addresses.c.firstname, addresses.c.lastname, type_=Text())
CUSTOMERS = Records(table=users, row=Customer, extras={"spending": _spending, "credits": _credits})
_FIND_ACCOUNT = statement(
    select(users, ORDER_COUNT.label("completed_orders"), _credits.label("credits"))
    .select_from(access_tokens.join(sessions, sessions.c.id == access_tokens.c.session_id).join(users))
    .where(access_tokens.c.hash == bindparam("hash"), access_tokens.c.expires_at > _now, IS_OPEN_SESSION),
    into(AccountUser),
)
_FIND_USER = statement(
    select(users, ORDER_COUNT.label("completed_orders"), _credits.label("credits")).where(
        users.c.id == bindparam("id")
    ),
    into(AccountUser),
)
_LOCK_USER = statement(select(users).where(users.c.id == bindparam("id")).with_for_update(), into(User))
_UPDATE_USER = statement(
    update(users)
    .where(users.c.id == bindparam("user_id"))
    .values(
        first_name=bindparam("new_first_name"),
        last_name=bindparam("new_last_name"),
        selected_locale=bindparam("new_selected_locale"),
        public_metadata=bindparam("new_public_metadata"),
        bill_address_id=bindparam("new_bill_address_id"),
        ship_address_id=bindparam("new_ship_address_id"),
        updated_at=_now,
    )
    .returning(users),
    into(User),
)


_state_name = func.coalesce(states.c.name, addresses.c.state_name).label("state_name")
_ADDRESS_SELECT = select(
    *[column for column in addresses.c if column.name != "state_name"],
    _state_name,
    countries.c.name.label("country_name"),
    countries.c.iso.label("country_iso"),
    countries.c.iso3.label("country_iso3"),
    states.c.abbr.label("state_code"),
).select_from(
    addresses.join(countries, countries.c.id == addresses.c.country_id).outerjoin(
        states, states.c.id == addresses.c.state_id
    )
)
_OWN = (addresses.c.user_id == bindparam("user_id"), addresses.c.deleted_at.is_(None))
_LIST_ADDRESSES = statement(
    _ADDRESS_SELECT.where(*_OWN).order_by(addresses.c.created_at, addresses.c.id), into(AddressWithCountry)
)
_FIND_ADDRESS = statement(_ADDRESS_SELECT.where(*_OWN, addresses.c.id == bindparam("id")), into(AddressWithCountry))
_FIND_ADDRESSES = statement(
    _ADDRESS_SELECT.where(addresses.c.id == any_of("ids", addresses.c.id.type)),
    into(AddressWithCountry),
)
_EDITABLE = (
    "firstname",
    "lastname",
    "company",
    "address1",
    "address2",
    "city",
    "zipcode",
    "state_id",
    "state_name",
    "country_id",
    "phone",
    "label",
)
_INSERT_ADDRESS = statement(
    insert(addresses)
    .values(
        id=bindparam("id"),
        user_id=bindparam("user_id"),
        created_at=_now,
        updated_at=_now,
        **{name: bindparam(f"new_{name}") for name in _EDITABLE},
    )
    .returning(addresses.c.id),
    lambda record: cast(UUID, record[0]),
)
_UPDATE_ADDRESS = statement(
    update(addresses)
    .where(addresses.c.id == bindparam("address_id"))
    .values(updated_at=_now, **{name: bindparam(f"new_{name}") for name in _EDITABLE})
    .returning(addresses.c.id),
    lambda record: cast(UUID, record[0]),
)
_uses = or_(
    order_lookups.c.bill_address_id == bindparam("address_id"),
    order_lookups.c.ship_address_id == bindparam("address_id"),
)
_IS_USED = statement(
    select(order_lookups.c.is_completed).where(_uses).order_by(order_lookups.c.is_completed.desc()).limit(1),
    lambda record: cast(bool, record[0]),
)
_SOFT_DELETE_ADDRESS = statement(
    update(addresses)
    .where(addresses.c.id == bindparam("address_id"))
    .values(deleted_at=_now)
    .returning(addresses.c.id),
    lambda record: cast(UUID, record[0]),
)
_DELETE_ADDRESS = statement(
    delete(addresses).where(addresses.c.id == bindparam("address_id")).returning(addresses.c.id),
    lambda record: cast(UUID, record[0]),
)


def _swap_address(name: str) -> Any:
    old, new = bindparam("old_id", type_=users.c.id.type), bindparam("new_id", type_=users.c.id.type)
    return case((users.c[name] == old, new), else_=users.c[name])


_REPLACE_DEFAULT = statement(
    update(users)
    .where(users.c.id == bindparam("user_id"))
    .values(bill_address_id=_swap_address("bill_address_id"), ship_address_id=_swap_address("ship_address_id"))
    .returning(users.c.id),
    lambda record: cast(UUID, record[0]),
)
_FIND_COUNTRY = statement(
    select(countries).where(
        (countries.c.iso == bindparam("code"))
        | (countries.c.iso3 == bindparam("code"))
        | (countries.c.id == bindparam("id"))
    ),
    into(Country),
)
_COUNTRIES = statement(select(countries).order_by(countries.c.name, countries.c.id), into(Country))
_COUNTRY_NAMES = statement(
    select(countries.c.iso, countries.c.name).order_by(countries.c.name, countries.c.id),
    lambda record: cast(tuple[str, str], tuple(record)),
)
_STATES = statement(
    select(states).where(states.c.country_id == bindparam("country_id")).order_by(states.c.name), into(State)
)
_FIND_STATE = statement(
    select(states).where(
        states.c.country_id == bindparam("country_id"),
        (states.c.id == bindparam("id"))
        | (func.lower(states.c.name) == func.lower(bindparam("text", type_=Text)))
        | (states.c.abbr == func.upper(bindparam("text", type_=Text))),
    ),
    into(State),
)


_MAILS = statement(
    select(outbox_mails)
    .where(func.lower(outbox_mails.c.recipient) == bindparam("email_key", type_=Text))
    .order_by(outbox_mails.c.created_at.desc())
    .limit(bindparam("most", type_=BigInteger)),
    into(OutboxMail),
)


async def list_mails(db: DatabaseSession, email_key: str, *, most: int) -> list[OutboxMail]:
    """Returns the e-mails to an address, newest first."""
    return await db.all(_MAILS, email_key=email_key, most=most)


async def verify_user(db: DatabaseSession, user_id: UUID, *, first_name: str | None, last_name: str | None) -> None:
    await db.one(_VERIFY, user_id=user_id, given_first_name=first_name, given_last_name=last_name)


async def find_account(db: DatabaseSession, token_hash: bytes) -> AccountUser | None:
    """Returns the account of a bearer token, checked in the same statement."""
    return await db.one(_FIND_ACCOUNT, hash=token_hash)


_DELETE_UNUSED_ADDRESSES = statement(
    delete(addresses)
    .where(
        addresses.c.id == any_of("ids", addresses.c.id.type),
        addresses.c.user_id.is_(None),
        ~exists().where(orders.c.bill_address_id == addresses.c.id),
        ~exists().where(orders.c.ship_address_id == addresses.c.id),
    )
    .returning(addresses.c.id),
    lambda record: cast(UUID, record[0]),
)


async def delete_unused_addresses(db: DatabaseSession, ids: list[UUID]) -> None:
    """Deletes those addresses that no user and no order has."""
    await db.all(_DELETE_UNUSED_ADDRESSES, ids=ids)


async def find_user(db: DatabaseSession, user_id: UUID) -> AccountUser | None:
    return await db.one(_FIND_USER, id=user_id)


async def lock_user(db: DatabaseSession, user_id: UUID) -> User:
    """Locks the user's row until the transaction ends, which serializes changes."""
    return cast(User, await db.one(_LOCK_USER, id=user_id))


async def update_user(db: DatabaseSession, user_id: UUID, **values: Any) -> User:
    return cast(
        User, await db.one(_UPDATE_USER, user_id=user_id, **{f"new_{name}": value for name, value in values.items()})
    )


async def list_addresses(db: DatabaseSession, user_id: UUID) -> list[AddressWithCountry]:
    return await db.all(_LIST_ADDRESSES, user_id=user_id)


async def find_address(db: DatabaseSession, user_id: UUID, address_id: UUID) -> AddressWithCountry | None:
    return await db.one(_FIND_ADDRESS, user_id=user_id, id=address_id)


async def find_addresses(db: DatabaseSession, ids: list[UUID]) -> dict[UUID, AddressWithCountry]:
    return {address.id: address for address in await db.all(_FIND_ADDRESSES, ids=ids)}


async def insert_address(db: DatabaseSession, address_id: UUID, user_id: UUID | None, fields: dict[str, Any]) -> None:
    await db.one(_INSERT_ADDRESS, id=address_id, user_id=user_id, **_new(fields))


async def update_address(db: DatabaseSession, address_id: UUID, fields: dict[str, Any]) -> None:
    await db.one(_UPDATE_ADDRESS, address_id=address_id, **_new(fields))


async def is_used(db: DatabaseSession, address_id: UUID) -> bool | None:
    """Returns whether a completed order uses an address; `None` if no order does."""
    return await db.one(_IS_USED, address_id=address_id)


async def soft_delete_address(db: DatabaseSession, address_id: UUID) -> None:
    await db.one(_SOFT_DELETE_ADDRESS, address_id=address_id)


async def delete_address(db: DatabaseSession, address_id: UUID) -> None:
    await db.one(_DELETE_ADDRESS, address_id=address_id)


async def replace_default(db: DatabaseSession, user_id: UUID, *, old_id: UUID, new_id: UUID | None) -> None:
    await db.one(_REPLACE_DEFAULT, user_id=user_id, old_id=old_id, new_id=new_id)


async def find_country(db: DatabaseSession, *, code: str, country_id: UUID | None) -> Country | None:
    return await db.one(_FIND_COUNTRY, code=code, id=country_id)


async def list_countries(db: DatabaseSession) -> list[Country]:
    return await db.all(_COUNTRIES)


async def list_country_names(db: DatabaseSession) -> list[tuple[str, str]]:
    """Returns codes and names, for a choice."""
    return await db.all(_COUNTRY_NAMES)


async def list_states(db: DatabaseSession, country_id: UUID) -> list[State]:
    return await db.all(_STATES, country_id=country_id)


async def find_state(db: DatabaseSession, *, country_id: UUID, text: str, state_id: UUID | None) -> State | None:
    return await db.one(_FIND_STATE, country_id=country_id, text=text, id=state_id)


def _new(fields: dict[str, Any]) -> dict[str, Any]:
    return {f"new_{name}": fields.get(name) for name in _EDITABLE}
