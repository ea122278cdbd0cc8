"""Reads rows of several kinds of records in one statement, for the event log."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any
from uuid import UUID

import msgspec
from sqlalchemy import ColumnElement, LargeBinary, Select, Text, func, literal_column, null, select, union_all
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.db.pool import DatabaseSession
from shop.db.statements import Statement, any_of, dynamic_statement
from shop.queries.records import Records, select_ids

_ID = PG_UUID(as_uuid=True)


class RecordSnapshot(msgspec.Struct, frozen=True):
    """A row at some time, and the ids of its to-many relations by name."""

    kind: Records
    row: Any
    links: Mapping[str, Any]


async def list_snapshots(db: DatabaseSession, ids_by_kind: Mapping[Records, Sequence[UUID]]) -> list[RecordSnapshot]:
    """Returns rows of several kinds, hidden ones too, in one statement."""
    kinds = tuple(ids_by_kind)
    ids = {f"ids_{number}": ids_by_kind[kind] for number, kind in enumerate(kinds)}
    return await db.all(_select_snapshots(kinds), **ids) if kinds else []


@lru_cache(maxsize=512)
def _select_snapshots(kinds: Sequence[Records]) -> Statement[RecordSnapshot]:
    """Returns the rows as JSON, because those of each kind have other columns."""
    parts = [_select_snapshot(kind, number) for number, kind in enumerate(kinds)]
    decoders = [msgspec.json.Decoder(kind.row, strict=False) for kind in kinds]

    def read(record: Any) -> RecordSnapshot:
        number, text, links = record
        try:
            row = decoders[number].decode(text)
        except msgspec.ValidationError:
            # A value that its type does not allow, such as none where there should be one, must not prevent a change.
            values = msgspec.json.decode(text)
            row = kinds[number].row(**{**values, "id": UUID(values["id"])})
        return RecordSnapshot(kinds[number], row, msgspec.json.decode(links) if links else {})

    return dynamic_statement(union_all(*parts) if len(parts) > 1 else parts[0], read)


def _select_snapshot(kind: Records, number: int) -> Select[Any]:
    columns: dict[str, ColumnElement[Any]] = {**{column.name: column for column in kind.table.c}, **kind.extras}
    row = (
        select(*(_as_json(column).label(name) for name, column in columns.items()))
        .where(kind.table.c.id == any_of(f"ids_{number}", _ID))
        .subquery(f"row_{number}")
    )
    links: list[Any] = []
    for name, link in kind.relation_links.items():
        if link.is_many:
            links += [literal_column(f"'{name}'"), func.array(select_ids(link, row.c.id).scalar_subquery())]
    columns_of_all: tuple[Any, ...] = (
        literal_column(str(number)).label("kind"),
        sql_cast(func.row_to_json(row.table_valued()), Text).label("row"),
        sql_cast(func.json_build_object(*links) if links else null(), Text).label("links"),
    )
    return select(*columns_of_all)


def _as_json(column: ColumnElement[Any]) -> ColumnElement[Any]:
    """Returns bytes in the form that the decoder expects, and other columns as they are."""
    if not isinstance(column.type, LargeBinary):
        return column
    return func.translate(func.encode(column, literal_column("'base64'")), literal_column("E'\\n'"), "")
