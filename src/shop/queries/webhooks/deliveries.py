"""Statements for the queue of webhook deliveries and their attempts.

Of the pending deliveries about one record, only the first has a time (`next_at`); when it ends, the next one gets one.
Each transaction that inserts or ends deliveries locks the endpoint's row before: otherwise, an insertion might wait for
a delivery that ends at the same time.
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast
from uuid import UUID

import msgspec
from sqlalchemy import (
    ARRAY,
    BigInteger,
    ColumnElement,
    Interval,
    Text,
    and_,
    bindparam,
    case,
    column,
    exists,
    func,
    literal_column,
    or_,
    select,
    tuple_,
    update,
)
from sqlalchemy.dialects.postgresql import JSONB, insert

from shop.db.pool import DatabaseSession
from shop.db.statements import statement
from shop.models.events import Event, events
from shop.models.webhooks.deliveries import WebhookDelivery
from shop.models.webhooks.deliveries import webhook_attempts as attempts
from shop.models.webhooks.deliveries import webhook_deliveries as deliveries
from shop.models.webhooks.endpoints import webhook_endpoints as endpoints

_now = func.now()
_UUID = deliveries.c.id.type
_PENDING: ColumnElement[str] = literal_column("'pending'")
_is_pending = deliveries.c.state == _PENDING
_SECOND = literal_column("interval '1 second'", Interval)
_this = deliveries.c.id == bindparam("delivery_id", type_=_UUID)


class DueDelivery(msgspec.Struct, frozen=True):
    """A delivery with its event; None if the event is no longer kept."""

    delivery: WebhookDelivery
    event: Event | None


class AttemptRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The result of an attempt and the new state of its delivery."""

    id: UUID
    delivery_id: UUID
    state: str
    wait: int | None
    """Seconds until the next attempt; None if there is none."""
    status: int | None
    milliseconds: int
    response: str
    error: str | None


def _id(record: Any) -> UUID:
    return cast(UUID, record[0])


_COLUMNS = ("id", "endpoint_id", "event_id", "event_type", "occurred_at", "position", "subject_id")
_new = func.jsonb_populate_recordset(
    literal_column("null::webhook_deliveries"), bindparam("rows", type_=JSONB)
).table_valued(*(column(name, deliveries.c[name].type) for name in _COLUMNS), name="new_rows")
_earlier = deliveries.alias("earlier")
_is_first = and_(
    func.row_number().over(partition_by=_new.c.subject_id, order_by=(_new.c.position, _new.c.id))
    == literal_column("1"),
    ~exists().where(
        _earlier.c.endpoint_id == _new.c.endpoint_id,
        _earlier.c.subject_id == _new.c.subject_id,
        _earlier.c.state == _PENDING,
        tuple_(_earlier.c.position, _earlier.c.id) < tuple_(_new.c.position, _new.c.id),
    ),
)
_INSERT = statement(
    insert(deliveries)
    .from_select(
        [*_COLUMNS, "next_at", "created_at"],
        select(*(_new.c[name] for name in _COLUMNS), case((_is_first, _now)), _now),
    )
    .returning(deliveries.c.id),
    _id,
)
_event_columns = [events.c[name].label(f"event_{name}_") for name in Event.__struct_fields__]


def _due(record: Any) -> DueDelivery:
    values = dict(record)
    event = {name: values.pop(f"event_{name}_") for name in Event.__struct_fields__}
    return DueDelivery(WebhookDelivery(**values), Event(**event) if event["id"] else None)


