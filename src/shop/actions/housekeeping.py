"""What is thrown away, and when: in small batches, by one process at a time, while the shop serves."""

from shop.actions.context import Shared
from shop.actions.media import remove_loose
from shop.queries import housekeeping

BATCH = 1000
ROUNDS = 20
"""At most so many batches of a kind at a time; the rest waits for the next round."""


async def keep_house(shared: Shared) -> dict[str, int]:
    """How much of each kind was thrown away; nothing when another process is at it."""
    settings = shared.settings
    removed: dict[str, int] = {}
    for kind, purge in housekeeping.PURGES.items():
        for _ in range(ROUNDS):
            db = shared.database.session()
            async with db.transaction():
                if not await housekeeping.take_broom(db):
                    return removed
                count = len(await db.all(purge, most=BATCH, **_lifetimes(purge.parameters, settings.cart_idle_ttl)))
            removed[kind] = removed.get(kind, 0) + count
            if count < BATCH:
                break
    removed["loose pictures"] = await remove_loose(shared, BATCH)
    return {kind: count for kind, count in removed.items() if count}


def _lifetimes(parameters: tuple[str, ...], cart_idle: int) -> dict[str, int]:
    return {"cart_idle": cart_idle} if "cart_idle" in parameters else {}
