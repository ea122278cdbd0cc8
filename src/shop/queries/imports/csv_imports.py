"""Statements that find, list and delete the CSV files of imports."""

from typing import cast
from uuid import UUID

from sqlalchemy import Text, bindparam, delete, literal_column, select
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.db.pool import DatabaseSession
from shop.db.statements import into, statement
from shop.models.imports.csv_imports import CsvImport, csv_imports

_ID = PG_UUID(as_uuid=True)
MAX_FILES = 20

_id = bindparam("id", type_=_ID)
_FIND = statement(select(csv_imports).where(csv_imports.c.id == _id), into(CsvImport))
_LOCK = statement(select(csv_imports).where(csv_imports.c.id == _id).with_for_update(), into(CsvImport))
_LIST = statement(
    select(csv_imports)
    .where(csv_imports.c.kind == bindparam("kind", type_=Text()))
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
_newest = select(csv_imports.c.id).order_by(csv_imports.c.id.desc()).limit(literal_column(str(MAX_FILES - 1)))
_DELETE_OLD = statement(
    delete(csv_imports)
    .where(
        csv_imports.c.id.not_in(_newest),
        csv_imports.c.state.not_in([literal_column("'checking'"), literal_column("'running'")]),
    )
    .returning(csv_imports.c.id),
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


async def delete_old_imports(db: DatabaseSession) -> None:
    """Deletes all but the newest imports, except those that run; housekeeping deletes those that are too old."""
    await db.all(_DELETE_OLD)
