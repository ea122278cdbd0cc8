"""Statements for the recovery codes of operators."""

from collections.abc import Sequence
from typing import cast
from uuid import UUID

from sqlalchemy import LargeBinary, bindparam, delete, func, literal_column, select, update
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects.postgresql import ARRAY, insert

from shop.db.pool import DatabaseSession
from shop.db.statements import statement
from shop.models.access.operators import operator_recovery_codes as codes

_now = func.now()

_INSERT = statement(
    insert(codes)
    .from_select(
        ["hash", "operator_id", "created_at"],
        select(
            func.unnest(bindparam("hashes", type_=ARRAY(LargeBinary))),
            sql_cast(bindparam("owner_id"), codes.c.operator_id.type),
            _now,
        ),
    )
    .returning(codes.c.hash),
    lambda record: cast(bytes, record[0]),
)
_DELETE = statement(
    delete(codes).where(codes.c.operator_id == bindparam("owner_id")).returning(codes.c.hash),
    lambda record: cast(bytes, record[0]),
)
_USE = statement(
    update(codes)
    .where(
        codes.c.hash == bindparam("code_hash"),
        codes.c.operator_id == bindparam("owner_id"),
        codes.c.used_at.is_(None),
    )
    .values(used_at=_now)
    .returning(codes.c.hash),
    lambda record: cast(bytes, record[0]),
)
_COUNT_UNUSED = statement(
    select(func.count(literal_column("1"))).where(
        codes.c.operator_id == bindparam("owner_id"), codes.c.used_at.is_(None)
    ),
    lambda record: cast(int, record[0]),
)


async def insert_codes(db: DatabaseSession, operator_id: UUID, hashes: Sequence[bytes]) -> None:
    await db.all(_INSERT, owner_id=operator_id, hashes=list(hashes))


async def delete_codes(db: DatabaseSession, operator_id: UUID) -> None:
    await db.all(_DELETE, owner_id=operator_id)


async def use_code(db: DatabaseSession, operator_id: UUID, code_hash: bytes) -> bool:
    """Returns `False` if the operator has no such code or has used it."""
    return await db.one(_USE, owner_id=operator_id, code_hash=code_hash) is not None


async def count_unused(db: DatabaseSession, operator_id: UUID) -> int:
    return cast(int, await db.one(_COUNT_UNUSED, owner_id=operator_id))
