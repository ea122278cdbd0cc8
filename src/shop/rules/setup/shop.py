"""Validates the shop settings."""

import re
from collections.abc import Mapping
from functools import cache

from babel import Locale, UnknownLocaleError
from babel.localedata import locale_identifiers

from shop.base.money import is_currency
from shop.base.texts import is_line

MAX_NAME_LENGTH = 100
MAX_CURRENCIES = 30
_SEPARATORS = re.compile(r"[\s,;]+")
_LOCALE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*", re.ASCII)


def currency_codes(text: str) -> list[str]:
    """Parses `usd, EUR` into currency codes, in order and without duplicates."""
    return list(dict.fromkeys(code.upper() for code in _SEPARATORS.split(text) if code))


@cache
def name_currencies() -> Mapping[str, str]:
    """Returns the English names of all currencies that a shop can use, by code, sorted by name."""
    names = {code: str(name) for code, name in Locale("en").currencies.items() if is_currency(code)}
    return dict(sorted(names.items(), key=lambda item: item[1]))


@cache
def name_locales() -> Mapping[str, str]:
    """Returns the English names of the locales of countries, like `German (Germany)` for `de-DE`, sorted by name."""
    english, names = Locale("en"), {}
    for identifier in locale_identifiers():
        language, _, country = identifier.partition("_")
        if language in english.languages and country in english.territories:
            names[f"{language}-{country}"] = f"{english.languages[language]} ({english.territories[country]})"
    return dict(sorted(names.items(), key=lambda item: item[1]))


def shop_errors(name: str, currencies: list[str], locale: str) -> dict[str, list[str]]:
    errors: dict[str, list[str]] = {}
    if not name or len(name) > MAX_NAME_LENGTH or not is_line(name):
        errors["name"] = [f"must be one line of 1 to {MAX_NAME_LENGTH} characters"]
    unknown = [code for code in currencies if not is_currency(code)]
    if unknown:
        errors["currencies"] = [f"must be ISO 4217 codes; {unknown[0][:20]} is not one"]
    elif not 1 <= len(currencies) <= MAX_CURRENCIES:
        errors["currencies"] = [f"must be 1 to {MAX_CURRENCIES} codes"]
    if not is_locale(locale):
        errors["default_locale"] = ["must be a locale like en-US, de or pt-BR"]
    return errors


def is_locale(text: str) -> bool:
    try:
        return bool(_LOCALE.fullmatch(text)) and Locale.parse(text, sep="-") is not None
    except (UnknownLocaleError, ValueError):
        return False
