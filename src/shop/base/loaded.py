"""How a row travels with what was loaded for it; nothing is ever fetched by looking at it."""

from collections.abc import Mapping, Sequence
from typing import Any, Union
from uuid import UUID

import msgspec

Link = Union["Loaded", None, Sequence["Loaded"]]


class Named(msgspec.Struct, frozen=True):
    """A row of which only the id is known: enough for a link, and too little to be shown."""

    id: UUID


class Loaded(msgspec.Struct, frozen=True):
    """A row and its loaded relations by name: one, none, or several."""

    row: Any
    links: Mapping[str, Link] = {}
    type: str | None = None
    """Its wire type, where the relation to it allows several."""
