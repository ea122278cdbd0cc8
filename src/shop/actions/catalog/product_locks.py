"""Locks and current values needed before a product update."""

from collections.abc import Awaitable, Callable
from uuid import UUID

from shop.actions.catalog.products import MASTER_FIELDS, PRICE
from shop.actions.context import Context
from shop.actions.records import Values
from shop.base.errors import NotFound
from shop.base.money import major_units
from shop.models.catalog.inputs import ProductInput, VariantInput, VariantPriceInput
from shop.models.catalog.storefront import PlatformProduct, PlatformVariant
from shop.queries.catalog import product_index
from shop.queries.catalog import products as queries
from shop.queries.records import Records


def build_product_lock(records: Records) -> Callable[[Context, UUID], Awaitable[None]]:
    """Returns a function that locks the products of a record before the record; product updates lock in this order."""

    async def lock_products(ctx: Context, record_id: UUID) -> None:
        await product_index.lock_products(ctx.db, await queries.list_owners(ctx.db, records.table, record_id))

    return lock_products


async def get_current_product_values(ctx: Context, product: PlatformProduct, values: ProductInput) -> Values:
    """Returns the current values of product fields that are stored on the master variant."""
    master = await queries.find_master(ctx.db, product.id)
    if master is None:
        raise NotFound()
    masters = {name: getattr(master, name) for name in MASTER_FIELDS if name in values}
    return {**masters, **await _current_price(ctx, master.id, values)}


async def get_current_variant_values(ctx: Context, variant: PlatformVariant, values: VariantInput) -> Values:
    """Returns the current price, and the current cost price if it is in the currency of the update."""
    cost: dict[str, object] = {}
    if "cost_price" in values and variant.cost_price is not None:
        currency = values.get("cost_currency") or variant.cost_currency
        is_current = currency == variant.cost_currency
        cost["cost_price"] = major_units(variant.cost_price, currency) if currency and is_current else None
    return {**cost, **await _current_price(ctx, variant.id, values)}


async def _current_price(ctx: Context, variant_id: UUID, values: VariantPriceInput) -> Values:
    """Returns the current price in the currency of the update."""
    if not values.keys() & {"currency", *PRICE}:
        return {}
    currency = values.get("currency") or ctx.shared.shop.currencies[0]
    price = await queries.find_price(ctx.db, variant_id, currency)
    amounts = (price.amount, price.compare_at_amount) if price else (None, None)
    major_amounts = [None if amount is None else major_units(amount, currency) for amount in amounts]
    return {**dict(zip(PRICE, major_amounts, strict=True)), "currency": values.get("currency")}
