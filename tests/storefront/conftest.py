"""What the tests of the storefront may ask for beside the rest: things to look at, and a shelf to put them on."""

import pytest

from tests.builders import Make
from tests.shopper import Shopper
from tests.storefront.product_lists import Shelf, new_shelf


@pytest.fixture
async def shelf(make: Make, guest: Shopper) -> Shelf:
    return await new_shelf(make, guest)
