"""Statements that read and write the line items of a cart, with the order's totals."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

import msgspec
from sqlalchemy import LargeBinary, Text, bindparam, column, delete, func, literal_column, select, update
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects.postgresql import JSONB, insert
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.db.pool import DatabaseSession
from shop.db.statements import any_of, into, opaque_param, statement
from shop.models.cart.orders import CartLine, LineItem, Order, line_items, orders
from shop.models.checkout.shipments import shipments
from shop.rules.metadata import METADATA

_ID = PG_UUID(as_uuid=True)
# Not decoded: JSON as Python objects can be 25 times larger, and a cart only passes it on.
_texts = [
    func.convert_to(sql_cast(line_items.c[name], Text), "UTF8", type_=LargeBinary).label(name) for name in METADATA
]
_lines = (
    select(*(column for column in line_items.c if column.name not in METADATA), *_texts, orders.c.currency)
    .join(orders, orders.c.id == line_items.c.order_id)
    .order_by(line_items.c.created_at, line_items.c.id)
)


def _read_line(record: Any) -> CartLine:
    fields = dict(record)
    for name in METADATA:
        fields[name] = msgspec.Raw(fields[name])
    return CartLine(**fields)


_LINES = statement(_lines.where(line_items.c.order_id == opaque_param("order_id", _ID)), _read_line)
_LINES_OF = statement(_lines.where(line_items.c.order_id == any_of("order_ids", _ID)), _read_line)
_STAMPS = ("created_at", "updated_at")
_names = tuple(name for name in LineItem.__struct_fields__ if name not in _STAMPS)
_source_rows = func.jsonb_populate_recordset(
    literal_column("null::line_items"), bindparam("rows", type_=JSONB)
).table_valued(*(column(name, line_items.c[name].type) for name in _names), name="given")
_insert = insert(line_items).from_select(
    [*_names, *_STAMPS], select(*(_source_rows.c[name] for name in _names), func.now(), func.now())
)
_put = (
    _insert.on_conflict_do_update(
        index_elements=["id"],
        set_={name: _insert.excluded[name] for name in _names if name not in {"id", "order_id", "variant_id"}}
        | {"updated_at": func.now()},
    )
    .returning(line_items.c.id)
    .cte("put")
)
_delete_lines = (
    delete(line_items)
    .where(
        line_items.c.order_id == bindparam("order_id", type_=_ID),
        line_items.c.id == any_of("gone", _ID),
    )
    .returning(line_items.c.id)
    .cte("gone")
)
_delete_shipments = (
    delete(shipments)
    .where(
        shipments.c.order_id == bindparam("order_id", type_=_ID),
        bindparam("unpacks", type_=literal_column("true").type),
    )
    .returning(shipments.c.id)
    .cte("unpacked")
)
SAVED_ORDER_COLUMNS = (
    "state",
    "currency",
    "item_count",
    "item_total",
    "ship_total",
    "adjustment_total",
    "promo_total",
    "order_promo_total",
    "promoted",
    "included_tax_total",
    "additional_tax_total",
    "pre_tax_item_amount",
    "pre_tax_total",
    "total",
)
_WRITE = statement(
    update(orders)
    .where(orders.c.id == bindparam("order_id", type_=_ID))
    .values(
        {name: bindparam(f"new_{name}", type_=orders.c[name].type) for name in SAVED_ORDER_COLUMNS}
        | {"updated_at": func.now()}
    )
    .returning(orders)
    .add_cte(_delete_lines, _delete_shipments, _put),
    into(Order),
)


async def list_lines(db: DatabaseSession, order_id: UUID) -> list[CartLine]:
    return await db.all(_LINES, order_id=order_id)


async def list_lines_of(db: DatabaseSession, order_ids: Sequence[UUID]) -> list[CartLine]:
    """Returns the line items of several orders."""
    return await db.all(_LINES_OF, order_ids=list(order_ids))


async def write_lines(
    db: DatabaseSession,
    order_id: UUID,
    *,
    put: Sequence[LineItem],
    removed_ids: Iterable[UUID],
    unpacks: bool,
    order: Mapping[str, Any],
) -> Order:
    """Upserts and deletes line items and updates the order in one statement; `unpacks` deletes the shipments."""
    rows = [{name: getattr(line, name) for name in _names} for line in put]
    values = {f"new_{name}": order[name] for name in SAVED_ORDER_COLUMNS}
    row = await db.one(_WRITE, order_id=order_id, rows=rows, gone=list(removed_ids), unpacks=unpacks, **values)
    if row is None:
        raise AssertionError("a locked order cannot be deleted")
    return row


def without_stamps(line: LineItem) -> dict[str, Any]:
    """Returns the fields of a line item without timestamps, to detect changes."""
    return {name: value for name, value in msgspec.structs.asdict(line).items() if name in _names}
