"""Stock reservations for carts about to be paid, with a time limit; reserved stock is unavailable to other carts."""

from collections.abc import Mapping
from uuid import UUID

from shop.actions.cart.locked_carts import get_pricing
from shop.actions.cart.orders import Checkout
from shop.actions.catalog.reservations import release_stock, reserve_stock
from shop.actions.checkout.shipments import pack_order
from shop.actions.context import Context, Shared
from shop.base.errors import Invalid
from shop.models.cart.quotes import Quote
from shop.queries.cart import orders
from shop.queries.catalog import quotes, stock
from shop.queries.checkout import shipments

OUT_OF_STOCK = "An item is out of stock; remove it from the cart."


async def reserve_items(ctx: Context, checkout: Checkout) -> Checkout:
    """Reserves the cart's stock for the configured time; does nothing if the shop reserves none."""
    seconds = ctx.shared.settings.hold_seconds
    if not seconds or not checkout.shipments:
        return checkout
    await release_stock(ctx, checkout.order)
    line_quantities = {line.variant_id: line.quantity for line in checkout.lines}
    variant_quotes = await quotes.list_quotes(ctx.db, await get_pricing(ctx, checkout.order), line_quantities)
    checkout, quantities = await allocate_stock(ctx, checkout, variant_quotes)
    await reserve_stock(
        ctx, checkout.order, quantities, [quote.product_id for quote in variant_quotes.values()], seconds
    )
    return checkout


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
        stock_levels = await shipments.list_stock_of_variants(ctx.db, [line.variant_id for line in checkout.lines])
        levels_by_location = {
            (stock_level.stock_location_id, stock_level.variant_id): stock_level for stock_level in stock_levels
        }
        places = {shipment.id: shipment.stock_location_id for shipment in checkout.shipments}
        quantities: dict[UUID, int] = {}
        fits = True
        for item in checkout.items:
            if not variant_quotes[item.variant_id].is_tracked:
                continue
            stock_level = levels_by_location.get((places[item.shipment_id], item.variant_id))
            is_available = stock_level is not None and (
                stock_level.backorderable or stock_level.on_hand >= item.quantity
            )
            is_same = stock_level is not None and (item.backordered == 0 or stock_level.on_hand < item.quantity)
            if stock_level is None or not is_available or not is_same:
                fits = False
                break
            quantities[stock_level.stock_item_id] = quantities.get(stock_level.stock_item_id, 0) + item.quantity
        if fits:
            return checkout, quantities
        checkout = await pack_order(ctx, checkout)
    raise Invalid({"line_items": [OUT_OF_STOCK]}, OUT_OF_STOCK, code="out_of_stock")
