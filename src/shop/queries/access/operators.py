"""Statements for operators and their sessions."""

from datetime import datetime, timedelta
from typing import Any, cast
from uuid import UUID

import msgspec
from sqlalchemy import BigInteger, and_, bindparam, delete, func, literal_column, select, update
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects.postgresql import insert

from shop.db.pool import DatabaseSession
from shop.db.statements import into, statement
from shop.models.access.operators import (
    Operator,
    OperatorSession,
    operator_recovery_codes,
    operator_sessions,
    operators,
)
from shop.models.access.roles import Role, roles
from shop.queries.access.not_before import is_not_void

_now = func.now()
IDLE = timedelta(minutes=30)
ABSOLUTE = timedelta(hours=12)
FRESH = timedelta(minutes=10)
"""Maximum age of the last password check for a sensitive action."""
_TOUCH_INTERVAL = timedelta(minutes=1)

_IS_LIVE = and_(
    operator_sessions.c.revoked_at.is_(None),
    operator_sessions.c.seen_at > _now - IDLE,
    operator_sessions.c.created_at > _now - ABSOLUTE,
    is_not_void(operator_sessions.c.created_at),
)


class SignedInOperator(msgspec.Struct, frozen=True):
    """An operator with the current session."""

    operator: Operator
    role: Role
    session_id: UUID
    is_fresh: bool
    """Whether the password was checked recently."""
    is_seen: bool
    """Whether `seen_at` is less than a minute old."""


class ListedOperator(Operator, frozen=True, kw_only=True):
    """An operator with the name of the role, the time of last activity and the number of unused recovery codes."""

    role_name: str
    last_seen_at: datetime | None
    recovery_codes_left: int


def _signed_in(record: Any) -> SignedInOperator:
    fields = dict(record)
    facts = {name: fields.pop(name) for name in ("session_id", "is_fresh", "is_seen")}
    role = Role(**{name: fields.pop(f"role__{name}") for name in Role.__struct_fields__})
    return SignedInOperator(operator=Operator(**fields), role=role, **facts)


def _one(record: Any) -> UUID:
    return cast(UUID, record[0])


_FIND_SESSION = statement(
    select(
        operators,
        *(column.label(f"role__{column.name}") for column in roles.c),
        operator_sessions.c.id.label("session_id"),
        (operator_sessions.c.authenticated_at > _now - FRESH).label("is_fresh"),
        (operator_sessions.c.seen_at > _now - _TOUCH_INTERVAL).label("is_seen"),
    )
    .select_from(operator_sessions.join(operators).join(roles))
    .where(operator_sessions.c.hash == bindparam("hash"), _IS_LIVE, operators.c.disabled_at.is_(None)),
    _signed_in,
)
_FIND_FORMER_OPERATOR = statement(
    select(operators.c.id)
    .select_from(operator_sessions.join(operators))
    .where(operator_sessions.c.hash == bindparam("hash"), operators.c.disabled_at.is_(None)),
    _one,
)
_TOUCH_SESSION = statement(
    update(operator_sessions)
    .where(operator_sessions.c.id == bindparam("session_id"), operator_sessions.c.seen_at < _now - _TOUCH_INTERVAL)
    .values(seen_at=_now)
    .returning(operator_sessions.c.id),
    _one,
)
_INSERT_SESSION = statement(
    insert(operator_sessions)
    .values(
        id=bindparam("id"),
        hash=bindparam("hash"),
        operator_id=bindparam("operator_id"),
        source=bindparam("source"),
        user_agent=bindparam("user_agent"),
        created_at=_now,
        seen_at=_now,
        authenticated_at=_now,
    )
    .returning(operator_sessions.c.id),
    _one,
)
# Each password check issues a new session secret, so that a secret stolen before is useless.
_CONFIRM_SESSION = statement(
    update(operator_sessions)
    .where(operator_sessions.c.id == bindparam("session_id"), operator_sessions.c.revoked_at.is_(None))
    .values(hash=bindparam("new_hash"), authenticated_at=_now, seen_at=_now)
    .returning(operator_sessions.c.id),
    _one,
)
_END_SESSION = statement(
    update(operator_sessions)
    .where(operator_sessions.c.id == bindparam("session_id"), operator_sessions.c.revoked_at.is_(None))
    .values(revoked_at=_now)
    .returning(operator_sessions.c.id),
    _one,
)
_END_OTHERS = statement(
    update(operator_sessions)
    .where(
        operator_sessions.c.operator_id == bindparam("owner_id"),
        operator_sessions.c.revoked_at.is_(None),
        operator_sessions.c.id.is_distinct_from(bindparam("kept_id", type_=operator_sessions.c.id.type)),
    )
    .values(revoked_at=_now)
    .returning(operator_sessions.c.id),
    _one,
)
_LIST_SESSIONS = statement(
    select(operator_sessions)
    .where(operator_sessions.c.operator_id == bindparam("operator_id"), _IS_LIVE)
    .order_by(operator_sessions.c.created_at.desc()),
    into(OperatorSession),
)

