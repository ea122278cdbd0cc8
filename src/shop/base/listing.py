"""What is asked of a list: which records, in which order, which page of them."""

from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

DEFAULT_SIZE = 25


class Page(msgspec.Struct, frozen=True):
    """A page by its number."""

    number: int = 1
    size: int = DEFAULT_SIZE

    @property
    def offset(self) -> int:
        return (self.number - 1) * self.size


class Keyset(msgspec.Struct, frozen=True):
    """A page by the place where the one before it ended: the last record's sorted value and id; none is the first."""

    size: int = DEFAULT_SIZE
    after: tuple[Any, Any] | None = None


class ListedRows(msgspec.Struct, frozen=True):
    """One page of a list, how many there are in all where pages go by number, and else where the next page begins."""

    rows: list[Any]
    total: int = 0
    next_place: tuple[Any, UUID] | None = None


class Sort(msgspec.Struct, frozen=True):
    """By which field, and whether the largest comes first."""

    name: str
    is_descending: bool


Path = tuple[str, ...]
"""A field of the record itself, or of a related one: `("email",)`, `("user", "email")`."""


class Condition(msgspec.Struct, frozen=True):
    """One filter: any of the fields must fit the predicate."""

    paths: tuple[Path, ...]
    predicate: str
    value: Any


class Wishes(msgspec.Struct, frozen=True):
    """All that is asked of a list."""

    sort: Sort
    page: Page | Keyset = Page()
    conditions: tuple[Condition, ...] = ()
    fits_any: bool = False
    """One of the conditions is enough."""
    then: tuple[Sort, ...] = ()
    """By what those are sorted that are alike by the first; only where pages go by number."""


class Place(msgspec.Struct, frozen=True):
    """A place in a list that is sorted by a moment, newest first: what comes before it in time, or after."""

    side: str
    at: datetime
    id: UUID


class Spot(msgspec.Struct, frozen=True):
    """A place in a list that is sorted by a number, the smallest first: what comes `next`, or what was `back`."""

    side: str
    at: int
    id: UUID
