"""What a customer sees, which list decides, and why the others do not."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from shop.actions.context import Context
from shop.models.catalog.prices import CustomersList, PriceListEntry
from shop.queries.catalog import prices
from shop.queries.catalog.prices import Resolved
from shop.queries.catalog.skus import NamedVariant
from shop.queries.catalog_pages import price_preview as queries
from shop.rules.catalog.price_explanations import Says, said_by, why_not

MOST = 20


class Asked(msgspec.Struct, frozen=True):
    """What is looked at: in which currency, how many, when, and which products by the words of a search."""

    currency: str
    quantity: int
    at: datetime | None
    query: str | None


class Verdict(msgspec.Struct, frozen=True):
    """One list of the customer's, what it says of a variant, and whether that counts."""

    found: CustomersList
    says: Says
    is_deciding: bool
    why_not: str


class Seen(msgspec.Struct, frozen=True):
    """One variant as the customer sees it; without a price it is not sold to them."""

    variant: NamedVariant
    price: Resolved | None
    verdicts: list[Verdict]


async def preview(ctx: Context, user_id: UUID, asked: Asked) -> tuple[list[CustomersList], list[Seen]]:
    """All lists of the customer's, and what was looked for. The price is the resolver's, as everywhere."""
    lists = await queries.list_customers_lists(ctx.db, user_id, asked.at)
    variants = await queries.list_found(ctx.db, asked.query, most=MOST) if asked.query else []
    ids = [variant.id for variant in variants]
    pricing = await prices.find_pricing(ctx.db, user_id, asked.currency, asked.at)
    resolved = await prices.resolve(ctx.db, pricing, ids, asked.quantity)
    entries = await queries.list_entries_of(ctx.db, [found.id for found in lists], ids)
    seen = []
    for variant in variants:
        price = resolved.get(variant.id)
        own = [entry for entry in entries if entry.variant_id == variant.id]
        seen.append(Seen(variant, price, [_verdict(found, own, price, asked) for found in lists]))
    return lists, seen


def _verdict(found: CustomersList, entries: Sequence[PriceListEntry], price: Resolved | None, asked: Asked) -> Verdict:
    says = said_by(found, [entry for entry in entries if entry.price_list_id == found.id], asked.quantity)
    reason = why_not(
        found,
        says,
        currency=asked.currency,
        deciding_priority=price.priority if price else None,
        has_base=price is not None and price.base_amount is not None,
    )
    return Verdict(found, says, price is not None and price.price_list_id == found.id, reason)
