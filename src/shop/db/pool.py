"""Sessions on PostgreSQL: one per request, with transactions and bounded retries."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from math import inf
from time import monotonic
from typing import Any, ParamSpec, TypeVar

import asyncpg

from shop.base.errors import TransactionConflict, Unavailable
from shop.db.combined import CombinedStatement, StatementCall
from shop.db.connections import WAIT_SECONDS, Connections
from shop.db.replicas import STATEMENT_SECONDS, Replica, ReplicaError, Replicas
from shop.db.statements import Statement

P = ParamSpec("P")
T = TypeVar("T")
R = TypeVar("R")

RETRIES = 5
LIMIT_SECONDS = 5.2
"""The total time a request may wait for the database: connections, statements and retries. Longer than the server's
`statement_timeout`, which leaves the connection open, and shorter than the 6 s within which a caller gets a response.
"""
COMBINED_SECONDS = LIMIT_SECONDS / 2
"""A request that has less than this left shares no statement: its time would limit the other callers."""
SESSION_SETTINGS = {
    "application_name": "shop",
    "statement_timeout": "5s",
    "lock_timeout": "2s",
    "idle_in_transaction_session_timeout": "10s",
    "timezone": "UTC",
    "jit": "off",
    # The default of 4 is for disks that turn: with it, small tables are scanned for each row that is looked up.
    "random_page_cost": "1.1",
}
_SNAPSHOT = {"isolation": "repeatable_read", "readonly": True}


class ConstraintViolation(Exception):
    """A database constraint was violated; `why` is its kind: `unique`, `reference` or `check`."""

    def __init__(self, why: str, constraint: str) -> None:
        self.why = why
        self.constraint = constraint
        super().__init__(f"{why}: {constraint}")


class InvalidRow(Exception):
    """PostgreSQL refused a value of a row that COPY inserts; the message says which."""


class LockTimeout(Unavailable):
    """Another transaction held a row lock longer than `lock_timeout`."""


class Database:
    """The database of one process."""

    def __init__(self, connections: Connections, replicas: Replicas | None = None) -> None:
        self.connections = connections
        self.replicas = replicas
        self.has_lost_write = False
        """Whether a connection was lost during a write and no write has succeeded since: COMMIT may hang."""
        self._combined: dict[tuple[Statement[Any], float], CombinedStatement] = {}

    @property
    def is_unavailable(self) -> bool:
        """Whether connecting is known to fail."""
        return self.connections.is_unavailable

    def session(self) -> "DatabaseSession":
        return DatabaseSession(self)

    def combine(self, statement: Statement[Any], patience: float) -> CombinedStatement:
        """Returns the statement as it runs for several callers at once, who wait as long for a connection."""
        key = statement, patience
        if key not in self._combined:
            self._combined[key] = CombinedStatement(partial(self._run_for_all, statement, patience))
        return self._combined[key]

    async def _run_for_all(
        self, statement: Statement[Any], patience: float, calls: Sequence[StatementCall]
    ) -> list[Any]:
        session = self.session()
        session.is_bounded, session.seconds = True, min(call.deadline for call in calls) - monotonic()
        session.patience = patience
        return await session.all(statement, **{name: [each.values[name] for each in calls] for name in calls[0].values})

    async def watch_replicas(self) -> None:
        """Measures the lag of the replicas, if there are any."""
        if self.replicas is not None:
            await self.replicas.watch(self.connections)

    async def close(self) -> None:
        await self.connections.close()
        if self.replicas is not None:
            await self.replicas.close()


def open_database(url: str, *, size: int, is_prepared: bool = True, replicas: Replicas | None = None) -> Database:
    """Opens connections on demand: an unavailable database makes the process unready but does not end it."""
    return Database(Connections(url, size, SESSION_SETTINGS, is_prepared=is_prepared), replicas)


class DatabaseSession:
    """One unit of work: statements run alone on any connection, or together inside `transaction()`."""

    __slots__ = (
        "_connection",
        "_database",
        "_parent",
        "before_commit",
        "committed",
        "count",
        "is_bounded",
        "patience",
        "pending",
        "replica",
        "seconds",
        "wakes",
    )

    def __init__(self, database: Database, parent: "DatabaseSession | None" = None) -> None:
        self._database = database
        self._connection: Any = None
        self._parent = parent
        self.committed = False
        self.count = 0
        self.seconds = LIMIT_SECONDS
        """The time limit: for each statement, or the remainder for all of them."""
        self.is_bounded = False
        """Whether `seconds` limits all statements together, as in a request, or each one, as in a stream."""
        self.patience = WAIT_SECONDS
        self.replica: Replica | None = None
        """The replica that this session reads; None: the primary. Transactions always use the primary."""
        self.pending: dict[Any, Any] = {}
        """What `before_commit` writes at the end of the transaction; a savepoint that rolls back restores it."""
        self.before_commit: Callable[[], Awaitable[None]] | None = None
        self.wakes: set[asyncio.Event] = set()
        """Set once the transaction is committed: background loops wait for them."""

    @property
    def is_in_transaction(self) -> bool:
        return self._connection is not None

    def separate(self) -> "DatabaseSession":
        """Returns a session whose work commits independently of this one; both share the remaining time."""
        session = DatabaseSession(self._database, self._parent or self)
        session.is_bounded = self.is_bounded
        return session

    def prefer_replica(self) -> None:
        """Reads a replica from now on, if one lags less than the bound. Never for credentials, carts or limits."""
        if self._database.replicas is not None:
            self.replica = self._database.replicas.pick()

    # These return the coroutine instead of awaiting it: each extra coroutine adds a step to every statement.
    def one(self, statement: Statement[R], **values: Any) -> Coroutine[Any, Any, R | None]:
        return self._run("fetchrow", statement, values)

    def all(self, statement: Statement[R], **values: Any) -> Coroutine[Any, Any, list[R]]:
        return self._run("fetch", statement, values)

    async def combined(self, statement: Statement[R], **values: Any) -> list[R]:
        """Runs a statement together with other callers of it, unless in a transaction, on a replica or with little time
        left. Its parameters are arrays with one value of each caller; returns the rows of all.
        """
        clock, start = self._parent or self, monotonic()
        is_alone = self._connection is not None or self.replica is not None or clock.seconds < COMBINED_SECONDS
        if is_alone or (statement.writes and self.committed):
            return await self.all(statement, **{name: [value] for name, value in values.items()})
        self.count += 1
        try:
            call = StatementCall(values, start + clock.seconds)
            rows = await self._database.combine(statement, self.patience).call(call)
        finally:
            if self.is_bounded:
                clock.seconds -= monotonic() - start
        self.committed |= statement.writes and bool(rows)
        return rows

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
        if self.replica is not None and not statement.writes:
            try:
                return _read(statement, await self._run_on_replica(self.replica, method, statement.sql, arguments))
            except ReplicaError:
                # The rest of the request reads the primary, which is never older than the replica.
                self.replica = None
        connections = self._database.connections
        start = monotonic()
        connection = None
        try:
            deadline = start + clock.seconds
            connection = connections.take(deadline) or await connections.wait(deadline, self.patience)
            result = await getattr(connection, method)(statement.sql, *arguments)
        except asyncpg.PostgresError as error:
            self._database.has_lost_write |= statement.writes and connection is not None and connection.is_closed()
            raise self._translate(error) from error
        except BaseException as error:
            if connection is not None:
                connection.terminate()
            raise translate_error(error) from error
        finally:
            if connection is not None:
                connections.release(connection)
            if self.is_bounded:
                clock.seconds -= monotonic() - start
        # A conditional write that matched no row has changed nothing.
        self.committed |= statement.writes and bool(result)
        return _read(statement, result)

    async def _run_on_replica(self, replica: Replica, method: str, sql: str, arguments: list[Any]) -> Any:
        clock, start = self._parent or self, monotonic()
        try:
            return await replica.run(method, sql, arguments, min(clock.seconds, STATEMENT_SECONDS))
        finally:
            if self.is_bounded:
                clock.seconds -= monotonic() - start

    @asynccontextmanager
    async def transaction(self, *, is_snapshot: bool = False) -> AsyncIterator[None]:
        """Opens a READ COMMITTED transaction, or a read-only snapshot. If the connection is lost at COMMIT, the outcome
        is unknown: the caller gets 503 and may retry.
        """
        connections = self._database.connections
        self._connection = connection = await self._acquire()
        try:
            transaction = connection.transaction(**(_SNAPSHOT if is_snapshot else {}))
            await self._call(transaction.start)
            try:
                yield
                if self.pending and self.before_commit:
                    await self.before_commit()
            except Exception:
                if not connection.is_closed():
                    await self._call(transaction.rollback)
                raise
            await self._call(transaction.commit)
            self.committed = True
            for event in self.wakes:
                event.set()
        except BaseException as error:
            self._database.has_lost_write |= connection.is_closed() and not is_snapshot
            if not isinstance(error, Exception) or connection.is_closed() or connection.is_in_transaction():
                connection.terminate()
            raise
        finally:
            self._connection = None
            self.pending.clear()
            self.wakes.clear()
            connections.release(connection)

    @asynccontextmanager
    async def savepoint(self) -> AsyncIterator[None]:
        """Opens a part of a transaction that rolls back on its own if it fails."""
        savepoint, pending = self._connection.transaction(), dict(self.pending)
        await self._call(savepoint.start)
        try:
            yield
        except Exception:
            self.pending = pending
            if not self._connection.is_closed():
                await self._call(savepoint.rollback)
            raise
        await self._call(savepoint.commit)

    async def copy_out(self, sql: str, write: Callable[[bytes], Awaitable[None]]) -> None:
        """Streams the result of a query to `write`, in the text format of COPY, inside a transaction."""
        await self._call(partial(self._connection.copy_from_query, sql, output=write))

    async def copy_in(self, table: str, columns: Sequence[str], lines: AsyncIterator[bytes]) -> None:
        """Inserts lines in the text format of COPY, inside a transaction. Raises InvalidRow or ConstraintViolation."""
        copy = partial(self._connection.copy_to_table, table, columns=list(columns), source=lines)
        try:
            await self._call(copy)
        except asyncpg.PostgresError as error:
            # The further lines may quote the row.
            raise InvalidRow(str(error).partition("\n")[0]) from error

    async def _acquire(self) -> Any:
        connections = self._database.connections
        clock, start = self._parent or self, monotonic()
        try:
            return connections.take(inf) or await connections.wait(start + clock.seconds, self.patience)
        finally:
            if self.is_bounded:
                clock.seconds -= monotonic() - start

    async def _call(self, call: Callable[..., Awaitable[T]], *arguments: Any) -> T:
        """Runs one call on the transaction's connection with a deadline; between calls there is none."""
        connection, clock, start = self._connection, self._parent or self, monotonic()
        connection.deadline = start + clock.seconds
        # Called inside the try: on a closed connection asyncpg raises before it returns an awaitable.
        try:
            return await call(*arguments)
        except Exception as error:
            raise self._translate(error) from error
        finally:
            connection.deadline = inf
            if self.is_bounded:
                clock.seconds -= monotonic() - start

    def _translate(self, error: Exception) -> BaseException:
        if isinstance(error, asyncpg.ReadOnlySQLTransactionError):
            # After a failover, all connections lead to a server that is now a standby.
            self._database.connections.close_all()
        return translate_error(error)

    async def retrying(self, work: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Runs `work` and retries it on conflicts with other transactions, unless a part of it is already committed."""
        try:
            return await work(*args, **kwargs)
        except TransactionConflict as error:
            return await self.retry(error, work, *args, **kwargs)

    async def retry(
        self, error: TransactionConflict, work: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Retries `work` after a conflict."""
        for _ in range(RETRIES):
            pause = random.uniform(0.01, 0.2)  # noqa: S311  Jitter, not a secret.
            if self.is_bounded:
                self.seconds -= pause
            if self.committed or self.seconds <= 0:
                break
            await asyncio.sleep(pause)
            try:
                return await work(*args, **kwargs)
            except TransactionConflict as again:
                error = again
        raise Unavailable() from error


def _read(statement: Statement[Any], result: Any) -> Any:
    """Converts a result to a list of typed rows, a single one, or None."""
    if type(result) is list:
        return [statement.read(record) for record in result]
    return None if result is None else statement.read(result)


_CONFLICTS = (asyncpg.SerializationError, asyncpg.DeadlockDetectedError)
_AWAY = (
    OSError,  # Includes TimeoutError and refused or broken sockets.
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    asyncpg.OperatorInterventionError,  # Shutting down, starting up, or a statement timeout.
    asyncpg.InsufficientResourcesError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.InvalidCatalogNameError,
    asyncpg.UndefinedTableError,  # Partially restored or migrated: not usable yet.
    asyncpg.ObjectNotInPrerequisiteStateError,  # The database does not accept connections now.
    asyncpg.ReadOnlySQLTransactionError,  # During a failover, a connection still leads to the old primary.
)


_CONSTRAINT_KINDS = {
    asyncpg.UniqueViolationError: "unique",
    asyncpg.ForeignKeyViolationError: "reference",
    asyncpg.CheckViolationError: "check",
}


def translate_error(error: BaseException) -> BaseException:
    """Translates a database error to an error of the shop; any other error is a bug and is returned unchanged."""
    if isinstance(error, _CONFLICTS):
        return TransactionConflict()
    if isinstance(error, asyncpg.LockNotAvailableError):
        return LockTimeout()
    if isinstance(error, asyncpg.IntegrityConstraintViolationError) and type(error) in _CONSTRAINT_KINDS:
        return ConstraintViolation(_CONSTRAINT_KINDS[type(error)], error.constraint_name or "")
    if isinstance(error, _AWAY):
        return Unavailable()
    return error
