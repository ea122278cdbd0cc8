"""A row with its preloaded relations; attribute access never runs a query."""

from collections.abc import Mapping, Sequence
from typing import Any, Union
from uuid import UUID

import msgspec

Link = Union["Record", UUID, None, Sequence["Record"], Sequence[UUID]]
"""A relation to one or to many: whole records, or their ids only."""


class Reference(msgspec.Struct, frozen=True):
    """A reference to a row by id only, in a record that has a type or links of its own."""

    id: UUID


class Record(msgspec.Struct, frozen=True):
    """A row and its relations by name."""

    row: Any
    links: Mapping[str, Link] = {}
    type: str = ""
    """The wire type, if a relation has records of several types."""
