"""Fixtures of webhooks: a receiver, and an endpoint that sends the events of tax categories to it."""

from collections.abc import AsyncIterator

import pytest

from tests.platform.client import Machine
from tests.webhooks.receiver import Endpoint, Receiver, new_endpoint, open_receiver


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with open_receiver() as receiver:
        yield receiver


@pytest.fixture
async def endpoint(receiver: Receiver, writer: Machine) -> AsyncIterator[Endpoint]:
    endpoint = await new_endpoint(writer, receiver.url)
    yield endpoint
    await writer.delete(f"/webhook_endpoints/{endpoint.id}")
