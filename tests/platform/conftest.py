"""What the tests of the platform may ask for: a machine that writes, and one that reads."""

from typing import Any

import httpx
import pytest

from tests.platform.machine import Machine, new_machine


@pytest.fixture
async def writer(http: httpx.AsyncClient, db: Any) -> Machine:
    return await new_machine(http, db, "write")


@pytest.fixture
async def reader(http: httpx.AsyncClient, db: Any) -> Machine:
    return await new_machine(http, db, "read")
