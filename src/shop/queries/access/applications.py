"""Statements for OAuth applications, their secrets and their tokens."""

from typing import Any, cast
from uuid import UUID

import msgspec
from sqlalchemy import Interval, and_, bindparam, func, literal_column, or_, select, update
from sqlalchemy.dialects.postgresql import insert

from shop.db.pool import DatabaseSession as Db
from shop.db.statements import into, seconds, statement
from shop.models.access.applications import Application, ApplicationSecret, application_secrets, applications
from shop.models.access.operators import operators
from shop.models.access.sessions import access_tokens, refresh_tokens, sessions
from shop.queries.access.not_before import is_not_void

_now = func.now()
_MINUTE = literal_column("interval '1 minute'", Interval)
_IS_LIVE_SECRET = or_(application_secrets.c.expires_at.is_(None), application_secrets.c.expires_at > _now)
_SCOPE = func.coalesce(access_tokens.c.scope, sessions.c.scope).label("scope")
_IS_OPEN = and_(
    sessions.c.revoked_at.is_(None),
    sessions.c.absolute_expires_at > _now,
    applications.c.revoked_at.is_(None),
    is_not_void(sessions.c.created_at),
)

_INSERT = statement(
    insert(applications)
    .values(
        id=bindparam("id"),
        client_id=bindparam("client_id"),
        name=bindparam("name"),
        access_level=bindparam("access_level"),
        permissions=bindparam("permissions"),
        created_by_id=bindparam("created_by_id"),
        created_at=_now,
        updated_at=_now,
    )
    .on_conflict_do_nothing(index_elements=["id"])
    .returning(applications),
    into(Application),
)
_INSERT_SECRET = statement(
    insert(application_secrets)
    .values(
        id=bindparam("id"),
        application_id=bindparam("application_id"),
        hash=bindparam("hash"),
        hint=bindparam("hint"),
        created_at=_now,
    )
    .returning(application_secrets),
    into(ApplicationSecret),
)
_END_OLDER_SECRETS = statement(
    update(application_secrets)
    .where(application_secrets.c.application_id == bindparam("owner_id"), application_secrets.c.expires_at > _now)
    .values(expires_at=_now)
    .returning(application_secrets.c.id),
    lambda record: cast(UUID, record[0]),
)
_EXPIRE_SECRET = statement(
    update(application_secrets)
    .where(application_secrets.c.application_id == bindparam("owner_id"), application_secrets.c.expires_at.is_(None))
    .values(expires_at=_now + seconds("overlap"))
    .returning(application_secrets.c.id),
    lambda record: cast(UUID, record[0]),
)
_LOCK = statement(select(applications).where(applications.c.id == bindparam("id")).with_for_update(), into(Application))
_FIND_BY_CLIENT_ID = statement(
    select(applications).where(applications.c.client_id == bindparam("client_id")), into(Application)
)
_REVOKE = statement(
    update(applications)
    .where(applications.c.id == bindparam("application_id"), applications.c.revoked_at.is_(None))
    .values(revoked_at=_now, updated_at=_now)
    .returning(applications),
    into(Application),
)
_AUTHENTICATE = statement(
    select(applications)
    .select_from(application_secrets.join(applications))
    .where(
        application_secrets.c.hash == bindparam("hash"),
        _IS_LIVE_SECRET,
        applications.c.client_id == bindparam("client_id"),
        applications.c.revoked_at.is_(None),
    ),
    into(Application),
)


class Caller(msgspec.Struct, frozen=True):
    """The application that a platform token belongs to, and the token's scope."""

    application_id: UUID
    access_level: str
    permissions: list[str]
    """Those of the application; without any, its access level alone counts."""
    scope: str
    is_unseen: bool
    """Whether the application's last recorded use is a minute or more ago."""


_FIND_CALLER = statement(
    select(
        applications.c.id.label("application_id"),
        applications.c.access_level,
        applications.c.permissions,
        _SCOPE,
        or_(
            applications.c.last_used_at.is_(None),
            applications.c.last_used_at < _now - _MINUTE,
        ).label("is_unseen"),
    )
    .select_from(access_tokens.join(sessions, sessions.c.id == access_tokens.c.session_id).join(applications))
    .where(access_tokens.c.hash == bindparam("hash"), access_tokens.c.expires_at > _now, _IS_OPEN),
    into(Caller),
)
_RECORD_USE = statement(
    update(applications)
    .where(
        applications.c.id == bindparam("application_id"),
        or_(
            applications.c.last_used_at.is_(None),
            applications.c.last_used_at < _now - _MINUTE,
        ),
    )
    .values(last_used_at=_now)
    .returning(applications.c.id),
    lambda record: cast(UUID, record[0]),
)


class LiveToken(msgspec.Struct, frozen=True):
    """A live token as introspection returns it."""

    scope: str
    issued_at: int
    expires_at: int


