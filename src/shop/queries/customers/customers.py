"""Statements that operators use to find customers, end their sessions and disable their accounts."""

from functools import lru_cache
from typing import Any, cast
from uuid import UUID

from sqlalchemy import Text, bindparam, func, or_, select, update

from shop.base.listing import CursorPosition
from shop.db.pool import DatabaseSession
from shop.db.statements import Statement, any_of, into, statement
from shop.models.access.sessions import sessions
from shop.models.access.users import User, users
from shop.queries.dashboard import like_prefix, paginate

_now = func.now()


@lru_cache(maxsize=16)
def _list_statement(search: str | None, side: str | None) -> Statement[User]:
    """Builds the list statement; searches the indexed e-mail address only, or the names too."""
    clause, pattern = select(users), bindparam("pattern", type_=Text)
    if search == "address":
        clause = clause.where(users.c.email_key.like(pattern))
    if search == "names":
        whole = func.concat_ws(" ", users.c.first_name, users.c.last_name)
        names = [func.lower(name).like(pattern) for name in (users.c.first_name, users.c.last_name, whole)]
        clause = clause.where(or_(users.c.email_key.like(pattern), *names))
    return statement(paginate(clause, users.c.created_at, users.c.id, side), into(User))


_END_ALL = statement(
    update(sessions)
    .where(sessions.c.user_id == bindparam("owner_id"), sessions.c.revoked_at.is_(None))
    .values(revoked_at=_now, revoke_reason=bindparam("reason"))
    .returning(sessions.c.id),
    lambda record: cast(UUID, record[0]),
)


def _switch(value: Any, condition: Any) -> Statement[UUID]:
    return statement(
        update(users)
        .where(users.c.id == bindparam("user_id"), condition)
        .values(disabled_at=value, updated_at=_now)
        .returning(users.c.id),
        lambda record: cast(UUID, record[0]),
    )


_DISABLE = _switch(_now, users.c.disabled_at.is_(None))
_ENABLE = _switch(None, users.c.disabled_at.is_not(None))


_BY_KEYS = statement(
    select(users.c.email_key, users.c.id).where(users.c.email_key == any_of("keys", Text())),
    lambda record: cast(tuple[str, UUID], tuple(record)),
)


async def find_by_keys(db: DatabaseSession, keys: list[str]) -> dict[str, UUID]:
    """Returns customer ids by e-mail key; unknown keys are missing."""
    return dict(await db.all(_BY_KEYS, keys=keys)) if keys else {}


async def list_customers(db: DatabaseSession, search: str, cursor: CursorPosition | None, *, most: int) -> list[User]:
    """Returns customers, newest first; `search` is a prefix of the address or a name."""
    rows = await db.all(
        _list_statement("address" if "@" in search else "names" if search else None, cursor.side if cursor else None),
        pattern=like_prefix(search.lower()),
        at_=cursor and cursor.at,
        id_=cursor and cursor.id,
        most=most,
    )
    return rows[::-1] if cursor and cursor.side == "after" else rows


async def end_sessions(db: DatabaseSession, user_id: UUID, reason: str) -> int:
    return len(await db.all(_END_ALL, owner_id=user_id, reason=reason))


async def set_disabled(db: DatabaseSession, user_id: UUID, *, is_disabled: bool) -> bool:
    """Returns `False` if nothing changed."""
    return await db.one(_DISABLE if is_disabled else _ENABLE, user_id=user_id) is not None
