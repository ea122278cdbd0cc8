"""Fixtures of the website tests."""

from typing import Any

import httpx2
import pytest

from tests.builders import Make
from tests.db.processes import until
from tests.website.catalog_pages import CatalogVisitor, Section, new_section


@pytest.fixture
def visitor(http: httpx2.AsyncClient) -> CatalogVisitor:
    return CatalogVisitor(http)


@pytest.fixture
async def section(make: Make) -> Section:
    return await new_section(make)


@pytest.fixture
async def no_pending_changes(db: Any) -> None:
    """Waits until no product is about to appear or disappear at a scheduled time."""

    async def has_no_pending_changes() -> bool:
        soon = "select not exists (select from listings where next_look_at < now() + interval '3 s')"
        return bool(await db.fetchval(soon))

    await until(has_no_pending_changes)
