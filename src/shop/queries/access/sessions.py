"""Statements for sessions, their tokens, and the user of a bearer token."""

from typing import Any, cast
from uuid import UUID

import msgspec
from sqlalchemy import BigInteger, and_, bindparam, func, literal_column, select, update
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects.postgresql import insert

from shop.db.pool import DatabaseSession as Db
from shop.db.statements import into, seconds, statement
from shop.models.access.applications import applications
from shop.models.access.sessions import Session, access_tokens, refresh_tokens, sessions
from shop.models.access.users import User, users
from shop.queries.access.not_before import is_not_void

_now = func.now()
IS_OPEN_SESSION = and_(
    sessions.c.revoked_at.is_(None),
    sessions.c.absolute_expires_at > _now,
    users.c.disabled_at.is_(None),
    is_not_void(sessions.c.created_at),
)
"""The condition on a session and its user for an access token to be valid."""
_IS_LIVE_SESSION = and_(IS_OPEN_SESSION, sessions.c.idle_expires_at > _now)

# Floored: if rounded, half of all tokens would be issued in the future and outlive their expiry.
_ISSUED_AT = sql_cast(func.floor(func.extract("epoch", access_tokens.c.created_at)), BigInteger)
_OWNER_ID = func.coalesce(sessions.c.user_id, sessions.c.application_id).label("owner_id")

MAX_SESSIONS = 100
"""The maximum number of live sessions per user; a new session above it ends the least recently refreshed one."""
_older = sessions.alias("older")
_ended_oldest = (
    update(sessions)
    .where(
        sessions.c.id.in_(
            select(_older.c.id)
            .where(
                _older.c.user_id == bindparam("user_id", type_=sessions.c.user_id.type),
                _older.c.revoked_at.is_(None),
                _older.c.idle_expires_at > _now,
            )
            .order_by(_older.c.refreshed_at.desc(), _older.c.id.desc())
            .offset(literal_column(str(MAX_SESSIONS - 1)))
        )
    )
    .values(revoked_at=_now, revoke_reason="too many sessions")
    .returning(sessions.c.id)
    .cte("ended_oldest")
)
_INSERT_SESSION = statement(
    insert(sessions)
    .values(
        id=bindparam("id"),
        user_id=bindparam("user_id"),
        application_id=bindparam("application_id"),
        scope=bindparam("scope"),
        source=bindparam("source"),
        user_agent=bindparam("user_agent"),
        created_at=_now,
        refreshed_at=_now,
        idle_expires_at=_now + seconds("idle"),
        absolute_expires_at=_now + seconds("absolute"),
    )
    .returning(sessions)
    .add_cte(_ended_oldest),
    into(Session),
)
_INSERT_REFRESH = statement(
    insert(refresh_tokens)
    .values(
        hash=bindparam("hash"), session_id=bindparam("session_id"), parent_hash=bindparam("parent"), created_at=_now
    )
    .returning(refresh_tokens.c.hash),
    lambda record: cast(bytes, record[0]),
)
_INSERT_ACCESS = statement(
    insert(access_tokens)
    .values(
        hash=bindparam("hash"),
        session_id=bindparam("session_id"),
        refresh_hash=bindparam("refresh_hash"),
        scope=bindparam("scope"),
        created_at=_now,
        expires_at=_now + seconds("ttl"),
    )
    .returning(_ISSUED_AT),
    lambda record: cast(int, record[0]),
)


class PresentedRefreshToken(msgspec.Struct, frozen=True):
    """A presented refresh token with its session and its user or application."""

    session_id: UUID
    owner_id: UUID
    owner_key: str
    scope: str | None
    access_level: str | None
    refresh_count: int
    is_live: bool
    seconds_since_rotation: float | None
    child_hash: bytes | None
    child_is_head: bool
    key_id: str | None
    nonce: bytes | None


