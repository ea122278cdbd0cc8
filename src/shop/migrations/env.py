"""Alembic environment: runs revisions over asyncpg, each in its own transaction, one process at a time.

No statement waits long for a lock, because requests wait behind it. A revision that does not get its locks is rolled
back and tried again, for ten minutes.
"""

import asyncio
import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

from alembic import context
from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

from shop.db.hosts import Hosts, connect_to
from shop.db.rows import metadata
from shop.migrations.foreign_changes import watch_changes
from shop.migrations.online import LOCK_TIMEOUT
from shop.migrations.upgrade import LOCK, MODEL_MODULES, PARTITION

LOCK_SECONDS = 0.1
RETRY_SECONDS = 600
LONGEST_PAUSE = 5
RETRIED_ERRORS = {"55P03", "40P01"}
"""lock_not_available and deadlock_detected."""

for name in MODEL_MODULES:
    import_module(name)


def run(connection: Connection) -> None:
    _lock(connection)
    connection.execute(text(f"set lock_timeout = '{LOCK_TIMEOUT}'"))
    connection.commit()
    end, pause = time.monotonic() + RETRY_SECONDS, LOCK_SECONDS
    while not _try_migrations(connection, is_last_try=time.monotonic() > end):
        time.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)


def _try_migrations(connection: Connection, *, is_last_try: bool) -> bool:
    """Runs the revisions that are missing; returns False if one did not get its locks. Those before it are done."""
    _configure(connection=connection)
    try:
        with context.begin_transaction():
            context.run_migrations()
    except DBAPIError as error:
        if is_last_try or getattr(error.orig, "sqlstate", None) not in RETRIED_ERRORS:
            raise
        connection.rollback()
        if on_retry := context.config.attributes.get("on_retry"):
            on_retry()
        return False
    return True


def _configure(connection: Connection | None = None, **options: Any) -> None:
    attributes = context.config.attributes
    calls: list[Callable[..., None]] = []
    if name := attributes.get("extension"):
        options["version_table"] = attributes["version_table"]
        if connection is not None:
            calls.append(watch_changes(connection, name))
    if on_step := attributes.get("on_version_apply"):
        calls.append(on_step)

    def apply_version(*_parts: Any, **facts: Any) -> None:
        for call in calls:
            call(**facts)

    context.configure(
        connection=connection,
        on_version_apply=apply_version,
        target_metadata=attributes.get("metadata", metadata),
        compare_type=True,
        compare_server_default=True,
        transaction_per_migration=True,
        include_name=_is_declared,
        **options,
    )


def print_statements() -> None:
    """Prints the statements instead of running them."""
    _configure(dialect_name="postgresql", literal_binds=True)
    with context.begin_transaction():
        context.run_migrations()


def _is_declared(name: str | None, kind: str, _parents: Any) -> bool:
    """Returns whether a table is declared; the program creates and drops the partitions of others itself. The tables of
    an extension belong only to its own migrations.
    """
    if kind != "table" or name is None:
        return True
    attributes = context.config.attributes
    if extension := attributes.get("extension"):
        return name.startswith(f"x_{extension}_") and name != attributes["version_table"]
    return not name.startswith("x_") and not PARTITION.fullmatch(name)


def _lock(connection: Connection) -> None:
    """Takes the advisory lock until the connection ends: a second migrator waits here and then finds nothing to do. It
    polls instead of blocking, because a concurrent index build would wait for the blocked transaction.
    """
    while not connection.scalar(text(f"select pg_try_advisory_lock({LOCK})")):
        connection.rollback()
        time.sleep(LOCK_SECONDS)
    connection.commit()


async def run_connected() -> None:
    url = context.config.attributes["database_url"]
    # asyncpg parses the URL itself, because SQLAlchemy's parser does not support socket directories.
    # The role of a shop behind a pooler has time limits, which do not apply to migrations.
    no_limits = {"statement_timeout": "0", "lock_timeout": "0", "idle_in_transaction_session_timeout": "0"}
    connect = partial(Hosts(url).connect, partial(connect_to, seconds=10, server_settings=no_limits))
    engine = create_async_engine("postgresql+asyncpg://", poolclass=NullPool, async_creator=connect)
    try:
        async with engine.connect() as connection:
            await connection.run_sync(run)
            await connection.commit()
    finally:
        await engine.dispose()


if context.is_offline_mode():
    print_statements()
else:
    asyncio.run(run_connected())
