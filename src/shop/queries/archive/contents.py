"""Reads all rows of orders as JSON lines, in the format of the file of a whole shop, and writes them back."""

import base64
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any
from uuid import UUID

import msgspec
from sqlalchemy import LargeBinary, Table, Text, bindparam, column, func, literal_column, select
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects.postgresql import JSONB, insert
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.db.pool import DatabaseSession
from shop.db.statements import Statement, any_of, dynamic_statement, statement
from shop.models.cart.orders import abandoned_carts, line_items, orders
from shop.models.cart.timeline import timeline_entries
from shop.models.checkout.coupons import adjustments, order_promotions
from shop.models.checkout.payments import payment_attempts, payment_notices, payment_sources, payments, refunds
from shop.models.checkout.shipments import shipment_items, shipments, shipping_rates
from shop.models.customers.addresses import addresses
from shop.models.order_edits.approvals import refund_requests
from shop.models.order_edits.notes import order_notes
from shop.models.order_edits.refunds import refund_items
from shop.queries.shop_files.exports import as_json

_ID = PG_UUID(as_uuid=True)
_PARTS: tuple[Table, ...] = (
    abandoned_carts,
    line_items,
    adjustments,
    shipments,
    shipment_items,
    shipping_rates,
    order_promotions,
    payment_sources,
    payments,
    payment_attempts,
    payment_notices,
    refunds,
    refund_items,
    refund_requests,
    order_notes,
    timeline_entries,
)
ORDER_TABLES: tuple[Table, ...] = (addresses, orders, *_PARTS)
"""The tables whose rows are archived with an order, each after those that it refers to. Invoices, uses of promotions,
coupon codes and the ledger of store credit remain.
"""
Rows = dict[str, list[dict[str, msgspec.Raw]]]
"""Rows by the name of their table; a value is JSON text, so that none is rounded."""
_decode = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_OF_ORDER = "of_order"


def _lines_of(table: Table) -> Statement[bytes]:
    """Selects the rows of a table as JSON, each with the id of its order."""
    order_id: Any = table.c.get("order_id", orders.c.id)
    source: Any = table
    if table is addresses:
        source = orders.join(addresses, addresses.c.id.in_([orders.c.bill_address_id, orders.c.ship_address_id]))
    elif table is payment_notices:
        order_id = payments.c.order_id
        source = payments.join(payment_notices, payment_notices.c.payment_id == payments.c.id)
    row = (
        select(order_id.label(_OF_ORDER), *(as_json(column).label(column.name) for column in table.columns))
        .select_from(source)
        .where(order_id == any_of("order_ids", _ID))
        .order_by(*table.primary_key.columns)
        .subquery("line")
    )
    return statement(select(sql_cast(func.row_to_json(row.table_valued()), Text)), lambda record: record[0].encode())


_READ = {str(table.name): _lines_of(table) for table in ORDER_TABLES}


async def list_rows(db: DatabaseSession, order_ids: Sequence[UUID]) -> dict[UUID, Rows]:
    """Returns all rows of orders."""
    rows: dict[UUID, Rows] = {order_id: {} for order_id in order_ids}
    for name, statement_of_table in _READ.items():
        for line in await db.all(statement_of_table, order_ids=list(order_ids)):
            row = _decode(line)
            order_id = msgspec.json.decode(row.pop(_OF_ORDER), type=UUID)
            rows[order_id].setdefault(name, []).append(row)
    return rows


async def insert_rows(db: DatabaseSession, rows: Rows) -> None:
    """Inserts the rows of an order. A reference to a record that is gone becomes empty, if it can be empty; otherwise
    raises ConstraintViolation.
    """
    for table in ORDER_TABLES:
        values = [_read_row(table, row) for row in rows.get(table.name, ())]
        if values:
            names = tuple(column.name for column in table.columns if column.name in values[0])
            await db.all(_insert(table, names), rows=values)


def _read_row(table: Table, row: Mapping[str, msgspec.Raw]) -> dict[str, Any]:
    """Returns the columns that the table has; another version may have written the row."""
    return {name: _read_value(table.c[name].type, value) for name, value in row.items() if name in table.c}


def _read_value(kind: Any, value: msgspec.Raw) -> Any:
    if not isinstance(kind, LargeBinary):
        return value
    data = msgspec.json.decode(value, type=str | None)
    return None if data is None else f"\\x{base64.b64decode(data).hex()}"


@lru_cache(maxsize=64)
def _insert(table: Table, names: tuple[str, ...]) -> Statement[Any]:
    read = func.jsonb_populate_recordset(literal_column(f"null::{table.name}"), bindparam("rows", type_=JSONB))
    source = read.table_valued(*(column(name, table.c[name].type) for name in names), name="archived_rows")
    values = [_existing(table.c[name], source.c[name]) for name in names]
    clause = insert(table).from_select(list(names), select(*values))
    # The address of an account can still exist.
    return dynamic_statement(clause.on_conflict_do_nothing() if table is addresses else clause, lambda record: None)


def _existing(target: Any, value: Any) -> Any:
    """Returns a reference, or nothing if its record is gone."""
    keys = [each.column for each in target.foreign_keys]
    if not target.nullable or not keys:
        return value
    return select(keys[0]).where(keys[0] == value).scalar_subquery().label(target.name)
