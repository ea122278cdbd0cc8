"""The demo product type, and its variants and prices."""

import itertools
from collections.abc import Mapping, Sequence
from decimal import Decimal

import msgspec

CURRENCIES = ("USD", "EUR", "GBP", "JPY")
# Exchange rate of one dollar, and the step to which prices are rounded.
_RATES = {"EUR": (Decimal("0.92"), Decimal("0.10")), "GBP": (Decimal("0.79"), Decimal("0.05"))}
_YEN = (Decimal(150), Decimal(10))


class DemoProduct(msgspec.Struct, frozen=True, kw_only=True):
    """One product. Its variants are all combinations of its option values."""

    name: str
    description: str
    price: str
    """In dollars, without option surcharges."""
    compare_at_price: str | None = None
    """The compare-at price in dollars."""
    moon: str
    options: Mapping[str, Sequence[str]] = {}
    surcharges: Mapping[str, str] = {}
    """Surcharge in dollars by option value."""
    properties: Mapping[str, str] = {}
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


def combinations(product: DemoProduct) -> list[tuple[str, ...]]:
    """Returns the option values of each variant, in the order of the options; empty without options."""
    return list(itertools.product(*product.options.values())) if product.options else []


def prices(product: DemoProduct, values: Sequence[str] = ()) -> dict[str, tuple[Decimal, Decimal | None]]:
    """Returns the price and compare-at price of a variant by currency."""
    surcharge = sum((Decimal(product.surcharges[value]) for value in values if value in product.surcharges), Decimal(0))
    price, compare_at_price = (
        Decimal(product.price) + surcharge,
        Decimal(product.compare_at_price) + surcharge if product.compare_at_price else None,
    )
    return {
        currency: (_convert(currency, price), _convert(currency, compare_at_price) if compare_at_price else None)
        for currency in CURRENCIES
    }


def _convert(currency: str, dollars: Decimal) -> Decimal:
    if currency == "USD":
        return dollars
    rate, step = _RATES.get(currency, _YEN)
    return (dollars * rate / step).to_integral_value() * step
