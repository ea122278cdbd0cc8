"""Connections to databases that tests use one after another."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg


@asynccontextmanager
async def borrow_connection(connections: dict[str, Any], url: str) -> AsyncIterator[Any]:
    """The connection to this URL, opened if there is none; it is reset after use."""
    if url not in connections or connections[url].is_closed():
        connections[url] = await asyncpg.connect(url)
    yield connections[url]
    if not connections[url].is_closed():
        await connections[url].reset()
