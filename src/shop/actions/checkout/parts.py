"""What a checkout depends on: read with the order if possible, else when it is needed."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from shop.actions.cart.locked_carts import get_pricing
from shop.actions.cart.orders import Checkout
from shop.actions.context import Context
from shop.models.cart.quotes import Quote
from shop.queries.catalog import quotes
from shop.queries.checkout import shipments
from shop.queries.setup import taxes
from shop.rules.cart.totals import Rate
from shop.rules.setup.shipping import LocationStock, ShippingOption


async def list_tax_rates(ctx: Context, checkout: Checkout) -> Sequence[Rate]:
    """Returns the tax rates at the shipping address; without an address, those of the default tax zone."""
    country_id, state_id = await find_destination(ctx, checkout) or (None, None)
    return await ctx.read_setup(taxes.list_rates_at, country_id, state_id)


async def find_destination(ctx: Context, checkout: Checkout) -> tuple[UUID, UUID | None] | None:
    """Returns the country and the state of the shipping address."""
    address_id, destination = checkout.order.ship_address_id, checkout.destination
    if address_id is None:
        return None
    if destination is not None and destination.address_id == address_id:
        return destination.country_id, destination.state_id
    return await shipments.find_destination(ctx.db, address_id)


async def list_methods(ctx: Context, destination: tuple[UUID, UUID | None], currency: str) -> Sequence[ShippingOption]:
    """Returns the shipping methods for a country and state, with their amounts in a currency."""
    return await ctx.read_setup(shipments.list_methods, *destination, currency)


async def get_quotes(ctx: Context, checkout: Checkout) -> Mapping[UUID, Quote]:
    """Returns the quotes of the lines, by variant."""
    if checkout.quotes is not None and checkout.order.user_id is None:
        return checkout.quotes
    quantities = {line.variant_id: line.quantity for line in checkout.lines}
    return await quotes.list_quotes(ctx.db, await get_pricing(ctx, checkout.order), quantities)


async def get_stock(ctx: Context, checkout: Checkout) -> Sequence[LocationStock]:
    """Returns the stock of the lines at active locations."""
    if checkout.stock is not None:
        return checkout.stock
    return await shipments.list_stock_of_variants(ctx.db, [line.variant_id for line in checkout.lines])
