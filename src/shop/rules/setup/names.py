"""English names of currencies, countries, locales and time zones, and the codes that they stand for."""

from collections.abc import Mapping
from functools import cache

from babel import Locale
from babel.core import get_global
from babel.localedata import locale_identifiers

from shop.base.money import is_currency
from shop.base.times import zone_names

MAX_LABEL_LENGTH = 120


@cache
def name_currencies() -> Mapping[str, str]:
    """Returns the names of all currencies that a shop can use, by code, sorted by name."""
    names = {code: str(name) for code, name in Locale("en").currencies.items() if is_currency(code)}
    return _sort_by_name(names)


@cache
def name_locales() -> Mapping[str, str]:
    """Returns the names of the locales of countries, like `German, Germany` for `de-DE`, sorted by name."""
    english, names = Locale("en"), {}
    for identifier in locale_identifiers():
        language, _, country = identifier.partition("_")
        if language in english.languages and country in english.territories:
            names[f"{language}-{country}"] = f"{english.languages[language]}, {english.territories[country]}"
    return _sort_by_name(names)


@cache
def name_zones() -> Mapping[str, str]:
    """Returns the names of the time zones, like `Berlin, Germany` for `Europe/Berlin`, sorted by name."""
    territories, countries = get_global("zone_territories"), Locale("en").territories
    names = {"UTC": "Coordinated Universal Time"}
    for zone in zone_names():
        # The others are former names, which are accepted.
        if country := countries.get(territories.get(zone, "")):
            names[zone] = f"{zone.rpartition('/')[2].replace('_', ' ')}, {country}"
    return _sort_by_name(names)


def label_code(code: str, names: Mapping[str, str]) -> str:
    """Returns a name with its code, like `US Dollar (USD)`; only the code if it has no name."""
    return f"{names[code]} ({code})" if code in names else code


def label_currency(code: str) -> str:
    return label_code(code, name_currencies())


def find_code(text: str, names: Mapping[str, str]) -> str | None:
    """Returns the code that an operator means, in any case: by `DE`, `Germany` or `Germany (DE)`."""
    codes = {name.casefold(): code for code, name in names.items()}
    codes |= {label_code(code, names).casefold(): code for code in names}
    codes |= {code.casefold(): code for code in names}
    return codes.get(text.strip()[:MAX_LABEL_LENGTH].casefold())


def _sort_by_name(names: Mapping[str, str]) -> Mapping[str, str]:
    return dict(sorted(names.items(), key=lambda item: item[1]))
