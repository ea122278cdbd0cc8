"""Explains why a price list does not apply; only the price resolver decides which one does."""

from collections.abc import Sequence

import msgspec

from shop.models.catalog.prices import CustomerPriceList, PriceListEntry


class ListPrice(msgspec.Struct, frozen=True):
    """The price of a list for a variant at a quantity: an amount, a percentage or nothing."""

    amount: int | None = None
    min_quantity: int | None = None
    has_percent: bool = False
    from_quantity: int | None = None
    """The quantity of its first price, if the current quantity is smaller."""


def find_list_price(price_list: CustomerPriceList, entries: Sequence[PriceListEntry], quantity: int) -> ListPrice:
    """Returns the price of a list; `entries` are those of this list and variant, sorted by quantity."""
    matching = [entry for entry in entries if entry.min_quantity <= quantity]
    if matching:
        return ListPrice(amount=matching[-1].amount, min_quantity=matching[-1].min_quantity)
    if price_list.percent_off is not None:
        return ListPrice(has_percent=True)
    return ListPrice(from_quantity=entries[0].min_quantity if entries else None)


def explain_rejection(
    price_list: CustomerPriceList,
    list_price: ListPrice,
    *,
    currency: str,
    deciding_priority: int | None,
    has_base: bool,
) -> str:
    """Returns the first reason that holds, as the end of a sentence that begins with the name of the list."""
    priority = deciding_priority if deciding_priority is not None else price_list.priority
    reasons = (
        (not price_list.active, "is inactive"),
        (price_list.currency != currency, f"is in {price_list.currency}"),
        (not price_list.has_begun, "has not begun"),
        (price_list.has_ended, "has ended"),
        (list_price.from_quantity is not None, f"starts at {list_price.from_quantity} units"),
        (list_price.amount is None and not list_price.has_percent, "has no price for this variant"),
        (list_price.has_percent and not has_base, "gives a percentage off, but there is no regular price"),
        (price_list.priority < priority, f"has a lower priority: {price_list.priority}, not {priority}"),
    )
    return next((reason for applies, reason in reasons if applies), "has the same priority and is not cheaper")
