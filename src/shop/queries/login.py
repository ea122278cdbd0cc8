"""Which statements ask for a code and trade it: the newest request of an address, its tries, its end."""

from typing import Any, cast
from uuid import UUID

from sqlalchemy import BigInteger, and_, bindparam, func, select, update
from sqlalchemy.dialects.postgresql import insert

from shop.db.pool import Session as Db
from shop.db.statements import into, seconds, statement
from shop.models.access import LoginRequest, login_requests
from shop.models.people import User, users

_now = func.now()
_IS_LIVE_REQUEST = and_(login_requests.c.consumed_at.is_(None), login_requests.c.superseded_at.is_(None))

# The row is locked as well as made: two requests for one address come one after the other.
_LOCK_OR_MAKE_USER = statement(
    insert(users)
    .values(
        id=bindparam("id"),
        email=bindparam("email"),
        email_key=bindparam("email_key"),
        first_name=bindparam("first_name"),
        last_name=bindparam("last_name"),
        created_at=_now,
        updated_at=_now,
    )
    .on_conflict_do_update(index_elements=["email_key"], set_={"email_key": bindparam("email_key")})
    .returning(users),
    into(User),
)
_SUPERSEDE = statement(
    update(login_requests)
    .where(login_requests.c.email_key == bindparam("key"), _IS_LIVE_REQUEST)
    .values(superseded_at=_now)
    .returning(login_requests.c.id),
    lambda record: cast(UUID, record[0]),
)
_INSERT_REQUEST = statement(
    insert(login_requests)
    .values(
        id=bindparam("id"),
        email_key=bindparam("email_key"),
        email=bindparam("email"),
        key_id=bindparam("key_id"),
        nonce=bindparam("nonce"),
        is_long=bindparam("is_long"),
        first_name=bindparam("first_name"),
        last_name=bindparam("last_name"),
        created_at=_now,
        expires_at=_now + seconds("ttl"),
    )
    .returning(login_requests),
    into(LoginRequest),
)
_TRY = statement(
    update(login_requests)
    .where(
        login_requests.c.email_key == bindparam("key"),
        _IS_LIVE_REQUEST,
        login_requests.c.expires_at > _now,
        login_requests.c.is_long | (login_requests.c.attempts < bindparam("tries", type_=BigInteger)),
    )
    .values(attempts=login_requests.c.attempts + 1)
    .returning(login_requests),
    into(LoginRequest),
)
_CONSUME = statement(
    update(login_requests)
    .where(login_requests.c.id == bindparam("request_id"), _IS_LIVE_REQUEST)
    .values(consumed_at=_now)
    .returning(login_requests.c.id),
    lambda record: cast(UUID, record[0]),
)
_FIND_REQUEST = statement(select(login_requests).where(login_requests.c.id == bindparam("id")), into(LoginRequest))


async def lock_or_make_user(db: Db, **values: Any) -> User:
    """The user of an address, made if there is none; held until the transaction ends."""
    return cast(User, await db.one(_LOCK_OR_MAKE_USER, **values))


async def supersede_requests(db: Db, email_key: str) -> None:
    await db.one(_SUPERSEDE, key=email_key)


async def insert_request(db: Db, **values: Any) -> LoginRequest:
    return cast(LoginRequest, await db.one(_INSERT_REQUEST, **values))


async def take_try(db: Db, *, email_key: str, tries: int) -> LoginRequest | None:
    """The live request of an address with one more try counted; none when there is none, or no try is left."""
    return await db.one(_TRY, key=email_key, tries=tries)


async def consume_request(db: Db, request_id: UUID) -> bool:
    return await db.one(_CONSUME, request_id=request_id) is not None


async def find_request(db: Db, request_id: UUID) -> LoginRequest | None:
    return await db.one(_FIND_REQUEST, id=request_id)
