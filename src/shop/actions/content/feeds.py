"""Merchant feeds: every variant that the shop sells, read in batches."""

from collections.abc import AsyncGenerator
from uuid import UUID

from shop.actions.context import Context
from shop.models.content.public_urls import FeedOffer
from shop.queries.content import feeds

_BATCH = 500


async def list_offers(ctx: Context) -> AsyncGenerator[list[FeedOffer]]:
    """Yields the offers at base prices in the shop's first currency, with one statement per batch."""
    currency, last_id = ctx.shared.shop.currencies[0], UUID(int=0)
    while offers := await feeds.list_offers_after(ctx.db, currency, last_id, _BATCH):
        yield offers
        last_id = offers[-1].id
