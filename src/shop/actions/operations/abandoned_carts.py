"""Notes carts that were left alone, once each."""

from shop.actions.context import Context, Shared
from shop.actions.event_subjects import ORDER
from shop.actions.events import note_event
from shop.base.actor import SHOP_ACTOR
from shop.queries.operations.abandoned_carts import mark_abandoned

BATCH = 100


async def note_abandoned_carts(shared: Shared) -> int:
    """Notes a batch of carts with an e-mail address that nobody changed for a day; returns their number."""
    ctx = Context(shared)
    ctx.actor = SHOP_ACTOR
    async with ctx.db.transaction():
        cart_ids = await mark_abandoned(ctx.db, BATCH)
        for cart_id in cart_ids:
            note_event(ctx, "cart.abandoned", ORDER, cart_id)
    return len(cart_ids)
