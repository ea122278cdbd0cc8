"""What the tests of the storefront may ask for beside the rest: things to look at."""

from typing import Any

import httpx
import pytest

from tests.make import Make
from tests.platform.machine import new_machine


@pytest.fixture
async def make(http: httpx.AsyncClient, db: Any) -> Make:
    return Make(await new_machine(http, db))
