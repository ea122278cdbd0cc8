"""Recognizes a connection pooler such as PgBouncer between the shop and PostgreSQL, and finds out what it supports."""

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack
from secrets import token_hex
from typing import Any

import asyncpg
import msgspec

from shop.db.hosts import Hosts, connect_to

FORWARDED_SETTINGS = ("application_name", "timezone")
"""The session settings that PgBouncer accepts when a client connects, and sets on the server for each transaction."""
ATTEMPTS = 20
WAIT_SECONDS = 2.0
UNREACHABLE = (
    OSError,
    ValueError,  # A URL that cannot be read.
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # A standby where a primary is needed, or the reverse.
)
"""The errors of connecting to a server that cannot be used."""


class Pooler(msgspec.Struct, frozen=True):
    """What a pooler does with the sessions of the shop."""

    name: str
    mode: str
    """`transaction`, `session` or `statement`."""
    wrong_settings: Mapping[str, str]
    """The session settings that do not apply, with the values that they should have."""
    keeps_prepared: bool | None
    """Whether a prepared statement works on every server connection; None if that could not be tried."""


def is_rejected_setting(error: BaseException) -> bool:
    """Returns whether PgBouncer refused the connection because of a setting that it cannot forward."""
    return isinstance(error, asyncpg.ProtocolViolationError) and "startup parameter" in str(error)


def forwarded_settings(settings: Mapping[str, str]) -> dict[str, str]:
    return {name: settings[name] for name in FORWARDED_SETTINGS if name in settings}


async def is_pooled(url: str) -> bool:
    """Returns whether a pooler answers; an unreachable database is not."""
    async with AsyncExitStack() as stack:
        try:
            return await _is_pooled(await _connect(stack, Hosts(url), {}))
        except UNREACHABLE:
            return False


async def _is_pooled(connection: Any) -> bool:
    """A pooler invents the process id that it reports to its clients."""
    return bool(connection.get_server_pid() != await connection.fetchval("select pg_backend_pid()"))


async def find_pooler(url: str, settings: Mapping[str, str]) -> Pooler | None:
    """Returns the pooler of a database URL, or None if the URL leads to PostgreSQL itself or to no server."""
    try:
        return await _inspect(Hosts(url), settings)
    except UNREACHABLE:
        return None  # Other checks report it.


async def _inspect(hosts: Hosts, settings: Mapping[str, str]) -> Pooler | None:
    async with AsyncExitStack() as stack:
        first = await _connect(stack, hosts, forwarded_settings(settings))
        if not await _is_pooled(first):
            return None
        second = await _connect(stack, hosts, forwarded_settings(settings))
        wrong_settings = await _find_wrong_settings(first, settings)
        mode, keeps_prepared = await _try_modes(first, second)
        name = "PgBouncer" if await _is_pgbouncer(hosts) else "a connection pooler"
        return Pooler(name, mode, wrong_settings, keeps_prepared)


async def _connect(stack: AsyncExitStack, hosts: Hosts, settings: Mapping[str, str]) -> Any:
    connection = await hosts.connect(lambda url: connect_to(url, seconds=5, server_settings=dict(settings)))
    stack.callback(connection.terminate)
    return connection


async def _is_pgbouncer(hosts: Hosts) -> bool:
    """PostgreSQL accepts any setting with a dot in its name; PgBouncer refuses those that it does not know."""
    async with AsyncExitStack() as stack:
        try:
            await _connect(stack, hosts, {"shop.probe": "on"})
        except asyncpg.PostgresError as error:
            return is_rejected_setting(error)
    return False


async def _find_wrong_settings(connection: Any, settings: Mapping[str, str]) -> dict[str, str]:
    wrong: dict[str, str] = {}
    for name, value in settings.items():
        if await connection.fetchval("select current_setting($1)", name) != value:
            wrong[name] = value
    return wrong


async def _try_modes(first: Any, second: Any) -> tuple[str, bool | None]:
    """Tries to get the server connection that the first client has just used in a transaction of the second one. If
    this works, clients share server connections, and the first client continues on another one.
    """
    statement = await first.prepare("select pg_backend_pid()", name=f"shop_{token_hex(8)}")
    for _ in range(ATTEMPTS):
        try:
            server_pid = await statement.fetchval()
        except asyncpg.InvalidSQLStatementNameError:
            return "transaction", False
        transaction = second.transaction()
        try:
            await transaction.start()
        except asyncpg.PostgresError:
            return "statement", None
        try:
            if await second.fetchval("select pg_backend_pid()") == server_pid:
                return "transaction", await _works_elsewhere(statement)
        finally:
            await transaction.rollback()
    return "session", True


async def _works_elsewhere(statement: Any) -> bool | None:
    try:
        await asyncio.wait_for(statement.fetchval(), WAIT_SECONDS)
    except asyncpg.InvalidSQLStatementNameError:
        return False
    except TimeoutError:
        return None  # The pooler has a single server connection.
    return True
