"""What may be settled for a condition or a benefit: how it is typed, how it is kept, and how it is worked with.

settled as             typed and kept                   worked with
products, taxons, groups   a list of ids                a set of them as numbers
amounts                {"USD": "10.0"}                  minor units by currency
percent                "12.5"                           a part and a whole
count                  3                                3
"""

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any
from uuid import UUID

from shop.base.ids import as_uuid
from shop.base.money import currency_digits, is_currency, minor_units, wire_decimal
from shop.rules.cart.promotion_kinds import BENEFITS, CONDITIONS, BenefitKind, ConditionKind, Ids
from shop.rules.cart.promotions import Part

MOST_IDS = 500
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?", re.ASCII)
MOST_COUNT = 1000
KINDS: Mapping[str, Mapping[str, ConditionKind | BenefitKind]] = {"condition": CONDITIONS, "benefit": BENEFITS}


def part_errors(what: str, kind: str, given: Mapping[str, Any]) -> dict[str, list[str]]:
    """What is wrong with it, by field."""
    known = KINDS[what].get(kind)
    if known is None:
        return {"type": [f"must be one of {', '.join(KINDS[what])}"]}
    errors = {f"preferences.{name}": ["is not a known member"] for name in given if name not in known.settings}
    for name, form in known.settings.items():
        try:
            _READERS[form](given.get(name))
        except ValueError as wrong:
            errors[f"preferences.{name}"] = [str(wrong)]
    return errors


def kept(what: str, kind: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """What is right, in the one way in which it is written down."""
    return {name: _WRITERS[form](_READERS[form](given.get(name))) for name, form in KINDS[what][kind].settings.items()}


def settled(what: str, kind: str, stored: Mapping[str, Any]) -> Part | None:
    """None where it cannot be worked with: of a kind that this program does not know, or spoiled by hand."""
    known = KINDS[what].get(kind)
    if known is None:
        return None
    try:
        return Part(kind, {name: _READERS[form](stored.get(name)) for name, form in known.settings.items()})
    except ValueError:
        return None


def _ids(value: Any) -> Ids:
    found = [as_uuid(each) for each in value] if isinstance(value, list) else []
    ids = frozenset(each.int for each in found if each)
    if not ids or len(ids) > MOST_IDS or None in found:
        raise ValueError(f"must be a list of 1 to {MOST_IDS} ids")
    return ids


def _amounts(value: Any) -> dict[str, int]:
    given = value if isinstance(value, dict) else {}
    found: dict[str, int] = {}
    for currency, text in given.items():
        amount = _decimal(text)
        if not isinstance(currency, str) or not is_currency(currency) or amount is None:
            raise ValueError('must be amounts by currency like {"USD": "10.0"}')
        if amount <= 0:
            raise ValueError("must be more than nothing")
        found[currency] = minor_units(amount, currency)
    if not found:
        raise ValueError('must be amounts by currency like {"USD": "10.0"}')
    return found


def _percent(value: Any) -> tuple[int, int]:
    percent = _decimal(value)
    if percent is None or not 0 < percent <= 100 or percent != round(percent, 3):
        raise ValueError("must be more than 0 and at most 100, with at most three decimals")
    return (percent / 100).as_integer_ratio()


def _count(value: Any) -> int:
    number = int(value) if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 6 else value
    if type(number) is not int or not 1 <= number <= MOST_COUNT:
        raise ValueError(f"must be a whole number from 1 to {MOST_COUNT}")
    return number


def _decimal(value: Any) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float | Decimal) or len(str(value)) > 30:
        return None
    return Decimal(str(value)) if _NUMBER.fullmatch(str(value)) else None


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
