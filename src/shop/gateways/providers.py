"""The payment providers by type of payment method."""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from shop.base.config.stripe_account import StripeAccount
from shop.gateways.payments import Absent, Check, Provider
from shop.gateways.stripe import Stripe
from shop.gateways.test_card import TestCard

TYPES = ("check", "test_card", "stripe")


class Providers(dict[str, Provider]):
    """Providers by type. Payments of an extension that was removed remain, and no provider can be called for them."""

    def __missing__(self, provider_type: str) -> Provider:
        return Absent()


@lru_cache(maxsize=8)
def open_providers(data_dir: Path, stripe: StripeAccount | None, *, is_try_out: bool) -> Mapping[str, Provider]:
    """Returns all providers, configured or not, because earlier payments may belong to a provider whose keys were
    removed.
    """
    own: dict[str, Provider] = {
        "check": Check(),
        "store_credit": Check(),
        "cash": Check(),
        "payment_link": Check(),
        "test_card": TestCard(data_dir / "test_card", is_open=is_try_out),
        "stripe": Stripe(stripe),
    }
    return Providers(own)
