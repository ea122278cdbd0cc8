"""Converts amounts to Stripe's units, which differ from ISO 4217's for some currencies.

most currencies             two digits, regardless of ISO 4217
NO_DIGITS                   no digits
THREE_DIGITS                three digits, the last of which must be zero
WHOLE (ISK, UGX)            two digits, which must be zero; ISO 4217 has none
"""

from shop.base.money import currency_digits

_NO_DIGITS = "BIF CLP DJF GNF JPY KMF KRW MGA PYG RWF VND VUV XAF XOF XPF"
_THREE_DIGITS = "BHD JOD KWD OMR TND"
NO_DIGITS, THREE_DIGITS = frozenset(_NO_DIGITS.split()), frozenset(_THREE_DIGITS.split())
WHOLE = frozenset({"ISK", "UGX"})
_POWERS = (1, 10, 100, 1000)


class UnsupportedAmount(Exception):
    """Stripe does not support this amount; the message says why."""


def stripe_units(minor: int, currency: str) -> int:
    """Converts minor units exactly; raises instead of rounding. Stripe itself enforces its minimum and maximum."""
    iso_digits = currency_digits(currency)
    if iso_digits > 2 and currency not in THREE_DIGITS:
        raise UnsupportedAmount(f"Stripe does not support {currency}.")
    stripe_digits = 0 if currency in NO_DIGITS else 3 if currency in THREE_DIGITS else 2
    step = 10 if currency in THREE_DIGITS else 100 if currency in WHOLE else 1
    units, rest = divmod(minor * _POWERS[stripe_digits], _POWERS[iso_digits])
    if rest or units % step:
        raise UnsupportedAmount(f"Stripe does not support this precision in {currency}.")
    if units <= 0:
        raise UnsupportedAmount(f"Stripe requires a positive amount of {currency}.")
    return units