_FIND_BY_KEY = statement(select(operators).where(operators.c.email_key == bindparam("key")), into(Operator))
_FIND_BY_ID = statement(select(operators).where(operators.c.id == bindparam("id")), into(Operator))
_LOCK = statement(select(operators).where(operators.c.id == bindparam("id")).with_for_update(), into(Operator))
_DELETE = statement(delete(operators).where(operators.c.id == bindparam("operator_id")).returning(operators.c.id), _one)
_LIST_ENABLED_EMAILS = statement(
    select(operators.c.email)
    .where(operators.c.disabled_at.is_(None), operators.c.password_hash.is_not(None))
    .order_by(operators.c.id),
    lambda record: cast(str, record[0]),
)
_HAS_OPERATORS = statement(select(operators.c.id).limit(1), _one)
_EPOCH = statement(
    select(sql_cast(func.floor(func.extract("epoch", _now)), BigInteger)), lambda record: cast(int, record[0])
)
_last_seen = (
    select(func.max(operator_sessions.c.seen_at))
    .where(operator_sessions.c.operator_id == operators.c.id)
    .scalar_subquery()
)
_codes_left = (
    select(func.count(literal_column("1")))
    .where(operator_recovery_codes.c.operator_id == operators.c.id, operator_recovery_codes.c.used_at.is_(None))
    .scalar_subquery()
)
_LIST = statement(
    select(
        operators,
        roles.c.name.label("role_name"),
        _last_seen.label("last_seen_at"),
        _codes_left.label("recovery_codes_left"),
    )
    .select_from(operators.join(roles))
    .order_by(operators.c.created_at, operators.c.id),
    into(ListedOperator),
)
_INSERT = statement(
    insert(operators)
    .values(
        id=bindparam("id"),
        email=bindparam("email"),
        email_key=bindparam("email_key"),
        role_id=bindparam("role_id"),
        created_at=_now,
        updated_at=_now,
    )
    .on_conflict_do_nothing(index_elements=["email_key"])
    .returning(operators.c.id),
    _one,
)


def _change(**values: Any) -> Any:
    clause = update(operators).where(operators.c.id == bindparam("operator_id"))
    return statement(clause.values(updated_at=_now, **values).returning(operators.c.id), _one)


_SET_PASSWORD = _change(password_hash=bindparam("new_hash"))
_SET_TOTP = _change(totp_sealed=bindparam("new_sealed"), totp_step=bindparam("new_step"))
_SET_ROLE = _change(role_id=bindparam("new_role_id"))
_DISABLE = _change(disabled_at=_now)
_ENABLE = _change(disabled_at=None)
# Each code is accepted once, even concurrently, and only from the current authenticator. The secret is re-encrypted
# at the same time, so that an old key can be retired.
_TAKE_STEP = statement(
    update(operators)
    .where(
        operators.c.id == bindparam("operator_id"),
        operators.c.totp_step < bindparam("step"),
        operators.c.totp_sealed == bindparam("old_sealed"),
    )
    .values(totp_step=bindparam("step"), totp_sealed=bindparam("new_sealed"))
    .returning(operators.c.id),
    _one,
)


