"""What the tests of the storefront may ask for beside the rest: things to look at, and a shelf to put them on."""

import httpx
import pytest

from tests.make import Make
from tests.platform.machine import Machine
from tests.shopper import Shopper
from tests.storefront.shelf import Shelf, new_shelf
from tests.till import Buyer, Till, new_till


@pytest.fixture
def make(writer: Machine) -> Make:
    return Make(writer)


@pytest.fixture
async def shelf(make: Make, guest: Shopper) -> Shelf:
    return await new_shelf(make, guest)


@pytest.fixture
async def till(make: Make) -> Till:
    return await new_till(make)


@pytest.fixture
def buyer(http: httpx.AsyncClient, till: Till) -> Buyer:
    return Buyer(http, till)
