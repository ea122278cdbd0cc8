"""Splits a type annotation into its type and whether it is optional."""

import types
from typing import Any, Union, get_args, get_origin


def split_kind(hint: Any) -> tuple[Any, bool]:
    """Splits `str | None` into `(str, True)`; `dict[str, Any]` into `(dict[str, Any], False)`."""
    if get_origin(hint) not in {Union, types.UnionType}:
        return hint, False
    parts = get_args(hint)
    return next(part for part in parts if part is not type(None)), type(None) in parts
