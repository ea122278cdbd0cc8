"""Calculates the discounts and tax rates of an edited order: what was bought keeps its terms.

price          as bought; a new line item has today's price for the customer
line discount  in proportion to the quantity; a new line item has none
order discount smaller in proportion to the items that are removed; never larger
shipping       cost and discount as bought
tax            the rates of the purchase; today's rates for a new tax category or another country or state
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, TypeVar
from uuid import UUID

import msgspec

from shop.models.cart.orders import LineItem
from shop.rules.cart.totals import Rate

L = TypeVar("L", bound=LineItem)


def share_amount(amount: int, part: int, whole: int) -> int:
    """Returns `part` of `whole` of an amount, rounded half away from zero."""
    size = (2 * abs(amount) * part + whole) // (2 * whole)
    return -size if amount < 0 else size


def change_quantity(line: L, quantity: int) -> L:
    """Returns the line item with another quantity, at the price and with the discount of each unit."""
    promo_total = share_amount(line.promo_total, quantity, line.quantity)
    return msgspec.structs.replace(line, quantity=quantity, promo_total=promo_total)


def change_promotions(
    discounts: Mapping[str, Any],
    lines: Sequence[LineItem],
    new_lines: Sequence[LineItem],
    merged_ids: Mapping[UUID, UUID],
) -> dict[str, Any]:
    """Returns the stored discounts for the new line items. `merged_ids` are the shipments that took over the cost of
    others, by the ids of those.
    """
    new_lines_by_id = {str(line.id): line for line in new_lines}
    shipment_ids = {str(old): str(new) for old, new in merged_ids.items()}
    kept_amount, amount = _sum_kept(lines, new_lines_by_id), sum(line.discounted_amount for line in lines)
    entries: dict[str, Any] = {}
    for promotion_id, entry in discounts.items():
        parts = []
        for part in entry["parts"]:
            if part["on"] == "line":
                line = new_lines_by_id.get(part["id"])
                parts += (
                    [{"on": "line", "id": part["id"], "of": line.amount, "amount": line.promo_total}] if line else []
                )
            elif part["on"] == "shipment":
                parts.append({**part, "id": shipment_ids.get(part["id"], part["id"])})
            else:
                parts.append(_share_part(part, kept_amount, amount))
        entries[promotion_id] = {**entry, "amount": sum(part["amount"] for part in parts), "parts": parts}
    return entries


def sum_order_discounts(discounts: Mapping[str, Any]) -> int:
    """Returns the discounts on the whole order."""
    return sum(part["amount"] for entry in discounts.values() for part in entry["parts"] if part["on"] == "order")


def _sum_kept(lines: Sequence[LineItem], new_lines_by_id: Mapping[str, LineItem]) -> int:
    """Returns the amount of the units that stay, after discounts."""
    total = 0
    for line in lines:
        new_line = new_lines_by_id.get(str(line.id))
        quantity = min(line.quantity, new_line.quantity) if new_line else 0
        total += share_amount(line.discounted_amount, quantity, line.quantity)
    return total


def _share_part(part: Mapping[str, Any], kept_amount: int, amount: int) -> dict[str, Any]:
    if kept_amount == amount or not amount:
        return dict(part)
    new_amount = share_amount(part["amount"], kept_amount, amount)
    return {"on": part["on"], "of": kept_amount, "amount": new_amount}


def select_rates(
    steps: Sequence[Mapping[str, Any]], category_ids: Mapping[str, UUID | None], current_rates: Sequence[Rate]
) -> list[Rate]:
    """Returns the rates of the purchase for the tax categories that it has, and current ones for all others.
    `category_ids` are the tax categories of the line items and shipments by id.
    """
    rates: dict[tuple[UUID, UUID], Rate] = {}
    for step in steps:
        category_id = category_ids.get(str(step.get("id")))
        if category_id is None or step["step"] not in {"included_tax", "added_tax"}:
            continue
        for tax in step["taxes"]:
            rate_id, is_included = UUID(str(tax["id"])), step["step"] == "included_tax"
            rate = Rate(rate_id, tax["name"], Decimal(str(tax["rate"])), is_included, category_id)
            rates[rate_id, category_id] = rate
    known_categories = set(category_ids.values())
    return [*rates.values(), *(rate for rate in current_rates if rate.tax_category_id not in known_categories)]
