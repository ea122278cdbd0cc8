"""Statements that fill the index of completed orders from the tables that it describes."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, cast
from uuid import UUID

import msgspec
from sqlalchemy import (
    BigInteger,
    ColumnElement,
    DateTime,
    and_,
    bindparam,
    case,
    exists,
    func,
    literal_column,
    or_,
    select,
    tuple_,
    union_all,
    update,
)
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects.postgresql import ARRAY, insert
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.db.pool import DatabaseSession
from shop.db.statements import any_of, into, statement
from shop.models.cart.order_index import OrderIndexProgress, order_index_progress, order_listings
from shop.models.cart.orders import line_items, orders
from shop.models.catalog.products import variants
from shop.models.checkout.shipments import shipments
from shop.models.customers.addresses import addresses
from shop.models.events import events
from shop.models.setup.countries import countries
from shop.queries.catalog.product_index import fold_text

_ID = PG_UUID(as_uuid=True)
_IDS = ARRAY(_ID)
_space: Any = literal_column("' '")
_MAX_LENGTH: Any = literal_column("50000")
"""PostgreSQL refuses to index much longer texts."""


class PlacedOrder(msgspec.Struct, frozen=True):
    """The id of a completed order, and when it was completed."""

    id: UUID
    placed_at: datetime


_ship, _bill = addresses.alias("ship"), addresses.alias("bill")
_to = countries.alias("to")


def _texts(clause: Any) -> ColumnElement[str]:
    return func.array_to_string(func.array(clause.correlate(orders).scalar_subquery()), _space)


def _digits(column: Any) -> ColumnElement[str]:
    return func.regexp_replace(column, literal_column("'[^0-9]+'"), literal_column("''"), literal_column("'g'"))


def _phone_words(column: Any) -> tuple[Any, ...]:
    # Written together too, and without the code of the country.
    return column, _digits(column), func.right(_digits(column), literal_column("10"))


_words = func.concat_ws(
    _space,
    orders.c.number,
    # Without its prefix, which never ends with a digit.
    func.substring(orders.c.number, literal_column("'[0-9]+$'")),
    orders.c.email,
    *(address.c[name] for address in (_ship, _bill) for name in ("firstname", "lastname", "company")),
    *_phone_words(_ship.c.phone),
    *_phone_words(_bill.c.phone),
    _texts(
        select(func.concat_ws(_space, shipments.c.number, shipments.c.tracking)).where(
            shipments.c.order_id == orders.c.id
        )
    ),
    _texts(
        select(func.concat_ws(_space, line_items.c.sku, line_items.c.name)).where(line_items.c.order_id == orders.c.id)
    ),
)
_is_ready = (
    exists()
    .where(shipments.c.order_id == orders.c.id, shipments.c.state == literal_column("'ready'"))
    .correlate(orders)
)
_is_valid = orders.c.canceled_at.is_(None)
_is_unpaid = func.coalesce(
    orders.c.payment_state.in_([literal_column("'balance_due'"), literal_column("'failed'")]), False
)
_is_sent = func.coalesce(
    orders.c.shipment_state.in_([literal_column("'shipped'"), literal_column("'canceled'")]), False
)
_owes = func.coalesce(orders.c.payment_state == literal_column("'credit_owed'"), False)
_name = case(
    (_ship.c.id.is_not(None), func.concat_ws(_space, _ship.c.firstname, _ship.c.lastname)),
    else_=func.concat_ws(_space, _bill.c.firstname, _bill.c.lastname),
)
_VALUES: dict[str, Any] = {
    "order_id": orders.c.id,
    "placed_at": orders.c.completed_at,
    "name": _name,
    "country": _to.c.iso,
    "currency": orders.c.currency,
    "channel": orders.c.channel,
    "total": orders.c.total,
    "payment_state": orders.c.payment_state,
    "shipment_state": orders.c.shipment_state,
    "is_to_ship": and_(_is_valid, _is_ready),
    "is_unpaid": and_(_is_valid, _is_unpaid),
    "is_open": or_(_owes, and_(_is_valid, or_(_is_unpaid, ~_is_sent))),
    "product_ids": func.array(
        select(variants.c.product_id)
        .distinct()
        .select_from(line_items.join(variants, variants.c.id == line_items.c.variant_id))
        .where(line_items.c.order_id == orders.c.id)
        .correlate(orders)
        .scalar_subquery(),
        type_=_IDS,
    ),
    "promotion_ids": func.array(
        select(sql_cast(func.jsonb_object_keys(orders.c.promoted), _ID)).correlate(orders).scalar_subquery(), type_=_IDS
    ),
    "tags": orders.c.tags,
    "search": func.to_tsvector(literal_column("'simple'::regconfig"), fold_text(func.left(_words, _MAX_LENGTH))),
}
_put = insert(order_listings).from_select(
    list(_VALUES),
    select(*(column.label(name) for name, column in _VALUES.items()))
    .select_from(
        orders.outerjoin(_ship, _ship.c.id == orders.c.ship_address_id)
        .outerjoin(_bill, _bill.c.id == orders.c.bill_address_id)
        .outerjoin(_to, _to.c.id == _ship.c.country_id)
    )
    .where(orders.c.id == any_of("ids", _ID), orders.c.completed_at.is_not(None)),
)
_REFRESH = statement(
    _put.on_conflict_do_update(
        index_elements=["order_id"], set_={name: _put.excluded[name] for name in _VALUES if name != "order_id"}
    ).returning(order_listings.c.order_id),
    lambda record: cast(UUID, record[0]),
)
_LOCK = statement(
    select(order_index_progress).with_for_update(skip_locked=True),
    into(OrderIndexProgress),
)
_FIND = statement(select(order_index_progress), into(OrderIndexProgress))
_SAVE = statement(
    update(order_index_progress)
    .values(
        {
            name: bindparam(f"new_{name}", type_=order_index_progress.c[name].type)
            for name in ("position", "filled_at", "filled_id", "is_filled")
        }
    )
    .returning(order_index_progress.c.id),
    lambda record: cast(int, record[0]),
)
_range = (
    events.c.position > bindparam("after", type_=BigInteger),
    events.c.position <= bindparam("until", type_=BigInteger),
)
_LIST_CHANGED = statement(
    union_all(
        select(events.c.subject_id).where(*_range, events.c.subject_type == literal_column("'order'")),
        # Parts of an order: shipments, payments and others.
        select(sql_cast(events.c.row["order_id"].astext, _ID)).where(
            *_range, events.c.subject_type != literal_column("'order'"), events.c.row["order_id"].astext.is_not(None)
        ),
    ),
    lambda record: cast(UUID, record[0]),
)
_at = (orders.c.completed_at, orders.c.id)
_newest = select(orders.c.id, orders.c.completed_at.label("placed_at")).where(orders.c.completed_at.is_not(None))
_newest_first = (orders.c.completed_at.desc(), orders.c.id.desc())
_most = bindparam("most", type_=BigInteger)
_LIST_NEWEST = statement(_newest.order_by(*_newest_first).limit(_most), into(PlacedOrder))
_before = tuple_(bindparam("before_at", type_=DateTime(timezone=True)), bindparam("before_id", type_=_ID))
_LIST_OLDER = statement(_newest.where(tuple_(*_at) < _before).order_by(*_newest_first).limit(_most), into(PlacedOrder))


async def lock_progress(db: DatabaseSession) -> OrderIndexProgress | None:
    """Locks the progress for the caller's transaction; None if another process is filling the index."""
    return await db.one(_LOCK)


async def find_progress(db: DatabaseSession) -> OrderIndexProgress | None:
    return await db.one(_FIND)


async def save_progress(db: DatabaseSession, progress: OrderIndexProgress) -> None:
    values = msgspec.structs.asdict(progress)
    await db.one(_SAVE, **{f"new_{name}": value for name, value in values.items() if name != "id"})


async def list_changed_orders(db: DatabaseSession, *, after: int, until: int) -> set[UUID]:
    """Returns the orders that events of a range of positions are about."""
    return set(await db.all(_LIST_CHANGED, after=after, until=until))


async def list_placed_orders(db: DatabaseSession, progress: OrderIndexProgress, *, most: int) -> list[PlacedOrder]:
    """Returns the newest completed orders that the first filling has not reached."""
    if progress.filled_at is None:
        return await db.all(_LIST_NEWEST, most=most)
    return await db.all(_LIST_OLDER, before_at=progress.filled_at, before_id=progress.filled_id, most=most)


async def refresh(db: DatabaseSession, order_ids: Sequence[UUID]) -> None:
    """Rebuilds the rows of completed orders."""
    if order_ids:
        await db.all(_REFRESH, ids=list(order_ids))
