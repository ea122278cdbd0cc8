"""What is asked of a list: which page of it, and in which order."""

import msgspec

DEFAULT_SIZE = 25


class Page(msgspec.Struct, frozen=True):
    """A page by its number."""

    number: int = 1
    size: int = DEFAULT_SIZE

    @property
    def offset(self) -> int:
        return (self.number - 1) * self.size


class Sort(msgspec.Struct, frozen=True):
    """By which field, and whether the largest comes first."""

    name: str
    is_descending: bool
