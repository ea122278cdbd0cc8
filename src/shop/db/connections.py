"""A bounded pool of asyncpg connections, with a bounded wait for one and a deadline for every statement.

asyncpg has its own pool, which creates a proxy and a task for every acquire and release; this one pops and appends.
This pool does not use asyncpg's `timeout` either, which creates a timer for each statement: a single timer closes all
connections past their deadline.
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
from shop.db.poolers import forwarded_settings, is_rejected_setting

WAIT_SECONDS = 2.0
"""How long a request waits for a free connection."""
URGENT_SECONDS = 10.0
"""How long urgent work, which can no longer be rejected, waits; it is served before all other waiters."""
UNAVAILABLE_SECONDS = 0.4
"""How long a request waits while the database is known to be unavailable."""
RETRY_SECONDS = 0.1
"""The minimum time between two failing attempts to connect."""
WATCH_SECONDS = 0.2
_STATEMENTS = 300
"""Prepared statements cached per connection. PostgreSQL plans a new one six times before it caches the plan."""
_log = structlog.get_logger("shop.database")


class Connection(asyncpg.Connection):  # type: ignore[misc]
    """A connection that is closed when its `deadline` passes, even if its server hangs."""

    __slots__ = ("deadline",)
    deadline: float


class Waiter:
    """A caller waiting for a connection `until` a time, to use it until `deadline`."""

    __slots__ = ("deadline", "future", "is_urgent", "until")

    def __init__(self, future: asyncio.Future[Any], until: float, deadline: float, *, is_urgent: bool) -> None:
        self.future = future
        self.until = until
        self.deadline = deadline
        self.is_urgent = is_urgent


class WaitStatistics(msgspec.Struct):
    """The number of waits for a connection, and their total duration."""

    count: int = 0
    seconds: float = 0.0


class Connections:
    """At most `size` connections, opened on demand; the last one released is reused first.

    Tasks of the pool open connections, and all callers wait in one queue: if an attempt fails, waiters get connections
    that others release. If there are none, waiters are rejected, and `is_unavailable` is true until a connection
    succeeds.
    """

    def __init__(
        self,
        url: str,
        size: int,
        server_settings: dict[str, str],
        *,
        is_prepared: bool = True,
        is_standby: bool = False,
    ) -> None:
        self._hosts = Hosts(url)
        self._size = size
        self._server_settings = server_settings
        self._statements = _STATEMENTS if is_prepared else 0
        self._is_standby = is_standby
        self._idle: list[Any] = []
        self._open: set[Any] = set()
        self._attempts: set[asyncio.Task[None]] = set()
        self._waiting: deque[Waiter] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._retry_at = 0.0
        self.waits = WaitStatistics()
        self._is_in_doubt = False
        self.is_unavailable = False

    def take(self, deadline: float) -> Any:
        """Takes an idle connection to use until `deadline`; None if there is none and the caller must wait."""
        while self._idle:
            connection = self._idle.pop()
            if not connection.is_closed():
                connection.deadline = deadline
                return connection
            self._open.discard(connection)
        return None

    async def wait(self, deadline: float, patience: float = WAIT_SECONDS) -> Any:
        """Waits for a connection, at most `patience` seconds and until the deadline."""
        now = monotonic()
        if self.is_unavailable:
            patience = min(patience, UNAVAILABLE_SECONDS)
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
        """Returns a connection. After an interrupted statement, call `terminate()` first: a closed one is replaced."""
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
        """Closes every connection, after their server has become read-only."""
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
        """Opens connections for the waiters, up to the size. While connecting fails, makes one attempt at a time, so
        that waiters are rejected as soon as it fails.
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
        if self.is_unavailable:
            self.is_unavailable = False
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
                connection = await self._connect_with_settings(url)
                await connection.set_type_codec(
                    "jsonb", schema="pg_catalog", encoder=_to_json, decoder=msgspec.json.decode
                )
        except BaseException:
            if connection is not None:
                connection.terminate()
            raise
        return connection

    async def _connect_with_settings(self, url: str) -> Any:
        """Connects; behind a pooler that refuses the time limits of a session, without them: its role has them."""
        options: dict[str, Any] = {
            "connection_class": Connection,
            "statement_cache_size": self._statements,
            "max_cached_statement_lifetime": 0,
            "target_session_attrs": "standby" if self._is_standby else "read-write",
        }
        try:
            return await connect_to(url, server_settings=self._server_settings, **options)
        except asyncpg.ProtocolViolationError as error:
            if not is_rejected_setting(error):
                raise
        settings = forwarded_settings(self._server_settings)
        connection = await connect_to(url, server_settings=settings, **options)
        self._server_settings = settings
        return connection

    def _fail(self, error: Exception) -> None:
        self._retry_at = monotonic() + RETRY_SECONDS
        if not all(connection.is_closed() for connection in self._open):
            return
        self._is_in_doubt = True
        if self._attempts:
            return
        if not self.is_unavailable:
            self.is_unavailable = True
            _log.warning("the database is not available", reason=type(error).__name__)
        while self._waiting:
            _reject(self._waiting.popleft())

    def _start_watching(self) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(WATCH_SECONDS, self._watch)

    def _watch(self) -> None:
        """Closes connections past their deadline, and rejects waiters whose time is up."""
        now = monotonic()
        late = [connection for connection in self._open if connection.deadline <= now]
        for connection in late:
            # Terminated without notifying the server, which may hang. The caller gets an error immediately.
            connection.deadline = inf
            connection.terminate()
        if late:
            _log.warning("statements were abandoned at their deadline", count=len(late))
            # Idle connections may lead to the same hung server, and other callers would wait for it too.
            self._drop_idle()
        if self._waiting:
            for waiter in self._waiting:
                if waiter.until <= now:
                    _reject(waiter)
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


def _reject(waiter: Waiter) -> None:
    if not waiter.future.done():
        waiter.future.set_exception(Unavailable())


async def _close(connection: Any) -> None:
    try:
        await connection.close(timeout=2)
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
        connection.terminate()


def _to_json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
