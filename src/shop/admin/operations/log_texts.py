"""What the entries of the audit are called, and their details as texts."""

from collections.abc import Mapping
from typing import Any

from shop.base.ids import as_uuid
from shop.base.money import is_currency, money_text

_VERBS = {
    "approve": "approved",
    "cancel": "canceled",
    "complete": "completed",
    "create": "created",
    "delete": "deleted",
    "deliver": "delivered",
    "divide": "divided",
    "made": "created",
    "refresh": "refreshed",
    "refund": "refunded",
    "resume": "resumed",
    "ship": "shipped",
    "tracking": "tracking changed",
    "transfer": "transferred",
}


def title_action(action: str) -> str:
    """Returns an action as people read it, like `Draft created` for `draft_create`."""
    *subject, verb = action.split("_")
    text = " ".join([*subject, _VERBS.get(verb, verb) if subject else verb])
    return text[:1].upper() + text[1:]


def describe_detail(detail: Mapping[str, Any], locale: str) -> list[str]:
    """Returns the details of an entry; amounts as money where the currency is known, and the end of ids."""
    amount, currency = detail.get("amount"), detail.get("currency")
    texts = []
    if isinstance(amount, int) and isinstance(currency, str) and is_currency(currency):
        texts.append(f"amount: {money_text(currency, locale)(amount)}")
        detail = {name: value for name, value in detail.items() if name not in {"amount", "currency"}}
    for name, value in detail.items():
        if value is not None:
            text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
            texts.append(f"{name.replace('_', ' ')}: {'…' + text[-6:] if as_uuid(text) else text}")
    return texts
