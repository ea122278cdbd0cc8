"""Fixtures of the webhook pages: a receiver, and an endpoint that was created with the form."""

from collections.abc import AsyncIterator

import pytest

from tests.admin.dashboard import Dashboard
from tests.admin.webhooks.forms import FormEndpoint, create_endpoint
from tests.webhooks.receiver import Receiver, open_receiver


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with open_receiver() as receiver:
        yield receiver


@pytest.fixture
async def endpoint(dashboard: Dashboard, receiver: Receiver) -> AsyncIterator[FormEndpoint]:
    """An endpoint that receives the events of tax categories."""
    endpoint = await create_endpoint(dashboard, receiver.url)
    yield endpoint
    await dashboard.post(f"{endpoint.path}/delete")
