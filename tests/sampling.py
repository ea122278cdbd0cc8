"""Which cases of a test the suite looks at: where many are of one kind, a few. `make torture` looks at all."""

from collections.abc import Callable, Iterable
from itertools import count
from typing import Any

import pytest

_left_out: list[str] = []


def leave_out_the_rest() -> None:
    """Nobody asks for torture: to gather what it would look at takes as long as many a test."""
    _left_out.append("torture")


def first(most: int, cases: Iterable[Any]) -> list[Any]:
    """Those after the first ones are torture's."""
    numbers = count()
    return usual(cases, lambda _: next(numbers) < most)


def usual(cases: Iterable[Any], is_usual: Callable[[Any], bool]) -> list[Any]:
    """In their order; the others are torture's."""
    known = [(case, is_usual(case)) for case in cases]
    return [case if is_it else _tortured(case) for case, is_it in known if is_it or not _left_out]


def _tortured(case: Any) -> Any:
    return pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.torture)
