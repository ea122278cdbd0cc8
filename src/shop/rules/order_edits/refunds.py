"""Calculates refunds by line item: what units cost with discounts and tax, and which payments return it."""

from collections.abc import Mapping, Sequence
from typing import TypeVar
from uuid import UUID

from shop.models.cart.orders import LineItem
from shop.rules.order_edits.edits import share_amount

P = TypeVar("P")
REASONS = {
    "returned": "Returned",
    "damaged": "Damaged or defective",
    "wrong_item": "Wrong item",
    "not_received": "Not received",
    "out_of_stock": "Out of stock",
    "customer": "Customer changed their mind",
    "other": "Other",
}
MAX_REASON_LENGTH = 255


def compose_reason(key: str, text: str) -> str:
    """Returns the reason of a refund or cancellation: one of the list, with or without an explanation."""
    label = REASONS[key]
    if not text:
        return label
    return text if key == "other" else f"{label}: {text}"


def find_reason_key(reason: str) -> str:
    """Returns the key of a composed reason: all that the audit stores of it, since explanations can be personal."""
    keys = (key for key, label in REASONS.items() if reason == label or reason.startswith(f"{label}: "))
    return next(keys, "other")


def share_lines(lines: Sequence[LineItem], order_adjustment: int) -> dict[UUID, int]:
    """Returns what each line item cost, with its share of the discounts and adjustments of the whole order."""
    whole = sum(line.total for line in lines)
    shares: dict[UUID, int] = {}
    line_sum, shared_sum = 0, 0
    for line in lines:
        line_sum += line.total
        share = share_amount(order_adjustment, line_sum, whole) - shared_sum if whole else 0
        shared_sum += share
        shares[line.id] = max(line.total + share, 0)
    return shares


def price_units(cost: int, line_quantity: int, refunded_count: int, count: int) -> int:
    """Returns what `count` more units cost after `refunded_count`; all units together cost exactly `cost`."""
    before = share_amount(cost, refunded_count, line_quantity)
    return share_amount(cost, refunded_count + count, line_quantity) - before


def divide_refund(amount: int, refundable_amounts: Mapping[P, int]) -> dict[P, int] | None:
    """Divides a refund among payments, each as far as it can be refunded; None if it is more than all of them. Returned
    units are divided among stock locations in the same way.
    """
    amounts: dict[P, int] = {}
    for payment, refundable_amount in refundable_amounts.items():
        part = min(amount, refundable_amount)
        if part:
            amounts[payment] = part
        amount -= part
    return None if amount else amounts


def subtract_restocked(
    shipped_counts: Mapping[UUID, int], restocked_counts: Mapping[UUID | None, int]
) -> dict[UUID, int]:
    """Returns the shipped units that are not back in stock, by stock location. Units that returned before locations
    were stored returned to the first ones.
    """
    unknown_count = restocked_counts.get(None, 0)
    counts = {}
    for location_id, shipped_count in shipped_counts.items():
        count = max(shipped_count - restocked_counts.get(location_id, 0), 0)
        part = min(count, unknown_count)
        unknown_count -= part
        counts[location_id] = count - part
    return counts
