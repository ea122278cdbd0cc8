"""Statements that find carts and orders by the caller's credentials, and assign carts to users."""

from datetime import timedelta
from hashlib import sha256
from typing import Any, cast
from uuid import UUID

import msgspec
from sqlalchemy import BigInteger, and_, bindparam, func, literal_column, or_, select, true, update
from sqlalchemy.dialects.postgresql import insert

from shop.base.actor import Claim
from shop.db.pool import DatabaseSession
from shop.db.statements import into, positional_type, seconds, statement
from shop.models.access.sessions import access_tokens, sessions
from shop.models.access.users import users
from shop.models.cart.orders import Order, orders
from shop.models.journal import idempotency_keys as keys
from shop.queries.access.not_before import is_not_void
from shop.queries.access.sessions import IS_OPEN_SESSION

_ID = orders.c.id.type
_build_order = positional_type(Order)
_IS_OPEN = orders.c.completed_at.is_(None)
_this = orders.c.id == bindparam("cart_id", type_=_ID)
# The token version is part of the lookup, so that a replaced token finds nothing.
_is_opened_by_token = and_(_this, orders.c.token_version == bindparam("version", type_=BigInteger()))

_FIND_OPEN = statement(select(orders).where(_is_opened_by_token, _IS_OPEN), into(Order))
_LOCK_OPEN = statement(select(orders).where(_is_opened_by_token, _IS_OPEN).with_for_update(), into(Order))

# Any token of a user's own cart selects it, since the bearer token alone grants access.
_bearers = (
    select(orders)
    # A draft of an operator is not a cart of its customer.
    .where(_IS_OPEN, orders.c.author_id.is_(None), or_(_is_opened_by_token, orders.c.user_id == users.c.id))
    .order_by(_this.desc().nulls_last(), orders.c.created_at.desc())
    .limit(1)
    .lateral("bearers")
)


class BearersCart(msgspec.Struct, frozen=True):
    """The user of a bearer token, and the cart of the order token or else the user's newest one."""

    user_id: UUID
    cart: Order | None


def _read_bearers_cart(record: Any) -> BearersCart:
    user_id, *values = record
    return BearersCart(user_id, _build_order(*values) if values[0] else None)


# Checks the bearer in the same statement: no row means no session, a row without an order means no cart.
_FIND_BEARERS = statement(
    select(users.c.id.label("bearer_id"), *_bearers.c)
    .select_from(
        access_tokens.join(sessions, sessions.c.id == access_tokens.c.session_id)
        .join(users, users.c.id == sessions.c.user_id)
        .outerjoin(_bearers, true())
    )
    .where(access_tokens.c.hash == bindparam("hash"), access_tokens.c.expires_at > func.now(), IS_OPEN_SESSION),
    _read_bearers_cart,
)


class CompletedOrder(msgspec.Struct, frozen=True):
    """A completed order, and whether its token still grants access."""

    order: Order
    is_shown: bool


def _read_completed(record: Any) -> CompletedOrder:
    *values, is_shown = record
    return CompletedOrder(_build_order(*values), is_shown)


_FIND_COMPLETED = statement(
    select(orders, (orders.c.completed_at > func.now() - seconds("age")).label("is_shown")).where(
        or_(_is_opened_by_token, and_(_this, orders.c.user_id == bindparam("user_id", type_=_ID))),
        orders.c.completed_at.is_not(None),
    ),
    _read_completed,
)
_FIND_STATUS = statement(
    select(orders).where(
        _is_opened_by_token,
        orders.c.number == bindparam("number"),
        orders.c.completed_at > func.now() - seconds("age"),
    ),
    into(Order),
)
# Links are issued when an order is completed, so that one of an older order is older than `not_before` too.
_FIND_LINKED = statement(
    select(orders).where(
        _this,
        orders.c.completed_at > func.now() - seconds("age"),
        func.to_timestamp(bindparam("expires", type_=BigInteger())) > func.now(),
        is_not_void(orders.c.completed_at),
    ),
    into(Order),
)
RECENT_SECONDS = 600
"""Seconds during which a bearer token alone returns the order that was just completed."""
_FIND_RECENTLY_COMPLETED = statement(
    select(orders)
    .where(
        orders.c.user_id == bindparam("user_id", type_=_ID),
        orders.c.completed_at > func.now() - seconds("age"),
    )
    .order_by(orders.c.completed_at.desc())
    .limit(1),
    into(Order),
)
_ASSIGN = statement(
    update(orders)
    .where(orders.c.id == bindparam("cart_id", type_=_ID))
    .values(
        user_id=bindparam("new_user_id", type_=_ID),
        email=bindparam("new_email"),
        token_version=orders.c.token_version + bindparam("raise_by", type_=BigInteger()),
        updated_at=func.now(),
    )
    .returning(orders),
    into(Order),
)
_END_TOKENS = statement(
    update(orders)
    .where(orders.c.id == bindparam("cart_id", type_=_ID), _IS_OPEN)
    .values(token_version=orders.c.token_version + 1)
    .returning(orders.c.id),
    lambda record: cast(UUID, record[0]),
)

