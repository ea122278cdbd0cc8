"""How the program talks to PostgreSQL: one session a request, transactions, bounded retries."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from math import inf
from time import monotonic
from typing import Any, ParamSpec, TypeVar

import asyncpg

from shop.base.errors import Lost, Unavailable
from shop.db.connections import WAIT_SECONDS, Connections
from shop.db.statements import Statement

P = ParamSpec("P")
T = TypeVar("T")
R = TypeVar("R")

RETRIES = 5
LIMIT_SECONDS = 5.2
"""How long a request may wait for the database, in all: for connections, statements and retries. More than the server's
own `statement_timeout`, which leaves the connection open, and less than the 6 s within which a caller is answered.
"""
SESSION_SETTINGS = {
    "application_name": "shop",
    "statement_timeout": "5s",
    "lock_timeout": "2s",
    "idle_in_transaction_session_timeout": "10s",
    "timezone": "UTC",
    "jit": "off",
}
_SNAPSHOT = {"isolation": "repeatable_read", "readonly": True}


class Refused(Exception):
    """A constraint of the database did not allow a change; `why` is `unique`, `reference` or `check`."""

    def __init__(self, why: str, constraint: str) -> None:
        self.why = why
        self.constraint = constraint
        super().__init__(f"{why}: {constraint}")


class LockTimeout(Unavailable):
    """Someone else held a row longer than we wait."""


class Database:
    """The database of one process."""

    def __init__(self, connections: Connections) -> None:
        self.connections = connections
        self.has_lost_write = False
        """Whether a write was lost with its connection, and none was checked since: the server may hang in COMMIT."""

    @property
    def is_away(self) -> bool:
        """Whether it is known that no connection can be made."""
        return self.connections.is_away

    def session(self) -> "Session":
        return Session(self)

    async def close(self) -> None:
        await self.connections.close()


def open_database(url: str, *, size: int) -> Database:
    """Connections are made when first needed: a database that is away makes the process unready, not dead."""
    return Database(Connections(url, size, SESSION_SETTINGS))


class Session:
    """One unit of work: statements run alone on any connection, or together inside `transaction()`."""

    __slots__ = ("_connection", "_database", "_parent", "committed", "count", "is_bounded", "patience", "seconds")

    def __init__(self, database: Database, parent: "Session | None" = None) -> None:
        self._database = database
        self._connection: Any = None
        self._parent = parent
        self.committed = False
        self.count = 0
        self.seconds = LIMIT_SECONDS
        """How long the database may take: for each statement, or what is left for all of them."""
        self.is_bounded = False
        """Whether `seconds` is for all statements together, as for a request, or for each, as for a stream."""
        self.patience = WAIT_SECONDS

    @property
    def is_in_transaction(self) -> bool:
        return self._connection is not None

    def apart(self) -> "Session":
        """A session for what is committed whatever becomes of this one; both share the time that is left."""
        session = Session(self._database, self._parent or self)
        session.is_bounded = self.is_bounded
        return session

    # Not coroutines around a coroutine: every one between a request and its connection is stepped through twice.
    def one(self, statement: Statement[R], **values: Any) -> Coroutine[Any, Any, R | None]:
        return self._run("fetchrow", statement, values)

    def all(self, statement: Statement[R], **values: Any) -> Coroutine[Any, Any, list[R]]:
        return self._run("fetch", statement, values)

    async def _run(self, method: str, statement: Statement[Any], values: Mapping[str, Any]) -> Any:
        arguments = statement.arguments(values)
        self.count += 1
        clock = self._parent or self
        if clock.seconds <= 0:
            raise Unavailable()
        if self._connection is not None:
            result = await self._call(getattr(self._connection, method), statement.sql, *arguments)
            return _read(statement, result)
        if statement.writes and self.committed:
            raise AssertionError("a second write outside a transaction: open one with `async with ctx.transaction()`")
        connections = self._database.connections
        started = monotonic()
        connection = None
        try:
            deadline = started + clock.seconds
            connection = connections.take(deadline) or await connections.wait(deadline, self.patience)
            result = await getattr(connection, method)(statement.sql, *arguments)
        except asyncpg.PostgresError as error:
            self._database.has_lost_write |= statement.writes and connection is not None and connection.is_closed()
            raise self._translated(error) from error
        except BaseException as error:
            if connection is not None:
                connection.terminate()
            raise translated(error) from error
        finally:
            if connection is not None:
                connections.release(connection)
            if self.is_bounded:
                clock.seconds -= monotonic() - started
        # A guarded write that found nothing to change has kept nothing.
        self.committed |= statement.writes and bool(result)
        return _read(statement, result)

    @asynccontextmanager
    async def transaction(self, *, is_snapshot: bool = False) -> AsyncIterator[None]:
        """READ COMMITTED; or to read only, and all of it as of one moment. A connection lost at COMMIT is an unknown
        outcome: the caller hears 503 and may ask again.
        """
        connections = self._database.connections
        self._connection = connection = await self._acquire()
        try:
            transaction = connection.transaction(**(_SNAPSHOT if is_snapshot else {}))
            await self._call(transaction.start)
            try:
                yield
            except Exception:
                if not connection.is_closed():
                    await self._call(transaction.rollback)
                raise
            await self._call(transaction.commit)
            self.committed = True
        except BaseException as error:
            self._database.has_lost_write |= connection.is_closed() and not is_snapshot
            if not isinstance(error, Exception) or connection.is_closed() or connection.is_in_transaction():
                connection.terminate()
            raise
        finally:
            self._connection = None
            connections.release(connection)

    @asynccontextmanager
    async def savepoint(self) -> AsyncIterator[None]:
        """A part of a transaction that is undone alone when it fails."""
        savepoint = self._connection.transaction()
        await self._call(savepoint.start)
        try:
            yield
        except Exception:
            if not self._connection.is_closed():
                await self._call(savepoint.rollback)
            raise
        await self._call(savepoint.commit)

    async def _acquire(self) -> Any:
        connections = self._database.connections
        clock, started = self._parent or self, monotonic()
        try:
            return connections.take(inf) or await connections.wait(started + clock.seconds, self.patience)
        finally:
            if self.is_bounded:
                clock.seconds -= monotonic() - started

    async def _call(self, call: Callable[..., Awaitable[T]], *arguments: Any) -> T:
        """Runs one call of the transaction's connection until its deadline; between calls there is none."""
        connection, clock, started = self._connection, self._parent or self, monotonic()
        connection.deadline = started + clock.seconds
        # Called in here: on a closed connection asyncpg raises before there is anything to await.
        try:
            return await call(*arguments)
        except Exception as error:
            raise self._translated(error) from error
        finally:
            connection.deadline = inf
            if self.is_bounded:
                clock.seconds -= monotonic() - started

    def _translated(self, error: Exception) -> BaseException:
        if isinstance(error, asyncpg.ReadOnlySQLTransactionError):
            # A failover: all connections lead to what is now a standby.
            self._database.connections.close_all()
        return translated(error)

    async def retrying(self, work: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Runs `work`, and again while it loses against other transactions, unless a part of it is already kept."""
        try:
            return await work(*args, **kwargs)
        except Lost as lost:
            return await self.retry(lost, work, *args, **kwargs)

    async def retry(self, lost: Lost, work: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Runs again what lost."""
        for _ in range(RETRIES):
            pause = random.uniform(0.01, 0.2)  # noqa: S311  Jitter, not a secret.
            if self.is_bounded:
                self.seconds -= pause
            if self.committed or self.seconds <= 0:
                break
            await asyncio.sleep(pause)
            try:
                return await work(*args, **kwargs)
            except Lost as again:
                lost = again
        raise Unavailable() from lost


def _read(statement: Statement[Any], result: Any) -> Any:
    """What the caller asked for: the rows of a list, or one, or none."""
    if type(result) is list:
        return [statement.read(record) for record in result]
    return None if result is None else statement.read(result)


_LOST = (asyncpg.SerializationError, asyncpg.DeadlockDetectedError)
_AWAY = (
    OSError,  # TimeoutError and every refused or broken socket are kinds of it.
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    asyncpg.OperatorInterventionError,  # Shut down, starting up, or the statement time-out.
    asyncpg.InsufficientResourcesError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.InvalidCatalogNameError,
    asyncpg.UndefinedTableError,  # Restored or migrated by halves: not a database we can work with yet.
    asyncpg.ObjectNotInPrerequisiteStateError,  # The database takes no connections just now.
    asyncpg.ReadOnlySQLTransactionError,  # A failover is under way and we still hold the old primary.
)


_REFUSED = {
    asyncpg.UniqueViolationError: "unique",
    asyncpg.ForeignKeyViolationError: "reference",
    asyncpg.CheckViolationError: "check",
}


def translated(error: BaseException) -> BaseException:
    """What a database failure means to the shop; anything not listed is a defect of ours and flies on as it is."""
    if isinstance(error, _LOST):
        return Lost()
    if isinstance(error, asyncpg.LockNotAvailableError):
        return LockTimeout()
    if isinstance(error, asyncpg.IntegrityConstraintViolationError) and type(error) in _REFUSED:
        return Refused(_REFUSED[type(error)], error.constraint_name or "")
    if isinstance(error, _AWAY):
        return Unavailable()
    return error
