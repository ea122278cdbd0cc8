"""Confirms test card payments, as a bank's 3-D Secure page does. Available only in a try-out."""

import asyncio

from shop.actions.context import Context
from shop.base.errors import NotFound
from shop.gateways.test_card import Confirmation, Decision, TestCard


async def get_confirmation(ctx: Context, client_secret: str) -> Confirmation:
    confirmation = await asyncio.to_thread(_test_card(ctx).find_confirmation, client_secret)
    if confirmation is None:
        raise NotFound()
    return confirmation


async def decide_confirmation(ctx: Context, client_secret: str, decision: Decision) -> Decision:
    """Returns the decision that counts, which is the first. The client's next `complete` completes the order."""
    final_decision = await asyncio.to_thread(_test_card(ctx).decide, client_secret, decision)
    if final_decision is None:
        raise NotFound()
    return final_decision


def _test_card(ctx: Context) -> TestCard:
    provider = ctx.providers["test_card"]
    if not isinstance(provider, TestCard) or not provider.is_ready:
        raise NotFound()
    return provider
