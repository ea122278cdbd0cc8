"""Fixtures of the tests of CSV files."""

from collections.abc import AsyncIterator
from typing import Any

import pytest


@pytest.fixture(autouse=True)
async def without_files(db: Any) -> AsyncIterator[None]:
    """Deletes the files that a test does not import: only so many of each kind can wait."""
    yield
    await db.execute("delete from csv_imports where state not in ('checking', 'running')")
