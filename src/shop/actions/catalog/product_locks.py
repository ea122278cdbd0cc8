"""What stands before a change of what products show: what is locked first, and what there was, as a caller says it."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from uuid import UUID

from shop.actions.catalog.products import MASTERS, PRICE
from shop.actions.context import Context
from shop.base.errors import NotFound
from shop.base.money import major_units
from shop.queries.catalog import product_index
from shop.queries.catalog import products as queries
from shop.queries.records import Records

Values = Mapping[str, Any]


def holding_products(records: Records) -> Callable[[Context, UUID], Awaitable[None]]:
    """Locks the products that show a record, before the record: whoever changes a product begins with it."""

    async def hold(ctx: Context, record_id: UUID) -> None:
        await product_index.lock_products(ctx.db, await queries.list_owners(ctx.db, records.table, record_id))

    return hold


async def present_product(ctx: Context, product: Any, values: Values) -> Values:
    """What may be said of a product and is its master's."""
    master = await queries.find_master(ctx.db, product.id)
    if master is None:
        raise NotFound()
    masters = {name: getattr(master, name) for name in MASTERS if name in values}
    return {**masters, **await _present_price(ctx, master.id, values)}


async def present_variant(ctx: Context, variant: Any, values: Values) -> Values:
    currency, cost = values.get("cost_currency") or variant.cost_currency, {}
    if "cost_price" in values and variant.cost_price is not None:
        is_same = currency == variant.cost_currency
        cost = {"cost_price": major_units(variant.cost_price, currency) if is_same else None}
    return {**cost, **await _present_price(ctx, variant.id, values)}


async def _present_price(ctx: Context, variant_id: UUID, values: Values) -> Values:
    """In the currency that is spoken of."""
    if not values.keys() & {"currency", *PRICE}:
        return {}
    currency = values.get("currency") or ctx.shared.shop.currencies[0]
    found = await queries.find_price(ctx.db, variant_id, currency)
    amounts = (found.amount, found.compare_at_amount) if found else (None, None)
    said = [None if amount is None else major_units(amount, currency) for amount in amounts]
    return {**dict(zip(PRICE, said, strict=True)), "currency": values.get("currency")}
