"""Why a list of prices does not decide what a customer pays. Which one does is the resolver's word alone."""

from collections.abc import Sequence

import msgspec

from shop.models.catalog.prices import CustomersList, PriceListEntry


class Says(msgspec.Struct, frozen=True):
    """What a list says of a variant at a quantity: an amount, or a percentage, or nothing."""

    amount: int | None = None
    min_quantity: int | None = None
    has_percent: bool = False
    from_quantity: int | None = None
    """Says nothing yet: its first price is for so many."""


def said_by(found: CustomersList, entries: Sequence[PriceListEntry], quantity: int) -> Says:
    """`entries` are the list's of this variant, by quantity."""
    fitting = [entry for entry in entries if entry.min_quantity <= quantity]
    if fitting:
        return Says(amount=fitting[-1].amount, min_quantity=fitting[-1].min_quantity)
    if found.percent_off is not None:
        return Says(has_percent=True)
    return Says(from_quantity=entries[0].min_quantity if entries else None)


def why_not(found: CustomersList, says: Says, *, currency: str, deciding_priority: int | None, has_base: bool) -> str:
    """The end of a sentence that begins with the list's name: the first of these that is so."""
    priority = deciding_priority if deciding_priority is not None else found.priority
    reasons = (
        (not found.active, "is switched off"),
        (found.currency != currency, f"is in {found.currency}"),
        (not found.has_begun, "has not begun"),
        (found.has_ended, "has ended"),
        (says.from_quantity is not None, f"begins at {says.from_quantity} pieces"),
        (says.amount is None and not says.has_percent, "has no price for it"),
        (says.has_percent and not has_base, "takes a percentage off a price that is not there"),
        (found.priority < priority, f"has a smaller priority, {found.priority} against {priority}"),
    )
    return next((reason for is_so, reason in reasons if is_so), "has the same priority and is not cheaper")
