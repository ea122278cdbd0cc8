"""Fixtures of the storefront tests."""

import io
from collections.abc import AsyncIterator

import pytest

from shop.web.log import configure_logging
from tests.builders import Make
from tests.platform.client import operator_context
from tests.shopper import Shopper
from tests.storefront.catalog_workers import Worker
from tests.storefront.product_lists import CatalogSection, new_catalog_section


@pytest.fixture
async def catalog_section(make: Make, guest: Shopper) -> CatalogSection:
    return await new_catalog_section(make, guest)


@pytest.fixture
async def workers(database_url: str) -> AsyncIterator[list[Worker]]:
    configure_logging("error", "json", io.TextIOWrapper(io.BytesIO()))
    async with operator_context(database_url) as one, operator_context(database_url) as other:
        yield [Worker(one), Worker(other)]
