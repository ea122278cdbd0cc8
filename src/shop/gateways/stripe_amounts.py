"""How an amount is written for Stripe, whose units are not a bank's for every currency.

most currencies             two digits, whatever the bank's own
NO_DIGITS                   none
THREE_DIGITS                three, of which the last must be nought
WHOLE (ISK, UGX)            two digits that must be noughts, though the bank has none
"""

from shop.base.money import currency_digits

_NO_DIGITS = "BIF CLP DJF GNF JPY KMF KRW MGA PYG RWF VND VUV XAF XOF XPF"
_THREE_DIGITS = "BHD JOD KWD OMR TND"
NO_DIGITS, THREE_DIGITS = frozenset(_NO_DIGITS.split()), frozenset(_THREE_DIGITS.split())
WHOLE = frozenset({"ISK", "UGX"})
_POWERS = (1, 10, 100, 1000)


class AmountRefused(Exception):
    """Stripe cannot be asked for this sum; says why."""


def stripe_units(minor: int, currency: str) -> int:
    """From minor units, to the last of them: what cannot be said exactly is refused and never rounded. How little and
    how much they take at once is theirs to say.
    """
    ours = currency_digits(currency)
    if ours > 2 and currency not in THREE_DIGITS:
        raise AmountRefused(f"Stripe does not take {currency}.")
    theirs = 0 if currency in NO_DIGITS else 3 if currency in THREE_DIGITS else 2
    step = 10 if currency in THREE_DIGITS else 100 if currency in WHOLE else 1
    units, rest = divmod(minor * _POWERS[theirs], _POWERS[ours])
    if rest or units % step:
        raise AmountRefused(f"Stripe does not take so small a part of {currency}.")
    if units <= 0:
        raise AmountRefused(f"Stripe takes no such amount of {currency}.")
    return units
