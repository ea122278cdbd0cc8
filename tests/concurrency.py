"""Requests that are all under way before any of them is done."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from tests.admin.dashboard import waiting
from tests.shopper import Answer


async def at_once(db: Any, table: str, record_id: Any, *calls: Coroutine[Any, Any, Answer]) -> list[Answer]:
    """What each is answered. They are let go together, when every one of them waits for this row: at most as many as a
    process has connections.
    """
    async with db.transaction():
        await db.execute(f"select from {table} where id = $1 for update", record_id)
        running = [asyncio.create_task(call) for call in calls]
        await waiting(db, len(calls))
    return await asyncio.gather(*running)
