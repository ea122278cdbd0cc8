"""Sends requests that are all under way before the first one ends."""

import asyncio
from collections.abc import Coroutine
from datetime import timedelta
from typing import Any, TypeVar
from uuid import UUID

T = TypeVar("T")
_PATIENCE = timedelta(seconds=1)
"""Half of the `lock_timeout` of the shop."""


async def wait_for_locks(db: Any, count: int) -> None:
    """Waits until this many statements wait for a lock. On a slow machine two are enough, which is still a race: the
    first one would reach `lock_timeout` before the last one starts.
    """
    query = """select count(*), coalesce(max(clock_timestamp() - query_start), '0') from pg_stat_activity
        where wait_event_type = 'Lock' and datname = current_database() and pid <> pg_backend_pid()"""
    async with asyncio.timeout(30):
        while True:
            waiting, longest = await db.fetchrow(query)
            if waiting >= count or (waiting >= 2 and longest > _PATIENCE):
                return
            await asyncio.sleep(0.01)
            await db.execute("select pg_stat_clear_snapshot()")


async def run_concurrently(db: Any, table: str, record_id: Any, *calls: Coroutine[Any, Any, T]) -> list[T]:
    """The responses. Locks this row until every request waits for it, and then lets all go on; there may be at most as
    many requests as a process has connections.
    """
    async with db.transaction():
        await db.execute(f"select from {table} where id = $1 for update", record_id)
        running = [asyncio.create_task(call) for call in calls]
        await wait_for_locks(db, len(calls))
    return await asyncio.gather(*running)


async def run_in_turn(db: Any, order_id: UUID, *calls: Coroutine[Any, Any, T]) -> list[T]:
    """The responses. All requests read the order before the first one changes it; they change it in this order."""
    async with db.transaction():
        await db.execute("select from orders where id = $1 for update", order_id)
        running = []
        for call in calls:
            running.append(asyncio.create_task(call))
            await wait_for_locks(db, len(running))
    return await asyncio.gather(*running)
