"""Delivers the events of one webhook endpoint.

One task runs the queue of an endpoint as long as this process leases it. The task reads and writes the database; one
task for each attempt only sends. Nothing of a queue depends on another endpoint, so that a dead one delays only itself.

The lease makes the order exact: while it is valid, no other process sends to the endpoint.
"""

import asyncio
import random
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from math import ceil
from time import monotonic
from typing import Any
from uuid import UUID

import msgspec
import structlog

from shop.actions.context import Context, Shared
from shop.actions.webhooks.deliveries import attempt_record, delivery_row
from shop.actions.webhooks.endpoints import disable_endpoint
from shop.actions.webhooks.secrets import list_secrets
from shop.actions.webhooks.sender import RenderWebhook, open_client, send_event
from shop.base.actor import Actor
from shop.base.errors import ShopError, TransactionConflict
from shop.gateways.safe_http import HttpResult
from shop.models.events import Event
from shop.models.webhooks.endpoints import WebhookEndpoint
from shop.queries import events
from shop.queries.webhooks import deliveries, endpoints
from shop.queries.webhooks.deliveries import AttemptRecord, DueDelivery
from shop.queries.webhooks.endpoints import EndpointHealth, LeasedEndpoint
from shop.rules.webhooks.schedule import MAX_FAILURE_TIME, ResponseMeaning, is_dead, read_response, retry_delay
from shop.rules.webhooks.subscriptions import is_subscribed

MAX_CONCURRENT = 8
"""Concurrent attempts of one endpoint. Until its first success, and while it fails, there is one at a time: many dead
endpoints then do not use up the connections of the process.
"""
EVENT_BATCH = 500
SCAN_LIMIT = 10_000
"""The number of positions that one batch covers at most, however few of their events match."""
UNSAVED_POSITIONS = 1000
"""The position is saved with the deliveries, and otherwise only after so many events that do not match."""
QUEUE_LENGTH = 40
"""Deliveries in memory."""
SEND_SECONDS = 17
"""The longest duration of an attempt; none starts if the lease may end before it."""
RETRY_SECONDS = 1.0
ROUND_SECONDS = 0.005
"""Attempts that end within this time are recorded together."""
FAILING_SECONDS = 1.0
"""While an endpoint fails, it is given new events only so often, so that it takes no time from others."""
PATIENCE = 3
"""After so many failures in a row, the pause between two attempts grows, up to `FAILING_SECONDS`."""
SHOP = Actor("shop")
_log = structlog.get_logger("shop.webhooks")


class AttemptResult(msgspec.Struct, frozen=True):
    """An attempt that has ended but is not recorded yet."""

    due: DueDelivery
    result: HttpResult


