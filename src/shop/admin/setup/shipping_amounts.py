"""Parses and formats shipping amounts: one amount per currency, or lines of `from weight: amount`."""

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from shop.admin.fields import Fields
from shop.base.money import minor_units
from shop.rules.form_values import amount_text, read_amount, read_number

Steps = dict[str, str]
"""Amounts by minimum weight."""


def read_amounts(fields: Fields, *, is_by_weight: bool) -> dict[str, Steps]:
    amounts: dict[str, Steps] = {}
    for currency, text in fields.group("amounts").items():
        if isinstance(text, str) and text.strip():
            try:
                amounts[currency] = _steps(text, currency, is_by_weight=is_by_weight)
            except ValueError as error:
                fields.refuse(f"amounts-{currency}", str(error))
    if not amounts and not any(name.startswith("amounts-") for name in fields.errors):
        fields.refuse("amounts", "is required in at least one currency")
    return amounts


def _steps(text: str, currency: str, *, is_by_weight: bool) -> Steps:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not is_by_weight and (len(lines) > 1 or ":" in text):
        raise ValueError("must be a single amount unless charged by weight")
    steps: Steps = {}
    for line in lines:
        weight, colon, amount = line.rpartition(":")
        key = _weight(read_number(weight.strip())) if colon else "0"
        if key in steps:
            raise ValueError(f"has two amounts for weight {key}")
        steps[key] = amount_text(minor_units(read_amount(amount.strip(), currency), currency), currency)
    return steps


def present_amounts(rows: Iterable[Any]) -> dict[str, Steps]:
    """Groups stored rows of currency, weight and minor units by currency."""
    amounts: dict[str, Steps] = {}
    for currency, weight, minor in rows:
        amounts.setdefault(currency, {})[_weight(Decimal(str(weight)))] = amount_text(minor, currency)
    return amounts


def amounts_texts(rows: Iterable[Any]) -> dict[str, str]:
    """Formats stored amounts as form texts."""
    return {
        currency: steps["0"] if list(steps) == ["0"] else "\n".join(f"{key}: {amount}" for key, amount in steps.items())
        for currency, steps in present_amounts(rows).items()
    }


def _weight(value: Decimal) -> str:
    return f"{value.normalize():f}"