_with_event = select(deliveries, *_event_columns).select_from(
    deliveries.outerjoin(
        events, and_(events.c.id == deliveries.c.event_id, events.c.occurred_at == deliveries.c.occurred_at)
    )
)
_LIST_DUE = statement(
    _with_event.where(
        deliveries.c.endpoint_id == bindparam("endpoint_id", type_=_UUID),
        _is_pending,
        deliveries.c.next_at <= _now,
        deliveries.c.id != func.all(bindparam("busy_ids", type_=ARRAY(_UUID))),
    )
    .order_by(deliveries.c.next_at, deliveries.c.position)
    .limit(bindparam("most", type_=BigInteger)),
    _due,
)
_FIND_WITH_EVENT = statement(_with_event.where(_this), _due)
_results = (
    func.jsonb_to_recordset(bindparam("rows", type_=JSONB))
    .table_valued(
        column("id", _UUID),
        column("delivery_id", _UUID),
        column("state", Text()),
        column("wait", BigInteger()),
        column("status", BigInteger()),
        column("milliseconds", BigInteger()),
        column("response", Text()),
        column("error", Text()),
        name="results",
    )
    .render_derived(with_types=True)
)
# The result of an attempt in progress when its delivery was canceled: a success counts, a failure is not retried.
_is_canceled = and_(deliveries.c.state == literal_column("'canceled'"), _results.c.state == _PENDING)
_delivery = (
    update(deliveries)
    .where(
        deliveries.c.id == _results.c.delivery_id,
        or_(_is_pending, deliveries.c.state == literal_column("'canceled'")),
    )
    .values(
        state=case((_is_canceled, deliveries.c.state), else_=_results.c.state),
        attempt_count=deliveries.c.attempt_count + literal_column("1"),
        next_at=case((_is_canceled, None), else_=_now + _results.c.wait * _SECOND),
        ended_at=case((_results.c.state == _PENDING, deliveries.c.ended_at), else_=_now),
    )
    .returning(
        deliveries.c.id,
        deliveries.c.endpoint_id,
        deliveries.c.subject_id,
        deliveries.c.attempt_count,
        deliveries.c.state,
        *(_results.c[name].label(f"attempt_{name}") for name in ("id", "status", "milliseconds", "response", "error")),
    )
    .cte("delivery")
)
_attempt = (
    insert(attempts)
    .from_select(
        ["id", "delivery_id", "number", "status", "milliseconds", "response", "error", "created_at"],
        select(
            _delivery.c.attempt_id,
            _delivery.c.id,
            _delivery.c.attempt_count,
            _delivery.c.attempt_status,
            _delivery.c.attempt_milliseconds,
            _delivery.c.attempt_response,
            _delivery.c.attempt_error,
            func.clock_timestamp(),
        ),
    )
    .returning(attempts.c.id)
    .cte("attempt")
)
_other = deliveries.alias("other")
_same = _delivery.alias("same")
_next_id = (
    select(_other.c.id)
    .where(
        _other.c.endpoint_id == _delivery.c.endpoint_id,
        _other.c.subject_id == _delivery.c.subject_id,
        _other.c.state == _PENDING,
        # This statement does not see what it changes itself.
        ~exists().where(_same.c.id == _other.c.id, _same.c.state != _PENDING),
    )
    .order_by(_other.c.position, _other.c.id)
    .limit(literal_column("1"))
    .correlate(_delivery)
    .scalar_subquery()
)
_next = (
    update(deliveries)
    .where(
        deliveries.c.id.in_(select(_next_id).select_from(_delivery).where(_delivery.c.state != _PENDING)),
        deliveries.c.next_at.is_(None),
    )
    .values(next_at=_now)
    .returning(deliveries.c.id)
    .cte("next")
)
_RECORD = statement(select(_attempt.c.id).add_cte(_next), _id)
_INSERT_ENDED = statement(
    insert(deliveries)
    .values(
        **{name: bindparam(name, type_=deliveries.c[name].type) for name in _COLUMNS},
        state=bindparam("state", type_=Text()),
        attempt_count=literal_column("1"),
        created_at=_now,
        ended_at=_now,
    )
    .returning(deliveries.c.id),
    _id,
)
_INSERT_ATTEMPT = statement(
    insert(attempts)
    .values(
        id=bindparam("id"),
        delivery_id=bindparam("delivery_id"),
        number=literal_column("1"),
        status=bindparam("status"),
        milliseconds=bindparam("milliseconds"),
        response=bindparam("response"),
        error=bindparam("error"),
        created_at=_now,
    )
    .returning(attempts.c.id),
    _id,
)
_EXPEDITE = statement(
    update(deliveries)
    .where(_this, _is_pending, deliveries.c.next_at.is_not(None))
    .values(next_at=_now)
    .returning(deliveries.c.id),
    _id,
)


def _cancel(condition: Any) -> Any:
    batch = select(deliveries.c.id).where(_is_pending, condition).limit(bindparam("most", type_=BigInteger))
    return statement(
        update(deliveries)
        .where(deliveries.c.id.in_(batch.with_for_update(skip_locked=True)))
        .values(state=literal_column("'canceled'"), next_at=None, ended_at=_now)
        .returning(deliveries.c.id),
        _id,
    )


_CANCEL = _cancel(deliveries.c.endpoint_id == bindparam("endpoint_id", type_=_UUID))
_disabled = select(endpoints.c.id).where(~endpoints.c.enabled)
_CANCEL_DISABLED = _cancel(deliveries.c.endpoint_id.in_(_disabled))


async def insert_deliveries(db: DatabaseSession, rows: Sequence[Mapping[str, Any]]) -> None:
    """Queues deliveries to one endpoint, whose row the caller has locked."""
    await db.all(_INSERT, rows=rows)


async def list_due(db: DatabaseSession, endpoint_id: UUID, *, busy_ids: Sequence[UUID], most: int) -> list[DueDelivery]:
    """Returns due deliveries with their events, but for those that are in progress."""
    return await db.all(_LIST_DUE, endpoint_id=endpoint_id, busy_ids=list(busy_ids), most=most)


async def find_with_event(db: DatabaseSession, delivery_id: UUID) -> DueDelivery | None:
    return await db.one(_FIND_WITH_EVENT, delivery_id=delivery_id)


async def record_attempts(db: DatabaseSession, results: Sequence[AttemptRecord]) -> None:
    """Records attempts and the new states of their deliveries; if one has ended, the next one about the record is due.
    All at once: one statement for each attempt takes longer than the attempt itself.
    """
    await db.all(_RECORD, rows=[msgspec.structs.asdict(each) for each in results])


async def insert_ended(db: DatabaseSession, row: Mapping[str, Any], attempt: AttemptRecord) -> None:
    """Records a delivery that had one attempt and is not retried."""
    await db.one(_INSERT_ENDED, **row, state=attempt.state)
    await db.one(
        _INSERT_ATTEMPT,
        id=attempt.id,
        delivery_id=attempt.delivery_id,
        status=attempt.status,
        milliseconds=attempt.milliseconds,
        response=attempt.response,
        error=attempt.error,
    )


async def expedite(db: DatabaseSession, delivery_id: UUID) -> None:
    """Makes a pending delivery due, unless it waits for an earlier one."""
    await db.one(_EXPEDITE, delivery_id=delivery_id)


async def cancel_pending(db: DatabaseSession, endpoint_id: UUID, most: int) -> int:
    """Cancels pending deliveries to an endpoint; returns their number."""
    return len(await db.all(_CANCEL, endpoint_id=endpoint_id, most=most))


async def cancel_disabled(db: DatabaseSession, most: int) -> int:
    """Cancels pending deliveries to disabled and deleted endpoints; returns their number."""
    return len(await db.all(_CANCEL_DISABLED, most=most))
