"""Spree type names accepted as aliases of ours; `docs/spree-types.md` lists them."""

from collections.abc import Mapping
from typing import Any

import msgspec

from shop.base.errors import Invalid
from shop.models.cart.record_inputs import PromotionPartInput

Values = Mapping[str, Any]
_RULE = "Spree::Promotion::Rules::"
_ACTION = "Spree::Promotion::Actions::"
_CALCULATOR = "Spree::Calculator::"
PAYMENT_METHODS = {
    "Spree::PaymentMethod::Check": "check",
    "Spree::Gateway::Bogus": "test_card",
    "Spree::Gateway::BogusSimple": "test_card",
    "Spree::Gateway::StripeGateway": "stripe",
    "Spree::Gateway::StripeElementsGateway": "stripe",
    "SpreeStripe::Gateway": "stripe",
}
SHIPPING_CALCULATORS = {
    f"{_CALCULATOR}Shipping::FlatRate": "flat",
    f"{_CALCULATOR}Shipping::PerItem": "per_item",
}
PROMOTION_RULES = {
    f"{_RULE}Product": "product",
    f"{_RULE}Taxon": "taxon",
    f"{_RULE}FirstOrder": "first_order",
    f"{_RULE}ItemTotal": "item_total",
    f"{_RULE}CustomerGroup": "customer_group",
}
PROMOTION_ACTIONS = {f"{_ACTION}FreeShipping": "free_shipping"}
_DISCOUNTS = {f"{_ACTION}CreateAdjustment": "order", f"{_ACTION}CreateItemAdjustments": "items"}
"""The target of each discount action; its calculator determines the amount."""
_FLAT = f"{_CALCULATOR}FlatRate"
_PERCENT = {f"{_CALCULATOR}FlatPercentItemTotal": "flat_percent", f"{_CALCULATOR}PercentOnLineItem": "percent"}
"""The preference that holds the percentage, by calculator."""
ADJUSTABLES = {"Spree::Order": "order", "Spree::LineItem": "line_item", "Spree::Shipment": "shipment"}
UNKNOWN = "is not a known field"


def translate_payment_method(values: Values) -> dict[str, Any]:
    return _translate_alias(values, "type", PAYMENT_METHODS)


def translate_adjustment(values: Values) -> dict[str, Any]:
    return _translate_alias(values, "adjustable_type", ADJUSTABLES)


def translate_rule(values: Values) -> dict[str, Any]:
    return _translate_alias(values, "type", PROMOTION_RULES)


def translate_action(values: Values) -> dict[str, Any]:
    """Translates an action; `CreateAdjustment` and `CreateItemAdjustments` get their type from the calculator."""
    calculator, preferences = values.get("calculator_attributes"), values.get("preferences") or {}
    rest = {name: value for name, value in values.items() if name != "calculator_attributes"}
    if calculator is not None:
        rest["preferences"] = preferences = {**_discount(calculator), **preferences}
    kind = rest.get("type")
    if kind in _DISCOUNTS:
        rest["type"] = f"{'percent' if 'percent' in preferences else 'amount'}_off_{_DISCOUNTS[kind]}"
    return _translate_alias(rest, "type", PROMOTION_ACTIONS)


_PARTS = {"promotion_rules_attributes": translate_rule, "promotion_actions_attributes": translate_action}


def translate_promotion(values: Values) -> dict[str, Any]:
    """Translates a promotion with its rules and actions."""
    result = dict(values)
    for name in values.keys() & _PARTS.keys():
        result[name] = [_translate_part(name, index, part) for index, part in enumerate(values[name])]
    return result


def _translate_part(name: str, index: int, part: PromotionPartInput) -> PromotionPartInput:
    try:
        return type(part)(**_PARTS[name](msgspec.structs.asdict(part)))
    except Invalid as invalid:
        raise Invalid({f"{name}.{index}.{field}": messages for field, messages in invalid.errors.items()}) from None


def translate_shipping_method(values: Values) -> dict[str, Any]:
    """Translates `calculator_attributes` into `calculator` and `amounts`."""
    rest = {name: value for name, value in values.items() if name != "calculator_attributes"}
    calculator = values.get("calculator_attributes")
    if calculator is not None:
        preferences = _preferences(calculator)
        if "type" in calculator:
            rest["calculator"] = calculator["type"]
        if preferences:
            rest["amounts"] = _amounts(preferences)
    return _translate_alias(rest, "calculator", SHIPPING_CALCULATORS)


def _translate_alias(values: Values, name: str, aliases: Mapping[str, str]) -> dict[str, Any]:
    value = values.get(name)
    return {**values, name: aliases.get(value, value)} if isinstance(value, str) else dict(values)


def _discount(calculator: Values) -> dict[str, Any]:
    """Returns the preferences of a promotion calculator in our form."""
    preferences, kind = _preferences(calculator), calculator.get("type")
    if kind == _FLAT:
        return {"amounts": _amounts(preferences)}
    if not isinstance(kind, str) or kind not in _PERCENT:
        choices = ", ".join([_FLAT, *_PERCENT])
        raise Invalid({"calculator_attributes.type": [f"must be one of {choices}"]})
    _check_names(preferences, {_PERCENT[kind]}, "preferences.")
    return {"percent": preferences.get(_PERCENT[kind])}


def _preferences(calculator: Values) -> Values:
    _check_names(calculator, {"type", "preferences"})
    preferences = calculator.get("preferences") or {}
    if not isinstance(preferences, dict):
        raise Invalid({"calculator_attributes.preferences": ["must be an object"]})
    return preferences


def _check_names(members: Values, allowed_names: set[str], prefix: str = "") -> None:
    unknown = sorted(members.keys() - allowed_names)
    if unknown:
        raise Invalid({f"calculator_attributes.{prefix}{name}": [UNKNOWN] for name in unknown})


def _amounts(preferences: Values) -> dict[str, Any]:
    """Returns amounts by currency; Spree sends one, as `{"amount": 5, "currency": "USD"}`."""
    amounts = preferences.get("amounts")
    if isinstance(amounts, dict):
        _check_names(preferences, {"amounts"}, "preferences.")
        return amounts
    _check_names(preferences, {"amount", "currency"}, "preferences.")
    missing = [name for name in ("amount", "currency") if not isinstance(preferences.get(name), str | int | float)]
    if missing:
        raise Invalid({f"calculator_attributes.preferences.{name}": ["is required"] for name in missing})
    return {str(preferences["currency"]): str(preferences["amount"])}
