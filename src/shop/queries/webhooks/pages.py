"""Statements for the dashboard's webhook pages."""

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any
from uuid import UUID

from sqlalchemy import ARRAY, BigInteger, Text, bindparam, func, literal_column, select
from sqlalchemy import cast as sql_cast

from shop.base.listing import CursorPosition
from shop.db.pool import DatabaseSession
from shop.db.statements import Statement, dynamic_statement, into, statement
from shop.models.webhooks.deliveries import WebhookAttempt, WebhookDelivery
from shop.models.webhooks.deliveries import webhook_attempts as attempts
from shop.models.webhooks.deliveries import webhook_deliveries as deliveries
from shop.models.webhooks.endpoints import WebhookEndpoint
from shop.models.webhooks.endpoints import webhook_endpoints as endpoints
from shop.queries.dashboard import count_rows
from shop.rules.webhooks.disabling import CHOICES

MAX_WAITING = 1000
"""More deliveries that wait are not counted."""
_UUID = deliveries.c.id.type
_endpoint_id = bindparam("endpoint_id", type_=_UUID)
_is_present = endpoints.c.deleted_at.is_(None)


class EndpointWithHealth(WebhookEndpoint, frozen=True, kw_only=True):
    """An endpoint with the state of its deliveries."""

    is_paused: bool
    waiting_count: int
    """Deliveries that wait, counted up to one more than `MAX_WAITING`."""
    last_success_at: datetime | None


_waiting = (
    select(literal_column("1"))
    .select_from(deliveries)
    .where(deliveries.c.endpoint_id == endpoints.c.id, deliveries.c.state == literal_column("'pending'"))
    .limit(literal_column(str(MAX_WAITING + 1)))
    .correlate(endpoints)
    .subquery()
)
_last_success = (
    select(deliveries.c.ended_at)
    .where(deliveries.c.endpoint_id == endpoints.c.id, deliveries.c.state == literal_column("'succeeded'"))
    .order_by(deliveries.c.id.desc())
    .limit(literal_column("1"))
    .correlate(endpoints)
    .scalar_subquery()
)
_with_health = select(
    endpoints,
    func.coalesce(endpoints.c.paused_until > func.now(), literal_column("false")).label("is_paused"),
    sql_cast(select(func.count()).select_from(_waiting).scalar_subquery(), BigInteger).label("waiting_count"),
    _last_success.label("last_success_at"),
).where(_is_present)
_LIST = statement(_with_health.order_by(endpoints.c.created_at.desc(), endpoints.c.id), into(EndpointWithHealth))
_FIND = statement(_with_health.where(endpoints.c.id == _endpoint_id), into(EndpointWithHealth))
_LIST_FAILED = statement(
    select(endpoints)
    .where(
        _is_present,
        ~endpoints.c.enabled,
        endpoints.c.disabled_reason != func.all(bindparam("choices", type_=ARRAY(Text()))),
    )
    .order_by(endpoints.c.disabled_at.desc(), endpoints.c.id),
    into(WebhookEndpoint),
)
_LIST_ATTEMPTS = statement(
    select(attempts)
    .where(attempts.c.delivery_id == bindparam("delivery_id", type_=_UUID))
    .order_by(attempts.c.number.desc(), attempts.c.id.desc()),
    into(WebhookAttempt),
)


def _select_deliveries(has_state: bool, has_types: bool) -> Any:
    clause = select(deliveries).where(deliveries.c.endpoint_id == _endpoint_id)
    if has_state:
        clause = clause.where(deliveries.c.state == bindparam("state", type_=Text()))
    if has_types:
        clause = clause.where(deliveries.c.event_type.like(func.any(bindparam("patterns", type_=ARRAY(Text())))))
    return clause


@lru_cache(maxsize=32)
def _list_deliveries_statement(
    has_state: bool, has_types: bool, sort: str, side: str | None
) -> Statement[WebhookDelivery]:
    """Builds one statement per combination of filters, so that each can use its index; ids sort by time."""
    cursor_id: Any = bindparam("cursor_id", type_=_UUID)
    is_ascending = (sort == "oldest") == (side != "after")
    clause = _select_deliveries(has_state, has_types)
    if side:
        clause = clause.where(deliveries.c.id > cursor_id if is_ascending else deliveries.c.id < cursor_id)
    clause = clause.order_by(deliveries.c.id if is_ascending else deliveries.c.id.desc())
    return dynamic_statement(clause.limit(bindparam("most", type_=BigInteger)), into(WebhookDelivery))


@lru_cache(maxsize=4)
def _count_deliveries_statement(has_state: bool, has_types: bool) -> Statement[int]:
    return count_rows(_select_deliveries(has_state, has_types))


async def list_endpoints(db: DatabaseSession) -> list[EndpointWithHealth]:
    return await db.all(_LIST)


async def find_endpoint(db: DatabaseSession, endpoint_id: UUID) -> EndpointWithHealth | None:
    return await db.one(_FIND, endpoint_id=endpoint_id)


async def list_failed(db: DatabaseSession) -> list[WebhookEndpoint]:
    """Returns the endpoints that were disabled because they do not work."""
    return await db.all(_LIST_FAILED, choices=list(CHOICES))


async def list_deliveries(
    db: DatabaseSession,
    endpoint_id: UUID,
    *,
    state: str,
    patterns: Sequence[str],
    cursor: CursorPosition | None,
    sort: str,
    most: int,
) -> list[WebhookDelivery]:
    """Returns deliveries; an empty filter matches all."""
    side = cursor.side if cursor else None
    rows = await db.all(
        _list_deliveries_statement(bool(state), bool(patterns), sort, side),
        endpoint_id=endpoint_id,
        state=state,
        patterns=list(patterns),
        cursor_id=cursor and cursor.id,
        most=most,
    )
    return rows[::-1] if side == "after" else rows


async def count_deliveries(db: DatabaseSession, endpoint_id: UUID, *, state: str, patterns: Sequence[str]) -> int:
    """Returns the number of deliveries, at most one more than `COUNT_LIMIT`."""
    count_statement = _count_deliveries_statement(bool(state), bool(patterns))
    return await db.one(count_statement, endpoint_id=endpoint_id, state=state, patterns=list(patterns)) or 0


async def list_attempts(db: DatabaseSession, delivery_id: UUID) -> list[WebhookAttempt]:
    """Returns the attempts of a delivery, newest first."""
    return await db.all(_LIST_ATTEMPTS, delivery_id=delivery_id)
