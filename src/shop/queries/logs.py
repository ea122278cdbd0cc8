"""Lists the event log and the audit for the dashboard, and names their actors."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, cast
from uuid import UUID

import msgspec
from sqlalchemy import BigInteger, Select, Text, bindparam, func, select, union_all
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects.postgresql import UUID as SQL_UUID

from shop.base.listing import CursorPosition
from shop.db.pool import DatabaseSession
from shop.db.statements import Statement, any_of, dynamic_statement, into, statement
from shop.models.access.applications import applications
from shop.models.access.operators import operators
from shop.models.access.users import users
from shop.models.cart.orders import orders
from shop.models.events import Event, events
from shop.models.journal import AuditEvent, audit_events
from shop.models.webhooks.deliveries import WebhookDelivery, webhook_deliveries
from shop.models.webhooks.endpoints import webhook_endpoints
from shop.queries.dashboard import SortOrder, count_rows, like_prefix, load_page, paginate

_most = bindparam("most", type_=BigInteger)
_ID = SQL_UUID(as_uuid=True)
AUDIT_SORTS: Mapping[str, SortOrder] = {
    "newest": SortOrder(audit_events.c.at),
    "oldest": SortOrder(audit_events.c.at, is_ascending=True),
}


class LogFilter(msgspec.Struct, frozen=True):
    """Filters of both logs; None disables a filter."""

    type: str | None = None
    """The type of the event, or the action of the audit event; with `*` at the end, all that begin with it."""
    subject_type: str | None = None
    subject_id: UUID | None = None
    actor_kind: str | None = None
    actor_id: UUID | None = None
    since: datetime | None = None
    until: datetime | None = None


class DeliveryRow(WebhookDelivery, frozen=True, kw_only=True):
    """A webhook delivery with the URL of its endpoint."""

    url: str


class ActorName(msgspec.Struct, frozen=True):
    """The name of an operator, application or customer."""

    id: UUID
    name: str


def _filter(clause: Select[Any], table: Any, type_: Any, at: Any, filter_names: frozenset[str]) -> Select[Any]:
    conditions = {
        "type": type_ == bindparam("type", type_=Text()),
        "type_prefix": type_.like(bindparam("type", type_=Text())),
        "subject_type": table.c.subject_type == bindparam("subject_type", type_=Text()),
        "subject_id": table.c.subject_id == bindparam("subject_id", type_=_ID),
        "actor_kind": table.c.actor_kind == bindparam("actor_kind", type_=Text()),
        "actor_id": table.c.actor_id == bindparam("actor_id", type_=_ID),
        "since": at >= bindparam("since", type_=at.type),
        "until": at < bindparam("until", type_=at.type),
    }
    return clause.where(*(condition for name, condition in conditions.items() if name in filter_names))


def _select_events(filter_names: frozenset[str]) -> Any:
    numbered_events = select(events).where(events.c.position.is_not(None))
    return _filter(numbered_events, events, events.c.type, events.c.occurred_at, filter_names)


def _select_audit(filter_names: frozenset[str]) -> Any:
    return _filter(select(audit_events), audit_events, audit_events.c.action, audit_events.c.at, filter_names)


@lru_cache(maxsize=512)
def _list_events_statement(filter_names: frozenset[str], sort: str, side: str | None) -> Statement[Event]:
    """Builds one statement for each combination of filters, so that each can use its index."""
    position, is_ascending = events.c.position, (sort == "oldest") == (side != "after")
    clause = _select_events(filter_names).order_by(position if is_ascending else position.desc())
    if side:
        cursor: Any = bindparam("cursor", type_=BigInteger)
        clause = clause.where(position > cursor if is_ascending else position < cursor)
    return dynamic_statement(clause.limit(_most), into(Event))


@lru_cache(maxsize=512)
def _list_audit_statement(filter_names: frozenset[str], sort: str, side: str | None) -> Statement[AuditEvent]:
    clause = paginate(_select_audit(filter_names), AUDIT_SORTS[sort], audit_events.c.id, side)
    return dynamic_statement(clause, into(AuditEvent))


@lru_cache(maxsize=128)
def _count_events_statement(filter_names: frozenset[str]) -> Statement[int]:
    return count_rows(_select_events(filter_names))


@lru_cache(maxsize=128)
def _count_audit_statement(filter_names: frozenset[str]) -> Statement[int]:
    return count_rows(_select_audit(filter_names))


_LIST_DELIVERIES = statement(
    select(webhook_deliveries, webhook_endpoints.c.url)
    .join(webhook_endpoints, webhook_endpoints.c.id == webhook_deliveries.c.endpoint_id)
    .where(webhook_deliveries.c.event_id == bindparam("event_id"))
    .order_by(webhook_deliveries.c.id.desc())
    .limit(_most),
    into(DeliveryRow),
)
_full_name = func.nullif(func.concat_ws(" ", users.c.first_name, users.c.last_name), "")
_LIST_NAMES = statement(
    union_all(
        select(operators.c.id, operators.c.email).where(operators.c.id == any_of("ids", _ID)),
        select(applications.c.id, applications.c.name).where(applications.c.id == any_of("ids", _ID)),
        select(users.c.id, func.coalesce(_full_name, users.c.email)).where(users.c.id == any_of("ids", _ID)),
    ),
    lambda record: ActorName(record[0], record[1]),
)
_LIST_ACTORS = statement(
    union_all(
        select(operators.c.id, operators.c.email.label("name"), sql_cast("operator", Text()).label("kind")),
        select(applications.c.id, applications.c.name, sql_cast("application", Text())),
    ).order_by("kind", "name"),
    lambda record: (cast(str, record[2]), ActorName(record[0], record[1])),
)
_FIND_ORDER_ID = statement(
    select(orders.c.id).where(orders.c.number == bindparam("number")), lambda record: cast(UUID, record[0])
)
_FIND_USER_ID = statement(
    select(users.c.id).where(users.c.email_key == bindparam("email_key")), lambda record: cast(UUID, record[0])
)


def _values(criteria: LogFilter) -> tuple[frozenset[str], dict[str, Any]]:
    """Returns the names of the filters in use, and their parameters."""
    values = {name: value for name, value in msgspec.structs.asdict(criteria).items() if value is not None}
    filter_names = set(values)
    if criteria.type and criteria.type.endswith("*"):
        filter_names = (filter_names - {"type"}) | {"type_prefix"}
        values["type"] = like_prefix(criteria.type[:-1])
    return frozenset(filter_names), values


async def list_events(
    db: DatabaseSession, criteria: LogFilter, side: str | None, position: int, *, sort: str, most: int
) -> list[Event]:
    """Returns the events of the page that follows a position, or precedes it if the side is `after`."""
    filter_names, values = _values(criteria)
    rows = await db.all(_list_events_statement(filter_names, sort, side), **values, cursor=position, most=most)
    return rows[::-1] if side == "after" else rows


async def count_events(db: DatabaseSession, criteria: LogFilter) -> int:
    """Returns the number of events, at most one more than `COUNT_LIMIT`."""
    filter_names, values = _values(criteria)
    return await db.one(_count_events_statement(filter_names), **values) or 0


async def list_audit_events(
    db: DatabaseSession, criteria: LogFilter, cursor: CursorPosition | None, *, sort: str, most: int
) -> list[AuditEvent]:
    filter_names, values = _values(criteria)
    page_statement = _list_audit_statement(filter_names, sort, cursor.side if cursor else None)
    return await load_page(db, page_statement, cursor, **values, most=most)


async def count_audit_events(db: DatabaseSession, criteria: LogFilter) -> int:
    """Returns the number of audit events, at most one more than `COUNT_LIMIT`."""
    filter_names, values = _values(criteria)
    return await db.one(_count_audit_statement(filter_names), **values) or 0


async def list_deliveries(db: DatabaseSession, event_id: UUID, *, most: int) -> list[DeliveryRow]:
    return await db.all(_LIST_DELIVERIES, event_id=event_id, most=most)


async def name_actors(db: DatabaseSession, ids: Sequence[UUID]) -> dict[UUID, str]:
    """Returns the e-mail addresses of operators, the names of applications, and the names of customers."""
    return {row.id: row.name for row in await db.all(_LIST_NAMES, ids=ids)} if ids else {}


async def list_actors(db: DatabaseSession) -> list[tuple[str, ActorName]]:
    """Returns all operators and applications."""
    return await db.all(_LIST_ACTORS)


async def find_order_id(db: DatabaseSession, number: str) -> UUID | None:
    return await db.one(_FIND_ORDER_ID, number=number)


async def find_user_id(db: DatabaseSession, email_key: str) -> UUID | None:
    return await db.one(_FIND_USER_ID, email_key=email_key)
