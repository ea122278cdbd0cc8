"""Formats rows for output: a table for people or JSON for scripts."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec


def listing(rows: Sequence[Mapping[str, Any]], *, as_json: bool, none: str) -> str:
    """Returns one JSON array, or a table with headings; `none` if there are no rows."""
    if as_json:
        return msgspec.json.encode(rows).decode()
    if not rows:
        return none
    table = [list(rows[0]), *([_cell(value) for value in row.values()] for row in rows)]
    widths = [max(len(line[column]) for line in table) for column in range(len(table[0]))]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in table)


def _cell(value: Any) -> str:
    match value:
        case None:
            return "-"
        case bool():
            return "yes" if value else "no"
        case datetime():
            return f"{value.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
    return str(value)
