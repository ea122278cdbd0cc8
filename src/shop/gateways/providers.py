"""The payment providers by type of payment method."""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from shop.base.config.stripe_account import StripeAccount
from shop.gateways.payments import Check, Provider
from shop.gateways.stripe import Stripe
from shop.gateways.test_card import TestCard

TYPES = ("check", "test_card", "stripe")


@lru_cache(maxsize=8)
def open_providers(data_dir: Path, stripe: StripeAccount | None, *, is_try_out: bool) -> Mapping[str, Provider]:
    """Returns all providers, configured or not, because earlier payments may belong to a provider whose keys were
    removed.
    """
    return {
        "check": Check(),
        "store_credit": Check(),
        "cash": Check(),
        "payment_link": Check(),
        "test_card": TestCard(data_dir / "test_card", is_open=is_try_out),
        "stripe": Stripe(stripe),
    }
