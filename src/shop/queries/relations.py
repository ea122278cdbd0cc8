"""Statements that read related records, or their ids."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any
from uuid import UUID

from sqlalchemy import cast as sql_cast
from sqlalchemy import func, select
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.db.pool import DatabaseSession
from shop.db.statements import Statement, any_of, dynamic_statement, into, opaque_param
from shop.queries.records import RelationLink, select_ids, select_rows, sort_column

_ID = PG_UUID(as_uuid=True)


async def list_related_records(db: DatabaseSession, link: RelationLink, ids: Iterable[UUID]) -> list[Any]:
    """Returns the related rows of all these records in one statement."""
    unique_ids = list(set(ids))
    return await db.all(_select_related(link), ids=unique_ids) if unique_ids else []


async def list_related_ids(
    db: DatabaseSession, link: Sequence[RelationLink], ids: Sequence[UUID]
) -> list[dict[UUID, list[UUID]]]:
    """Returns the related ids by record id for each to-many relation, in one statement; enough to render links."""
    rows = await db.all(_select_related_ids(tuple(link)), ids=ids) if ids and link else []
    return [{row[0]: row[index] for row in rows} for index in range(1, len(link) + 1)]


@lru_cache(maxsize=512)
def _select_related(link: RelationLink) -> Statement[Any]:
    is_inverse = link.is_many and link.between is None and link.most is None
    records, by = link.records, link.column if is_inverse else "id"
    column = records.table.c[by]
    # A record referred to by id is read even when it is hidden; to-many relations contain visible rows only.
    conditions = [] if by == "id" else link.shown
    clause = select_rows(records).where(column == any_of("ids", column.type), *conditions)
    return dynamic_statement(clause.order_by(sort_column(records.table), records.table.c.id), into(records.row))


@lru_cache(maxsize=512)
def _select_related_ids(relations: tuple[RelationLink, ...]) -> Statement[Any]:
    owners = func.unnest(opaque_param("ids", ARRAY(_ID))).table_valued("id", name="ours").render_derived()
    related_ids = [
        func.array(select_ids(link, sql_cast(owners.c.id, _ID)).correlate(owners).scalar_subquery())
        for link in relations
    ]
    return dynamic_statement(select(sql_cast(owners.c.id, _ID), *related_ids), lambda record: record)
