"""Statements for sign-in codes: requests, attempts and redemption."""

from collections.abc import Sequence
from typing import Any, cast
from uuid import UUID

import msgspec
from sqlalchemy import BigInteger, and_, bindparam, exists, func, select, true, update
from sqlalchemy.dialects.postgresql import insert

from shop.db.pool import DatabaseSession as Db
from shop.db.statements import into, seconds, statement
from shop.models.access.sessions import LoginRequest, login_requests
from shop.models.access.users import User, users
from shop.queries.access.not_before import is_not_void
from shop.queries.journal import WINDOW_COUNTS, read_count
from shop.rules.rate_limits import Count, Limit

_now = func.now()
_IS_LIVE_REQUEST = and_(login_requests.c.consumed_at.is_(None), login_requests.c.superseded_at.is_(None))

# The upsert also locks the row, which serializes requests for one address.
_LOCK_OR_CREATE_USER = statement(
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
_COUNT_ATTEMPT = statement(
    update(login_requests)
    .where(
        login_requests.c.email_key == bindparam("key"),
        _IS_LIVE_REQUEST,
        login_requests.c.expires_at > _now,
        is_not_void(login_requests.c.created_at),
        login_requests.c.is_long | (login_requests.c.attempts < bindparam("tries", type_=BigInteger)),
    )
    .values(attempts=login_requests.c.attempts + 1)
    .returning(login_requests),
    into(LoginRequest),
)
_CONSUME = statement(
    update(login_requests)
    .where(login_requests.c.id == bindparam("request_id"), _IS_LIVE_REQUEST, is_not_void(login_requests.c.created_at))
    .values(consumed_at=_now)
    .returning(login_requests.c.id),
    lambda record: cast(UUID, record[0]),
)
_FIND_REQUEST = statement(select(login_requests).where(login_requests.c.id == bindparam("id")), into(LoginRequest))


class CountedRequest(msgspec.Struct, frozen=True):
    """The new count of a rate limit window, if any, and whether the address is verified."""

    is_verified: bool
    count: Count | None


_is_verified = exists().where(users.c.email_key == bindparam("email_key"), users.c.verified_at.is_not(None))
_verification = select(_is_verified.label("is_verified")).subquery("verified")
_COUNT_REQUEST = statement(
    select(_verification.c.is_verified, *WINDOW_COUNTS.c).select_from(_verification.outerjoin(WINDOW_COUNTS, true())),
    lambda record: CountedRequest(record["is_verified"], read_count(record) if record["key"] else None),
)
_IS_VERIFIED = statement(select(_is_verified), lambda record: cast(bool, record[0]))


async def count_request(db: Db, limits: Sequence[Limit], email_key: str) -> tuple[list[Count], bool]:
    """Adds one to each window of an address; also returns whether the address is verified."""
    rows = await db.all(
        _COUNT_REQUEST,
        keys=[limit.key for limit in limits],
        windows=[limit.seconds for limit in limits],
        email_key=email_key,
    )
    return [row.count for row in rows if row.count], rows[0].is_verified


async def is_verified(db: Db, email_key: str) -> bool:
    return await db.one(_IS_VERIFIED, email_key=email_key) is True


async def lock_or_create_user(db: Db, **values: Any) -> User:
    """Returns the user of an address, created if missing and locked until the transaction ends."""
    return cast(User, await db.one(_LOCK_OR_CREATE_USER, **values))


async def supersede_requests(db: Db, email_key: str) -> None:
    await db.one(_SUPERSEDE, key=email_key)


async def insert_request(db: Db, **values: Any) -> LoginRequest:
    return cast(LoginRequest, await db.one(_INSERT_REQUEST, **values))


async def count_attempt(db: Db, *, email_key: str, tries: int) -> LoginRequest | None:
    """Counts an attempt on the live request of an address; returns `None` if there is none or no attempt is left."""
    return await db.one(_COUNT_ATTEMPT, key=email_key, tries=tries)


async def consume_request(db: Db, request_id: UUID) -> bool:
    return await db.one(_CONSUME, request_id=request_id) is not None


async def find_request(db: Db, request_id: UUID) -> LoginRequest | None:
    return await db.one(_FIND_REQUEST, id=request_id)