ASSOCIATION_TTL = timedelta(minutes=10)
"""How long a replaced token still returns the cart to its user, for clients that missed the response."""
_this_key = (keys.c.scope == bindparam("scope_"), keys.c.key == bindparam("key_"))
_RECORD_ASSOCIATION = statement(
    insert(keys)
    .values(
        scope=bindparam("scope_"),
        key=bindparam("key_"),
        fingerprint=literal_column("''::bytea"),
        record_id=bindparam("record_id", type_=_ID),
        created_at=func.now(),
        expires_at=func.now() + ASSOCIATION_TTL,
    )
    .on_conflict_do_nothing()
    .returning(keys.c.key),
    lambda record: cast(bytes, record[0]),
)
_FIND_ASSOCIATION = statement(
    select(orders)
    .join(keys, keys.c.record_id == orders.c.id)
    .where(*_this_key, keys.c.expires_at > func.now(), orders.c.user_id == bindparam("user_id", type_=_ID), _IS_OPEN),
    into(Order),
)


async def find_by_token(db: DatabaseSession, claim: Claim) -> Order | None:
    """Returns the open cart of the order token."""
    return await db.one(_FIND_OPEN, cart_id=claim.cart_id, version=claim.token_version)


async def lock_by_token(db: DatabaseSession, claim: Claim) -> Order | None:
    return await db.one(_LOCK_OPEN, cart_id=claim.cart_id, version=claim.token_version)


async def lock_guests_cart(db: DatabaseSession, cart_id: UUID, version: int) -> Order | None:
    return await db.one(_LOCK_OPEN, cart_id=cart_id, version=version)


async def find_bearers_cart(db: DatabaseSession, claim: Claim) -> BearersCart | None:
    """Returns the cart of the order token, else the user's newest open one; `None` if the bearer is invalid."""
    return await db.one(_FIND_BEARERS, hash=claim.bearer, cart_id=claim.cart_id, version=claim.token_version)


async def find_completed(db: DatabaseSession, claim: Claim, user_id: UUID | None, age: int) -> CompletedOrder | None:
    """Returns the completed order of the order token, or of any older token of the user's own order."""
    return await db.one(_FIND_COMPLETED, cart_id=claim.cart_id, version=claim.token_version, user_id=user_id, age=age)


async def find_status(db: DatabaseSession, claim: Claim, number: str, age: int) -> Order | None:
    return await db.one(_FIND_STATUS, cart_id=claim.cart_id, version=claim.token_version, number=number, age=age)


async def find_linked(db: DatabaseSession, order_id: UUID, expires: int, age: int) -> Order | None:
    """Returns the completed order of a verified link, unless the link has expired."""
    return await db.one(_FIND_LINKED, cart_id=order_id, expires=expires, age=age)


async def find_recently_completed(db: DatabaseSession, user_id: UUID) -> Order | None:
    """Returns the user's last order if it was completed in the last ten minutes."""
    return await db.one(_FIND_RECENTLY_COMPLETED, user_id=user_id, age=RECENT_SECONDS)


async def assign_to_user(
    db: DatabaseSession, cart_id: UUID, user_id: UUID | None, email: str | None, *, ends_tokens: bool
) -> Order | None:
    """Assigns a cart to a user, or to none, and returns it; `ends_tokens` invalidates its existing tokens."""
    return await db.one(
        _ASSIGN, cart_id=cart_id, new_user_id=user_id, new_email=email, raise_by=1 if ends_tokens else 0
    )


async def record_association(db: DatabaseSession, user_id: UUID, old_token: tuple[UUID, int], cart_id: UUID) -> None:
    """Records which cart a user received for a replaced token, in the table of idempotency keys."""
    await db.one(_RECORD_ASSOCIATION, **_associate_key(user_id, old_token), record_id=cart_id)


async def find_association(db: DatabaseSession, user_id: UUID, old_token: tuple[UUID, int]) -> Order | None:
    """Returns the open cart that this user received for this token in the last ten minutes."""
    return await db.one(_FIND_ASSOCIATION, **_associate_key(user_id, old_token), user_id=user_id)


def _associate_key(user_id: UUID, old_token: tuple[UUID, int]) -> dict[str, bytes]:
    cart_id, version = old_token
    scope, key = b"associate\0" + user_id.bytes, cart_id.bytes + version.to_bytes(8)
    return {"scope_": sha256(scope).digest(), "key_": sha256(key).digest()}


async def end_tokens(db: DatabaseSession, cart_id: UUID) -> None:
    """Invalidates the existing tokens of an open cart."""
    await db.one(_END_TOKENS, cart_id=cart_id)
