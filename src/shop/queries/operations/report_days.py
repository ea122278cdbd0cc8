"""Statements that keep the daily figures of reports: which days are stale, and their calculation."""

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from typing import Any, cast

import msgspec
from sqlalchemy import (
    BigInteger,
    Boolean,
    Date,
    Text,
    and_,
    bindparam,
    case,
    delete,
    exists,
    func,
    literal_column,
    or_,
    select,
    true,
    union,
    update,
)
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects.postgresql import ARRAY, insert
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.db.pool import DatabaseSession
from shop.db.statements import opaque_param, statement
from shop.models.cart.orders import customer_of, order_lookups, orders
from shop.models.checkout.payments import payments, refunds
from shop.models.events import event_counters, events
from shop.models.operations.report_days import cart_days, frozen_days, report_states, stale_days
from shop.models.setup.shop import shops
from shop.queries.operations.report_sources import ALL_DAYS, CARTS, SOURCES

CART_SECONDS = 60
"""How often the carts of the current day are counted: a new cart has no event."""
RECENT_DAYS = 7
"""The counts of carts of older days never decrease, because idle carts are deleted."""
_ID = PG_UUID(as_uuid=True)


class ReportProgress(msgspec.Struct, frozen=True):
    """Up to where the figures are calculated, and what the shop and its event log say now."""

    now: datetime
    position: int
    time_zone: str | None
    """The zone of the days; None before the first calculation."""
    rebuild_days: int | None
    are_carts_due: bool
    shop_zone: str
    first_position: int | None
    last_position: int
    stale_count: int

    @property
    def must_rebuild(self) -> bool:
        """Whether no day is calculated, the time zone changed, or events are missing."""
        first = self.last_position + 1 if self.first_position is None else self.first_position
        return self.time_zone != self.shop_zone or not first - 1 <= self.position <= self.last_position

    @property
    def has_work(self) -> bool:
        return self.must_rebuild or self.are_carts_due or self.stale_count > 0 or self.position < self.last_position


ARE_CARTS_DUE = func.coalesce(
    report_states.c.carts_counted_at < func.now() - timedelta(seconds=CART_SECONDS), literal_column("true")
)
_progress = select(
    func.now().label("now"),
    report_states.c.position,
    report_states.c.time_zone,
    report_states.c.rebuild_days,
    ARE_CARTS_DUE.label("are_carts_due"),
    select(shops.c.time_zone).scalar_subquery().label("shop_zone"),
    select(func.min(events.c.position)).scalar_subquery().label("first_position"),
    select(event_counters.c.last_position).scalar_subquery().label("last_position"),
    select(func.count()).select_from(stale_days).scalar_subquery().label("stale_count"),
)
_FIND_PROGRESS = statement(_progress, lambda record: ReportProgress(**record))
_LOCK = statement(
    _progress.with_for_update(of=report_states, skip_locked=True), lambda record: ReportProgress(**record)
)
_SAVE = statement(
    update(report_states)
    .values(
        position=bindparam("new_position", type_=BigInteger),
        time_zone=bindparam("new_zone", type_=Text),
        rebuild_days=case((exists(stale_days.select()), bindparam("new_rebuild_days", type_=BigInteger)), else_=None),
        carts_counted_at=case(
            (bindparam("are_carts_counted", type_=Boolean), func.now()), else_=report_states.c.carts_counted_at
        ),
    )
    .returning(report_states.c.id),
    lambda record: cast(int, record[0]),
)
_FIRST_TIME = statement(
    select(
        func.least(
            select(func.min(orders.c.created_at)).scalar_subquery(),
            select(func.min(orders.c.completed_at)).scalar_subquery(),
            select(func.min(payments.c.captured_at)).scalar_subquery(),
            select(func.min(refunds.c.updated_at))
            .where(refunds.c.state == literal_column("'completed'"))
            .scalar_subquery(),
        )
    ),
    lambda record: cast(datetime | None, record[0]),
)


def _read_time(record: Any) -> datetime:
    return cast(datetime, record[0])


def _each(table: Any, column: Any, *where: Any) -> Any:
    """Returns the rows of a table for each row of the query, by an index: `OFFSET 0` excludes other plans."""
    clause = select(column.label("value")).where(column.is_not(None), *where)
    return clause.correlate_except(table).offset(literal_column("0", BigInteger)).lateral()


def _select_event_times(is_selected: Any) -> Any:
    """Returns when the orders that events are about were completed, paid and refunded; and the other orders of
    customers whose address an event replaced, because whether an order is a customer's first depends on the others.
    """
    of_order = events.c.subject_type == literal_column("'order'")
    event_orders = (
        select(
            case((of_order, events.c.subject_id), else_=sql_cast(events.c.row["order_id"].astext, _ID)).label("id"),
            events.c.row["email"].astext.label("email"),
            events.c.before["email"].astext.label("former_email"),
            events.c.before.has_key("email").label("has_new_email"),
        )
        .where(is_selected, or_(of_order, *(events.c.subject_type == kind for kind in _PARTS)))
        .cte("event_orders")
    )
    customers = union(
        *(
            select(literal_column(customer_of(f"event_orders.{name}"), Text()).label("customer"))
            .select_from(event_orders)
            .where(event_orders.c.has_new_email)
            for name in ("email", "former_email")
        )
    ).subquery("customers")
    is_theirs = literal_column(customer_of("order_lookups.email"), Text()) == customers.c.customer
    others = _each(order_lookups, order_lookups.c.order_id, order_lookups.c.is_completed, is_theirs)
    order_ids = union(
        select(event_orders.c.id), select(others.c.value).select_from(customers.join(others, true()))
    ).cte("order_ids")
    times = [
        _each(orders, orders.c.completed_at, orders.c.id == order_ids.c.id),
        _each(payments, payments.c.captured_at, payments.c.order_id == order_ids.c.id),
        _each(payments, payments.c.voided_at, payments.c.order_id == order_ids.c.id),
        _each(refunds, refunds.c.updated_at, refunds.c.order_id == order_ids.c.id),
    ]
    return union(*(select(each.c.value).select_from(order_ids.join(each, true())) for each in times))


