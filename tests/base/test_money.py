"""Amounts: the digits of a currency, decimals in requests and responses, and formatted texts."""

import re
from collections.abc import Callable
from decimal import Decimal

import pycountry
import pytest
from babel import Locale
from babel.numbers import get_minus_sign_symbol, parse_pattern
from hypothesis import given
from hypothesis import strategies as st

from shop.base.money import MoneyText, currency_digits, is_currency, minor_units, money_text, wire_decimal

ISO = sorted(currency.alpha_3 for currency in pycountry.currencies)
LOCALES = ("en-US", "de-DE", "fr-FR", "ja-JP", "en-IN", "hi-IN", "pl-PL", "sv-SE", "es-ES")
EDGES = (0, 1, -99, 100, 999, -1000, 99_999, 100_000, -12_345_678, 123_456_789_012)
AMOUNTS = st.integers(-(2**63), 2**63 - 1) | st.integers(-200_000, 200_000)


def babel_text(currency: str, locale: str) -> Callable[[int], str]:
    """Formats like Babel, with the digits of ISO 4217 and the minus sign of the locale instead of a hyphen."""
    parsed_locale = Locale.parse(locale, sep="-")
    minus = get_minus_sign_symbol(parsed_locale)
    digits = currency_digits(currency)
    pattern = parse_pattern(parsed_locale.currency_formats["standard"].pattern)
    pattern.frac_prec = (digits, digits)

    def text(minor: int) -> str:
        formatted_amount = pattern.apply(
            Decimal(minor).scaleb(-digits), parsed_locale, currency=currency, currency_digits=False
        )
        return str(formatted_amount).replace("-", minus)

    return text


@pytest.mark.parametrize("locale", LOCALES)
def test_every_iso_currency_is_formatted_like_babel(locale: str) -> None:
    texts = {code: [*map(MoneyText(code, locale), EDGES)] for code in ISO}

    assert texts == {code: [*map(babel_text(code, locale), EDGES)] for code in ISO}


@given(currency=st.sampled_from(ISO), locale=st.sampled_from(LOCALES), minor=AMOUNTS)
def test_any_amount_is_formatted_like_babel(currency: str, locale: str, minor: int) -> None:
    assert MoneyText(currency, locale)(minor) == babel_text(currency, locale)(minor)


@pytest.mark.parametrize(
    ("currency", "locale", "minor", "text"),
    [
        ("USD", "en-US", 0, "$0.00"),
        ("USD", "en-US", 1999, "$19.99"),
        ("USD", "en-US", -100, "-$1.00"),
        ("USD", "en-US", 123_456_789, "$1,234,567.89"),
        ("EUR", "en-US", 9990, "€99.90"),
        ("EUR", "de-DE", 123_456, "1.234,56\xa0€"),
        ("EUR", "fr-FR", -123_456, "-1\u202f234,56\xa0€"),
        ("JPY", "ja-JP", 1000, "\uffe51,000"),
        ("INR", "en-IN", 123_456_789, "₹12,34,567.89"),
        ("KWD", "en-US", 1234, "KWD1.234"),
        ("IRR", "en-US", 150, "IRR1.50"),
        ("SEK", "sv-SE", -123_456, "\u22121\xa0234,56\xa0kr"),
    ],
)
def test_an_amount_is_formatted_for_its_locale(currency: str, locale: str, minor: int, text: str) -> None:
    assert money_text(currency, locale)(minor) == text


def test_a_locale_may_be_spelled_with_a_hyphen_or_an_underscore() -> None:
    assert MoneyText("EUR", "de-DE")(123_456) == MoneyText("EUR", "de_DE")(123_456) == "1.234,56\xa0€"


@pytest.mark.parametrize(
    ("minor", "currency", "text"),
    [
        (0, "USD", "0.0"),
        (0, "JPY", "0.0"),
        (1999, "USD", "19.99"),
        (1000, "USD", "10.0"),
        (-100, "USD", "-1.0"),
        (9990, "USD", "99.9"),
        (5, "USD", "0.05"),
        (-5, "USD", "-0.05"),
        (1000, "JPY", "1000.0"),
        (-1, "JPY", "-1.0"),
        (1234, "KWD", "1.234"),
        (-7, "KWD", "-0.007"),
        (12_345, "CLF", "1.2345"),
    ],
)
def test_a_decimal_loses_its_trailing_zeros_but_keeps_one_fraction_digit(minor: int, currency: str, text: str) -> None:
    assert wire_decimal(minor, currency_digits(currency)) == text


@given(minor=AMOUNTS, digits=st.integers(0, 4))
def test_a_decimal_has_the_value_of_its_minor_units(minor: int, digits: int) -> None:
    text = wire_decimal(minor, digits)

    assert Decimal(text) == Decimal(minor).scaleb(-digits)
    assert re.fullmatch(r"-?(0|[1-9][0-9]*)\.[0-9]+", text, re.ASCII)
    assert not re.search(r"\.[0-9]+0$", text)


@pytest.mark.parametrize(
    ("currency", "digits"),
    [("JPY", 0), ("USD", 2), ("KWD", 3), ("CLF", 4), ("AFN", 2), ("IRR", 2), ("COP", 2), ("ISK", 0), ("UYW", 4)],
)
def test_a_currency_has_its_iso_4217_digits(currency: str, digits: int) -> None:
    assert currency_digits(currency) == digits


def test_only_the_currencies_that_iso_4217_names_have_other_than_two_digits() -> None:
    others = {code: currency_digits(code) for code in ISO if currency_digits(code) != 2}

    none = [
        "BIF",
        "CLP",
        "DJF",
        "GNF",
        "ISK",
        "JPY",
        "KMF",
        "KRW",
        "PYG",
        "RWF",
        "UGX",
        "UYI",
        "VND",
        "VUV",
        "XAF",
        "XOF",
        "XPF",
    ]
    three = ["BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"]
    assert others == dict.fromkeys(none, 0) | dict.fromkeys(three, 3) | {"CLF": 4, "UYW": 4}


@pytest.mark.parametrize("code", ["USD", "EUR", "JPY", "KWD", "CLF", "XAF", "XCD", "XCG", "XOF", "XPF"])
def test_a_code_of_iso_4217_is_a_currency(code: str) -> None:
    assert is_currency(code)


@pytest.mark.parametrize("code", ["", "US", "USDX", "ZZZ", "840", "$", "U\x00D", "\uff35\uff33\uff24"])
def test_an_unknown_code_is_not_a_currency(code: str) -> None:
    assert not is_currency(code)


@pytest.mark.parametrize("code", ["XXX", "XTS", "XAU", "XAG", "XPT", "XPD", "XDR", "XAD", "XBA", "XSU", "XUA"])
def test_codes_of_metals_funds_and_tests_are_not_currencies(code: str) -> None:
    assert not is_currency(code)


def test_a_lowercase_code_is_not_a_currency() -> None:
    assert [is_currency(code) for code in ("jpy", "Jpy", "JPY")] == [False, False, True]


@pytest.mark.parametrize("digits", [3, 20, 26, 30, 60])
def test_an_amount_with_too_many_digits_is_refused_and_not_rounded(digits: int) -> None:
    with pytest.raises(ValueError, match="more decimals"):
        minor_units(Decimal("1." + "0" * (digits - 1) + "1"), "USD")
