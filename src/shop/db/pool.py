"""How the program talks to PostgreSQL: one session a request, transactions, bounded retries."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from typing import Any, ParamSpec, TypeVar

import asyncpg

from shop.base.errors import Lost, Unavailable
from shop.db.connections import Connections
from shop.db.statements import Statement

P = ParamSpec("P")
T = TypeVar("T")
R = TypeVar("R")

RETRIES = 5
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

    def session(self) -> "Session":
        return Session(self)

    async def close(self) -> None:
        await self.connections.close()


def open_database(url: str, *, size: int) -> Database:
    """Connections are made when first needed: a database that is away makes the process unready, not dead."""
    return Database(Connections(url, size, SESSION_SETTINGS))


class Session:
    """One unit of work: statements run alone on any connection, or together inside `transaction()`."""

    __slots__ = ("_connection", "_database", "committed", "count")

    def __init__(self, database: Database) -> None:
        self._database = database
        self._connection: Any = None
        self.committed = False
        self.count = 0

    @property
    def is_in_transaction(self) -> bool:
        return self._connection is not None

    # Not coroutines around a coroutine: every one between a request and its connection is stepped through twice.
    def one(self, statement: Statement[R], **values: Any) -> Coroutine[Any, Any, R | None]:
        return self._run("fetchrow", statement, values)

    def all(self, statement: Statement[R], **values: Any) -> Coroutine[Any, Any, list[R]]:
        return self._run("fetch", statement, values)

    async def _run(self, method: str, statement: Statement[Any], values: Mapping[str, Any]) -> Any:
        arguments = statement.arguments(values)
        self.count += 1
        if self._connection is not None:
            result = await _translating(getattr(self._connection, method), statement.sql, *arguments)
            return _read(statement, result)
        if statement.writes and self.committed:
            raise AssertionError("a second write outside a transaction: open one with `async with ctx.transaction()`")
        connections = self._database.connections
        connection = None
        try:
            connection = await connections.acquire()
            result = await getattr(connection, method)(statement.sql, *arguments)
        except asyncpg.PostgresError as error:
            raise translated(error) from error
        except BaseException as error:
            if connection is not None:
                connection.terminate()
            raise translated(error) from error
        finally:
            if connection is not None:
                connections.release(connection)
        # A guarded write that found nothing to change has kept nothing.
        self.committed |= statement.writes and bool(result)
        return _read(statement, result)

    @asynccontextmanager
    async def transaction(self, *, is_snapshot: bool = False) -> AsyncIterator[None]:
        """READ COMMITTED; or to read only, and all of it as of one moment. A connection lost at COMMIT is an unknown
        outcome: the caller hears 503 and may ask again.
        """
        connections = self._database.connections
        connection = await _translating(connections.acquire)
        try:
            transaction = connection.transaction(**(_SNAPSHOT if is_snapshot else {}))
            await _translating(transaction.start)
            self._connection = connection
            try:
                yield
            except Exception:
                if not connection.is_closed():
                    await _translating(transaction.rollback)
                raise
            await _translating(transaction.commit)
            self.committed = True
        except BaseException as error:
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
        await _translating(savepoint.start)
        try:
            yield
        except Exception:
            if not self._connection.is_closed():
                await _translating(savepoint.rollback)
            raise
        await _translating(savepoint.commit)

    async def retrying(self, work: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Runs `work`, and again while it loses against other transactions, unless a part of it is already kept."""
        try:
            return await work(*args, **kwargs)
        except Lost as lost:
            return await self.retry(lost, work, *args, **kwargs)

    async def retry(self, lost: Lost, work: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Runs again what lost."""
        for _ in range(RETRIES):
            if self.committed:
                break
            await asyncio.sleep(random.uniform(0.01, 0.2))  # noqa: S311  Jitter, not a secret.
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


async def _translating(call: Callable[..., Awaitable[T]], *arguments: Any) -> T:
    # Called in here: on a closed connection asyncpg raises before there is anything to await.
    try:
        return await call(*arguments)
    except Exception as error:
        raise translated(error) from error


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
