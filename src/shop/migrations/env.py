"""Alembic's entry: runs revisions over asyncpg, in one transaction, one process at a time."""

import asyncio
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

for chapter in CHAPTERS:
    import_module(chapter)


def run(connection: Connection) -> None:
    options: dict[str, Any] = {"compare_type": True, "compare_server_default": True}
    context.configure(connection=connection, target_metadata=metadata, **options)
    with context.begin_transaction():
        # Held to the end of the transaction: a second migrator waits here and then finds nothing left to do.
        connection.execute(text(f"select pg_advisory_xact_lock({LOCK})"))
        context.run_migrations()


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
