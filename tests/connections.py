"""Connections to databases that tests use one after another."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg


@asynccontextmanager
async def as_new(kept: dict[str, Any], url: str) -> AsyncIterator[Any]:
    """A connection to this address out of those that are kept, with nothing of its last user left."""
    if url not in kept or kept[url].is_closed():
        kept[url] = await asyncpg.connect(url)
    yield kept[url]
    if not kept[url].is_closed():
        await kept[url].reset()
