"""Password hashing: a few at a time, with a short queue for each source, so that no source can use it all up."""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Any, TypeVar

from shop.base.errors import TooMany, Unavailable

T = TypeVar("T")

RUNNING = 2
"""A hash takes a core and 46 MiB."""
WAITING_PER_OWNER = 4
WAIT_SECONDS = 5
RETRY_SECONDS = 1


class Ring:
    """Queues of several owners, served in turn."""

    def __init__(self) -> None:
        self._queues: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()

    def __bool__(self) -> bool:
        return bool(self._queues)

    def append(self, owner: str, turn: asyncio.Future[None]) -> int:
        """How many of the owner's own are before it."""
        queue = self._queues.setdefault(owner, deque())
        if len(queue) >= WAITING_PER_OWNER:
            raise TooMany(RETRY_SECONDS)
        queue.append(turn)
        return len(queue) - 1

    def popleft(self) -> asyncio.Future[None]:
        owner, queue = self._queues.popitem(last=False)
        turn = queue.popleft()
        if queue:
            self._queues[owner] = queue
        return turn


class HashQueue:
    """Runs hashes in threads. Operators who are signed in come before anyone else, so that nobody outside can keep them
    waiting. There is one in each process.
    """

    def __init__(self) -> None:
        self._running = 0
        self._signed_in, self._sources = Ring(), Ring()

    async def run(self, owner: str, work: Callable[[], T], *, is_signed_in: bool = False) -> T:
        """TooMany when the owner has too many waiting already, Unavailable when others keep it waiting too long."""
        await self._wait_for_turn(owner, self._signed_in if is_signed_in else self._sources)
        hashing = asyncio.ensure_future(asyncio.to_thread(work))
        # The thread goes on when the request is cancelled, and its turn ends with it.
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
            # It may have been given the turn in the same moment.
            if turn.done() and not turn.cancelled():
                self._next_turn()
            if not isinstance(reason, TimeoutError):
                raise
            raise (TooMany(RETRY_SECONDS) if ahead else Unavailable()) from None

    def _end_turn(self, hashing: asyncio.Future[Any]) -> None:
        if not hashing.cancelled():
            hashing.exception()  # Whoever waited has it; without a waiter it would be logged as forgotten.
        self._next_turn()

    def _next_turn(self) -> None:
        """Hands the turn on to the next who still waits."""
        while ring := self._signed_in or self._sources:
            turn = ring.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._running -= 1
