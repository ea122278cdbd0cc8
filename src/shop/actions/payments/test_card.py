"""Confirming a payment by test card, as a bank's page does for 3-D Secure. Only in a try-out."""

import asyncio

from shop.actions.context import Context
from shop.base.errors import NotFound
from shop.gateways.test_card import Confirmation, Decision, TestCard


async def get_confirmation(ctx: Context, client_secret: str) -> Confirmation:
    found = await asyncio.to_thread(_test_card(ctx).find_confirmation, client_secret)
    if found is None:
        raise NotFound()
    return found


async def decide_confirmation(ctx: Context, client_secret: str, decision: Decision) -> Decision:
    """Returns the decision that counts, which is the first. The order is completed by the client's next `complete`."""
    decided = await asyncio.to_thread(_test_card(ctx).decide, client_secret, decision)
    if decided is None:
        raise NotFound()
    return decided


def _test_card(ctx: Context) -> TestCard:
    provider = ctx.providers["test_card"]
    if not isinstance(provider, TestCard) or not provider.is_ready:
        raise NotFound()
    return provider
