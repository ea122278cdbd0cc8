"""Read-only views of an order during and after checkout; they take no locks."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from shop.actions.cart.carts import get_cart
from shop.actions.cart.orders import Checkout, find_checkout, load_checkout
from shop.actions.checkout.parts import list_tax_rates
from shop.actions.checkout.shipments import estimate, explain_totals, quote_shipments
from shop.actions.context import Context
from shop.base.errors import NotFound
from shop.base.ids import as_uuid
from shop.models.cart.orders import Order
from shop.models.catalog.stock import StockLocation
from shop.models.checkout.payments import CreditCard, PaymentMethod
from shop.models.checkout.shipments import ShippingMethod, ShippingRate
from shop.models.checkout.store_credit import StoreCredit
from shop.models.customers.addresses import AddressWithCountry
from shop.queries.cart import carts, orders
from shop.queries.catalog import stock
from shop.queries.checkout import shipments, store_credit
from shop.queries.customers import users
from shop.queries.payments import payments, saved_cards
from shop.rules.cart.totals import Totals


async def get_checkout(ctx: Context) -> Checkout:
    return await load_checkout(ctx, await get_cart(ctx))


async def get_shipments(ctx: Context) -> Checkout:
    """Returns a cart with its shipments and rates, quoted if none are stored; writes nothing."""
    is_guest = ctx.claim.cart_id is not None and ctx.claim.bearer is None
    if is_guest and (checkout := await find_checkout(ctx, with_quotes=False)) and checkout.shipments:
        return checkout
    async with ctx.db.transaction(is_snapshot=True):
        checkout = await get_checkout(ctx)
        return checkout if checkout.shipments else await quote_shipments(ctx, checkout)


async def estimate_rates(ctx: Context, country: str | None) -> list[tuple[str, ShippingRate]]:
    """Returns shipping rates and their currency for a country, given by code or id; by default the shop's country."""
    order = await get_cart(ctx)
    code = (country or ctx.shared.shop.default_country).upper()
    destination = await users.find_country(ctx.db, code=code, country_id=as_uuid(country))
    if destination is None:
        raise NotFound()
    return [(order.currency, rate) for rate in await estimate(ctx, await load_checkout(ctx, order), destination.id)]


async def list_payment_methods(ctx: Context) -> list[PaymentMethod]:
    await get_cart(ctx)
    return await list_offered_methods(ctx)


async def list_offered_methods(ctx: Context) -> list[PaymentMethod]:
    """Lists the payment methods that shoppers can use now, without store credit."""
    methods = await payments.list_methods(ctx.db)
    return [public_method(ctx, method) for method in methods if ctx.can_pay_with(method.type)]


async def list_website_methods(ctx: Context) -> list[PaymentMethod]:
    """Lists the payment methods that the website has a form for: Stripe's needs its publishable key."""
    methods = await list_offered_methods(ctx)
    return [method for method in methods if method.type != "stripe" or method.preferences.get("publishable_key")]


async def can_pay_online(ctx: Context) -> bool:
    """Returns whether the website can charge a card now."""
    return any(ctx.providers[method.type].needs_source for method in await list_website_methods(ctx))


async def get_order_status(ctx: Context, number: str) -> Order:
    """Returns an order to the holder of its token until the token expires, or to its owner at any time."""
    order = None
    if ctx.claim.bearer:
        order = await orders.find_completed(ctx.db, (await ctx.signed_in()).user.id, number)
    if order is None and ctx.claim.cart_id:
        ttl = ctx.shared.settings.order_status_ttl
        order = await carts.find_status(ctx.db, ctx.claim, number, ttl)
    if order is None:
        raise NotFound()
    return order


async def find_reservation_expiry(ctx: Context, order: Order) -> datetime | None:
    """Returns when the order's stock reservation expires."""
    return await stock.find_reservation_expiry(ctx.db, order.id) if ctx.shared.settings.hold_seconds else None


async def list_stock_locations(ctx: Context) -> Sequence[StockLocation]:
    return await ctx.read_setup(shipments.list_locations)


async def list_shipping_methods_of(ctx: Context, ids: Sequence[UUID]) -> Sequence[ShippingMethod]:
    return await ctx.read_setup(shipments.list_methods_of, tuple(ids))


async def list_methods_of(ctx: Context, ids: list[UUID]) -> Mapping[UUID, PaymentMethod]:
    methods = await ctx.read_setup(payments.list_methods_of, tuple(ids))
    return {method_id: public_method(ctx, method) for method_id, method in methods.items()}


def public_method(ctx: Context, method: PaymentMethod) -> PaymentMethod:
    """Adds the provider preferences that a client's payment form needs."""
    provider = ctx.providers.get(method.type)
    if provider is None or not provider.preferences:
        return method
    return msgspec.structs.replace(method, preferences={**method.preferences, **provider.preferences})


async def list_sources_of(ctx: Context, ids: list[UUID]) -> Mapping[UUID, CreditCard]:
    return await saved_cards.list_sources_of(ctx.db, ids)


async def list_credits_of(ctx: Context, payment_ids: list[UUID]) -> Mapping[UUID, StoreCredit]:
    return await store_credit.list_sources_of(ctx.db, payment_ids)


async def find_addresses(ctx: Context, ids: list[UUID]) -> Mapping[UUID, AddressWithCountry]:
    return await users.find_addresses(ctx.db, ids)


async def explain_current_totals(ctx: Context, checkout: Checkout) -> Totals:
    """Returns the current totals with their calculation steps."""
    return explain_totals(checkout, await list_tax_rates(ctx, checkout))
