"""How connections are shared: a bounded stack of asyncpg connections, and a bounded wait for one.

asyncpg has a pool of its own. Its acquire and release make a proxy and a task around every statement, which is
work at every request; this one pops and appends.
"""

import asyncio
from collections import deque
from typing import Any

import asyncpg
import msgspec

from shop.base.errors import Unavailable

WAIT_SECONDS = 2.0
_STATEMENTS = 300
"""That a connection keeps prepared: one that is prepared again is planned six times again before its plan is kept."""


class Connections:
    """At most `size` connections, made when first needed, the last one given back handed out first."""

    def __init__(self, url: str, size: int, server_settings: dict[str, str]) -> None:
        self._url = url
        self._size = size
        self._server_settings = server_settings
        self._idle: list[Any] = []
        self._count = 0
        self._waiting: deque[tuple[float, asyncio.Future[Any]]] = deque()
        """Each with the moment when it has waited long enough."""
        self._alarm: asyncio.TimerHandle | None = None

    async def acquire(self) -> Any:
        while self._idle:
            connection = self._idle.pop()
            if not connection.is_closed():
                return connection
            self._count -= 1
        if self._count < self._size:
            self._count += 1
            return await self._connect()
        # None is not a connection but the place of one that was lost.
        return await self._wait() or await self._connect()

    def release(self, connection: Any) -> None:
        """Whoever got no clean end of a statement must `terminate()` first: a closed connection is not handed on."""
        closed = connection.is_closed()
        while self._waiting:
            _, waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None if closed else connection)
                return
        if closed:
            self._count -= 1
        else:
            self._idle.append(connection)

    async def close(self) -> None:
        while self._idle:
            connection = self._idle.pop()
            self._count -= 1
            try:
                await connection.close(timeout=2)
            except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
                connection.terminate()

    async def _connect(self) -> Any:
        connection = None
        try:
            connection = await asyncpg.connect(
                self._url,
                timeout=WAIT_SECONDS,
                server_settings=self._server_settings,
                statement_cache_size=_STATEMENTS,
                max_cached_statement_lifetime=0,
            )
            await connection.set_type_codec("jsonb", schema="pg_catalog", encoder=_to_json, decoder=msgspec.json.decode)
        except BaseException:
            if connection is not None:
                connection.terminate()
            self._lose_place()
            raise
        return connection

    def _lose_place(self) -> None:
        while self._waiting:
            _, waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
        self._count -= 1

    async def _wait(self) -> Any:
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[Any] = loop.create_future()
        self._waiting.append((loop.time() + WAIT_SECONDS, waiter))
        # One timer for all, set to whoever has waited longest: under load many wait here, and few for long.
        if self._alarm is None:
            self._alarm = loop.call_later(WAIT_SECONDS, self._expire)
        try:
            return await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled() and waiter.exception() is None:
                self._give_back(waiter.result())
            raise

    def _expire(self) -> None:
        loop = asyncio.get_running_loop()
        self._alarm = None
        while self._waiting and self._waiting[0][0] <= loop.time():
            _, waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_exception(Unavailable())
        if self._waiting:
            self._alarm = loop.call_at(self._waiting[0][0], self._expire)

    def _give_back(self, connection: Any) -> None:
        if connection is None:
            self._lose_place()
        else:
            self.release(connection)


def _to_json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
