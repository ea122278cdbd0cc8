"""Alembic environment: runs revisions over asyncpg, each in its own transaction, one process at a time."""

import asyncio
import time
from functools import partial
from importlib import import_module
from typing import Any

from alembic import context
from sqlalchemy import Connection, text
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

from shop.db.hosts import Hosts, connect_to
from shop.db.rows import metadata
from shop.migrations.upgrade import LOCK, MODEL_MODULES, PARTITION

LOCK_SECONDS = 0.1

for name in MODEL_MODULES:
    import_module(name)


def run(connection: Connection) -> None:
    options: dict[str, Any] = {
        "compare_type": True,
        "compare_server_default": True,
        "transaction_per_migration": True,
        "include_name": _is_declared,
    }
    _lock(connection)
    context.configure(connection=connection, target_metadata=metadata, **options)
    with context.begin_transaction():
        context.run_migrations()


def _is_declared(name: str | None, kind: str, _parents: Any) -> bool:
    """Returns whether a table is declared; the program creates and drops the partitions of others itself."""
    return kind != "table" or not PARTITION.fullmatch(name or "")


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


asyncio.run(run_connected())
