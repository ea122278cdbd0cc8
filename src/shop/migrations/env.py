"""Alembic's entry: runs revisions over asyncpg, each in a transaction of its own, one process at a time."""

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
from shop.migrations.upgrade import CHAPTERS, LOCK

LOCK_SECONDS = 0.1

for chapter in CHAPTERS:
    import_module(chapter)


def run(connection: Connection) -> None:
    options: dict[str, Any] = {"compare_type": True, "compare_server_default": True, "transaction_per_migration": True}
    _lock(connection)
    context.configure(connection=connection, target_metadata=metadata, **options)
    with context.begin_transaction():
        context.run_migrations()


def _lock(connection: Connection) -> None:
    """Held to the end of the connection: a second migrator waits here and then finds nothing left to do. It asks again
    and again instead of waiting in the database: an index that is built concurrently would wait for its transaction.
    """
    while not connection.scalar(text(f"select pg_try_advisory_lock({LOCK})")):
        connection.rollback()
        time.sleep(LOCK_SECONDS)
    connection.commit()


async def run_connected() -> None:
    url = context.config.attributes["database_url"]
    # asyncpg reads the address itself: SQLAlchemy's own reading of it knows no socket directory.
    connect = partial(Hosts(url).connect, partial(connect_to, seconds=10))
    engine = create_async_engine("postgresql+asyncpg://", poolclass=NullPool, async_creator=connect)
    try:
        async with engine.connect() as connection:
            await connection.run_sync(run)
            await connection.commit()
    finally:
        await engine.dispose()


asyncio.run(run_connected())
