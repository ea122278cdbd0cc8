"""Which cases of a test the suite looks at: where many are of one kind, the first few. `make torture` looks at all."""

from collections.abc import Iterable
from typing import Any

import pytest


def first(count: int, cases: Iterable[Any]) -> list[Any]:
    """Those after the first ones are torture's."""
    return [
        case
        if number < count
        else pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.torture)
        for number, case in enumerate(cases)
    ]
