"""Combines concurrent calls of one statement, so that a busy process needs fewer round trips and commits."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import msgspec

Values = Mapping[str, Any]
MAX_CALLS = 25
"""The maximum number of callers that share one run."""
STALLED_SECONDS = 0.1
"""How long callers wait for a run to end, before the next one begins on another connection."""


class StatementCall(msgspec.Struct, frozen=True):
    """The values of a caller, and until when it waits for their rows."""

    values: Values
    deadline: float


class WaitingCall(msgspec.Struct, frozen=True):
    """A call that shares the next run."""

    call: StatementCall
    rows: asyncio.Future[list[Any]]


class CombinedStatement:
    """A statement whose parameters are arrays with one value for each caller.

    The first caller runs it at once. Those who arrive while it runs share the next run: what they read is not older
    than their call. Each gets the rows of all, or the error of all.
    """

    def __init__(self, run: Callable[[Sequence[StatementCall]], Awaitable[list[Any]]]) -> None:
        self._run = run
        self._newest_run: object = None
        """The run that callers wait for; None if there is none."""
        self._waiting: list[WaitingCall] = []
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def call(self, call: StatementCall) -> list[Any]:
        if self._newest_run is not None:
            return await self._join(call)
        run = self._newest_run = object()
        try:
            return await self._run([call])
        finally:
            self._end(run)

    def _join(self, call: StatementCall) -> asyncio.Future[list[Any]]:
        loop = asyncio.get_running_loop()
        rows: asyncio.Future[list[Any]] = loop.create_future()
        self._waiting.append(WaitingCall(call, rows))
        if self._timer is None:
            self._timer = loop.call_later(STALLED_SECONDS, self._begin)
        return rows

    def _begin(self) -> None:
        """Begins a run for the callers that wait, except those that were canceled: nobody would own what they write."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._newest_run = None
        waiting = [each for each in self._waiting if not each.rows.done()]
        calls, self._waiting = waiting[:MAX_CALLS], waiting[MAX_CALLS:]
        if calls:
            run = self._newest_run = object()
            task = asyncio.create_task(self._run_together(run, calls))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        if self._waiting:
            self._timer = asyncio.get_running_loop().call_later(STALLED_SECONDS, self._begin)

    async def _run_together(self, run: object, calls: Sequence[WaitingCall]) -> None:
        rows: list[Any] = []
        failure: Exception | None = None
        try:
            rows = await self._run([each.call for each in calls])
        except Exception as error:
            failure = error
        # The next run begins before these callers go on, so that the database works meanwhile.
        self._end(run)
        for each in calls:
            if each.rows.done():
                continue
            if failure is None:
                each.rows.set_result(rows)
            else:
                each.rows.set_exception(failure)

    def _end(self, run: object) -> None:
        if self._newest_run is run:
            self._begin()
