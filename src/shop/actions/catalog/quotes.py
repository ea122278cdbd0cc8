"""Quotes and variants at base prices, in memory until the catalog changes. Stock counts are never cached.

The version of the catalog is read before the data: what is cached may be newer than its version, and is never older.
"""

from collections.abc import Collection
from typing import Any
from uuid import UUID

import msgspec

from shop.actions.catalog import storefront
from shop.actions.context import Context
from shop.base.record import Record
from shop.models.cart.quotes import NO_STOCK, CatalogMoment, Quote, Stocks
from shop.queries.catalog import quotes
from shop.queries.catalog.prices import Pricing

QUOTE_BYTES, RECORD_BYTES = 600, 3000
"""About what a quote and a variant take in memory."""
_NO_ENTRY: Any = ("", None)
_encode = msgspec.json.Encoder().encode
# The keys have the integers of the ids: to hash and compare those does not run Python code.


async def list_base_quotes(
    ctx: Context,
    currency: str,
    variant_ids: Collection[UUID],
    stocks: Stocks,
    catalog: CatalogMoment,
) -> dict[UUID, Quote]:
    """Returns the quotes of variants with this stock, without price lists; unknown variants are missing."""
    current: dict[UUID, Quote] = {}
    missing_ids: list[UUID] = []
    version, now = catalog.version, catalog.now
    keys = [(variant_id.int, currency) for variant_id in variant_ids]
    # A cart has up to hundreds of lines: each call of a function counts.
    for variant_id, entry in zip(variant_ids, ctx.shared.quotes.find_many(keys), strict=True):
        saved_version, quote = entry or _NO_ENTRY
        if saved_version == version and (quote.changes_at is None or quote.changes_at > now):
            on_hand, backorderable = stocks.get(variant_id.int, NO_STOCK)
            is_same = on_hand == quote.on_hand and backorderable == quote.backorderable
            current[variant_id] = quote if is_same else _with_stock(quote, stocks)
        else:
            missing_ids.append(variant_id)
    if missing_ids:
        for variant_id, quote in (
            await quotes.list_quotes(ctx.db, Pricing(currency), dict.fromkeys(missing_ids, 1))
        ).items():
            current[variant_id] = _with_stock(quote, stocks)
            ctx.shared.quotes.save((variant_id.int, currency), (catalog.version, quote), QUOTE_BYTES)
    return current


def _has_current_quote(ctx: Context, variant_id: UUID, currency: str, catalog: CatalogMoment) -> bool:
    """Returns whether the quote of a variant is cached, and neither the catalog nor a date may have changed it."""
    version, quote = ctx.shared.quotes.find((variant_id.int, currency)) or _NO_ENTRY
    return version == catalog.version and (quote.changes_at is None or quote.changes_at > catalog.now)


def _with_stock(quote: Quote, stocks: Stocks) -> Quote:
    on_hand, backorderable = stocks.get(quote.variant_id.int, NO_STOCK)
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
        if record is not None and version == catalog.version and _has_current_quote(ctx, variant_id, currency, catalog):
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
