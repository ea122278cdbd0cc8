"""Decides which events a change of a record causes, from the row before and after it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

_NAMES = {"taxon": "category", "user": "customer", "shop": "settings"}
"""Names of events by the type of their subject, where they differ."""
UNIMPORTANT = frozenset({"updated_at", "updated_hour", "last_used_at", "lft", "rgt"})
"""Columns whose change alone is no event: times, and numbers that follow from the place of other records."""


def list_event_types(subject_type: str, before: Any, after: Any, *, has_other_changes: bool = False) -> list[str]:
    """Returns the types of the events, in their order; `before` is None for a new record, `after` for a deleted one.

    `has_other_changes` is whether something changed that is not a column of the row.
    """
    if before is None and after is None:
        return []  # Created and deleted in one transaction.
    name = event_name(subject_type)
    if subject_type not in _RULES:
        is_updated = has_other_changes and before is not None and after is not None
        return [f"{name}.{verb}" for verb in (["updated"] if is_updated else _decide_plain(before, after))]
    return [f"{name}.{verb}" if "." not in verb else verb for verb in _RULES[subject_type](before, after)]


def event_name(subject_type: str) -> str:
    """Returns the first part of the types of events about records of this type."""
    return _NAMES.get(subject_type, subject_type)


def changed_fields(before: Any, after: Any) -> list[str]:
    """Returns the columns of `before` whose values differ, but for times of update."""
    names = (name for name in before.__struct_fields__ if name not in UNIMPORTANT)
    return [name for name in names if getattr(before, name) != getattr(after, name)]


def _decide_plain(before: Any, after: Any) -> Sequence[str]:
    if before is None:
        return ["created"]
    if after is None:
        return ["deleted"]
    return ["updated"] if changed_fields(before, after) else []


def _decide_order(before: Any, after: Any) -> Sequence[str]:
    if after is None or after.completed_at is None:
        return []  # Open carts have no events.
    was = None if before is None or before.completed_at is None else before
    verbs = ["completed"] if was is None else []
    verbs += ["approved"] if after.approved_at and not (was and was.approved_at) else []
    verbs += ["canceled"] if after.canceled_at and not (was and was.canceled_at) else []
    verbs += ["resumed"] if was and was.canceled_at and not after.canceled_at else []
    verbs += ["paid"] if _became(was, after, "payment_state", "paid") else []
    verbs += ["shipped"] if _became(was, after, "shipment_state", "shipped") else []
    return verbs or (["updated"] if was and changed_fields(was, after) else [])


def _decide_payment(before: Any, after: Any) -> Sequence[str]:
    if after is None:
        return ["deleted"]
    if before is not None and before.state == after.state:
        return []
    verbs = {"pending": "authorized", "completed": "captured", "failed": "failed", "void": "voided"}
    return [verbs[after.state]] if after.state in verbs else []


def _decide_refund(before: Any, after: Any) -> Sequence[str]:
    """A refund exists for others when the money is on its way, not when it is requested."""
    return ["created"] if _became(before, after, "state", "completed") else []


def _decide_invoice(_before: Any, after: Any) -> Sequence[str]:
    """Invoices and credit notes never change."""
    return [f"{after.kind}.created"]


def _decide_shipment(before: Any, after: Any) -> Sequence[str]:
    if before is None:
        return ["created"]
    if after is None:
        return ["deleted"]
    verbs = [after.state] if after.state != before.state and after.state in {"ready", "shipped", "canceled"} else []
    verbs += ["delivered"] if after.delivered_at and not before.delivered_at else []
    verbs += ["tracking_changed"] if after.tracking != before.tracking else []
    return verbs or (["updated"] if changed_fields(before, after) else [])


def _decide_customer(before: Any, after: Any) -> Sequence[str]:
    """Anyone can enter an address; it becomes a customer when its owner proves to own it, or a merchant creates it."""
    was_verified = before is not None and before.verified_at is not None
    is_verified = after is not None and after.verified_at is not None
    if is_verified and not was_verified:
        return ["created"] if before is None else ["created", "verified"]
    if not was_verified:
        return []
    return [*_decide_disabled(before, after)] or _decide_plain(before, after)


def _decide_operator(before: Any, after: Any) -> Sequence[str]:
    """Passwords and second factors are no events: the audit has them."""
    if before is None:
        return ["created"]
    if after is None:
        return ["deleted"]
    return [*_decide_disabled(before, after), *(["updated"] if before.role_id != after.role_id else [])]


def _decide_application(before: Any, after: Any) -> Sequence[str]:
    if before is None:
        return ["created"]
    return ["revoked"] if after.revoked_at and not before.revoked_at else []


def _decide_disabled(before: Any, after: Any) -> Sequence[str]:
    if after is None or (before.disabled_at is None) == (after.disabled_at is None):
        return []
    return ["disabled" if after.disabled_at else "enabled"]


def _decide_price(before: Any, after: Any) -> Sequence[str]:
    return ["price.changed"] if before is None or after is None or changed_fields(before, after) else []


def _decide_stock(before: Any, after: Any) -> Sequence[str]:
    if before is not None and after is not None and not changed_fields(before, after):
        return []
    was_on_hand = before is not None and before.count_on_hand > 0
    is_on_hand = after is not None and after.count_on_hand > 0
    if was_on_hand == is_on_hand:
        return ["stock.changed"]
    return ["stock.changed", "stock.back" if is_on_hand else "stock.sold_out"]


def _became(before: Any, after: Any, name: str, value: str) -> bool:
    """Whether a column has this value now and had another one before, or there was no row."""
    is_now = after is not None and getattr(after, name) == value
    return is_now and (before is None or getattr(before, name) != value)


_RULES: Mapping[str, Callable[[Any, Any], Sequence[str]]] = {
    "order": _decide_order,
    "payment": _decide_payment,
    "refund": _decide_refund,
    "invoice": _decide_invoice,
    "shipment": _decide_shipment,
    "user": _decide_customer,
    "operator": _decide_operator,
    "application": _decide_application,
    "price": _decide_price,
    "stock_item": _decide_stock,
}
