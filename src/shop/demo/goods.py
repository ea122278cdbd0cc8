"""The demo product type, and its variants and prices."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from itertools import product

import msgspec

CURRENCIES = ("USD", "EUR", "GBP", "JPY")
# Exchange rate of one dollar, and the step to which prices are rounded.
_RATES = {"EUR": (Decimal("0.92"), Decimal("0.10")), "GBP": (Decimal("0.79"), Decimal("0.05"))}
_YEN = (Decimal(150), Decimal(10))


class DemoGood(msgspec.Struct, frozen=True, kw_only=True):
    """One product. Its variants are all combinations of its option values."""

    name: str
    says: str
    price: str
    """In dollars, without option surcharges."""
    was: str | None = None
    """The compare-at price in dollars."""
    moon: str
    options: Mapping[str, Sequence[str]] = {}
    dearer: Mapping[str, str] = {}
    """Surcharge in dollars by option value."""
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
"""Stock at the two locations, and whether the item is backorderable."""


def combinations(good: DemoGood) -> list[tuple[str, ...]]:
    """Returns the option values of each variant, in the order of the options; empty without options."""
    return list(product(*good.options.values())) if good.options else []


def prices(good: DemoGood, values: Sequence[str] = ()) -> dict[str, tuple[Decimal, Decimal | None]]:
    """Returns the price and compare-at price of a variant by currency."""
    surcharge = sum((Decimal(good.dearer[value]) for value in values if value in good.dearer), Decimal(0))
    now, was = Decimal(good.price) + surcharge, Decimal(good.was) + surcharge if good.was else None
    return {currency: (_in(currency, now), _in(currency, was) if was else None) for currency in CURRENCIES}


def _in(currency: str, dollars: Decimal) -> Decimal:
    if currency == "USD":
        return dollars
    rate, step = _RATES.get(currency, _YEN)
    return (dollars * rate / step).to_integral_value() * step
