"""Amounts of money: integer minor units internally, decimal strings and display text on the wire."""

from decimal import Decimal
from functools import lru_cache

import pycountry
from babel import Locale
from babel.numbers import get_currency_symbol

# ISO 4217's minor units, in which banks settle. CLDR, and thus Babel, has other digits for some currencies (AFN, IRR,
# COP …), which are display conventions.
MINOR_UNITS = {
    0: "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF",
    3: "BHD IQD JOD KWD LYD OMR TND",
    4: "CLF UYW",
}
# Codes that begin with X belong to no country: metals, funds and test codes, except for these shared currencies.
_SHARED = frozenset({"XAF", "XCD", "XCG", "XOF", "XPF"})
_DIGITS = {code: digits for digits, codes in MINOR_UNITS.items() for code in codes.split()}


def currency_digits(currency: str) -> int:
    return _DIGITS.get(currency, 2)


@lru_cache(maxsize=1024)
def is_currency(code: str) -> bool:
    currency = pycountry.currencies.get(alpha_3=code)
    return currency is not None and currency.alpha_3 == code and (code[0] != "X" or code in _SHARED)


def wire_decimal(minor: int, digits: int) -> str:
    """Returns `"19.99"`, `"10.0"`, `"-1.0"`: without trailing zeros, but with at least one fraction digit."""
    if minor == 0:
        return "0.0"
    sign, text = ("-", str(-minor)) if minor < 0 else ("", str(minor))
    if digits == 0:
        return f"{sign}{text}.0"
    text = text.rjust(digits + 1, "0")
    fraction = text[-digits:].rstrip("0") or "0"
    return f"{sign}{text[:-digits]}.{fraction}"


def hundredths(minor: int, currency: str) -> int:
    """Returns an amount in hundredths of the currency's unit, which Spree calls cents for every currency."""
    if minor == 0:
        return 0
    digits = currency_digits(currency)
    if digits <= 2:
        return minor * (1, 10, 100)[2 - digits]
    return int(Decimal(minor).scaleb(2 - digits).to_integral_value())


def plain_decimal(value: Decimal) -> str:
    """Formats a number that is not an amount in the same way: `1.5`, `2.0`."""
    whole, _, fraction = f"{value:f}".partition(".")
    return f"{whole}.{fraction.rstrip('0') or '0'}"


MAX_AMOUNT = 10**15


def minor_units(amount: Decimal, currency: str) -> int:
    """Converts `19.99` dollars to 1999; ValueError with the reason if it is not a valid price."""
    digits = currency_digits(currency)
    if not amount.is_finite() or amount < 0:
        raise ValueError("must be zero or more")
    # Checked first: a far larger amount cannot even be scaled.
    if amount >= MAX_AMOUNT:
        raise ValueError("is too large")
    minor = amount.scaleb(digits)
    if minor >= MAX_AMOUNT:
        raise ValueError("is too large")
    # Compared with the input, because scaling rounds digits beyond the 28th.
    if major_units(int(minor), currency) != amount:
        raise ValueError(f"has more decimals than {currency} allows ({digits})")
    return int(minor)


def major_units(minor: int, currency: str) -> Decimal:
    """Converts 1999 cents to `19.99` dollars."""
    return Decimal(minor).scaleb(-currency_digits(currency))


class MoneyText:
    """Formats amounts in one currency and locale; reads Babel's data once, at construction."""

    __slots__ = ("_affixes", "_decimal", "_digits", "_group", "_grouping", "_zero")

    def __init__(self, currency: str, locale: str) -> None:
        self._digits = currency_digits(currency)
        words = Locale.parse(locale, sep="-" if "-" in locale else "_")
        pattern = words.currency_formats["standard"]
        symbol = get_currency_symbol(currency, words)
        symbols = words.number_symbols["latn"]
        self._decimal: str = symbols["decimal"]
        self._group: str = symbols["group"]
        self._grouping = pattern.grouping
        self._affixes = [
            tuple(part.replace("¤", symbol).replace("-", symbols["minusSign"]) for part in pair)
            for pair in zip(pattern.prefix, pattern.suffix, strict=True)
        ]
        self._zero = self._text(0)

    def __call__(self, minor: int) -> str:
        return self._zero if minor == 0 else self._text(minor)

    def short(self, minor: int) -> str:
        """Formats an amount, without decimals if it has none."""
        return self._text(minor, has_fraction=minor % 10**self._digits != 0)

    def _text(self, minor: int, *, has_fraction: bool = True) -> str:
        prefix, suffix = self._affixes[minor < 0]
        text = str(abs(minor)).rjust(self._digits + 1, "0")
        whole, fraction = (text[: -self._digits], self._decimal + text[-self._digits :]) if self._digits else (text, "")
        return f"{prefix}{self._group_digits(whole)}{fraction if has_fraction else ''}{suffix}"

    def _group_digits(self, whole: str) -> str:
        size, others = self._grouping
        if len(whole) <= size:
            return whole
        if size == others == 3:
            return f"{int(whole):,}".replace(",", self._group)
        # India writes 12,34,567: the group next to the decimal separator differs in size from the others.
        parts = [whole[-size:]]
        rest = whole[:-size]
        while rest:
            parts.append(rest[-others:])
            rest = rest[:-others]
        return self._group.join(reversed(parts))


@lru_cache(maxsize=1024)
def money_text(currency: str, locale: str) -> MoneyText:
    return MoneyText(currency, locale)