_child = refresh_tokens.alias("child")
# Locks the session's row, which serializes all uses of one token family.
_LOCK_REFRESH = statement(
    select(
        sessions.c.id.label("session_id"),
        _OWNER_ID,
        func.coalesce(users.c.email_key, applications.c.client_id).label("owner_key"),
        sessions.c.scope,
        applications.c.access_level,
        sessions.c.refresh_count,
        # A session has a user or an application; the other one is null and passes.
        and_(_IS_LIVE_SESSION, applications.c.revoked_at.is_(None)).label("is_live"),
    )
    .select_from(
        refresh_tokens.join(sessions, sessions.c.id == refresh_tokens.c.session_id)
        .outerjoin(users, users.c.id == sessions.c.user_id)
        .outerjoin(applications, applications.c.id == sessions.c.application_id)
    )
    .where(refresh_tokens.c.hash == bindparam("hash"))
    .with_for_update(of=sessions),
    lambda record: cast(tuple[UUID, UUID, str, str | None, str | None, int, bool], tuple(record)),
)
_FIND_ROTATION = statement(
    select(
        func.extract("epoch", _now - refresh_tokens.c.rotated_at).label("seconds"),
        _child.c.hash,
        and_(_child.c.hash.is_not(None), _child.c.rotated_at.is_(None)),
        refresh_tokens.c.key_id,
        refresh_tokens.c.nonce,
    )
    .select_from(refresh_tokens.outerjoin(_child, _child.c.parent_hash == refresh_tokens.c.hash))
    .where(refresh_tokens.c.hash == bindparam("hash")),
    tuple,
)
_ROTATE = statement(
    update(refresh_tokens)
    .where(refresh_tokens.c.hash == bindparam("parent"), refresh_tokens.c.rotated_at.is_(None))
    .values(rotated_at=_now, key_id=bindparam("new_key_id"), nonce=bindparam("new_nonce"))
    .returning(refresh_tokens.c.hash),
    lambda record: cast(bytes, record[0]),
)
_TOUCH_SESSION = statement(
    update(sessions)
    .where(sessions.c.id == bindparam("session_id"))
    .values(
        refreshed_at=_now,
        idle_expires_at=_now + seconds("idle"),
        refresh_count=sessions.c.refresh_count + literal_column("1"),
    )
    .returning(sessions.c.id),
    lambda record: cast(UUID, record[0]),
)
_FIND_ISSUED = statement(
    select(_ISSUED_AT, access_tokens.c.scope)
    .where(access_tokens.c.refresh_hash == bindparam("hash"))
    .order_by(access_tokens.c.created_at)
    .limit(1),
    lambda record: cast(tuple[int, str | None], tuple(record)),
)
_END_SESSION = statement(
    update(sessions)
    .where(sessions.c.id == bindparam("session_id"), sessions.c.revoked_at.is_(None))
    .values(revoked_at=_now, revoke_reason=bindparam("reason"))
    .returning(_OWNER_ID),
    lambda record: cast(UUID, record[0]),
)
_END_USERS_SESSION = statement(
    update(sessions)
    .where(
        sessions.c.id == bindparam("session_id"),
        sessions.c.user_id == bindparam("owner_id"),
        sessions.c.revoked_at.is_(None),
    )
    .values(revoked_at=_now, revoke_reason=bindparam("reason"))
    .returning(sessions.c.user_id),
    lambda record: cast(UUID, record[0]),
)
_END_USERS_SESSIONS = statement(
    update(sessions)
    .where(sessions.c.user_id == bindparam("owner_id"), sessions.c.revoked_at.is_(None))
    .values(revoked_at=_now, revoke_reason=bindparam("reason"))
    .returning(sessions.c.id),
    lambda record: cast(UUID, record[0]),
)
_END_OTHER_SESSIONS = statement(
    update(sessions)
    .where(
        sessions.c.user_id == bindparam("owner_id"),
        sessions.c.id != bindparam("current_id"),
        sessions.c.revoked_at.is_(None),
    )
    .values(revoked_at=_now, revoke_reason=bindparam("reason"))
    .returning(sessions.c.id),
    lambda record: cast(UUID, record[0]),
)
_SESSION_OF = statement(
    select(access_tokens.c.session_id).where(
        access_tokens.c.hash == bindparam("hash"), access_tokens.c.expires_at > _now
    ),
    lambda record: cast(UUID, record[0]),
)
_FIND_SESSION = statement(select(sessions).where(sessions.c.id == bindparam("id")), into(Session))
_LIST_USER_AGENTS = statement(
    select(sessions.c.user_agent).distinct().where(sessions.c.user_id == bindparam("user_id")),
    lambda record: cast(str | None, record[0]),
)
_LIST_SESSIONS = statement(
    select(sessions)
    .select_from(sessions.join(users))
    .where(sessions.c.user_id == bindparam("user_id"), _IS_LIVE_SESSION)
    .order_by(sessions.c.created_at.desc()),
    into(Session),
)


