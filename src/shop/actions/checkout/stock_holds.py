"""Stock reservations for carts about to be paid, with a time limit; reserved stock is unavailable to other carts."""

from collections.abc import Mapping
from uuid import UUID

import msgspec

from shop.actions.cart.orders import Checkout
from shop.actions.catalog.reservations import release_stock, reserve_stock
from shop.actions.checkout.parts import get_quotes, get_stock
from shop.actions.checkout.shipments import pack_order
from shop.actions.context import Context, Shared
from shop.base.errors import Invalid
from shop.models.cart.quotes import Quote
from shop.queries.cart import orders
from shop.queries.catalog import stock

OUT_OF_STOCK = "An item is out of stock; remove it from the cart."


async def reserve_items(ctx: Context, checkout: Checkout) -> Checkout:
    """Reserves the cart's stock for the configured time; does nothing if the shop reserves none."""
    seconds = ctx.shared.settings.hold_seconds
    if not seconds or not checkout.shipments:
        return checkout
    checkout = await release_items(ctx, checkout)
    variant_quotes = await get_quotes(ctx, checkout)
    checkout, quantities = await allocate_stock(ctx, checkout, variant_quotes)
    await reserve_stock(
        ctx, checkout.order, quantities, [quote.product_id for quote in variant_quotes.values()], seconds
    )
    return msgspec.structs.replace(checkout, quotes=None, stock=None, has_reservations=True)


async def release_items(ctx: Context, checkout: Checkout) -> Checkout:
    """Releases the cart's stock, which is then available to it again."""
    if not checkout.has_reservations:
        return checkout
    await release_stock(ctx, checkout.order)
    return msgspec.structs.replace(checkout, quotes=None, stock=None, has_reservations=False)


async def release_due(shared: Shared) -> int:
    """Releases expired reservations; returns the number of carts."""
    due = await stock.list_expired_reservations(shared.database.session())
    for order_id in due:
        ctx = Context(shared)
        async with ctx.db.transaction():
            order = await orders.lock_open_cart(ctx.db, order_id)
            if order and order_id in await stock.list_expired_reservations(ctx.db):
                await release_stock(ctx, order)
    return len(due)


async def allocate_stock(
    ctx: Context, checkout: Checkout, variant_quotes: Mapping[UUID, Quote]
) -> tuple[Checkout, Mapping[UUID, int]]:
    """Returns the quantity of each stock item that the shipments need; repacks if a location has run out."""
    for _ in range(2):
        stock_levels = await get_stock(ctx, checkout)
        levels_by_location = {
            (stock_level.stock_location_id, stock_level.variant_id): stock_level for stock_level in stock_levels
        }
        places = {shipment.id: shipment.stock_location_id for shipment in checkout.shipments}
        quantities: dict[UUID, int] = {}
        fits = True
        # Units at hand come first: those of the same stock item that are backordered get what they leave.
        for item in sorted(checkout.items, key=lambda item: item.backordered):
            if not variant_quotes[item.variant_id].is_tracked:
                continue
            stock_level = levels_by_location.get((places[item.shipment_id], item.variant_id))
            if stock_level is None:
                fits = False
                break
            taken = quantities.get(stock_level.stock_item_id, 0)
            left = stock_level.on_hand - taken
            is_available = stock_level.backorderable or left >= item.quantity
            is_same = item.backordered == 0 or left < item.quantity
            if not is_available or not is_same:
                fits = False
                break
            quantities[stock_level.stock_item_id] = taken + item.quantity
        if fits:
            return checkout, quantities
        checkout = await pack_order(ctx, checkout)
    raise Invalid({"line_items": [OUT_OF_STOCK]}, OUT_OF_STOCK, code="out_of_stock")
