"""Amounts in Stripe's units: exactly, or not at all."""

import pytest

from shop.base.money import MINOR_UNITS
from shop.gateways.stripe_amounts import NO_DIGITS, THREE_DIGITS, UnsupportedAmount, stripe_units

WITHOUT_CENTS = "BIF CLP DJF GNF KMF KRW PYG RWF VND VUV XAF XOF XPF"
THOUSANDTHS = "BHD JOD KWD OMR TND"


@pytest.mark.parametrize(
    ("minor", "currency", "units"),
    [
        (1999, "USD", 1999),
        (1, "EUR", 1),
        (500, "JPY", 500),
        *((7, currency, 7) for currency in WITHOUT_CENTS.split()),
        # The fifth of a Malagasy ariary is not in use; Stripe takes whole ariary.
        (1500, "MGA", 15),
        # Stripe keeps two digits where ISO 4217 has none any more.
        (5, "ISK", 500),
        (5, "UGX", 500),
        # Whole amounts are required for payouts only.
        (1045, "HUF", 1045),
        (80045, "TWD", 80045),
        *((5120, currency, 5120) for currency in THOUSANDTHS.split()),
    ],
)
def test_an_amount_is_converted_to_stripes_units(minor: int, currency: str, units: int) -> None:
    assert stripe_units(minor, currency) == units


@pytest.mark.parametrize(
    ("minor", "currency"),
    [
        *((5124, currency) for currency in THOUSANDTHS.split()),
        (1550, "MGA"),
        (1000, "IQD"),
        (1000, "LYD"),
        (10_000, "CLF"),
        (0, "USD"),
        (-100, "USD"),
    ],
)
def test_an_unsupported_amount_is_refused_and_not_rounded(minor: int, currency: str) -> None:
    with pytest.raises(UnsupportedAmount, match=currency):
        stripe_units(minor, currency)


def test_every_currency_without_cents_is_handled() -> None:
    """A currency without minor units has none at Stripe either, or is a listed exception."""
    assert set(MINOR_UNITS[0].split()) - NO_DIGITS == {"ISK", "UGX", "UYI"}
    assert set(MINOR_UNITS[3].split()) - THREE_DIGITS == {"IQD", "LYD"}