async def find_session(db: DatabaseSession, session_hash: bytes) -> SignedInOperator | None:
    return await db.one(_FIND_SESSION, hash=session_hash)


async def find_former_operator(db: DatabaseSession, session_hash: bytes) -> UUID | None:
    """Returns the operator of a session, even if it has ended."""
    return await db.one(_FIND_FORMER_OPERATOR, hash=session_hash)


async def touch_session(db: DatabaseSession, session_id: UUID) -> None:
    await db.one(_TOUCH_SESSION, session_id=session_id)


async def insert_session(db: DatabaseSession, **values: Any) -> None:
    await db.one(_INSERT_SESSION, **values)


async def confirm_session(db: DatabaseSession, session_id: UUID, new_hash: bytes) -> bool:
    return await db.one(_CONFIRM_SESSION, session_id=session_id, new_hash=new_hash) is not None


async def end_session(db: DatabaseSession, session_id: UUID) -> bool:
    return await db.one(_END_SESSION, session_id=session_id) is not None


async def end_other_sessions(db: DatabaseSession, operator_id: UUID, *, kept_id: UUID | None) -> int:
    return len(await db.all(_END_OTHERS, owner_id=operator_id, kept_id=kept_id))


async def list_sessions(db: DatabaseSession, operator_id: UUID) -> list[OperatorSession]:
    return await db.all(_LIST_SESSIONS, operator_id=operator_id)


async def find_by_key(db: DatabaseSession, email_key: str) -> Operator | None:
    return await db.one(_FIND_BY_KEY, key=email_key)


async def find_operator(db: DatabaseSession, operator_id: UUID) -> Operator | None:
    return await db.one(_FIND_BY_ID, id=operator_id)


async def lock_operator(db: DatabaseSession, operator_id: UUID) -> Operator | None:
    return await db.one(_LOCK, id=operator_id)


async def list_enabled_emails(db: DatabaseSession) -> list[str]:
    """Returns the addresses of all operators who can sign in."""
    return await db.all(_LIST_ENABLED_EMAILS)


async def has_operators(db: DatabaseSession) -> bool:
    return await db.one(_HAS_OPERATORS) is not None


async def read_clock(db: DatabaseSession) -> int:
    """Returns the database's time in seconds."""
    return cast(int, await db.one(_EPOCH))


async def list_operators(db: DatabaseSession) -> list[ListedOperator]:
    return await db.all(_LIST)


async def insert_operator(db: DatabaseSession, **values: Any) -> bool:
    """Returns `False` if the address belongs to an operator already."""
    return await db.one(_INSERT, **values) is not None


async def set_password(db: DatabaseSession, operator_id: UUID, password_hash: str) -> None:
    await db.one(_SET_PASSWORD, operator_id=operator_id, new_hash=password_hash)


async def set_totp(db: DatabaseSession, operator_id: UUID, ciphertext: bytes | None, step: int) -> None:
    await db.one(_SET_TOTP, operator_id=operator_id, new_sealed=ciphertext, new_step=step)


async def take_totp_step(db: DatabaseSession, operator: Operator, step: int, ciphertext: bytes) -> bool:
    values = {"operator_id": operator.id, "old_sealed": operator.totp_sealed, "new_sealed": ciphertext}
    return await db.one(_TAKE_STEP, step=step, **values) is not None


async def set_role(db: DatabaseSession, operator_id: UUID, role_id: UUID) -> None:
    await db.one(_SET_ROLE, operator_id=operator_id, new_role_id=role_id)


async def delete_operator(db: DatabaseSession, operator_id: UUID) -> None:
    await db.one(_DELETE, operator_id=operator_id)


async def set_disabled(db: DatabaseSession, operator_id: UUID, *, is_disabled: bool) -> bool:
    return await db.one(_DISABLE if is_disabled else _ENABLE, operator_id=operator_id) is not None
