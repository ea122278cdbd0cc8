"""Saves the files of imports while they arrive, and reads them: only one chunk is in memory."""

import asyncio
from collections.abc import AsyncIterator
from typing import TextIO
from uuid import UUID

from shop.actions.audit import audit
from shop.actions.context import Context, Shared
from shop.base.errors import Invalid
from shop.base.ids import new_id
from shop.db.pool import ConstraintViolation, Database
from shop.models.imports.csv_imports import KINDS, CsvImport, csv_imports
from shop.queries import writes
from shop.queries.imports import csv_files as queries
from shop.queries.imports.csv_imports import MAX_FILES, count_unfinished, delete_finished, lock_files
from shop.rules.imports.csv_columns import find_format, suggest_mapping
from shop.rules.imports.csv_files import UTF_8, FileCheck, open_bytes, open_chunks, read_headers

CHUNK_BYTES = 1024 * 1024
_LOAD_SECONDS = 60
_DELETED_FILE = "was deleted while it was uploaded"


async def create_import(ctx: Context, kind: str, chunks: AsyncIterator[bytes]) -> UUID:
    """Saves an uploaded file and suggests the mapping of its columns; a file that breaks off is deleted."""
    if kind not in KINDS:
        raise Invalid({"kind": ["is not a valid choice"]})
    import_id = new_id()
    async with ctx.db.transaction():
        await _make_room(ctx, kind)
        values = {"kind": kind, "format": "own", "headers": [], "encoding": UTF_8, "state": "uploading"}
        await writes.insert_record(ctx.db, csv_imports, import_id, {**values, "operator_id": ctx.actor.id})
        await audit(ctx, "csv_import_created", "done", subject_id=import_id, detail={"kind": kind})
    try:
        await _save_file(ctx.shared, import_id, kind, chunks)
    except BaseException as error:
        await writes.delete_record(ctx.with_new_session().db, csv_imports, import_id)
        if isinstance(error, ValueError):
            raise Invalid({"file": [str(error)]}) from None
        if isinstance(error, ConstraintViolation):
            raise Invalid({"file": [_DELETED_FILE]}) from None
        raise
    return import_id


async def _make_room(ctx: Context, kind: str) -> None:
    """Deletes the oldest finished imports; raises if so many others wait that there is no room for one more."""
    await lock_files(ctx.db)
    count = await count_unfinished(ctx.db, kind)
    if count >= MAX_FILES:
        raise Invalid({"base": [say_full(kind)]}, say_full(kind))
    await delete_finished(ctx.db, kind, remaining=MAX_FILES - 1 - count)


def say_full(kind: str) -> str:
    return f"{MAX_FILES} files of {kind} are not imported yet. Import or delete some of them before you upload another."


async def _save_file(shared: Shared, import_id: UUID, kind: str, chunks: AsyncIterator[bytes]) -> None:
    """Saves the chunks, each in its own transaction: an upload takes as long as the client's connection needs."""
    file_check, buffer, first, number = FileCheck(), bytearray(), b"", 0
    async for data in chunks:
        file_check.add(data)
        buffer += data
        if len(buffer) >= CHUNK_BYTES:
            first = first or bytes(buffer)
            await queries.insert_chunk(shared.database.session(), import_id, number, bytes(buffer))
            buffer, number = bytearray(), number + 1
    file_check.end()
    await queries.insert_chunk(shared.database.session(), import_id, number, bytes(buffer))
    headers = read_headers(open_bytes(first or bytes(buffer), file_check.encoding))
    file_format = find_format(kind, headers)
    is_saved = await queries.end_upload(
        shared.database.session(),
        import_id,
        format=file_format,
        headers=headers,
        mapping=suggest_mapping(kind, file_format, headers, shared.shop.currencies),
        encoding=file_check.encoding,
        size=file_check.size,
    )
    if not is_saved:
        raise ValueError(_DELETED_FILE)


async def open_beginning(ctx: Context, row: CsvImport) -> TextIO:
    """Opens the first chunk of a stored file; empty if it is deleted."""
    return open_bytes(await queries.find_chunk(ctx.db, row.id, 0) or b"", row.encoding)


def open_file(database: Database, row: CsvImport) -> TextIO:
    """Opens a stored file for a thread, which waits for each chunk while the event loop loads it."""
    loop = asyncio.get_running_loop()

    def load(number: int) -> bytes | None:
        loading = queries.find_chunk(database.session(), row.id, number)
        return asyncio.run_coroutine_threadsafe(loading, loop).result(_LOAD_SECONDS)

    return open_chunks(load, row.encoding)
