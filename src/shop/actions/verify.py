"""Whether everything adds up: every total, every count, every payment."""

from collections.abc import AsyncIterator

from shop.db.pool import Session
from shop.queries import verify as queries

NAMES = tuple(queries.NAMES)
"""What is looked at."""


async def verify(db: Session) -> AsyncIterator[tuple[str, list[tuple[str, str]]]]:
    """Each thing that is looked at, with what is wrong about it; all of it as of one moment."""
    async with db.transaction(is_snapshot=True):
        for name in queries.NAMES:
            yield name, await queries.list_findings(db, name)
