"""Columns that hold encrypted secrets. Add new ones to `SEALED_COLUMNS`; key rotation then covers them."""

from collections.abc import Sequence
from typing import Any, cast
from uuid import UUID

import msgspec
from sqlalchemy import BigInteger, Column, LargeBinary, bindparam, select, update

from shop.db.pool import DatabaseSession
from shop.db.statements import Statement, statement
from shop.models.access.operators import operators
from shop.models.webhooks.endpoints import webhook_secrets


class SealedRow(msgspec.Struct, frozen=True):
    """An encrypted secret and the id of its row, to which it is bound."""

    id: UUID
    sealed: bytes


class SealedColumn(msgspec.Struct, frozen=True):
    """A column of encrypted secrets: its display name, and the use of the key that encrypts it."""

    name: str
    use: str
    list: Statement[SealedRow]
    replace: Statement[UUID]


def _sealed_column(name: str, use: str, column: Column[Any]) -> SealedColumn:
    table = column.table
    select_clause = (
        select(table.c.id, column)
        .where(column.is_not(None), table.c.id > bindparam("after", type_=table.c.id.type))
        .order_by(table.c.id)
        .limit(bindparam("most", type_=BigInteger))
    )
    # Updates only if the secret has not changed in the meantime.
    update_clause = (
        update(table)
        .where(table.c.id == bindparam("row_id"), column == bindparam("old_sealed", type_=LargeBinary))
        .values({column.name: bindparam("new_sealed", type_=LargeBinary)})
        .returning(table.c.id)
    )
    return SealedColumn(
        name=name,
        use=use,
        list=statement(select_clause, lambda record: SealedRow(record[0], record[1])),
        replace=statement(update_clause, lambda record: cast(UUID, record[0])),
    )


SEALED_COLUMNS: Sequence[SealedColumn] = (
    _sealed_column("authenticators", "totp", operators.c.totp_sealed),
    _sealed_column("webhook secrets", "webhook", webhook_secrets.c.sealed),
)


async def list_sealed(db: DatabaseSession, column: SealedColumn, *, after: UUID, most: int) -> list[SealedRow]:
    return await db.all(column.list, after=after, most=most)


async def replace_sealed(db: DatabaseSession, column: SealedColumn, row: SealedRow, ciphertext: bytes) -> bool:
    return await db.one(column.replace, row_id=row.id, old_sealed=row.sealed, new_sealed=ciphertext) is not None
