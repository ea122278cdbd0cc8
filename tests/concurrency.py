"""Sends requests that are all under way before the first one ends."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from tests.admin.dashboard import wait_for_locks
from tests.shopper import Answer


async def run_concurrently(db: Any, table: str, record_id: Any, *calls: Coroutine[Any, Any, Answer]) -> list[Answer]:
    """The responses. Locks this row until every request waits for it, and then lets all go on; there may be at most as
    many requests as a process has connections.
    """
    async with db.transaction():
        await db.execute(f"select from {table} where id = $1 for update", record_id)
        running = [asyncio.create_task(call) for call in calls]
        await wait_for_locks(db, len(calls))
    return await asyncio.gather(*running)
