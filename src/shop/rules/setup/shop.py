"""Validates the shop settings."""

import re
from collections.abc import Sequence

from babel import Locale, UnknownLocaleError

from shop.base.ids import MAX_ORDER_DIGITS
from shop.base.money import is_currency
from shop.base.texts import is_line
from shop.rules.setup.names import find_code, name_currencies, name_locales
from shop.rules.setup.units import DIMENSION_UNITS, WEIGHT_UNITS

MAX_NAME_LENGTH = 100
MAX_CURRENCIES = 30
# Fewer could be guessed, and would collide often.
MIN_ORDER_DIGITS = 9
MAX_PREFIX_LENGTH = 10
_SEPARATORS = re.compile(r"[\s,;]+")
# The digits of a number are what follows the prefix, so that a prefix must not end with one.
_PREFIX = re.compile(rf"[A-Z](?:[A-Z0-9-]{{0,{MAX_PREFIX_LENGTH - 2}}}[A-Z-])?", re.ASCII)
_LOCALE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*", re.ASCII)


def currency_codes(texts: Sequence[str]) -> list[str]:
    """Parses names and codes like `US Dollar (USD)`, `Euro` and `chf, gbp`, in order and without duplicates."""
    codes: dict[str, None] = {}
    for text in texts:
        code = find_code(text, name_currencies())
        codes |= dict.fromkeys([code] if code else [part.upper() for part in _SEPARATORS.split(text) if part])
    return list(codes)


def find_unknown_currency(texts: Sequence[str]) -> str | None:
    """Returns the first word that names no currency, as it was typed."""
    words = (word for text in texts if not find_code(text, name_currencies()) for word in _SEPARATORS.split(text))
    return next((word for word in words if word and not is_currency(word.upper())), None)


def locale_code(text: str) -> str:
    """Returns the code of a locale that is named by its code or its name."""
    return find_code(text, name_locales()) or text.strip()


def shop_errors(name: str, currencies: Sequence[str], locale: str) -> dict[str, list[str]]:
    """Returns the errors of the name, of currencies as they were typed, and of the locale."""
    errors: dict[str, list[str]] = {}
    if not name or len(name) > MAX_NAME_LENGTH or not is_line(name):
        errors["name"] = [f"must be one line of 1 to {MAX_NAME_LENGTH} characters"]
    if unknown := find_unknown_currency(currencies):
        sentence = f"“{unknown[:20]}” is not a currency. Choose one from the list or enter a code such as EUR."
        errors["currencies"] = [sentence]
    elif not 1 <= len(currency_codes(currencies)) <= MAX_CURRENCIES:
        errors["currencies"] = [f"must be 1 to {MAX_CURRENCIES}"]
    if not is_locale(locale):
        errors["default_locale"] = ["must be a locale like en-US, de or pt-BR"]
    return errors


def order_number_errors(prefix: str, digits: int | None) -> dict[str, list[str]]:
    errors: dict[str, list[str]] = {}
    if not _PREFIX.fullmatch(prefix):
        characters = f"must have 1 to {MAX_PREFIX_LENGTH} letters, digits and hyphens"
        errors["order_prefix"] = [f"{characters}, begin with a letter and not end with a digit"]
    if digits is None or not MIN_ORDER_DIGITS <= digits <= MAX_ORDER_DIGITS:
        errors["order_digits"] = [f"must be a number from {MIN_ORDER_DIGITS} to {MAX_ORDER_DIGITS}"]
    return errors


def unit_errors(weight_unit: str, dimension_unit: str) -> dict[str, list[str]]:
    units = {"weight_unit": (weight_unit, WEIGHT_UNITS), "dimension_unit": (dimension_unit, DIMENSION_UNITS)}
    return {name: ["is not a valid choice"] for name, (unit, choices) in units.items() if unit not in choices}


def is_locale(text: str) -> bool:
    try:
        return bool(_LOCALE.fullmatch(text)) and Locale.parse(text, sep="-") is not None
    except (UnknownLocaleError, ValueError):
        return False
