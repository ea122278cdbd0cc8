"""Statements for the one-time links that operators use to set a password."""

from datetime import datetime
from typing import Any, cast
from uuid import UUID

import msgspec
from sqlalchemy import and_, bindparam, exists, func, or_, select, update
from sqlalchemy.dialects.postgresql import insert

from shop.db.pool import DatabaseSession
from shop.db.statements import into, seconds, statement
from shop.models.access.operators import operator_links, operators
from shop.queries.access.not_before import is_not_void

_now = func.now()
_FIRST = 7_426_733
_anyone = operators.alias("anyone")

_INSERT_LINK = statement(
    insert(operator_links)
    .values(
        hash=bindparam("hash"),
        id=bindparam("id"),
        key_id=bindparam("key_id"),
        operator_id=bindparam("operator_id"),
        created_at=_now,
        expires_at=_now + seconds("ttl"),
    )
    .returning(operator_links.c.hash),
    lambda record: cast(bytes, record[0]),
)
_END_LINKS = statement(
    update(operator_links)
    .where(
        operator_links.c.operator_id.is_not_distinct_from(bindparam("owner_id", type_=operators.c.id.type)),
        operator_links.c.used_at.is_(None),
    )
    .values(used_at=_now)
    .returning(operator_links.c.hash),
    lambda record: cast(bytes, record[0]),
)
# A link without an operator is valid only while the shop has no operators; others need an enabled operator.
_IS_USABLE = and_(
    operator_links.c.used_at.is_(None),
    operator_links.c.expires_at > _now,
    is_not_void(operator_links.c.created_at),
    or_(
        and_(operator_links.c.operator_id.is_(None), ~exists(select(_anyone.c.id))),
        exists().where(_anyone.c.id == operator_links.c.operator_id, _anyone.c.disabled_at.is_(None)),
    ),
)


class UsableLink(msgspec.Struct, frozen=True):
    """A usable link with its operator; a link without one creates the first operator."""

    operator_id: UUID | None
    email: str | None


class Invitation(msgspec.Struct, frozen=True):
    """A link that is sent by e-mail."""

    id: UUID
    key_id: str
    expires_at: datetime
    is_usable: bool


_FIND_LINK = statement(
    select(operator_links.c.operator_id, operators.c.email)
    .select_from(operator_links.outerjoin(operators))
    .where(operator_links.c.hash == bindparam("hash"), _IS_USABLE),
    into(UsableLink),
)
_FIND_INVITATION = statement(
    select(
        operator_links.c.id, operator_links.c.key_id, operator_links.c.expires_at, _IS_USABLE.label("is_usable")
    ).where(operator_links.c.id == bindparam("link_id")),
    into(Invitation),
)
_USE_LINK = statement(
    update(operator_links)
    .where(operator_links.c.hash == bindparam("link_hash"), _IS_USABLE)
    .values(used_at=_now)
    .returning(operator_links.c.hash),
    lambda record: cast(bytes, record[0]),
)
_LOCK_FIRST_OPERATOR = statement(select(func.pg_advisory_xact_lock(_FIRST)), lambda record: True)


async def insert_link(db: DatabaseSession, **values: Any) -> None:
    await db.one(_INSERT_LINK, **{"id": None, "key_id": None, **values})


async def find_invitation(db: DatabaseSession, link_id: UUID) -> Invitation | None:
    return await db.one(_FIND_INVITATION, link_id=link_id)


async def end_links(db: DatabaseSession, operator_id: UUID | None) -> None:
    """Ends the unused links of an operator, or with `None` those without an operator."""
    await db.one(_END_LINKS, owner_id=operator_id)


async def find_link(db: DatabaseSession, link_hash: bytes) -> UsableLink | None:
    return await db.one(_FIND_LINK, hash=link_hash)


async def use_link(db: DatabaseSession, link_hash: bytes) -> bool:
    return await db.one(_USE_LINK, link_hash=link_hash) is not None


async def lock_first_operator(db: DatabaseSession) -> None:
    """Locks the creation of the first operator, so that two concurrent links create only one."""
    await db.one(_LOCK_FIRST_OPERATOR)
