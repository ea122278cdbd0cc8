"""Every column that holds sealed secrets. A new one is added to `SEALED_COLUMNS`: key rotation does the rest."""

from collections.abc import Sequence
from typing import Any, cast
from uuid import UUID

import msgspec
from sqlalchemy import BigInteger, Column, LargeBinary, bindparam, select, update

from shop.db.pool import Session
from shop.db.statements import Statement, statement
from shop.models.access.operators import operators


class SealedRow(msgspec.Struct, frozen=True):
    """A sealed secret and the row it belongs to, whose id it is bound to."""

    id: UUID
    sealed: bytes


class SealedColumn(msgspec.Struct, frozen=True):
    """A column of sealed secrets: what they are for people, and the use of the key that seals them."""

    name: str
    use: str
    list: Statement[SealedRow]
    replace: Statement[UUID]


def _sealed_column(name: str, use: str, column: Column[Any]) -> SealedColumn:
    table = column.table
    found = (
        select(table.c.id, column)
        .where(column.is_not(None), table.c.id > bindparam("after", type_=table.c.id.type))
        .order_by(table.c.id)
        .limit(bindparam("most", type_=BigInteger))
    )
    # Only if nobody changed it meanwhile.
    replaced = (
        update(table)
        .where(table.c.id == bindparam("row_id"), column == bindparam("old_sealed", type_=LargeBinary))
        .values({column.name: bindparam("new_sealed", type_=LargeBinary)})
        .returning(table.c.id)
    )
    return SealedColumn(
        name=name,
        use=use,
        list=statement(found, lambda record: SealedRow(record[0], record[1])),
        replace=statement(replaced, lambda record: cast(UUID, record[0])),
    )


SEALED_COLUMNS: Sequence[SealedColumn] = (_sealed_column("authenticators", "totp", operators.c.totp_sealed),)


async def list_sealed(db: Session, column: SealedColumn, *, after: UUID, most: int) -> list[SealedRow]:
    return await db.all(column.list, after=after, most=most)


async def replace_sealed(db: Session, column: SealedColumn, row: SealedRow, sealed: bytes) -> bool:
    return await db.one(column.replace, row_id=row.id, old_sealed=row.sealed, new_sealed=sealed) is not None
