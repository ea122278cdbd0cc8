"""Calculates the amounts of a draft's discounts.

    line item    percent of, or an amount off, the line after promotions; at most that
    whole order  percent of the items after all these discounts, or an amount off items and shipping; at most all of it

The amounts become manual adjustments. Taxes are calculated from the prices after them: a discount of a line lowers the
taxes of this line, and one of the whole order those of all items in proportion. Added taxes come on top.
"""

from collections.abc import Mapping, Sequence
from uuid import UUID

import msgspec

from shop.models.drafts.drafts import DraftDiscount
from shop.rules.cart.totals import Taxable, spread_manual

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
    `total` is the total of the order before these discounts and added taxes.
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


def share_discounts(
    amounts: Sequence[DiscountAmount], lines: Sequence[Taxable], shipments: Sequence[Taxable]
) -> dict[str, int]:
    """Returns how discounts divide among line items and shipments, by id."""
    line_shares = {str(each.discount.line_item_id): each.amount for each in amounts if each.discount.line_item_id}
    order_amount = sum(each.amount for each in amounts if each.discount.line_item_id is None)
    discounted_lines = [
        msgspec.structs.replace(line, promo_total=line.promo_total + line_shares.get(str(line.id), 0)) for line in lines
    ]
    order_shares = spread_manual(order_amount, discounted_lines, shipments)
    ids = line_shares.keys() | order_shares.keys()
    return {key: line_shares.get(key, 0) + order_shares.get(key, 0) for key in sorted(ids)}


def _size(discount: DraftDiscount, base: int) -> int:
    if discount.kind == "amount":
        return discount.value
    return (2 * base * discount.value + 10_000) // 20_000


def _label(name: str, reason: str) -> str:
    room = MAX_LABEL_LENGTH - len(reason) - 2
    return f"{name[:room]}: {reason}"
