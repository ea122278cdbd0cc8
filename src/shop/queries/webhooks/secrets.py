"""Statements for the signing secrets of webhook endpoints."""

from typing import Any, cast
from uuid import UUID

from sqlalchemy import bindparam, delete, func, or_, select, update
from sqlalchemy.dialects.postgresql import insert

from shop.db.pool import DatabaseSession
from shop.db.statements import into, seconds, statement
from shop.models.webhooks.endpoints import WebhookSecret
from shop.models.webhooks.endpoints import webhook_secrets as secrets

_now = func.now()
_of_endpoint = secrets.c.endpoint_id == bindparam("endpoint", type_=secrets.c.endpoint_id.type)


def _id(record: Any) -> UUID:
    return cast(UUID, record[0])


_INSERT = statement(
    insert(secrets)
    .values(
        id=bindparam("id"),
        endpoint_id=bindparam("endpoint_id"),
        sealed=bindparam("sealed"),
        hint=bindparam("hint"),
        created_at=_now,
    )
    .returning(secrets.c.id),
    _id,
)
# Newest first: a receiver that checks only the first signature has the newest secret.
_LIST_VALID = statement(
    select(secrets)
    .where(_of_endpoint, or_(secrets.c.expires_at.is_(None), secrets.c.expires_at > _now))
    .order_by(secrets.c.id.desc()),
    into(WebhookSecret),
)
# A secret that already expires is deleted: at most two are valid.
_DELETE_OLD = statement(
    delete(secrets).where(_of_endpoint, secrets.c.expires_at.is_not(None)).returning(secrets.c.id), _id
)
_EXPIRE = statement(
    update(secrets).where(_of_endpoint).values(expires_at=_now + seconds("overlap")).returning(secrets.c.id), _id
)
_DELETE_ALL = statement(delete(secrets).where(_of_endpoint).returning(secrets.c.id), _id)


async def insert_secret(db: DatabaseSession, *, secret_id: UUID, endpoint_id: UUID, sealed: bytes, hint: str) -> None:
    await db.one(_INSERT, id=secret_id, endpoint_id=endpoint_id, sealed=sealed, hint=hint)


async def list_valid(db: DatabaseSession, endpoint_id: UUID) -> list[WebhookSecret]:
    """Returns the valid secrets of an endpoint, newest first."""
    return await db.all(_LIST_VALID, endpoint=endpoint_id)


async def expire_secrets(db: DatabaseSession, endpoint_id: UUID, overlap: int) -> None:
    """Lets the current secret expire after `overlap` seconds, and deletes an older one."""
    await db.all(_DELETE_OLD, endpoint=endpoint_id)
    await db.all(_EXPIRE, endpoint=endpoint_id, overlap=overlap)


async def delete_secrets(db: DatabaseSession, endpoint_id: UUID) -> None:
    await db.all(_DELETE_ALL, endpoint=endpoint_id)
