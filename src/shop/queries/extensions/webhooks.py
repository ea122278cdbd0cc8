"""Statements for the webhooks of extensions' payment providers."""

from collections.abc import Mapping, Sequence
from typing import Any, cast
from uuid import UUID

from sqlalchemy import Text, bindparam, delete, func, literal_column, or_, select, update
from sqlalchemy.dialects.postgresql import insert

from shop.base.ids import new_id
from shop.db.pool import DatabaseSession
from shop.db.statements import any_of, into, seconds, statement
from shop.models.extensions.webhooks import ExtensionWebhook
from shop.models.extensions.webhooks import extension_webhooks as webhooks

MAX_LISTED = 20
_now = func.now()
_by_id = webhooks.c.id == bindparam("webhook_id", type_=webhooks.c.id.type)
_is_open = webhooks.c.handled_at.is_(None)


def _id(record: Any) -> UUID:
    return cast(UUID, record[0])


_INSERT = statement(
    insert(webhooks)
    .values(
        id=bindparam("webhook_id", type_=webhooks.c.id.type),
        extension=bindparam("extension", type_=Text),
        provider_type=bindparam("provider_type", type_=Text),
        reference=bindparam("reference", type_=Text),
        data=bindparam("data", type_=webhooks.c.data.type),
        next_at=_now,
        created_at=_now,
        updated_at=_now,
    )
    .on_conflict_do_nothing()
    .returning(webhooks.c.id),
    _id,
)
_due = (
    select(webhooks.c.id)
    .where(
        _is_open,
        webhooks.c.next_at <= _now,
        or_(webhooks.c.leased_until.is_(None), webhooks.c.leased_until <= _now),
        webhooks.c.provider_type == any_of("types", Text()),
    )
    .order_by(webhooks.c.next_at)
    .limit(literal_column("1"))
    .with_for_update(skip_locked=True)
    .scalar_subquery()
)
_LEASE = statement(
    update(webhooks)
    .where(webhooks.c.id == _due)
    .values(leased_until=_now + seconds("lease"), attempts=webhooks.c.attempts + 1)
    .returning(*webhooks.c),
    into(ExtensionWebhook),
)
_FINISH = statement(
    update(webhooks)
    .where(_by_id)
    .values(handled_at=_now, data=literal_column("'{}'::jsonb"), leased_until=None, updated_at=_now)
    .returning(webhooks.c.id),
    _id,
)
_FAIL = statement(
    update(webhooks)
    .where(_by_id)
    .values(
        next_at=_now + seconds("pause"),
        last_error=bindparam("error", type_=Text),
        leased_until=None,
        updated_at=_now,
    )
    .returning(webhooks.c.id),
    _id,
)
_FAILING = statement(
    select(webhooks)
    .where(_is_open, webhooks.c.last_error.is_not(None))
    .order_by(webhooks.c.created_at.desc())
    .limit(literal_column(str(MAX_LISTED))),
    into(ExtensionWebhook),
)
_RETRY = statement(
    update(webhooks).where(_by_id, _is_open).values(next_at=_now, updated_at=_now).returning(*webhooks.c),
    into(ExtensionWebhook),
)
_DELETE = statement(
    delete(webhooks).where(webhooks.c.extension == bindparam("extension", type_=Text)).returning(webhooks.c.id), _id
)


async def insert_webhook(
    db: DatabaseSession, extension: str, provider_type: str, reference: str, data: Mapping[str, Any]
) -> bool:
    """Stores a webhook; returns whether it is new."""
    values = {"extension": extension, "provider_type": provider_type, "reference": reference, "data": dict(data)}
    return await db.one(_INSERT, webhook_id=new_id(), **values) is not None


async def lease_webhook(db: DatabaseSession, types: Sequence[str], lease: int) -> ExtensionWebhook | None:
    """Leases the next due webhook of these providers."""
    return await db.one(_LEASE, types=list(types), lease=lease)


async def finish_webhook(db: DatabaseSession, webhook_id: UUID) -> None:
    """Marks a webhook as handled, and forgets its data."""
    await db.one(_FINISH, webhook_id=webhook_id)


async def record_webhook_failure(db: DatabaseSession, webhook_id: UUID, *, error: str, pause: int) -> None:
    await db.one(_FAIL, webhook_id=webhook_id, error=error, pause=pause)


async def list_failing(db: DatabaseSession) -> list[ExtensionWebhook]:
    """Returns the newest webhooks that failed and wait for another attempt."""
    return await db.all(_FAILING)


async def retry_webhook(db: DatabaseSession, webhook_id: UUID) -> ExtensionWebhook | None:
    """Ends the pause after a failure; returns None if the webhook was handled or is gone."""
    return await db.one(_RETRY, webhook_id=webhook_id)


async def delete_webhooks(db: DatabaseSession, extension: str) -> None:
    await db.all(_DELETE, extension=extension)
