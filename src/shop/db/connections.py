"""A bounded pool of asyncpg connections: a bounded wait for one, and a deadline for every statement on one.

asyncpg has a pool of its own. Its acquire and release make a proxy and a task around every statement, which is
work at every request; this one pops and appends. Nor are statements given asyncpg's `timeout`, which makes a timer for
each: one timer for all connections finds those whose deadline has passed.
"""

import asyncio
from collections import deque
from math import inf
from time import monotonic
from typing import Any

import asyncpg
import msgspec
import structlog

from shop.base.errors import Unavailable
from shop.db.hosts import CONNECT_SECONDS, Hosts, connect_to

WAIT_SECONDS = 2.0
"""How long a request waits for a free connection."""
URGENT_SECONDS = 10.0
"""How long work waits that must not be turned away any more; it is served before all other waiters."""
AWAY_SECONDS = 0.4
"""How long a request waits while the database is known to be away and is tried again."""
RETRY_SECONDS = 0.1
"""The shortest time between two attempts to connect that fail."""
WATCH_SECONDS = 0.2
_STATEMENTS = 300
"""That a connection keeps prepared: one that is prepared again is planned six times again before its plan is kept."""
_log = structlog.get_logger("shop.database")


class Connection(asyncpg.Connection):  # type: ignore[misc]
    """A connection that is closed when its `deadline` passes, whatever its server does."""

    __slots__ = ("deadline",)
    deadline: float


class Waiter:
    """Someone who waits for a connection until a time, to use it until its deadline."""

    __slots__ = ("deadline", "future", "is_urgent", "until")

    def __init__(self, future: asyncio.Future[Any], until: float, deadline: float, *, is_urgent: bool) -> None:
        self.future = future
        self.until = until
        self.deadline = deadline
        self.is_urgent = is_urgent


class Waits(msgspec.Struct):
    """How often a connection had to be waited for, and how long in all."""

    count: int = 0
    seconds: float = 0.0


