"""Limits concurrent password hashing, with a short queue per source, so that no source can use all the capacity."""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import TypeVar

from shop.base.errors import RateLimitError, Unavailable

T = TypeVar("T")

RUNNING = 2
"""Each hash uses one core and 46 MiB."""
WAITING_PER_OWNER = 4
WAIT_SECONDS = 5
RETRY_SECONDS = 1


class Ring:
    """Queues of several owners, served round-robin."""

    def __init__(self) -> None:
        self._queues: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()

    def __bool__(self) -> bool:
        return bool(self._queues)

    def append(self, owner: str, turn: asyncio.Future[None]) -> int:
        """Adds a turn and returns the number of the owner's turns ahead of it."""
        queue = self._queues.setdefault(owner, deque())
        if len(queue) >= WAITING_PER_OWNER:
            raise RateLimitError(RETRY_SECONDS)
        queue.append(turn)
        return len(queue) - 1

    def popleft(self) -> asyncio.Future[None]:
        owner, queue = self._queues.popitem(last=False)
        turn = queue.popleft()
        if queue:
            self._queues[owner] = queue
        return turn


class HashQueue:
    """Runs hashes in threads; one instance per process.

    Signed-in operators take precedence, so that anonymous requests cannot delay them.
    """

    def __init__(self) -> None:
        self._running = 0
        self._signed_in, self._sources = Ring(), Ring()

    async def run(self, owner: str, work: Callable[[], T], *, is_signed_in: bool = False) -> T:
        """Runs `work` in a thread. TooMany if the owner's queue is too long, Unavailable if others delay it."""
        await self._wait_for_turn(owner, self._signed_in if is_signed_in else self._sources)
        hashing = asyncio.ensure_future(asyncio.to_thread(work))
        # If the request is canceled, the thread continues; the turn ends when the thread ends.
        hashing.add_done_callback(self._end_turn)
        return await asyncio.shield(hashing)

    async def _wait_for_turn(self, owner: str, ring: Ring) -> None:
        if self._running < RUNNING:
            self._running += 1
            return
        turn = asyncio.get_running_loop().create_future()
        ahead = ring.append(owner, turn)
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                await turn
        except (TimeoutError, asyncio.CancelledError) as reason:
            # The turn may have been granted at the same moment.
            if turn.done() and not turn.cancelled():
                self._next_turn()
            if not isinstance(reason, TimeoutError):
                raise
            raise (RateLimitError(RETRY_SECONDS) if ahead else Unavailable()) from None

    def _end_turn(self, hashing: asyncio.Task[object]) -> None:
        if not hashing.cancelled():
            hashing.exception()  # Retrieve the exception, or asyncio logs it as never retrieved.
        self._next_turn()

    def _next_turn(self) -> None:
        """Passes the turn to the next waiter that has not timed out."""
        while ring := self._signed_in or self._sources:
            turn = ring.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._running -= 1
