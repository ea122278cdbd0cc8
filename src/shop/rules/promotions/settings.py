"""Settings of promotion conditions and benefits: validation, stored form and parsed form.

setting type               input and stored form    parsed form
products, taxons, groups   a list of ids            a set of integers
amounts                    {"USD": "10.0"}          minor units by currency
percent                    "12.5"                   a numerator and a denominator
count                      3                        3
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from decimal import Decimal
from typing import Any
from uuid import UUID

from shop.base.money import currency_digits, is_currency, minor_units, wire_decimal
from shop.base.values import read_decimal, read_id, read_integer
from shop.rules.cart.promotion_kinds import BENEFITS, CONDITIONS, BenefitKind, ConditionKind, Ids
from shop.rules.cart.promotions import Part

MAX_IDS = 500
_NOT_AMOUNTS = 'must be amounts by currency like {"USD": "10.0"}'
MAX_COUNT = 1000
KINDS: Mapping[str, Mapping[str, ConditionKind | BenefitKind]] = {"condition": CONDITIONS, "benefit": BENEFITS}


def part_errors(what: str, kind: str, preferences: Mapping[str, Any]) -> dict[str, list[str]]:
    """Returns the errors of a part by field."""
    definition = KINDS[what].get(kind)
    if definition is None:
        return {"type": [f"must be one of {', '.join(KINDS[what])}"]}
    errors = {
        f"preferences.{name}": ["is not a known field"] for name in preferences if name not in definition.settings
    }
    for name, form in definition.settings.items():
        try:
            _READERS[form](preferences.get(name))
        except ValueError as error:
            errors[f"preferences.{name}"] = [str(error)]
    return errors


def normalize_preferences(what: str, kind: str, preferences: Mapping[str, Any]) -> dict[str, Any]:
    """Returns valid settings in their canonical stored form."""
    return {
        name: _WRITERS[form](_READERS[form](preferences.get(name))) for name, form in KINDS[what][kind].settings.items()
    }


def parse_part(what: str, kind: str, preferences: Mapping[str, Any]) -> Part | None:
    """Parses stored settings; returns None if the type is unknown or a value is invalid."""
    definition = KINDS[what].get(kind)
    if definition is None:
        return None
    try:
        return Part(kind, {name: _READERS[form](preferences.get(name)) for name, form in definition.settings.items()})
    except ValueError:
        return None


def _ids(value: Any) -> Ids:
    with suppress(ValueError):
        ids = frozenset(read_id(each).int for each in (value if isinstance(value, list) else ()))
        if 0 < len(ids) <= MAX_IDS:
            return ids
    raise ValueError(f"must be a list of 1 to {MAX_IDS} ids")


def _amounts(value: Any) -> dict[str, int]:
    if not isinstance(value, dict) or not value or not all(is_currency(str(currency)) for currency in value):
        raise ValueError(_NOT_AMOUNTS)
    return {str(currency): _amount(amount, currency) for currency, amount in value.items()}


def _amount(value: Any, currency: str) -> int:
    try:
        amount = read_decimal(value)
    except ValueError:
        raise ValueError(_NOT_AMOUNTS) from None
    if amount <= 0:
        raise ValueError("must be greater than 0")
    return minor_units(amount, currency)


def _percent(value: Any) -> tuple[int, int]:
    with suppress(ValueError):
        percent = read_decimal(value)
        if 0 < percent <= 100 and percent == round(percent, 3):
            return (percent / 100).as_integer_ratio()
    raise ValueError("must be more than 0 and at most 100, with at most three decimals")


def _count(value: Any) -> int:
    with suppress(ValueError):
        number = read_integer(value)
        if 1 <= number <= MAX_COUNT:
            return number
    raise ValueError(f"must be a whole number from 1 to {MAX_COUNT}")


def _percent_text(value: tuple[int, int]) -> str:
    return f"{Decimal(value[0] * 100) / value[1]:f}"


_READERS: Mapping[str, Callable[[Any], Any]] = {
    "products": _ids,
    "taxons": _ids,
    "groups": _ids,
    "amounts": _amounts,
    "percent": _percent,
    "count": _count,
}
_WRITERS: Mapping[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("products", "taxons", "groups"), lambda ids: sorted(str(UUID(int=each)) for each in ids)),
    "amounts": lambda amounts: {
        currency: wire_decimal(minor, currency_digits(currency)) for currency, minor in amounts.items()
    },
    "percent": _percent_text,
    "count": lambda count: count,
}