class Connections:
    """At most `size` connections, made when first needed; the last one released is taken first.

    Connections are made by tasks of the pool, and everyone waits in one queue: a connection that cannot be made leaves
    its waiters to those that others release. Only when there is no other are they turned away, and the database is
    `is_away` until a connection can be made again.
    """

    def __init__(self, url: str, size: int, server_settings: dict[str, str]) -> None:
        self._hosts = Hosts(url)
        self._size = size
        self._server_settings = server_settings
        self._idle: list[Any] = []
        self._open: set[Any] = set()
        self._attempts: set[asyncio.Task[None]] = set()
        self._waiting: deque[Waiter] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._retry_at = 0.0
        self.waits = Waits()
        self._is_in_doubt = False
        self.is_away = False

    def take(self, deadline: float) -> Any:
        """An idle connection to use until `deadline`; None when there is none, and one must be waited for."""
        while self._idle:
            connection = self._idle.pop()
            if not connection.is_closed():
                connection.deadline = deadline
                return connection
            self._open.discard(connection)
        return None

    async def wait(self, deadline: float, patience: float = WAIT_SECONDS) -> Any:
        """The next connection that is free or made, within `patience` seconds and before the deadline."""
        now = monotonic()
        if self.is_away:
            patience = min(patience, AWAY_SECONDS)
        waiter = Waiter(
            asyncio.get_running_loop().create_future(),
            min(now + patience, deadline),
            deadline,
            is_urgent=patience > WAIT_SECONDS,
        )
        self._enqueue(waiter)
        self._grow(now)
        self._start_watching()
        try:
            return await waiter.future
        except asyncio.CancelledError:
            if not waiter.future.cancelled() and waiter.future.done() and waiter.future.exception() is None:
                self.release(waiter.future.result())
            raise
        finally:
            self.waits.count += 1
            self.waits.seconds += monotonic() - now

    def release(self, connection: Any) -> None:
        """A caller whose statement did not end cleanly must `terminate()` first: a closed connection is replaced."""
        if connection.is_closed():
            self._open.discard(connection)
            if self._waiting:
                self._grow(monotonic())
            return
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.future.done():
                connection.deadline = waiter.deadline
                waiter.future.set_result(connection)
                return
        connection.deadline = inf
        self._idle.append(connection)

    def close_all(self) -> None:
        """Closes every connection: their server has become read-only."""
        for connection in self._open:
            connection.terminate()
        self._drop_idle()

    async def close(self) -> None:
        """Closes the idle connections."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for attempt in self._attempts:
            attempt.cancel()
        idle, self._idle = self._idle, []
        self._open.difference_update(idle)
        await asyncio.gather(*self._attempts, *map(_close, idle), return_exceptions=True)

    def _enqueue(self, waiter: Waiter) -> None:
        if not waiter.is_urgent:
            self._waiting.append(waiter)
            return
        urgent = sum(other.is_urgent for other in self._waiting)
        self._waiting.insert(urgent, waiter)

    def _grow(self, now: float) -> None:
        """Starts connecting for those who wait, as far as the size allows. While no connection can be made, attempts
        follow one another: there must be a moment at which all have failed.
        """
        room = self._size - len(self._open)
        if self._is_in_doubt:
            room = min(room, 1)
        if now < self._retry_at or len(self._attempts) >= room:
            return
        waiting = sum(not waiter.future.done() for waiter in self._waiting)
        while len(self._attempts) < min(room, waiting):
            attempt = asyncio.get_running_loop().create_task(self._connect())
            self._attempts.add(attempt)

    async def _connect(self) -> None:
        failure: Exception | None = None
        try:
            connection = await self._hosts.connect(self._connect_to)
        except Exception as error:
            failure = error
        finally:
            self._attempts.discard(asyncio.current_task())
        if failure is not None:
            self._fail(failure)
            return
        self._is_in_doubt = False
        if self.is_away:
            self.is_away = False
            _log.info("the database is available again")
        self._open.add(connection)
        self.release(connection)
        self._start_watching()
        if self._waiting:
            self._grow(monotonic())

    async def _connect_to(self, url: str) -> Any:
        connection = None
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                connection = await connect_to(
                    url,
                    connection_class=Connection,
                    server_settings=self._server_settings,
                    statement_cache_size=_STATEMENTS,
                    max_cached_statement_lifetime=0,
                )
                await connection.set_type_codec(
                    "jsonb", schema="pg_catalog", encoder=_to_json, decoder=msgspec.json.decode
                )
        except BaseException:
            if connection is not None:
                connection.terminate()
            raise
        return connection

    def _fail(self, error: Exception) -> None:
        self._retry_at = monotonic() + RETRY_SECONDS
        if not all(connection.is_closed() for connection in self._open):
            return
        self._is_in_doubt = True
        if self._attempts:
            return
        if not self.is_away:
            self.is_away = True
            _log.warning("the database is not available", reason=type(error).__name__)
        while self._waiting:
            _turn_away(self._waiting.popleft())

    def _start_watching(self) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(WATCH_SECONDS, self._watch)

    def _watch(self) -> None:
        """Closes connections whose deadline has passed, and turns away those who have waited long enough."""
        now = monotonic()
        late = [connection for connection in self._open if connection.deadline <= now]
        for connection in late:
            # Closed without a word to the server, which may be the one that hangs. Whoever uses it hears of it at once.
            connection.deadline = inf
            connection.terminate()
        if late:
            _log.warning("statements were abandoned at their deadline", count=len(late))
            # The others may lead to the same hung server, and each would cost another caller the same time.
            self._drop_idle()
        if self._waiting:
            for waiter in self._waiting:
                if waiter.until <= now:
                    _turn_away(waiter)
            self._waiting = deque(waiter for waiter in self._waiting if not waiter.future.done())
            self._grow(now)
        self._timer = None
        if self._open or self._waiting:
            self._start_watching()

    def _drop_idle(self) -> None:
        while self._idle:
            connection = self._idle.pop()
            connection.terminate()
            self._open.discard(connection)


def _turn_away(waiter: Waiter) -> None:
    if not waiter.future.done():
        waiter.future.set_exception(Unavailable())


async def _close(connection: Any) -> None:
    try:
        await connection.close(timeout=2)
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
        connection.terminate()


def _to_json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
