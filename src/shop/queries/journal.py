"""Statements for idempotency keys, rate limit counts and audit events."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, cast
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    BigInteger,
    LargeBinary,
    bindparam,
    case,
    delete,
    exists,
    func,
    literal_column,
    select,
    update,
)
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects.postgresql import insert

from shop.db.pool import DatabaseSession
from shop.db.statements import into, opaque_param, statement
from shop.models.journal import AuditEvent, IdempotencyKey, audit_events, rate_counts
from shop.models.journal import idempotency_keys as keys
from shop.rules.rate_limits import Count, Limit

_LIFE = timedelta(hours=24)
_NEW = {
    "fingerprint": bindparam("fingerprint"),
    "record_id": None,
    "created_at": func.now(),
    "expires_at": func.now() + _LIFE,
}
_THIS = (keys.c.scope == bindparam("scope_"), keys.c.key == bindparam("key_"))

# A concurrent INSERT of the same key waits here for the first transaction, at most lock_timeout.
_CLAIM = statement(
    insert(keys)
    .values(scope=bindparam("scope_"), key=bindparam("key_"), **_NEW)
    .on_conflict_do_update(index_elements=["scope", "key"], set_=_NEW, where=keys.c.expires_at < func.now())
    .returning(keys.c.key),
    lambda record: cast(bytes, record[0]),
)
_FIND = statement(select(keys).where(*_THIS), into(IdempotencyKey))
_FINISH = statement(
    update(keys).where(*_THIS).values(record_id=bindparam("record_id_")).returning(keys.c.key),
    lambda record: cast(bytes, record[0]),
)


_window_rows = (
    func.unnest(opaque_param("keys", ARRAY(LargeBinary)), opaque_param("windows", ARRAY(BigInteger)))
    .table_valued("key", "seconds")
    .render_derived()
)
_window_key = sql_cast(_window_rows.c.key, LargeBinary)
_window_seconds = sql_cast(_window_rows.c.seconds, BigInteger)
_epoch = sql_cast(func.extract("epoch", func.now()), BigInteger)
# A window of zero seconds never ends: it counts since it was last reset.
_window = case((_window_seconds == 0, 0), else_=_epoch - _epoch % func.greatest(_window_seconds, 1))
_ends_in = case(
    (rate_counts.c.seconds == 0, 1),
    else_=sql_cast(func.extract("epoch", rate_counts.c.window_start), BigInteger) + rate_counts.c.seconds - _epoch,
)
_count_columns = (rate_counts.c.key, rate_counts.c.seconds, rate_counts.c.count, _ends_in.label("ends_in"))


def _add_one(windows: Any) -> Any:
    """Adds one to the count of each selected window (key, length, start)."""
    return (
        insert(rate_counts)
        .from_select(["key", "seconds", "window_start", "count"], windows.add_columns(literal_column("1")))
        .on_conflict_do_update(
            index_elements=["key", "seconds", "window_start"], set_={"count": rate_counts.c.count + literal_column("1")}
        )
        .returning(*_count_columns)
    )


_amount_rows = (
    func.unnest(
        opaque_param("keys", ARRAY(LargeBinary)),
        opaque_param("windows", ARRAY(BigInteger)),
        opaque_param("amounts", ARRAY(BigInteger)),
    )
    .table_valued("key", "seconds", "amount", name="amounts")
    .render_derived()
)
_amount_seconds = sql_cast(_amount_rows.c.seconds, BigInteger)
_add_amounts = insert(rate_counts).from_select(
    ["key", "seconds", "window_start", "count"],
    select(
        sql_cast(_amount_rows.c.key, LargeBinary),
        _amount_seconds,
        func.to_timestamp(_epoch - _epoch % func.greatest(_amount_seconds, 1)),
        sql_cast(_amount_rows.c.amount, BigInteger),
    ),
)
_ADD = statement(
    _add_amounts.on_conflict_do_update(
        index_elements=["key", "seconds", "window_start"],
        set_={"count": rate_counts.c.count + _add_amounts.excluded.count},
    ).returning(*_count_columns),
    into(Count),
)
_counting = _add_one(select(_window_key, _window_seconds, func.to_timestamp(_window)))
_COUNT = statement(_counting, into(Count))
_count_cte = _counting.cte("counted")
_limits = (
    func.unnest(
        bindparam("keys", type_=ARRAY(LargeBinary)),
        bindparam("windows", type_=ARRAY(BigInteger)),
        bindparam("allowed", type_=ARRAY(BigInteger)),
    )
    .table_valued("key", "seconds", "most", name="allowed")
    .render_derived()
)
WINDOW_COUNTS = _count_cte
IS_WITHIN_LIMITS = ~exists().where(
    _count_cte.c.key == sql_cast(_limits.c.key, LargeBinary),
    _count_cte.c.seconds == sql_cast(_limits.c.seconds, BigInteger),
    _count_cte.c.count > sql_cast(_limits.c.most, BigInteger),
)
"""A condition that also counts the request in the same statement; takes `keys`, `windows` and `allowed`."""


def read_count(record: Any) -> Count:
    return Count(record["key"], record["seconds"], record["count"], record["ends_in"])


_next = (
    func.unnest(
        bindparam("next_keys", type_=ARRAY(LargeBinary)),
        bindparam("next_windows", type_=ARRAY(BigInteger)),
        bindparam("other_keys", type_=ARRAY(LargeBinary)),
    )
    .table_valued("key", "seconds", "other", name="next")
    .render_derived()
)
_next_key = case((IS_WITHIN_LIMITS, _next.c.key), else_=_next.c.other)
_next_seconds = sql_cast(_next.c.seconds, BigInteger)
_counted_next = _add_one(
    select(
        sql_cast(_next_key, LargeBinary),
        _next_seconds,
        func.to_timestamp(_epoch - _epoch % func.greatest(_next_seconds, 1)),
    )
).cte("counted_next")
_COUNT_IN_TURN = statement(
    select(*WINDOW_COUNTS.c).union_all(select(*_counted_next.c)),
    read_count,
)
_READ_COUNTS = statement(
    select(*_count_columns).join(
        _window_rows,
        (rate_counts.c.key == _window_key)
        & (rate_counts.c.seconds == _window_seconds)
        & (rate_counts.c.window_start == func.to_timestamp(_window)),
    ),
    into(Count),
)
_SUBTRACT = statement(
    update(rate_counts)
    .where(
        rate_counts.c.key == _window_key,
        rate_counts.c.seconds == _window_seconds,
        rate_counts.c.window_start == func.to_timestamp(_window),
        rate_counts.c.count > 0,
    )
    .values(count=rate_counts.c.count - literal_column("1"))
    .returning(rate_counts.c.key),
    lambda record: cast(bytes, record[0]),
)
_DELETE_COUNT = statement(
    delete(rate_counts)
    .where(rate_counts.c.key == bindparam("key"), rate_counts.c.seconds == 0)
    .returning(rate_counts.c.key),
    lambda record: cast(bytes, record[0]),
)
_HOUR = 3600
# One hour from the next full minute, not a clock hour: lasts at least an hour and adds at most one row a minute.
_next_minute = func.date_trunc("minute", func.now()) + timedelta(minutes=1)
_OPEN_BREAKER = statement(
    insert(rate_counts)
    .values(key=bindparam("key"), seconds=_HOUR, window_start=_next_minute, count=1)
    .on_conflict_do_update(
        index_elements=["key", "seconds", "window_start"], set_={"count": rate_counts.c.count + literal_column("1")}
    )
    .returning(rate_counts.c.key),
    lambda record: cast(bytes, record[0]),
)
_BREAKER_IS_OPEN = statement(
    select(rate_counts.c.key)
    .where(rate_counts.c.key == bindparam("key"), rate_counts.c.window_start > func.now() - timedelta(seconds=_HOUR))
    .limit(1),
    lambda record: cast(bytes, record[0]),
)
_AUDIT = statement(
    insert(audit_events)
    .values(
        id=bindparam("id"),
        at=func.now(),
        actor_kind=bindparam("actor_kind"),
        actor_id=bindparam("actor_id"),
        action=bindparam("action"),
        outcome=bindparam("outcome"),
        subject_id=bindparam("subject_id"),
        subject_type=bindparam("subject_type"),
        source=bindparam("source"),
        request_id=bindparam("request_id"),
        detail=bindparam("detail"),
        changes=bindparam("changes"),
    )
    .returning(audit_events.c.id),
    lambda record: cast(UUID, record[0]),
)

_FIND_AUDIT = statement(select(audit_events).where(audit_events.c.id == bindparam("id")), into(AuditEvent))


async def claim_idempotency_key(db: DatabaseSession, *, scope: bytes, key: bytes, fingerprint: bytes) -> bool:
    """Returns whether the caller has claimed the key and must do the work."""
    return await db.one(_CLAIM, scope_=scope, key_=key, fingerprint=fingerprint) is not None


async def find_idempotency_key(db: DatabaseSession, *, scope: bytes, key: bytes) -> IdempotencyKey | None:
    return await db.one(_FIND, scope_=scope, key_=key)


async def finish_idempotency_key(db: DatabaseSession, *, scope: bytes, key: bytes, record_id: UUID) -> None:
    await db.one(_FINISH, scope_=scope, key_=key, record_id_=record_id)


async def count(db: DatabaseSession, windows: Sequence[tuple[bytes, int]]) -> list[Count]:
    """Adds one to each window, in sorted order to avoid deadlocks."""
    sorted_windows = sorted(set(windows))
    return await db.all(
        _COUNT, keys=[key for key, _ in sorted_windows], windows=[seconds for _, seconds in sorted_windows]
    )


async def add_counts(db: DatabaseSession, amounts: Mapping[tuple[bytes, int], int]) -> list[Count]:
    """Adds an amount to each window, in sorted order to avoid deadlocks."""
    windows = sorted(amounts)
    return await db.all(
        _ADD,
        keys=[key for key, _ in windows],
        windows=[seconds for _, seconds in windows],
        amounts=[amounts[window] for window in windows],
    )


async def count_in_turn(
    db: DatabaseSession, first: Sequence[Limit], then: Sequence[Limit], otherwise: Sequence[Limit]
) -> list[Count]:
    """Adds one to the `first` windows; then to `then` if those are within their limits, else to `otherwise`. Writes the
    same number of rows either way.
    """
    return await db.all(
        _COUNT_IN_TURN,
        keys=[limit.key for limit in first],
        windows=[limit.seconds for limit in first],
        allowed=[limit.count for limit in first],
        next_keys=[limit.key for limit in then],
        next_windows=[limit.seconds for limit in then],
        other_keys=[limit.key for limit in otherwise],
    )


async def read_counts(db: DatabaseSession, windows: Sequence[tuple[bytes, int]]) -> list[Count]:
    return await db.all(_READ_COUNTS, keys=[key for key, _ in windows], windows=[seconds for _, seconds in windows])


async def subtract_counts(db: DatabaseSession, windows: Sequence[tuple[bytes, int]]) -> None:
    """Subtracts one from each current window."""
    sorted_windows = sorted(set(windows))
    await db.all(_SUBTRACT, keys=[key for key, _ in sorted_windows], windows=[seconds for _, seconds in sorted_windows])


async def delete_count(db: DatabaseSession, key: bytes) -> None:
    await db.one(_DELETE_COUNT, key=key)


async def open_breaker(db: DatabaseSession, key: bytes) -> None:
    await db.one(_OPEN_BREAKER, key=key)


async def is_breaker_open(db: DatabaseSession, key: bytes) -> bool:
    return await db.one(_BREAKER_IS_OPEN, key=key) is not None


async def insert_audit(db: DatabaseSession, **values: Any) -> None:
    await db.one(_AUDIT, **values)


async def find_audit(db: DatabaseSession, event_id: UUID) -> AuditEvent | None:
    return await db.one(_FIND_AUDIT, id=event_id)
