"""Previews the prices that a customer sees, and explains which price list applies."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from shop.actions.context import Context
from shop.models.catalog.prices import CustomerPriceList, PriceListEntry
from shop.queries.catalog import prices
from shop.queries.catalog.prices import ResolvedPrice
from shop.queries.catalog_admin import price_preview as queries
from shop.queries.catalog_admin.variants import NamedVariant
from shop.rules.catalog.price_explanations import ListPrice, explain_rejection, find_list_price

MAX_RESULTS = 20


class PricePreviewQuery(msgspec.Struct, frozen=True):
    """Preview parameters: currency, quantity, time and product search text."""

    currency: str
    quantity: int
    at: datetime | None
    query: str | None


class Verdict(msgspec.Struct, frozen=True):
    """One of the customer's price lists, its price for a variant, and whether it applies."""

    price_list: CustomerPriceList
    list_price: ListPrice
    is_applied: bool
    rejection_reason: str


class PricePreview(msgspec.Struct, frozen=True):
    """One variant as the customer sees it; without a price, it is not for sale to this customer."""

    variant: NamedVariant
    price: ResolvedPrice | None
    verdicts: list[Verdict]


async def preview(
    ctx: Context, user_id: UUID, search: PricePreviewQuery
) -> tuple[list[CustomerPriceList], list[PricePreview]]:
    """Returns the customer's price lists and the matching variants, with prices from the price resolver."""
    lists = await queries.list_customers_lists(ctx.db, user_id, search.at)
    variants = await queries.search_variants(ctx.db, search.query, most=MAX_RESULTS) if search.query else []
    ids = [variant.id for variant in variants]
    pricing = await prices.find_pricing(ctx.db, user_id, search.currency, search.at)
    prices_by_variant = await prices.resolve(ctx.db, pricing, ids, search.quantity)
    entries = await queries.list_entries_of(ctx.db, [price_list.id for price_list in lists], ids)
    previews = []
    for variant in variants:
        price = prices_by_variant.get(variant.id)
        variant_entries = [entry for entry in entries if entry.variant_id == variant.id]
        previews.append(
            PricePreview(variant, price, [_verdict(price_list, variant_entries, price, search) for price_list in lists])
        )
    return lists, previews


def _verdict(
    price_list: CustomerPriceList,
    entries: Sequence[PriceListEntry],
    price: ResolvedPrice | None,
    search: PricePreviewQuery,
) -> Verdict:
    list_price = find_list_price(
        price_list, [entry for entry in entries if entry.price_list_id == price_list.id], search.quantity
    )
    reason = explain_rejection(
        price_list,
        list_price,
        currency=search.currency,
        deciding_priority=price.priority if price else None,
        has_base=price is not None and price.base_amount is not None,
    )
    return Verdict(price_list, list_price, price is not None and price.price_list_id == price_list.id, reason)
