"""What a row of the demo shop's tables says, and what follows from it."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from itertools import product

import msgspec

CURRENCIES = ("USD", "EUR", "GBP", "JPY")
# What a dollar is elsewhere, and the step that prices there are rounded to.
_RATES = {"EUR": (Decimal("0.92"), Decimal("0.10")), "GBP": (Decimal("0.79"), Decimal("0.05"))}
_YEN = (Decimal(150), Decimal(10))


class Good(msgspec.Struct, frozen=True, kw_only=True):
    """One product. Its variants are all combinations of the options' values."""

    name: str
    says: str
    price: str
    """In dollars, without what an option adds."""
    was: str | None = None
    """What it cost before."""
    moon: str
    options: Mapping[str, Sequence[str]] = {}
    dearer: Mapping[str, str] = {}
    """How many dollars a value of an option adds."""
    facts: Mapping[str, str] = {}
    tags: Sequence[str] = ()
    stock: str = "plenty"


STOCK: Mapping[str, tuple[tuple[int, int], bool]] = {
    "plenty": ((60, 25), False),
    "few": ((3, 1), False),
    "one place": ((18, 0), False),
    "to order": ((0, 0), True),
    "gone": ((0, 0), False),
}
"""How many lie at the two locations, and whether more may be sold."""


def combinations(good: Good) -> list[tuple[str, ...]]:
    """The values of each variant, in the order of the options; none for a good that comes in one form."""
    return list(product(*good.options.values())) if good.options else []


def prices(good: Good, values: Sequence[str] = ()) -> dict[str, tuple[Decimal, Decimal | None]]:
    """What a variant costs in each currency, and what it cost before."""
    added = sum((Decimal(good.dearer[value]) for value in values if value in good.dearer), Decimal(0))
    now, was = Decimal(good.price) + added, Decimal(good.was) + added if good.was else None
    return {currency: (_in(currency, now), _in(currency, was) if was else None) for currency in CURRENCIES}


def _in(currency: str, dollars: Decimal) -> Decimal:
    if currency == "USD":
        return dollars
    rate, step = _RATES.get(currency, _YEN)
    return (dollars * rate / step).to_integral_value() * step
