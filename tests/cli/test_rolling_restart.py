"""A restart that callers do not notice: the new process serves before the old one stops."""

import asyncio
import signal
import time
from collections.abc import Callable
from contextlib import suppress

import httpx2
import pytest

from tests.cli.command import external
from tests.db.processes import serving
from tests.service import Service
from tests.shopper import PREFIX

CHECK_SECONDS = 0.2


class Balancer:
    """Sends each request to a process that was ready at the last check, as a load balancer does."""

    def __init__(self) -> None:
        self.services: list[Service] = []
        self.ready: list[Service] = []
        self.failures: list[str] = []
        self.responses = 0

    async def check(self) -> None:
        while True:
            self.ready = [service for service in self.services if await is_ready(service)]
            await asyncio.sleep(CHECK_SECONDS)

    async def send_requests(self) -> None:
        while True:
            for service in list(self.ready):
                try:
                    async with service.client() as http:
                        response = await http.post(f"{PREFIX}/cart")
                except httpx2.TransportError as error:
                    self.failures.append(repr(error))
                else:
                    self.responses += 1
                    if response.status_code != 201:
                        self.failures.append(response.text)
            await asyncio.sleep(0)

    async def wait_for_responses(self, count: int) -> None:
        target, end = self.responses + count, time.monotonic() + 30
        while self.responses < target:
            assert time.monotonic() < end, self.failures
            await asyncio.sleep(0.01)


async def is_ready(service: Service) -> bool:
    try:
        async with service.client() as http:
            return (await http.get("/readyz")).status_code == 200
    except httpx2.TransportError:
        return False


@pytest.mark.security("X-06")
@pytest.mark.torture
async def test_a_rolling_restart_under_load_fails_no_request(own_database: Callable[..., str]) -> None:
    settings = external(own_database(), SHOP_DRAIN_SECONDS="2")
    balancer = Balancer()
    running = [asyncio.create_task(balancer.check())]
    running += [asyncio.create_task(balancer.send_requests()) for _ in range(4)]
    with serving(**settings) as old:
        balancer.services.append(old)
        await balancer.wait_for_responses(50)
        with serving(**settings) as new:
            balancer.services.append(new)
            await balancer.wait_for_responses(50)
            old.process.send_signal(signal.SIGTERM)
            status = await asyncio.to_thread(old.process.wait, 30)
            await balancer.wait_for_responses(50)
            for task in running:
                task.cancel()
            for task in running:
                with suppress(asyncio.CancelledError):
                    await task

    assert (status, balancer.failures) == (0, [])
