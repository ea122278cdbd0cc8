"""How goods are held for somebody who is about to pay, and for how long; what is held is nobody else's meanwhile."""

from collections.abc import Mapping
from uuid import UUID

from shop.actions.cart.line_items import pricing_of
from shop.actions.cart.order_state import Checkout
from shop.actions.catalog.reservations import give_back, take
from shop.actions.checkout.shipments import pack_order
from shop.actions.context import Context, Shared
from shop.base.errors import Invalid
from shop.models.cart.quotes import Quote
from shop.queries.cart import orders
from shop.queries.catalog import quotes, stock
from shop.queries.checkout import shipments

GONE = "Of something there is none left; take it out of the cart."


async def hold_goods(ctx: Context, checkout: Checkout) -> Checkout:
    """While the shop is set up to hold goods: from now on, for as long as it says."""
    seconds = ctx.shared.settings.hold_seconds
    if not seconds or not checkout.shipments:
        return checkout
    await give_back(ctx, checkout.order)
    pieces = {line.variant_id: line.quantity for line in checkout.lines}
    known = await quotes.list_quotes(ctx.db, await pricing_of(ctx, checkout.order), pieces)
    checkout, wanted = await shelves_for(ctx, checkout, known)
    await take(ctx, checkout.order, wanted, [quote.product_id for quote in known.values()], seconds)
    return checkout


async def release_due(shared: Shared) -> int:
    """Puts back what was held for too long. Says for how many carts."""
    due = await stock.list_expired(shared.database.session())
    for order_id in due:
        ctx = Context(shared)
        async with ctx.db.transaction():
            order = await orders.lock_open_cart(ctx.db, order_id)
            if order and order_id in await stock.list_expired(ctx.db):
                await give_back(ctx, order)
    return len(due)


async def shelves_for(
    ctx: Context, checkout: Checkout, known: Mapping[UUID, Quote]
) -> tuple[Checkout, Mapping[UUID, int]]:
    """How many of which stock items the parcels take; packed anew where a shelf has emptied since."""
    for _ in range(2):
        shelves = await shipments.list_shelves(ctx.db, [line.variant_id for line in checkout.lines])
        at = {(shelf.stock_location_id, shelf.variant_id): shelf for shelf in shelves}
        places = {shipment.id: shipment.stock_location_id for shipment in checkout.shipments}
        wanted: dict[UUID, int] = {}
        fits = True
        for item in checkout.items:
            if not known[item.variant_id].is_tracked:
                continue
            shelf = at.get((places[item.shipment_id], item.variant_id))
            there = shelf is not None and (shelf.backorderable or shelf.on_hand >= item.quantity)
            is_same = shelf is not None and (item.backordered == 0 or shelf.on_hand < item.quantity)
            if shelf is None or not there or not is_same:
                fits = False
                break
            wanted[shelf.stock_item_id] = wanted.get(shelf.stock_item_id, 0) + item.quantity
        if fits:
            return checkout, wanted
        checkout = await pack_order(ctx, checkout)
    raise Invalid({"line_items": [GONE]}, GONE, code="out_of_stock")
