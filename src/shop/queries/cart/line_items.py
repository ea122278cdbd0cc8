"""Statements that read and write the line items of a cart, with the order's totals."""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, cast
from uuid import UUID

import msgspec
from sqlalchemy import LargeBinary, Table, Text, bindparam, column, delete, func, literal_column, select, true, update
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects.postgresql import JSONB, insert
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.db.pool import DatabaseSession
from shop.db.rows import metadata
from shop.db.statements import (
    Statement,
    any_of,
    dynamic_statement,
    into,
    opaque_param,
    positional_type,
    statement,
)
from shop.models.cart.orders import CartLine, LineItem, Order, line_items, orders
from shop.models.checkout.shipments import shipments
from shop.queries.bulk import insert_clause
from shop.rules.metadata import METADATA

_ID = PG_UUID(as_uuid=True)


class OrderConflict(Exception):
    """Another transaction has changed an order that was read without a lock."""


# Not decoded: JSON as Python objects can be 25 times larger, and a cart only passes it on. Nearly all lines have none.
_metadata_texts = {
    name: func.convert_to(
        sql_cast(func.nullif(line_items.c[name], literal_column("'{}'::jsonb")), Text), "UTF8", type_=LargeBinary
    ).label(name)
    for name in METADATA
}
_NO_METADATA = msgspec.Raw(b"{}")
_LINE_COLUMNS = [_metadata_texts.get(each.name, each) for each in line_items.c]
_lines = (
    select(*_LINE_COLUMNS, orders.c.currency)
    .join(orders, orders.c.id == line_items.c.order_id)
    .order_by(line_items.c.created_at, line_items.c.id)
)


_build_line = positional_type(CartLine)
_METADATA_AT = [list(line_items.c.keys()).index(name) for name in METADATA]


def _read_line(values: Iterable[Any]) -> CartLine:
    """Reads the columns of a line, followed by the currency of its cart."""
    fields = list(values)
    for index in _METADATA_AT:
        text = fields[index]
        fields[index] = _NO_METADATA if text is None else msgspec.Raw(text)
    return cast(CartLine, _build_line(*fields))


_LINES = statement(_lines.where(line_items.c.order_id == opaque_param("order_id", _ID)), _read_line)
_LINES_OF = statement(_lines.where(line_items.c.order_id == any_of("order_ids", _ID)), _read_line)
_STAMPS = ("created_at", "updated_at")
_names = tuple(name for name in LineItem.__struct_fields__ if name not in _STAMPS)
_source_rows = func.jsonb_populate_recordset(
    literal_column("null::line_items"), bindparam("rows", type_=JSONB)
).table_valued(*(column(name, line_items.c[name].type) for name in _names), name="given")
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
ROW_VERSION = sql_cast(literal_column("orders.xmin", Text()), Text())
"""The transaction that wrote the row of an order: it changes with every update, and only with them."""
# No version means that the caller has locked the row.
IS_SAME_VERSION = func.coalesce(bindparam("row_version", type_=Text()) == ROW_VERSION, true())


def _update_order(*names: str) -> Any:
    return (
        update(orders)
        .where(orders.c.id == bindparam("order_id", type_=_ID), IS_SAME_VERSION)
        .values(
            {name: bindparam(f"new_{name}", type_=orders.c[name].type) for name in names} | {"updated_at": func.now()}
        )
        .returning(orders)
        .cte("saved")
    )


def _put_lines(is_saved: Any) -> Any:
    clause = insert(line_items).from_select(
        [*_names, *_STAMPS],
        select(*(_source_rows.c[name] for name in _names), func.now(), func.now()).where(is_saved.is_not(None)),
    )
    return (
        clause.on_conflict_do_update(
            index_elements=["id"],
            set_={name: clause.excluded[name] for name in _names if name not in {"id", "order_id", "variant_id"}}
            | {"updated_at": func.now()},
        )
        .returning(line_items.c.id)
        .cte("put")
    )


_save = _update_order(*SAVED_ORDER_COLUMNS)
# Every part depends on the update, so that nothing is written if the row has another version.
_is_saved = select(_save.c.id).scalar_subquery()
_put = _put_lines(_is_saved)
_delete_lines = (
    delete(line_items)
    .where(line_items.c.order_id == _is_saved, line_items.c.id == any_of("gone", _ID))
    .returning(line_items.c.id)
    .cte("gone")
)
_delete_shipments = (
    delete(shipments)
    .where(shipments.c.order_id == _is_saved, bindparam("unpacks", type_=literal_column("true").type))
    .returning(shipments.c.id)
    .cte("unpacked")
)
_PUT = statement(select(_save).add_cte(_put), into(Order))
_REPLACE = statement(select(_save).add_cte(_delete_lines, _delete_shipments, _put), into(Order))


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
    removed_ids: Sequence[UUID],
    unpacks: bool,
    order: Mapping[str, Any],
    row_version: str | None = None,
) -> Order:
    """Upserts and deletes line items and updates the order in one statement; `unpacks` deletes the shipments.

    Without `row_version`, the caller must have locked the order. With it, raises OrderConflict and writes nothing if
    the order has changed since that version was read.
    """
    values = _parameters(order_id, put, order, row_version)
    if removed_ids or unpacks:
        saved_order = await db.one(_REPLACE, gone=removed_ids, unpacks=unpacks, **values)
    else:
        saved_order = await db.one(_PUT, **values)
    if saved_order is None:
        raise OrderConflict()
    return saved_order


async def write_checkout(
    db: DatabaseSession,
    order_id: UUID,
    *,
    put: Sequence[LineItem],
    order: Mapping[str, Any],
    new_rows: Mapping[str, Sequence[Mapping[str, Any]]],
    row_version: str | None = None,
) -> Order:
    """Upserts line items and updates the order like `write_lines`, also in other columns, and inserts rows of other
    tables. The rows of a table have the same columns.
    """
    tables = tuple((metadata.tables[name], tuple(sorted(rows[0]))) for name, rows in new_rows.items() if rows)
    names = tuple(sorted(order.keys() - set(SAVED_ORDER_COLUMNS)))
    values = _parameters(order_id, put, order, row_version)
    rows = {f"{table.name}_rows": new_rows[table.name] for table, _ in tables}
    saved_order = await db.one(_write_checkout(names, tables), **values, **rows)
    if saved_order is None:
        raise OrderConflict()
    return saved_order


@lru_cache(maxsize=64)
def _write_checkout(names: tuple[str, ...], tables: tuple[tuple[Table, tuple[str, ...]], ...]) -> Statement[Order]:
    saved_order = _update_order(*SAVED_ORDER_COLUMNS, *names)
    is_saved = select(saved_order.c.id).scalar_subquery()
    new_rows = [
        insert_clause(table, columns, f"{table.name}_rows", is_saved.is_not(None)).cte(f"new_{table.name}")
        for table, columns in tables
    ]
    return dynamic_statement(select(saved_order).add_cte(*new_rows, _put_lines(is_saved)), into(Order))


def _parameters(
    order_id: UUID, put: Sequence[LineItem], order: Mapping[str, Any], row_version: str | None
) -> dict[str, Any]:
    rows = [{name: getattr(line, name) for name in _names} for line in put]
    values = {f"new_{name}": value for name, value in order.items()}
    return values | {"order_id": order_id, "row_version": row_version, "rows": rows}


def without_stamps(line: LineItem) -> dict[str, Any]:
    """Returns the fields of a line item without timestamps, to detect changes."""
    return {name: value for name, value in msgspec.structs.asdict(line).items() if name in _names}
