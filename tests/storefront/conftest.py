"""Fixtures of the storefront tests."""

import pytest

from tests.builders import Make
from tests.shopper import Shopper
from tests.storefront.product_lists import CatalogSection, new_catalog_section


@pytest.fixture
async def catalog_section(make: Make, guest: Shopper) -> CatalogSection:
    return await new_catalog_section(make, guest)