_INTROSPECT = {
    "access": statement(
        select(
            _SCOPE,
            func.floor(func.extract("epoch", access_tokens.c.created_at)).label("issued_at"),
            func.floor(func.extract("epoch", access_tokens.c.expires_at)).label("expires_at"),
        )
        .select_from(access_tokens.join(sessions, sessions.c.id == access_tokens.c.session_id).join(applications))
        .where(
            access_tokens.c.hash == bindparam("hash"),
            access_tokens.c.expires_at > _now,
            applications.c.id == bindparam("application_id"),
            _IS_OPEN,
        ),
        lambda record: LiveToken(record[0], int(record[1]), int(record[2])),
    ),
    "refresh": statement(
        select(
            sessions.c.scope,
            func.floor(func.extract("epoch", refresh_tokens.c.created_at)).label("issued_at"),
            func.floor(func.extract("epoch", sessions.c.idle_expires_at)).label("expires_at"),
        )
        .select_from(refresh_tokens.join(sessions, sessions.c.id == refresh_tokens.c.session_id).join(applications))
        .where(
            refresh_tokens.c.hash == bindparam("hash"),
            refresh_tokens.c.rotated_at.is_(None),
            sessions.c.idle_expires_at > _now,
            applications.c.id == bindparam("application_id"),
            _IS_OPEN,
        ),
        lambda record: LiveToken(record[0], int(record[1]), int(record[2])),
    ),
}


class ListedApplication(Application, frozen=True, kw_only=True):
    """An application as operators see it."""

    created_by_email: str | None
    live_token_count: int
    secrets: list[ApplicationSecret] = []  # noqa: RUF012  msgspec copies it.


_live_tokens = (
    select(func.count())
    .select_from(access_tokens.join(sessions, sessions.c.id == access_tokens.c.session_id))
    .where(sessions.c.application_id == applications.c.id, access_tokens.c.expires_at > _now, _IS_OPEN)
    .scalar_subquery()
)
_application_select = select(
    applications, operators.c.email.label("created_by_email"), _live_tokens.label("live_token_count")
).select_from(applications.outerjoin(operators, operators.c.id == applications.c.created_by_id))
_LIST = statement(
    _application_select.order_by(applications.c.created_at.desc(), applications.c.id), into(ListedApplication)
)
_FIND_LISTED = statement(_application_select.where(applications.c.id == bindparam("id")), into(ListedApplication))
_LIST_SECRETS = statement(
    select(application_secrets)
    .where(application_secrets.c.application_id == bindparam("application_id"))
    .order_by(application_secrets.c.created_at.desc()),
    into(ApplicationSecret),
)
_NEWEST_SECRET = statement(
    select(application_secrets.c.id)
    .where(application_secrets.c.application_id == bindparam("application_id"))
    .order_by(application_secrets.c.created_at.desc(), application_secrets.c.id.desc())
    .limit(1),
    lambda record: cast(UUID, record[0]),
)


async def insert_application(db: Db, **values: Any) -> Application | None:
    """Returns `None` if the id exists already."""
    return await db.one(_INSERT, **values)


async def insert_secret(db: Db, **values: Any) -> ApplicationSecret:
    return cast(ApplicationSecret, await db.one(_INSERT_SECRET, **values))


async def find_newest_secret(db: Db, application_id: UUID) -> UUID | None:
    return await db.one(_NEWEST_SECRET, application_id=application_id)


async def expire_secrets(db: Db, application_id: UUID, *, overlap: int) -> None:
    """Expires the current secret in `overlap` seconds and older ones now, so that at most two are valid."""
    await db.all(_END_OLDER_SECRETS, owner_id=application_id)
    await db.all(_EXPIRE_SECRET, owner_id=application_id, overlap=overlap)


async def lock_application(db: Db, application_id: UUID) -> Application | None:
    return await db.one(_LOCK, id=application_id)


async def find_by_client_id(db: Db, client_id: str) -> Application | None:
    return await db.one(_FIND_BY_CLIENT_ID, client_id=client_id)


async def revoke(db: Db, application_id: UUID) -> Application | None:
    """Revokes an application and with it its tokens; returns `None` if it is revoked already or does not exist."""
    return await db.one(_REVOKE, application_id=application_id)


async def authenticate(db: Db, *, client_id: str, secret_hash: bytes) -> Application | None:
    """Returns the application, or None. An unknown client and a wrong secret take the same single lookup."""
    return await db.one(_AUTHENTICATE, client_id=client_id, hash=secret_hash)


async def find_caller(db: Db, token_hash: bytes) -> Caller | None:
    return await db.one(_FIND_CALLER, hash=token_hash)


async def record_use(db: Db, application_id: UUID) -> None:
    await db.one(_RECORD_USE, application_id=application_id)


async def introspect(db: Db, kind: str, token_hash: bytes, application_id: UUID) -> LiveToken | None:
    return await db.one(_INTROSPECT[kind], hash=token_hash, application_id=application_id)


async def list_applications(db: Db) -> list[ListedApplication]:
    return await db.all(_LIST)


async def find_application_details(db: Db, application_id: UUID) -> ListedApplication | None:
    application = await db.one(_FIND_LISTED, id=application_id)
    if application is None:
        return None
    secrets = await db.all(_LIST_SECRETS, application_id=application_id)
    return msgspec.structs.replace(application, secrets=secrets)
