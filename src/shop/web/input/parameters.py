"""Parameters of queries and forms, whose names have brackets, as nested mappings."""

import re
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any, cast
from urllib.parse import parse_qsl

from shop.base.errors import Malformed

MAX_PARAMS = 200
MAX_STEPS = 8
_BRACKET = re.compile(r"\[([^\[\]]*)\]")


def read_form(data: bytes, most: int = MAX_PARAMS) -> dict[str, Any]:
    """Parses `a=1&b[c]=2&d[]=3` into `{"a": "1", "b": {"c": "2"}, "d": ["3"]}`, and `e[][f]=4` into
    `{"e": [{"f": "4"}]}`; the last of two plain values wins.
    """
    try:
        pairs = parse_qsl(data.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=most)
    except ValueError:
        raise Malformed(f"The parameters are invalid: send percent-encoded UTF-8, at most {most} parameters.") from None
    return build_tree(pairs)


def build_tree(pairs: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Builds the nested mapping of names and values."""
    tree: dict[str, Any] = {}
    for name, value in pairs:
        if "\x00" in name or "\x00" in value:
            raise Malformed("The parameters contain a NUL character.")
        _insert_parameter(tree, name, value)
    return tree


def _insert_parameter(tree: dict[str, Any], name: str, value: str) -> None:
    head, bracket, _ = name.partition("[")
    steps = _BRACKET.findall(name) if bracket else []
    # `a[][]` would be a list of lists, which no endpoint accepts.
    fits = head and len(steps) <= MAX_STEPS and ("", "") not in pairwise(steps)
    if bracket and (not fits or head + "".join(f"[{step}]" for step in steps) != name):
        raise Malformed(f"The parameter {name[:100]!r} has malformed brackets.")
    _put(tree, [head, *steps], name, value)


def _put(here: dict[str, Any], steps: list[str], name: str, value: str) -> None:
    step, *rest = steps
    if not rest:
        if isinstance(here.get(step), dict | list):
            raise _clash(name)
        here[step] = value
    elif rest == [""]:
        values = _list(here, step, name)
        if isinstance((values or [""])[-1], dict):
            raise _clash(name)
        values.append(value)
    elif rest[0]:
        _put(_group(here, step, name), rest, name, value)
    else:
        _put(_last_group(_list(here, step, name), rest[1:], name), rest[1:], name, value)


def _last_group(groups: list[Any], steps: list[str], name: str) -> dict[str, Any]:
    """Returns the group to fill in `a[][b]=1&a[][c]=2&a[][b]=3`: as in Rails, a repeated name starts a new group."""
    if not all(isinstance(group, dict) for group in groups[-1:]):
        raise _clash(name)
    if not groups or _has(groups[-1], steps):
        groups.append({})
    return cast(dict[str, Any], groups[-1])


def _has(group: Mapping[str, Any], steps: list[str]) -> bool:
    step, *rest = steps
    value = group.get(step)
    if not rest or not isinstance(value, dict):
        return value is not None and (not rest or rest[0] != "")
    return _has(value, rest)


def _group(here: dict[str, Any], step: str, name: str) -> dict[str, Any]:
    group = here.setdefault(step, {})
    if not isinstance(group, dict):
        raise _clash(name)
    return group


def _list(here: dict[str, Any], step: str, name: str) -> list[Any]:
    values = here.setdefault(step, [])
    if not isinstance(values, list):
        raise _clash(name)
    return values


def _clash(name: str) -> Malformed:
    return Malformed(f"The parameter {name[:100]!r} is sent both as a value and as a group or list.")
