"""Resolves the pricing of a request, and changes prices, price lists and their entries.

Changes run in the caller's transaction.
"""

from uuid import UUID

from shop.actions.catalog.products import check_currency, refresh_products, to_minor_units
from shop.actions.context import Context
from shop.actions.records import Values
from shop.base.errors import Invalid, InvalidToken, NotFound
from shop.base.ids import new_id
from shop.base.money import is_currency
from shop.models.catalog.inputs import PriceInput, PriceListEntryInput, PriceListInput
from shop.models.catalog.prices import price_list_entries, price_lists, prices
from shop.queries import writes
from shop.queries.catalog import prices as queries
from shop.queries.catalog import products as product_queries
from shop.queries.catalog.prices import Pricing


async def resolve_pricing(ctx: Context, currency: str) -> Pricing:
    """Returns the pricing of the bearer, or the default pricing without one.

    The same statement checks the token; raises InvalidToken if it is not valid.
    """
    if ctx.claim.bearer is None:
        return Pricing(currency)
    if ctx.pricing is not None and ctx.pricing.currency == currency:
        return ctx.pricing
    pricing = await queries.find_bearers_pricing(ctx.db, ctx.claim.bearer, currency)
    if pricing is None:
        raise InvalidToken()
    ctx.pricing = pricing
    return pricing


async def create_price(ctx: Context, values: PriceInput) -> UUID:
    check_currency(ctx, values["currency"])
    variant = await product_queries.lock_variant(ctx.db, values["variant_id"])
    if variant is None:
        raise Invalid({"variant_id": ["is not a variant"]})
    price_id = new_id()
    await writes.insert_record(ctx.db, prices, price_id, _in_units(values, values["currency"]))
    await refresh_products(ctx, [variant.product_id])
    return price_id


async def update_price(ctx: Context, price_id: UUID, values: PriceInput) -> None:
    currency = await writes.find_value(ctx.db, prices, price_id, "currency")
    await writes.update_record(ctx.db, prices, price_id, _in_units(values, currency))
    await product_queries.touch_products(ctx.db, await product_queries.list_owners(ctx.db, prices, price_id))


async def delete_price(ctx: Context, price_id: UUID) -> None:
    owners = await product_queries.list_owners(ctx.db, prices, price_id)
    await writes.delete_record(ctx.db, prices, price_id)
    await refresh_products(ctx, owners)


async def create_list(ctx: Context, values: PriceListInput) -> UUID:
    _check_list(values)
    list_id = new_id()
    await writes.insert_record(ctx.db, price_lists, list_id, values)
    return list_id


async def update_list(ctx: Context, list_id: UUID, values: PriceListInput) -> None:
    """Updates a price list. Its currency cannot change, because its entries are amounts in that currency."""
    existing = await queries.find_list(ctx.db, list_id)
    if existing is None:
        raise NotFound()
    _check_list({"starts_at": existing.starts_at, "ends_at": existing.ends_at, **values})
    await writes.update_record(ctx.db, price_lists, list_id, values)


async def create_entry(ctx: Context, values: PriceListEntryInput) -> UUID:
    entry_id = new_id()
    currency = await writes.find_value(ctx.db, price_lists, values["price_list_id"], "currency")
    if currency is None:
        raise Invalid({"price_list_id": ["is not a price list"]})
    _check_entry(values)
    await writes.insert_record(ctx.db, price_list_entries, entry_id, _in_units(values, currency))
    return entry_id


async def update_entry(ctx: Context, entry_id: UUID, values: PriceListEntryInput) -> None:
    list_id = await writes.find_value(ctx.db, price_list_entries, entry_id, "price_list_id")
    if list_id is None:
        raise NotFound()
    currency = await writes.find_value(ctx.db, price_lists, list_id, "currency")
    _check_entry(values)
    await writes.update_record(ctx.db, price_list_entries, entry_id, _in_units(values, currency))


def _check_entry(values: PriceListEntryInput) -> None:
    if values.get("min_quantity", 1) < 1:
        raise Invalid({"min_quantity": ["must be 1 or more"]})


def _check_list(values: PriceListInput) -> None:
    errors: dict[str, list[str]] = {}
    if "currency" in values and not is_currency(values["currency"]):
        errors["currency"] = ["must be the code of a currency, like USD or EUR"]
    percent = values.get("percent_off")
    if percent is not None and not (0 < percent <= 100 and percent == round(percent, 2)):
        errors["percent_off"] = ["must be above 0 and at most 100, with at most two decimals"]
    starts, ends = values.get("starts_at"), values.get("ends_at")
    if starts and ends and ends <= starts:
        errors["ends_at"] = ["must be later than starts_at"]
    if errors:
        raise Invalid(errors)


def _in_units(values: Values, currency: str) -> dict[str, object]:
    return {**values, **to_minor_units(values, currency, ("amount", "compare_at_amount"))}
