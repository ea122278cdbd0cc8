"""Measures once how far replicas lag, for a report."""

import asyncio
from collections.abc import Sequence
from time import monotonic

from shop.db.hosts import Hosts, connect_to
from shop.db.poolers import UNREACHABLE
from shop.db.replicas import CHECK_SECONDS, PRIMARY_POSITION, REPLICA_POSITION, replica_name

MAX_SECONDS = 5.0


async def measure_lags(primary_url: str, urls: Sequence[str]) -> dict[str, float | None]:
    """Returns the seconds that each replica needs to replay the current position of the primary; None for a server that
    does not answer, is not a standby, or needs longer than MAX_SECONDS.
    """
    start = monotonic()
    try:
        primary = await Hosts(primary_url).connect()
    except UNREACHABLE:
        return {replica_name(url): None for url in urls}
    try:
        position = await primary.fetchval(PRIMARY_POSITION)
    finally:
        await primary.close()
    lags = await asyncio.gather(*(_wait_for_position(url, position, start) for url in urls))
    return dict(zip(map(replica_name, urls), lags, strict=True))


async def _wait_for_position(url: str, position: int, start: float) -> float | None:
    try:
        connection = await connect_to(url, target_session_attrs="standby")
    except UNREACHABLE:
        return None
    try:
        while monotonic() - start < MAX_SECONDS:
            if (await connection.fetchval(REPLICA_POSITION) or -1) >= position:
                return monotonic() - start
            await asyncio.sleep(CHECK_SECONDS)
    except UNREACHABLE:
        return None
    finally:
        connection.terminate()
    return None
