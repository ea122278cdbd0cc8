"""Describes the file of a whole shop; run as a module, it writes docs/generated/export-format.md."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from shop.models.shop_files.manifest import FORMAT
from shop.models.shop_files.tables import (
    EXPORT_TABLES,
    INTERNAL_COLUMNS,
    LEFT_OUT,
    SECRET_COLUMNS,
    SECRET_TABLES,
    list_columns,
)

PAGE = Path(__file__).parent.parent / "docs" / "generated" / "export-format.md"
_TYPES = {
    "ARRAY(Text())": "array of strings",
    "ARRAY(UUID())": "array of ids",
    "BigInteger()": "integer",
    "Boolean()": "boolean",
    "Date()": "date",
    "DateTime(timezone=True)": "time",
    "JSONB(astext_type=Text())": "JSON",
    "LargeBinary()": "base64",
    "Numeric()": "decimal",
    "Text()": "string",
    "UUID()": "id",
}
_ABOUT = f"""# The file of a whole shop

Format {FORMAT}. Generated from the tables by `.venv/bin/python -m tests.export_format`; [moving.md](../moving.md)
explains how to write and read the file.

| member | content |
|---|---|
| `records/TABLE.jsonl` | the rows of a table, one JSON object in each line, ordered by primary key |
| `media/IMAGE/WIDTH.webp` | the files of an image |
| `media.jsonl` | name, size and SHA-256 of each file of an image |
| `manifest.json` | format, version and migration of the shop; columns, rows, size and SHA-256 of each member |

| type | form |
|---|---|
| id | a UUID, the id of the record in the APIs |
| integer | a number; amounts of money are in the smallest unit of their currency |
| decimal | a string, such as `"12.5"` |
| time | a string in UTC, such as `"2030-01-31T12:00:00.123456+00:00"` |
| date | a string, such as `"2030-01-31"` |
| base64 | a string |
| JSON | any JSON value |

A type with `?` may be `null`. Tables and columns marked with * are only in a file with secrets.
"""


def write_page() -> str:
    """The text of docs/generated/export-format.md."""
    return "\n".join([_ABOUT, *_describe_tables(), *_describe_rest()]) + "\n"


def _describe_tables() -> Iterator[str]:
    yield "## Tables\n"
    yield "In the order in which they are imported.\n"
    yield "| table | columns |"
    yield "|---|---|"
    for table in EXPORT_TABLES:
        columns = [_describe_column(table, name) for name in list_columns(table, has_secrets=True)]
        yield f"| `{table.name}`{'*' if table in SECRET_TABLES else ''} | {', '.join(columns)} |"


def _describe_column(table: Any, name: str) -> str:
    column = table.c[name]
    mark = "*" if name in SECRET_COLUMNS.get(table.name, ()) else ""
    return f"`{name}`{mark} {_TYPES[repr(column.type)]}{'?' if column.nullable else ''}"


def _describe_rest() -> Iterator[str]:
    yield "\n## Not in the file\n"
    yield "| table or column | reason |"
    yield "|---|---|"
    for name, reason in LEFT_OUT.items():
        yield f"| `{name}` | {reason} |"
    for name, columns in INTERNAL_COLUMNS.items():
        for column in sorted(columns):
            yield f"| `{name}.{column}` | a lease of a process, or the version of a cache |"


if __name__ == "__main__":
    PAGE.write_text(write_page())
