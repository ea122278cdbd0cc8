"""Types of the filters of public lists, and their parsers.

A search text may contain any characters: a text that no record has matches nothing and is not an error.
"""

from typing import Annotated
from uuid import UUID

import msgspec
from msgspec import Meta

from shop.base.values import read_id

MAX_VALUES = 500
"""The maximum number of values of one filter."""
MAX_VALUE_LENGTH = 200


class Filters(msgspec.Struct, frozen=True):
    """The filters of a list; empty filters do not apply."""

    @property
    def active(self) -> dict[str, object]:
        """The filters that apply, by name."""
        return {name: value for name in self.__struct_fields__ if (value := getattr(self, name))}


class NoFilters(Filters, frozen=True):
    """The filters of a list or record that has none."""


def read_lookup_text(value: object, longest: int = MAX_VALUE_LENGTH) -> str:
    if not isinstance(value, str) or len(value) > longest:
        raise ValueError(f"must be text of at most {longest} characters")
    return value


def read_lookup_texts(value: object) -> tuple[str, ...]:
    """Reads comma-separated values or a list."""
    values = value.split(",") if isinstance(value, str) else value
    if not isinstance(values, list) or len(values) > MAX_VALUES:
        raise ValueError(f"must be at most {MAX_VALUES} values with commas between them")
    return tuple(read_lookup_text(each).strip() for each in values)


def read_ids(value: object) -> tuple[UUID, ...]:
    return tuple(read_id(text) for text in read_lookup_texts(value))


def read_like_part(value: object) -> str:
    """Reads a part of a text to match with LIKE, whose wildcards are plain characters here."""
    return read_lookup_text(value).replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


LookupText = Annotated[str, Meta(extra={"read": read_lookup_text})]
LookupTexts = Annotated[tuple[str, ...], Meta(extra={"read": read_lookup_texts})]
LookupIds = Annotated[tuple[UUID, ...], Meta(extra={"read": read_ids})]
LikePart = Annotated[str, Meta(extra={"read": read_like_part})]