class EndpointQueue:
    """The queue of one endpoint in this process."""

    def __init__(self, shared: Shared, process_id: UUID, render: RenderWebhook, lease: LeasedEndpoint) -> None:
        self.wake = asyncio.Event()
        """Set when there is something to do."""
        self._shared = shared
        self._process_id = process_id
        self._render = render
        self._client = open_client(is_try_out=shared.is_try_out)
        self._endpoint: WebhookEndpoint | None = None
        self._position = self._saved_position = lease.endpoint.position
        self._queue: deque[DueDelivery] = deque()
        self._sending: dict[asyncio.Task[HttpResult], DueDelivery] = {}
        self._results: list[AttemptResult] = []
        self._secrets: Sequence[str] = ()
        self._lease_end = self._pause_end = 0.0
        self._has_due = True
        self._busy_count = 0
        """Responses since the last success that asked to slow down."""
        self._clock_offset = 0.0
        self._is_healthy = False
        """Whether the last attempt succeeded."""
        self._failure_count = 0
        """Failures since the last success."""
        self._next_attempt = self._next_queueing = 0.0

    def update(self, lease: LeasedEndpoint | None, lease_end: float) -> None:
        """Takes over the endpoint's current row; None ends the queue when all attempts in progress have ended."""
        self._lease_end = lease_end
        self._endpoint = lease.endpoint if lease else None
        if lease is None:
            self._queue.clear()
        else:
            self._clock_offset = lease.now - monotonic()
            self._pause_end = monotonic() + lease.pause
            self._has_due |= lease.has_due
            self._position = max(self._position, lease.endpoint.position)
            self._saved_position = max(self._saved_position, lease.endpoint.position)
        self.wake.set()

    async def run(self) -> None:
        """Runs until the endpoint is gone or the task is canceled; then stops the attempts in progress."""
        try:
            while self._endpoint or self._sending or self._results:
                self.wake.clear()
                if not await self._run_round():
                    await self.wake.wait()
                    if self._sending:
                        await asyncio.sleep(ROUND_SECONDS)
        finally:
            for task in self._sending:
                task.cancel()
            await asyncio.gather(*self._sending, return_exceptions=True)

    async def _run_round(self) -> bool:
        """Does what there is to do; returns whether there is more."""
        try:
            await self._record()
            endpoint = self._endpoint
            if endpoint is None or monotonic() > self._lease_end:
                return False
            has_more = await self._queue_replay(endpoint) or (
                self._is_queueing_due() and await self._queue_new(endpoint)
            )
            await self._load_due(endpoint)
            self._start_attempts(endpoint)
        except (ShopError, TransactionConflict) as error:
            # The database is unavailable; the results of attempts stay in memory.
            _log.warning("webhook queue postponed", reason=type(error).__name__)
            await asyncio.sleep(RETRY_SECONDS)
            return True
        return has_more

    def _is_queueing_due(self) -> bool:
        """Whether new events are queued now; `update` wakes the queue each second."""
        now = monotonic()
        is_due = self._is_healthy or now >= self._next_queueing
        self._next_queueing = now + FAILING_SECONDS if is_due else self._next_queueing
        return is_due

    async def _queue_new(self, endpoint: WebhookEndpoint) -> bool:
        """Queues deliveries of new events; returns whether there are more."""
        end = await self._shared.event_tail.position(self._shared.database)
        if end <= self._position:
            return False
        batch, after = await self._read_events(endpoint, self._position, end)
        rows = [delivery_row(endpoint.id, event) for event in batch if self._matches(endpoint, event)]
        if rows or after - self._saved_position >= UNSAVED_POSITIONS:
            if not await self._save(endpoint, rows, self._saved_position, after, is_replay=False):
                return False
            self._saved_position = after
        self._position = after
        return after < end

    async def _queue_replay(self, endpoint: WebhookEndpoint) -> bool:
        before, until = endpoint.replay_position, endpoint.replay_until
        if before is None or until is None:
            return False
        batch, after = await self._read_events(endpoint, before, until)
        rows = [delivery_row(endpoint.id, event) for event in batch if self._matches(endpoint, event)]
        if not await self._save(endpoint, rows, before, after, is_replay=True):
            return False
        position = None if after >= until else after
        if self._endpoint:
            self._endpoint = msgspec.structs.replace(self._endpoint, replay_position=position)
        return position is not None

    async def _read_events(self, endpoint: WebhookEndpoint, after: int, end: int) -> tuple[Sequence[Event], int]:
        """Returns events whose types match, and the position up to which they were read."""
        until = min(end, after + SCAN_LIMIT)
        patterns = [pattern.replace("_", r"\_").replace("*", "%") for pattern in endpoint.types]
        db = self._shared.database.session()
        batch = await events.list_events(db, after=after, until=until, most=EVENT_BATCH, patterns=patterns)
        return batch, (batch[-1].position or until) if len(batch) == EVENT_BATCH else until

    def _matches(self, endpoint: WebhookEndpoint, event: Event) -> bool:
        changes = self._changed_attributes(event) if endpoint.fields and event.before else ()
        return is_subscribed(endpoint.types, endpoint.fields, event.type, changes)

    def _changed_attributes(self, event: Event) -> Collection[str]:
        try:
            return self._render(event).changes
        except Exception:
            # It fails again when it is sent, and is recorded then.
            return event.before.keys()

    async def _save(
        self,
        endpoint: WebhookEndpoint,
        rows: Sequence[Mapping[str, Any]],
        before: int,
        after: int,
        *,
        is_replay: bool,
    ) -> bool:
        """Stores deliveries and the position together; returns False if the row has changed in the meantime."""
        db = self._shared.database.session()
        async with db.transaction():
            if not await endpoints.advance(
                db, endpoint.id, self._process_id, before=before, after=after, is_replay=is_replay
            ):
                return False
            if rows:
                await deliveries.insert_deliveries(db, rows)
        self._has_due |= bool(rows)
        return True

    async def _load_due(self, endpoint: WebhookEndpoint) -> None:
        if not self._has_due or len(self._queue) >= MAX_CONCURRENT:
            return
        db, most = self._shared.database.session(), QUEUE_LENGTH - len(self._queue)
        in_progress = (*self._queue, *self._sending.values(), *(each.due for each in self._results))
        busy_ids = [each.delivery.id for each in in_progress]
        self._has_due = False
        batch = await deliveries.list_due(db, endpoint.id, busy_ids=busy_ids, most=most)
        self._has_due = len(batch) == most
        self._queue.extend(batch)
        if batch:
            self._secrets = await list_secrets(self._shared, db, endpoint.id)

    def _start_attempts(self, endpoint: WebhookEndpoint) -> None:
        most = MAX_CONCURRENT if self._is_healthy else 1
        now = monotonic()
        busy_subjects = {each.delivery.subject_id for each in self._sending.values()}
        later: list[DueDelivery] = []
        start = max(self._pause_end, self._next_attempt)
        while self._queue and len(self._sending) < most and start <= now < self._lease_end - SEND_SECONDS:
            due = self._queue.popleft()
            if due.delivery.subject_id in busy_subjects:
                later.append(due)
                continue
            busy_subjects.add(due.delivery.subject_id)
            task = asyncio.create_task(self._attempt(endpoint.url, due.event))
            self._sending[task] = due
            task.add_done_callback(self._end_attempt)
        self._queue.extendleft(reversed(later))

    async def _attempt(self, url: str, event: Event | None) -> HttpResult:
        # Limits also the wait for a connection, so that no attempt lasts longer than the lease.
        async with asyncio.timeout(SEND_SECONDS):
            now = monotonic() + self._clock_offset
            return await send_event(self._client, url, self._secrets, event, self._render, now)

    def _end_attempt(self, task: asyncio.Task[HttpResult]) -> None:
        due = self._sending.pop(task)
        if task.cancelled() or isinstance(task.exception(), TimeoutError):
            # Not an attempt: there was no free connection in time.
            self._has_due = True
        elif error := task.exception():
            _log.error("webhook attempt failed", exc_info=error)
            self._results.append(AttemptResult(due, HttpResult(0, error="The attempt failed.")))
        else:
            self._results.append(AttemptResult(due, task.result()))
        self.wake.set()

    async def _record(self) -> None:
        """Records the attempts that have ended, in one transaction."""
        results = tuple(self._results)
        if not results:
            return
        ctx, endpoint_id, reason = Context(self._shared), results[0].due.delivery.endpoint_id, None
        ctx.actor = SHOP
        async with ctx.db.transaction():
            health = await endpoints.lock_own(ctx.db, endpoint_id, self._process_id)
            if health:
                meanings = [self._read_result(each, health.now) for each in results]
                attempts = [self._end_of(each, meaning) for each, meaning in zip(results, meanings, strict=True)]
                await deliveries.record_attempts(ctx.db, attempts)
                reason = await self._record_health(ctx, endpoint_id, health, meanings)
                if reason:
                    await disable_endpoint(ctx, endpoint_id, reason)
        # If the lease has ended, another process sends these events again.
        del self._results[: len(results)]
        if reason:
            self._endpoint = None
            self._queue.clear()
            _log.warning("webhook endpoint disabled", endpoint=str(endpoint_id), reason=reason)

    def _read_result(self, attempt: AttemptResult, now: float) -> ResponseMeaning:
        result = attempt.result
        return read_response(None if result.error else result.status, result.retry_after, now, self._busy_count)

    def _end_of(self, attempt: AttemptResult, meaning: ResponseMeaning) -> AttemptRecord:
        """Returns what is recorded of an attempt, and when the next one follows."""
        delivery = attempt.due.delivery
        share = random.random()  # noqa: S311  Jitter, not a secret.
        delay = retry_delay(delivery.attempt_count + 1, share, meaning.pause) if attempt.due.event else None
        state = "succeeded" if meaning.outcome == "success" else "failed" if delay is None else "pending"
        wait = None if delay is None or state != "pending" else ceil(delay)
        # The next event about the same record may be due now.
        self._has_due |= state != "pending"
        return attempt_record(delivery.id, state, wait, attempt.result)

    def _pace_attempts(self) -> None:
        """Lets an endpoint that fails again and again wait before its next attempt."""
        self._failure_count = 0 if self._is_healthy else self._failure_count + 1
        if self._failure_count >= PATIENCE:
            pause = min(FAILING_SECONDS, 0.05 * 2 ** min(self._failure_count - PATIENCE, 10))
            self._next_attempt = monotonic() + pause
            asyncio.get_running_loop().call_later(pause, self.wake.set)

    async def _record_health(
        self, ctx: Context, endpoint_id: UUID, health: EndpointHealth, meanings: Sequence[ResponseMeaning]
    ) -> str | None:
        """Records whether the endpoint works; returns the reason to disable it, if there is one."""
        outcomes = {meaning.outcome for meaning in meanings}
        self._is_healthy = "success" in outcomes
        self._pace_attempts()
        pause = max(meaning.pause for meaning in meanings)
        self._busy_count = self._busy_count + 1 if pause else 0 if self._is_healthy else self._busy_count
        if pause or not self._is_healthy:
            await endpoints.mark_failure(ctx.db, endpoint_id, ceil(pause))
            self._pause_end = max(self._pause_end, monotonic() + pause)
        if self._is_healthy and health.failing_since is not None:
            await endpoints.mark_success(ctx.db, endpoint_id)
        if "gone" in outcomes:
            return "The endpoint answered 410 Gone."
        if not self._is_healthy and is_dead(health.failing_since, health.now):
            return f"All attempts failed for {MAX_FAILURE_TIME // 86400} days."
        return None
