"""CSV files that operators import, with the mapping of their columns and the progress of the run."""

from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from shop.db.rows import Row, check, index, key, refers, table

KINDS = {"products": "Products", "stock": "Stock", "customers": "Customers"}
"""The kinds of files with their labels; each is also the resource whose permissions a file needs."""
FINAL_STATES = ("done", "failed")
"""The states of imports that cannot be started again."""
COUNTS = ("created", "updated", "unchanged", "failed")


class CsvLineError(msgspec.Struct, frozen=True):
    """Why a line failed, as stored with the import."""

    line: int
    key: str
    reason: str


class CsvImport(Row, frozen=True, kw_only=True):
    """An uploaded file. The worker checks it, and runs it after the operator has seen the result of the check."""

    id: UUID
    kind: str
    format: str
    encoding: str = "utf-8-sig"
    size: int = 0
    """Of the file in bytes. Its chunks are deleted after the run."""
    headers: list[str]
    mapping: dict[str, Any] = {}  # noqa: RUF012  msgspec copies it.
    """The column of the shop by the number of the column in the file; columns without one are not imported."""
    state: str = "uploaded"
    """`uploading`, `uploaded`, `checking`, `checked`, `running`, `done` or `failed`."""
    position: int = 0
    """The number of records that the current run has finished."""
    total: int = 0
    created: int = 0
    updated: int = 0
    unchanged: int = 0
    failed: int = 0
    errors: list[str] = []  # noqa: RUF012
    """Failed lines as JSON: line number, key and reasons."""
    operator_id: UUID
    leased_until: datetime | None = None
    created_at: datetime
    updated_at: datetime

    @property
    def is_busy(self) -> bool:
        return self.state in ("checking", "running")


csv_imports = table(
    "csv_imports",
    CsvImport,
    key("id"),
    index("ix_csv_imports_state", "state", "id", where="state in ('checking', 'running')"),
    check("kind_is_known", "kind in ('products', 'stock', 'customers')"),
    check("state_is_known", "state in ('uploading', 'uploaded', 'checking', 'checked', 'running', 'done', 'failed')"),
)


class CsvImportChunk(Row, frozen=True, kw_only=True):
    """A part of an uploaded file."""

    import_id: UUID
    number: int
    data: bytes


csv_import_chunks = table(
    "csv_import_chunks",
    CsvImportChunk,
    key("import_id", "number"),
    refers("import_id", csv_imports, on_delete="cascade"),
)