class Bearer(msgspec.Struct, frozen=True):
    """The user and the session of a bearer token."""

    user: User
    session_id: UUID


def _bearer(record: Any) -> Bearer:
    fields = dict(record)
    return Bearer(session_id=fields.pop("session_id"), user=User(**fields))


_FIND_BEARER = statement(
    select(users, sessions.c.id.label("session_id"))
    .select_from(access_tokens.join(sessions, sessions.c.id == access_tokens.c.session_id).join(users))
    .where(access_tokens.c.hash == bindparam("hash"), access_tokens.c.expires_at > _now, IS_OPEN_SESSION),
    _bearer,
)


async def insert_session(db: Db, **values: Any) -> Session:
    return cast(Session, await db.one(_INSERT_SESSION, **values))


async def insert_tokens(
    db: Db,
    *,
    session_id: UUID,
    refresh_hash: bytes,
    access_hash: bytes,
    parent: bytes | None,
    ttl: int,
    scope: str | None,
) -> int:
    """Returns the time of issue by the database's clock."""
    await db.one(_INSERT_REFRESH, hash=refresh_hash, session_id=session_id, parent=parent)
    values = {"hash": access_hash, "session_id": session_id, "refresh_hash": refresh_hash, "scope": scope, "ttl": ttl}
    return cast(int, await db.one(_INSERT_ACCESS, **values))


async def lock_refresh(db: Db, token_hash: bytes) -> PresentedRefreshToken | None:
    row = await db.one(_LOCK_REFRESH, hash=token_hash)
    if row is None:
        return None
    rotation = cast(tuple[Any, ...], await db.one(_FIND_ROTATION, hash=token_hash))
    seconds_since_rotation = None if rotation[0] is None else float(rotation[0])
    return PresentedRefreshToken(*row, seconds_since_rotation, *rotation[1:])


async def rotate(db: Db, *, parent: bytes, key_id: str, nonce: bytes, session_id: UUID, idle: int) -> None:
    await db.one(_ROTATE, parent=parent, new_key_id=key_id, new_nonce=nonce)
    await db.one(_TOUCH_SESSION, session_id=session_id, idle=idle)


async def find_issued(db: Db, refresh_hash: bytes) -> tuple[int, str | None] | None:
    """Returns when the access token of a refresh token was issued, and its narrower scope, if any."""
    return await db.one(_FIND_ISSUED, hash=refresh_hash)


async def end_session(db: Db, session_id: UUID, reason: str) -> UUID | None:
    """Ends a session; returns the id of its user or application, or `None` if it had ended."""
    return await db.one(_END_SESSION, session_id=session_id, reason=reason)


async def end_users_session(db: Db, *, session_id: UUID, user_id: UUID, reason: str) -> bool:
    return await db.one(_END_USERS_SESSION, session_id=session_id, owner_id=user_id, reason=reason) is not None


async def end_users_sessions(db: Db, user_id: UUID, reason: str) -> int:
    """Ends all sessions of a user; returns their number."""
    return len(await db.all(_END_USERS_SESSIONS, owner_id=user_id, reason=reason))


async def end_other_sessions(db: Db, user_id: UUID, current_id: UUID, reason: str) -> int:
    """Ends all sessions of a user but the current one; returns their number."""
    return len(await db.all(_END_OTHER_SESSIONS, owner_id=user_id, current_id=current_id, reason=reason))


async def find_session_of(db: Db, access_hash: bytes) -> UUID | None:
    return await db.one(_SESSION_OF, hash=access_hash)


async def list_sessions(db: Db, user_id: UUID) -> list[Session]:
    return await db.all(_LIST_SESSIONS, user_id=user_id)


async def find_session(db: Db, session_id: UUID) -> Session | None:
    return await db.one(_FIND_SESSION, id=session_id)


async def list_user_agents(db: Db, user_id: UUID) -> list[str | None]:
    """Returns the User-Agent headers of all sessions of a user, ended ones too."""
    return await db.all(_LIST_USER_AGENTS, user_id=user_id)


async def find_bearer(db: Db, token_hash: bytes) -> Bearer | None:
    return await db.one(_FIND_BEARER, hash=token_hash)
