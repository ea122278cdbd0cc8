"""Read replicas: standbys that answer reads which may be slightly old, while they lag less than a bound.

The lag of a replica is measured against the primary: the shop notes the position of the primary's log a few times a
second. A replica that has replayed a position shows at least the data of that moment. This works without synchronized
clocks, and notices a replica that no longer receives changes.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from math import inf
from time import monotonic
from typing import Any
from urllib.parse import parse_qs, urlsplit

import asyncpg
import msgspec
import structlog

from shop.base.errors import Unavailable
from shop.db.connections import Connections

STATEMENT_SECONDS = 1.0
"""How long a replica may take for a statement; the primary answers after that."""
PATIENCE_SECONDS = 0.3
CHECK_SECONDS = 0.25
MAX_PAUSE_SECONDS = 15.0
"""The longest pause between two attempts to reach a lost replica."""
PRIMARY_POSITION = "select (pg_current_wal_flush_lsn() - '0/0'::pg_lsn)::bigint"
REPLICA_POSITION = (
    "select case when pg_is_in_recovery() then (pg_last_wal_replay_lsn() - '0/0'::pg_lsn)::bigint else -1 end"
)
_log = structlog.get_logger("shop.database")


class ReplicaError(Exception):
    """A replica gave no answer; the primary must be asked."""


class ReplicaState(msgspec.Struct, frozen=True):
    """A replica as this process sees it."""

    name: str
    lag_seconds: float
    is_used: bool


class Replica:
    """One replica: its connections, and the time up to which it is known to have all changes."""

    def __init__(self, url: str, connections: Connections) -> None:
        self.name = replica_name(url)
        self.connections = connections
        self.complete_until = -inf
        self.is_used = False
        self.retry_at = 0.0
        self._failures = 0

    async def run(self, method: str, sql: str, arguments: Sequence[Any], seconds: float = STATEMENT_SECONDS) -> Any:
        """Runs a statement; raises ReplicaError without an answer."""
        deadline, connection = monotonic() + seconds, None
        try:
            connection = self.connections.take(deadline) or await self.connections.wait(deadline, PATIENCE_SECONDS)
            return await getattr(connection, method)(sql, *arguments)
        except asyncpg.PostgresError as error:
            # A conflict with replay, or an error that the primary reports too.
            self._note_failure(connection)
            raise ReplicaError() from error
        except Exception as error:
            self._note_failure(connection)
            if connection is not None:
                connection.terminate()
            raise ReplicaError() from error
        except BaseException:
            if connection is not None:
                connection.terminate()
            raise
        finally:
            if connection is not None:
                self.connections.release(connection)

    def note_success(self) -> None:
        self._failures = 0

    def _note_failure(self, connection: Any) -> None:
        """Stops using a replica that was disconnected; the pause doubles with each failure."""
        is_lost = connection.is_closed() if connection is not None else self.connections.is_unavailable
        if is_lost:
            self.complete_until = -inf
            self.retry_at = monotonic() + min(CHECK_SECONDS * 2**self._failures, MAX_PAUSE_SECONDS)
            self._failures = min(self._failures + 1, 10)


class Replicas:
    """The replicas of a process; `watch` measures their lag."""

    def __init__(self, replicas: Sequence[Replica], max_lag: float) -> None:
        self._replicas = list(replicas)
        self._max_lag = max_lag
        self._positions: deque[tuple[float, int]] = deque()
        """Times, and the positions of the primary that were reached by then."""

    def pick(self) -> Replica | None:
        """Returns a replica that lags less than the bound, a different one each time; None if there is none."""
        oldest = monotonic() - self._max_lag
        for _ in self._replicas:
            replica = self._replicas.pop(0)
            self._replicas.append(replica)
            if replica.complete_until >= oldest:
                return replica
        return None

    def states(self) -> list[ReplicaState]:
        now = monotonic()
        ages = [(replica.name, now - replica.complete_until) for replica in self._replicas]
        return [ReplicaState(name, age, age <= self._max_lag) for name, age in sorted(ages)]

    async def watch(self, primary: Connections) -> None:
        """Measures the lag of every replica, until it is canceled."""
        checks: dict[str, asyncio.Task[None]] = {}
        while True:
            # Without new positions, the lag of every replica grows.
            with suppress(Unavailable, OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
                await self._note_position(primary)
            for replica in self._replicas:
                # A replica that hangs must not delay the others.
                if (replica.name not in checks or checks[replica.name].done()) and replica.retry_at <= monotonic():
                    checks[replica.name] = asyncio.create_task(self._check(replica))
            self._log_changes()
            await asyncio.sleep(min(CHECK_SECONDS, self._max_lag / 4))

    async def _note_position(self, primary: Connections) -> None:
        start = monotonic()
        connection = primary.take(start + STATEMENT_SECONDS) or await primary.wait(start + STATEMENT_SECONDS)
        try:
            position = await connection.fetchval(PRIMARY_POSITION)
        except BaseException:
            connection.terminate()
            raise
        finally:
            primary.release(connection)
        if self._positions and position < self._positions[-1][1]:
            self._positions.clear()  # Another server is the primary now.
        self._positions.append((start, position))
        while self._positions[0][0] < start - 2 * self._max_lag - 1:
            self._positions.popleft()

    async def _check(self, replica: Replica) -> None:
        try:
            row = await replica.run("fetchrow", REPLICA_POSITION, ())
        except ReplicaError:
            return
        replica.note_success()
        times = [time for time, position in self._positions if position <= (row[0] or -1)]
        if times:
            replica.complete_until = max(replica.complete_until, times[-1])

    def _log_changes(self) -> None:
        oldest = monotonic() - self._max_lag
        for replica in self._replicas:
            is_used = replica.complete_until >= oldest
            if is_used and not replica.is_used:
                _log.info("the replica is used", replica=replica.name)
            elif replica.is_used and not is_used:
                _log.warning("the replica is not used: it lags or does not answer", replica=replica.name)
            replica.is_used = is_used

    async def close(self) -> None:
        await asyncio.gather(*(replica.connections.close() for replica in self._replicas))


def open_replicas(
    urls: Sequence[str], *, size: int, max_lag: float, settings: dict[str, str], is_prepared: bool
) -> Replicas:
    """Opens connections on demand. A replica refuses writes in any case; a promoted one must refuse them too."""
    read_only = {**settings, "default_transaction_read_only": "on"}
    replicas = [
        Replica(url, Connections(url, size, read_only, is_prepared=is_prepared, is_standby=True)) for url in urls
    ]
    return Replicas(replicas, max_lag)


def replica_name(url: str) -> str:
    """Returns the host and port, never the password."""
    parts = urlsplit(url)
    return parts.netloc.rpartition("@")[2] or ",".join(parse_qs(parts.query).get("host", ["localhost"]))
