"""Samples the cases of a test: the suite runs a few of each kind, `make torture` runs all."""

from collections.abc import Callable, Iterable
from itertools import count
from typing import Any

import pytest

_left_out: list[str] = []


def leave_out_torture_cases() -> None:
    """Does not even collect the cases of `make torture`, which takes as long as many a test."""
    _left_out.append("torture")


def first(most: int, cases: Iterable[Any]) -> list[Any]:
    """The first cases; `make torture` runs the others."""
    numbers = count()
    return common_cases(cases, lambda _: next(numbers) < most)


def common_cases(cases: Iterable[Any], is_common: Callable[[Any], bool]) -> list[Any]:
    """The common cases in their order; `make torture` runs the others."""
    pairs = [(case, is_common(case)) for case in cases]
    return [case if common else _mark_torture(case) for case, common in pairs if common or not _left_out]


def _mark_torture(case: Any) -> Any:
    return pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.torture)
