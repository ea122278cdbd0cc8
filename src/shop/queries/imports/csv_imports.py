"""Statements that find, list and delete the CSV files of imports."""

from typing import cast
from uuid import UUID

from sqlalchemy import BigInteger, Text, bindparam, delete, func, literal_column, select
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.db.pool import DatabaseSession
from shop.db.statements import into, statement
from shop.models.imports.csv_imports import FINAL_STATES, CsvImport, csv_imports

_ID = PG_UUID(as_uuid=True)
_LOCK_KEY = literal_column("7426733", BigInteger)
MAX_FILES = 20
"""The number of stored files of each kind."""

_id = bindparam("id", type_=_ID)
_kind = bindparam("kind", type_=Text())
_FIND = statement(select(csv_imports).where(csv_imports.c.id == _id), into(CsvImport))
_LOCK = statement(select(csv_imports).where(csv_imports.c.id == _id).with_for_update(), into(CsvImport))
_LIST = statement(
    select(csv_imports)
    .where(csv_imports.c.kind == _kind)
    .order_by(csv_imports.c.id.desc())
    .limit(literal_column(str(MAX_FILES))),
    into(CsvImport),
)
_IS_STORED = statement(
    select(csv_imports.c.id).where(csv_imports.c.id == _id).with_for_update(read=True, key_share=True),
    lambda record: cast(UUID, record[0]),
)
_DELETE_CUSTOMERS = statement(
    delete(csv_imports).where(csv_imports.c.kind == literal_column("'customers'")).returning(csv_imports.c.id),
    lambda record: cast(UUID, record[0]),
)
_LOCK_FILES = statement(select(func.pg_advisory_xact_lock(_LOCK_KEY)), lambda record: True)
_is_finished = csv_imports.c.state.in_([literal_column(f"'{state}'") for state in FINAL_STATES])
_COUNT_UNFINISHED = statement(
    select(func.count()).select_from(csv_imports).where(csv_imports.c.kind == _kind, ~_is_finished),
    lambda record: cast(int, record[0]),
)
_older_finished = (
    select(csv_imports.c.id)
    .where(csv_imports.c.kind == _kind, _is_finished)
    .order_by(csv_imports.c.id.desc())
    .offset(bindparam("remaining", type_=BigInteger))
)
_DELETE_FINISHED = statement(
    delete(csv_imports).where(csv_imports.c.id.in_(_older_finished)).returning(csv_imports.c.id),
    lambda record: cast(UUID, record[0]),
)


async def find_import(db: DatabaseSession, import_id: UUID) -> CsvImport | None:
    return await db.one(_FIND, id=import_id)


async def lock_import(db: DatabaseSession, import_id: UUID) -> CsvImport | None:
    return await db.one(_LOCK, id=import_id)


async def list_imports(db: DatabaseSession, kind: str) -> list[CsvImport]:
    """Returns the imports of a kind, newest first."""
    return await db.all(_LIST, kind=kind)


async def is_stored(db: DatabaseSession, import_id: UUID) -> bool:
    """Returns whether an import exists; it then cannot be deleted until the transaction ends."""
    return await db.one(_IS_STORED, id=import_id) is not None


async def delete_customer_imports(db: DatabaseSession) -> None:
    """Deletes the files of customers and their errors, also those of imports that run."""
    await db.all(_DELETE_CUSTOMERS)


async def lock_files(db: DatabaseSession) -> None:
    """Waits for other transactions that count the files."""
    await db.one(_LOCK_FILES)


async def count_unfinished(db: DatabaseSession, kind: str) -> int:
    return await db.one(_COUNT_UNFINISHED, kind=kind) or 0


async def delete_finished(db: DatabaseSession, kind: str, *, remaining: int) -> None:
    """Deletes the finished imports of a kind except the newest ones; housekeeping deletes all that are too old."""
    await db.all(_DELETE_FINISHED, kind=kind, remaining=remaining)
