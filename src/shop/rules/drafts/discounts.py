"""Calculates the amounts of a draft's discounts.

    line item    percent of, or an amount off, the line after promotions; at most that
    whole order  percent of the items after all these discounts, or an amount off the total; at most the total

The amounts become manual adjustments: taxes are calculated from the prices before them.
"""

from collections.abc import Mapping, Sequence
from uuid import UUID

import msgspec

from shop.models.drafts.drafts import DraftDiscount

MAX_PERCENT = 100
MAX_LABEL_LENGTH = 255


class DiscountAmount(msgspec.Struct, frozen=True):
    """A discount with the amount that it takes off, in minor units, below or equal to zero."""

    discount: DraftDiscount
    label: str
    amount: int


def calculate_discounts(
    discounts: Sequence[DraftDiscount], line_amounts: Mapping[UUID, tuple[str, int]], total: int
) -> list[DiscountAmount]:
    """Returns the amounts of discounts. `line_amounts` has the name and the discounted amount of each line item, and
    `total` is the total of the order before these discounts.
    """
    amounts: list[DiscountAmount] = []
    left, items = total, sum(amount for _, amount in line_amounts.values())
    for discount in sorted(discounts, key=lambda each: each.line_item_id is None):
        if discount.line_item_id is None:
            base, limit, name = items, left, "Discount"
        elif discount.line_item_id in line_amounts:
            name, base = line_amounts[discount.line_item_id]
            limit = min(base, left)
        else:
            continue
        size = min(_size(discount, base), limit)
        left, items = left - size, items - size
        amounts.append(DiscountAmount(discount, _label(name, discount.reason), -size))
    return amounts


def _size(discount: DraftDiscount, base: int) -> int:
    if discount.kind == "amount":
        return discount.value
    return (2 * base * discount.value + 10_000) // 20_000


def _label(name: str, reason: str) -> str:
    room = MAX_LABEL_LENGTH - len(reason) - 2
    return f"{name[:room]}: {reason}"
