"""Reads categories that product files name by their path, like `Categories -> Shirts`."""

import re
from collections.abc import Iterable, Sequence

from shop.base.texts import slug_of
from shop.base.values import read_line

SEPARATOR = " -> "
"""Between the names in `pretty_name` of a taxon."""
MAX_DEPTH = 10
MAX_NAME_LENGTH = 90
_MAX_PERMALINK = 950
_ARROW = re.compile(r"\s*-?>\s*")
Path = tuple[str, ...]


def read_category_path(text: str) -> Path:
    """Returns the names from the root; raises ValueError if there are too many, or one is empty or too long."""
    names = tuple(read_line(name, longest=MAX_NAME_LENGTH) for name in _ARROW.split(text.strip()))
    if len(names) > MAX_DEPTH or not all(names) or len(guess_permalink(names)) > _MAX_PERMALINK:
        raise ValueError(f"must be up to {MAX_DEPTH} names separated by ->, like Categories -> Shirts")
    return names


def list_paths(paths: Iterable[Sequence[str]]) -> list[Path]:
    """Returns the paths with those of all their ancestors, ancestors first."""
    return sorted({tuple(path[:depth]) for path in paths for depth in range(1, len(path) + 1)}, key=_order)


def guess_permalink(path: Path) -> str:
    """Returns the permalink that a category with this path usually has."""
    return "/".join(slug_of(name) for name in path)


def _order(path: Path) -> tuple[int, Path]:
    return len(path), path
