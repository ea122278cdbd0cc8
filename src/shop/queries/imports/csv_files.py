"""Statements that save and load the files of imports in chunks."""

from typing import cast
from uuid import UUID

from sqlalchemy import BigInteger, LargeBinary, bindparam, delete, insert, literal_column, select, update
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.db.pool import DatabaseSession
from shop.db.statements import statement
from shop.models.imports.csv_imports import csv_import_chunks, csv_imports

_import_id = bindparam("import_id", type_=PG_UUID(as_uuid=True))
_number = bindparam("number", type_=BigInteger())
_INSERT = statement(
    insert(csv_import_chunks)
    .values(import_id=_import_id, number=_number, data=bindparam("data", type_=LargeBinary()))
    .returning(csv_import_chunks.c.number),
    lambda record: cast(int, record[0]),
)
_FIND = statement(
    select(csv_import_chunks.c.data).where(
        csv_import_chunks.c.import_id == _import_id, csv_import_chunks.c.number == _number
    ),
    lambda record: cast(bytes, record[0]),
)
_DELETE = statement(
    delete(csv_import_chunks).where(csv_import_chunks.c.import_id == _import_id).returning(csv_import_chunks.c.number),
    lambda record: cast(int, record[0]),
)
_END_UPLOAD = statement(
    update(csv_imports)
    .where(csv_imports.c.id == _import_id, csv_imports.c.state == literal_column("'uploading'"))
    .values(
        state=literal_column("'uploaded'"),
        **{
            f"{name}": bindparam(f"new_{name}", type_=csv_imports.c[name].type)
            for name in ("format", "headers", "mapping", "encoding", "size")
        },
    )
    .returning(csv_imports.c.id),
    lambda record: cast(UUID, record[0]),
)


async def insert_chunk(db: DatabaseSession, import_id: UUID, number: int, data: bytes) -> None:
    await db.one(_INSERT, import_id=import_id, number=number, data=data)


async def find_chunk(db: DatabaseSession, import_id: UUID, number: int) -> bytes | None:
    return await db.one(_FIND, import_id=import_id, number=number)


async def delete_chunks(db: DatabaseSession, import_id: UUID) -> None:
    await db.all(_DELETE, import_id=import_id)


async def end_upload(db: DatabaseSession, import_id: UUID, **values: object) -> bool:
    """Saves what a file contains; returns whether its import still exists."""
    parameters = {f"new_{name}": value for name, value in values.items()}
    return await db.one(_END_UPLOAD, import_id=import_id, **parameters) is not None
