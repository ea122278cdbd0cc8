"""The query for a list of records: conditions, sort order and page; and one page of results."""

from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

DEFAULT_SIZE = 25


class Page(msgspec.Struct, frozen=True):
    """Offset pagination."""

    number: int = 1
    size: int = DEFAULT_SIZE

    @property
    def offset(self) -> int:
        return (self.number - 1) * self.size


class Keyset(msgspec.Struct, frozen=True):
    """Keyset pagination: `after` is the sort value and id of the previous page's last record, None at the start."""

    size: int = DEFAULT_SIZE
    after: tuple[Any, Any] | None = None


class ListedRows(msgspec.Struct, frozen=True):
    """One page of a list, with the total count for offset pagination or the next cursor for keyset pagination."""

    rows: list[Any]
    total: int = 0
    next_cursor: tuple[Any, UUID] | None = None


class Sort(msgspec.Struct, frozen=True):
    """A sort field and its direction."""

    name: str
    is_descending: bool


Path = tuple[str, ...]
"""A field of the record itself, or of a related one: `("email",)`, `("user", "email")`."""


class Condition(msgspec.Struct, frozen=True):
    """A filter; at least one of the fields must match the predicate."""

    paths: tuple[Path, ...]
    predicate: str
    value: Any


class ListQuery(msgspec.Struct, frozen=True):
    """A complete list query."""

    sort: Sort
    page: Page | Keyset = Page()
    conditions: tuple[Condition, ...] = ()
    matches_any: bool = False
    """Whether one matching condition is enough."""
    secondary_sorts: tuple[Sort, ...] = ()
    """Secondary sort fields; for offset pagination only."""


class CursorPosition(msgspec.Struct, frozen=True):
    """A cursor in a list of the dashboard: the value that the list is sorted by, and the id, of a record."""

    side: str
    """`before` for the next page, `after` for the previous one, as in a list with the newest records first."""
    at: datetime | int | str
    id: UUID
