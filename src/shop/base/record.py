"""A row with its preloaded relations; attribute access never runs a query."""

from collections.abc import Mapping, Sequence
from typing import Any, Union
from uuid import UUID

import msgspec

Link = Union["Record", None, Sequence["Record"]]


class Reference(msgspec.Struct, frozen=True):
    """A reference to a row by id only: enough for a link, not for rendering."""

    id: UUID


class Record(msgspec.Struct, frozen=True):
    """A row and its loaded relations by name: a record, None, or a list."""

    row: Any
    links: Mapping[str, Link] = {}
    type: str = ""
    """The wire type, if a relation has records of several types."""
