"""Quotes and variants at base prices, in memory until the catalog changes. Stock counts are never cached.

The version of the catalog is read before the data: what is cached may be newer than its version, and is never older.
"""

from collections.abc import Collection, Mapping
from typing import cast
from uuid import UUID

import msgspec

from shop.actions.catalog import storefront
from shop.actions.context import Context
from shop.base.record import Record
from shop.models.cart.quotes import AvailableStock, CatalogMoment, Quote
from shop.queries.catalog import quotes
from shop.queries.catalog.prices import Pricing

QUOTE_BYTES, RECORD_BYTES = 600, 3000
"""About what a quote and a variant take in memory."""
_encode = msgspec.json.Encoder().encode
# The keys have the integers of the ids: to hash and compare those does not run Python code.


async def list_base_quotes(
    ctx: Context,
    currency: str,
    variant_ids: Collection[UUID],
    stocks: Mapping[UUID, AvailableStock],
    catalog: CatalogMoment,
) -> dict[UUID, Quote]:
    """Returns the quotes of variants with this stock, without price lists; unknown variants are missing."""
    current: dict[UUID, Quote] = {}
    missing_ids: list[UUID] = []
    for variant_id in variant_ids:
        quote = _find_quote(ctx, variant_id, currency, catalog)
        if quote is None:
            missing_ids.append(variant_id)
        else:
            current[variant_id] = _with_stock(quote, stocks.get(variant_id))
    if missing_ids:
        for variant_id, quote in (
            await quotes.list_quotes(ctx.db, Pricing(currency), dict.fromkeys(missing_ids, 1))
        ).items():
            current[variant_id] = _with_stock(quote, stocks.get(variant_id))
            ctx.shared.quotes.save((variant_id.int, currency), (catalog.version, quote), QUOTE_BYTES)
    return current


def _find_quote(ctx: Context, variant_id: UUID, currency: str, catalog: CatalogMoment) -> Quote | None:
    """Returns a cached quote, unless the catalog or a date may have changed it."""
    version, quote = ctx.shared.quotes.find((variant_id.int, currency)) or (None, None)
    if quote is None or version != catalog.version:
        return None
    return None if quote.changes_at is not None and quote.changes_at <= catalog.now else cast(Quote, quote)


def _with_stock(quote: Quote, stock: AvailableStock | None) -> Quote:
    on_hand, backorderable = (stock.on_hand, stock.backorderable) if stock else (0, False)
    if quote.on_hand == on_hand and quote.backorderable == backorderable:
        return quote
    return msgspec.structs.replace(quote, on_hand=on_hand, backorderable=backorderable)


async def load_current_variants(
    ctx: Context, ids: Collection[UUID], include: storefront.Tree, currency: str, catalog: CatalogMoment
) -> dict[UUID, Record]:
    """Loads variants at base prices like `load_variants`, or returns cached ones with current quotes."""
    # A product shows other variants, which have dates of their own.
    variation = None if "product" in include else (currency, _encode(include))
    records: dict[UUID, Record] = {}
    for variant_id in ids if variation else ():
        version, record = ctx.shared.quotes.find((variant_id.int, variation)) or (None, None)
        if record is not None and version == catalog.version and _find_quote(ctx, variant_id, currency, catalog):
            records[variant_id] = record
    missing_ids = [variant_id for variant_id in ids if variant_id not in records]
    if missing_ids:
        for variant_id, record in (
            await storefront.load_variants(ctx, missing_ids, include, Pricing(currency))
        ).items():
            records[variant_id] = record
            if variation:
                ctx.shared.quotes.save((variant_id.int, variation), (catalog.version, record), RECORD_BYTES)
    return records
