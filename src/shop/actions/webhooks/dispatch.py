"""Leases webhook endpoints to this process and runs their queues.

Every process does so. An endpoint belongs to the first one that leases it; if that process ends, another one takes over
when the lease ends.
"""

import asyncio
import contextlib
from time import monotonic
from uuid import UUID

import structlog

from shop.actions.context import Shared
from shop.actions.webhooks.endpoints import MAX_ENDPOINTS
from shop.actions.webhooks.queue import EndpointQueue
from shop.actions.webhooks.sender import RenderWebhook, open_client
from shop.base.errors import ShopError
from shop.base.ids import new_id
from shop.queries.webhooks import deliveries, endpoints
from shop.queries.webhooks.endpoints import LeasedEndpoint

LEASE_SECONDS = 30
RENEW_SECONDS = 20
"""A lease is renewed when less than this is left of it."""
POLL_SECONDS = 1.0
LEASE_BATCH = 5
"""Endpoints that a process leases at once, so that several processes share them."""
CANCEL_BATCH = 1000
_log = structlog.get_logger("shop.webhooks")


class WebhookDispatcher:
    """The queues of all endpoints that this process leases."""

    def __init__(self, shared: Shared, render: RenderWebhook) -> None:
        self._shared = shared
        self._render = render
        self._process_id = new_id()
        self._queues: dict[UUID, EndpointQueue] = {}
        self._tasks: dict[UUID, asyncio.Task[None]] = {}
        self._position = 0
        self._next_poll = 0.0

    async def run_round(self) -> bool:
        """Renews and takes leases once a second, and waits for new events in between. Without an endpoint, waits until
        there is one to take.
        """
        if monotonic() >= self._next_poll:
            self._next_poll = monotonic() + POLL_SECONDS
            await self._poll()
        if self._queues:
            await self._wait(self._next_poll - monotonic())
        else:
            await self._shared.work_signals.wait("webhooks")
        return True

    async def stop(self) -> None:
        """Stops all queues and releases their endpoints."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        if self._tasks:
            with contextlib.suppress(ShopError):
                await endpoints.release_leases(self._shared.database.session(), self._process_id)
        await open_client(is_try_out=self._shared.is_try_out).close()

    async def _poll(self) -> None:
        start = monotonic()
        own = {lease.endpoint.id: lease for lease in await self._lease()}
        had_queues = bool(self._queues)
        for endpoint_id in [each for each, task in self._tasks.items() if task.done()]:
            self._remove(endpoint_id)
        for endpoint_id, lease in own.items():
            if endpoint_id not in self._queues:
                self._queues[endpoint_id] = EndpointQueue(self._shared, self._process_id, self._render, lease)
        for endpoint_id, queue in self._queues.items():
            # Each lease lasts at least so long from the start of this round.
            queue.update(own.get(endpoint_id), start + RENEW_SECONDS)
            if endpoint_id not in self._tasks:
                self._tasks[endpoint_id] = asyncio.create_task(queue.run())
        if had_queues and not self._queues:
            # An endpoint that is enabled again is due only if nobody has it.
            await endpoints.release_leases(self._shared.database.session(), self._process_id)
        await deliveries.cancel_disabled(self._shared.database.session(), CANCEL_BATCH)

    async def _lease(self) -> list[LeasedEndpoint]:
        """Renews leases and takes new ones; returns the endpoints of this process."""
        database, process_id = self._shared.database, self._process_id
        if self._queues:
            await endpoints.renew_leases(database.session(), process_id, lease=LEASE_SECONDS, left=RENEW_SECONDS)
        most = min(MAX_ENDPOINTS - len(self._queues), LEASE_BATCH)
        await endpoints.lease_free(database.session(), process_id, most=most, lease=LEASE_SECONDS)
        return await endpoints.list_own(database.session(), process_id)

    async def _wait(self, seconds: float) -> None:
        """Waits for new events, and wakes all queues if there are some."""
        shared = self._shared
        await shared.event_tail.wait(shared.database, self._position, seconds)
        position = await shared.event_tail.position(shared.database)
        if position > self._position:
            self._position = position
            for queue in self._queues.values():
                queue.wake.set()

    def _remove(self, endpoint_id: UUID) -> None:
        task = self._tasks.pop(endpoint_id)
        del self._queues[endpoint_id]
        if not task.cancelled() and (error := task.exception()):
            _log.error("webhook queue failed", endpoint=str(endpoint_id), exc_info=error)