_PARTS = ("payment", "refund", "adjustment")
_is_in_range = and_(
    events.c.position > opaque_param("after", BigInteger), events.c.position <= opaque_param("until", BigInteger)
)
_EVENT_TIMES = statement(_select_event_times(_is_in_range), _read_time)
_UNNUMBERED_TIMES = statement(_select_event_times(events.c.position.is_(None)), _read_time)
_new_days = func.unnest(sql_cast(bindparam("days"), ARRAY(Date))).table_valued("day").render_derived("new_days")
_insert_stale = insert(stale_days).from_select(["day"], select(_new_days.c.day).order_by(_new_days.c.day))
# The update locks a day that is stale already: its calculation then waits for the caller's changes.
_MARK_STALE = statement(
    _insert_stale.on_conflict_do_update(index_elements=["day"], set_={"day": _insert_stale.excluded.day}).returning(
        stale_days.c.day
    ),
    lambda record: cast(date, record[0]),
)
_newest = (
    select(stale_days.c.day)
    .order_by(stale_days.c.day.desc())
    .limit(bindparam("most", type_=BigInteger))
    .with_for_update(skip_locked=True)
)
_TAKE_STALE = statement(
    delete(stale_days).where(stale_days.c.day.in_(_newest)).returning(stale_days.c.day),
    lambda record: cast(date, record[0]),
)
_LIST_FROZEN = statement(select(frozen_days.c.day), lambda record: cast(date, record[0]))
_LIST_STALE = statement(select(stale_days.c.day), lambda record: cast(date, record[0]))
_day = sql_cast(bindparam("day"), Date)
_is_recent = sql_cast(bindparam("is_recent"), Boolean)
_DELETE = statement(
    select(literal_column("1")).add_cte(
        *(
            delete(table)
            .where(table.c.day == _day, *([_is_recent] if table is cart_days else []))
            .cte(f"delete_{table.name}")
            for table in ALL_DAYS
        )
    ),
    lambda record: cast(int, record[0]),
)


def _insert(table: Any, source: Any) -> Any:
    clause = insert(table).from_select([column.name for column in table.c], source)
    if table is not cart_days:
        return clause
    most = func.greatest(cart_days.c.carts, clause.excluded.carts)
    return clause.on_conflict_do_update(index_elements=["day", "currency"], set_={"carts": most})


_INSERT = statement(
    select(literal_column("1")).add_cte(
        *(_insert(table, source).cte(f"insert_{table.name}") for table, source in {**SOURCES, cart_days: CARTS}.items())
    ),
    lambda record: cast(int, record[0]),
)


async def find_progress(db: DatabaseSession) -> ReportProgress:
    return cast(ReportProgress, await db.one(_FIND_PROGRESS))


async def lock_progress(db: DatabaseSession) -> ReportProgress | None:
    """Returns None if another process calculates figures."""
    return await db.one(_LOCK)


async def save_progress(
    db: DatabaseSession, *, position: int, zone: str, rebuild_days: int | None, are_carts_counted: bool
) -> None:
    values = {"new_position": position, "new_zone": zone, "new_rebuild_days": rebuild_days}
    await db.one(_SAVE, **values, are_carts_counted=are_carts_counted)


async def find_first_time(db: DatabaseSession) -> datetime | None:
    """Returns the time of the oldest cart, order, payment or refund."""
    return await db.one(_FIRST_TIME)


async def list_event_times(db: DatabaseSession, *, after: int, until: int) -> list[datetime]:
    """Returns when the orders that events are about were completed, paid and refunded."""
    return await db.all(_EVENT_TIMES, after=after, until=until)


async def list_unnumbered_times(db: DatabaseSession) -> list[datetime]:
    """Returns the same for events that have no position yet."""
    return await db.all(_UNNUMBERED_TIMES)


async def mark_stale(db: DatabaseSession, days: Sequence[date]) -> None:
    if days:
        await db.all(_MARK_STALE, days=sorted(days))


async def take_stale(db: DatabaseSession, *, most: int) -> list[date]:
    """Removes the newest stale days from the list and returns them; the caller's transaction calculates them."""
    return await db.all(_TAKE_STALE, most=most)


async def list_stale(db: DatabaseSession) -> list[date]:
    return await db.all(_LIST_STALE)


async def list_frozen(db: DatabaseSession) -> list[date]:
    """Returns the days whose figures remain as they are, because orders of them are archived."""
    return await db.all(_LIST_FROZEN)


async def calculate_day(db: DatabaseSession, day: date, bounds: tuple[datetime, datetime], *, is_recent: bool) -> None:
    """Replaces the figures of a day. The count of carts of an older day never decreases."""
    await db.one(_DELETE, day=day, is_recent=is_recent)
    await db.one(_INSERT, day=day, starts_at=bounds[0], ends_at=bounds[1])
