"""Decides what remains of the records of a person whose data is erased."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from shop.rules.personal_data import PERSONAL

ERASED_TEXT = "Erased"
_NO_METADATA: Mapping[str, Any] = {"public_metadata": {}, "private_metadata": {}}
REMAINS: Mapping[str, Mapping[str, Any]] = {
    # The country and the state remain: they decide the taxes.
    "address": {
        "firstname": ERASED_TEXT,
        "lastname": "customer",
        "address1": "",
        **dict.fromkeys(
            ["company", "address2", "city", "zipcode", "state_name", "phone", "alternative_phone", "label"]
        ),
        **_NO_METADATA,
    },
    "adjustment": {"label": ERASED_TEXT},
    "draft_discount": {"reason": ERASED_TEXT},
    "order": {"email": None, "special_instructions": None, "internal_note": None, "tags": [], **_NO_METADATA},
    "order_note": {"text": ERASED_TEXT, "file": None},
    "line_item": _NO_METADATA,
    "shipment": _NO_METADATA,
    "payment": _NO_METADATA,
    "payment_source": dict.fromkeys(
        ["reference", "customer_reference", "cc_type", "last_digits", "month", "year", "name", "used_at"]
    ),
    "payment_attempt": {"message": None},
    "promotion_use": {"email": None},
    "refund": {"reason": ERASED_TEXT},
    "refund_request": {"reason": ERASED_TEXT},
    "store_credit": {"memo": ERASED_TEXT, **_NO_METADATA},
    "store_credit_event": {"reason": None},
    "wishlist": {"name": ERASED_TEXT, "token": ""},
}
"""The values of the columns that are erased, by the type of the record. All other columns remain: numbers, times,
states, amounts, taxes, products and the provider's references of payments, which bookkeeping and refunds need.
"""


def erased_account(user_id: UUID) -> dict[str, Any]:
    """Returns the columns of an erased account; nothing can be delivered to its address."""
    address = f"erased-{user_id.hex}@erased.invalid"
    names = ("first_name", "last_name", "phone", "note", "selected_locale", "bill_address_id", "ship_address_id")
    return {"email": address, "email_key": address, **dict.fromkeys(names), "tags": [], **_NO_METADATA}


def personal_attributes(subject_type: str) -> list[str]:
    """Returns the attributes whose former values the event log forgets."""
    return sorted(PERSONAL.get(subject_type, frozenset()) | REMAINS.get(subject_type, {}).keys())
