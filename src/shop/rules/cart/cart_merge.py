"""Cart merge strategies for a guest who signs in.

strategy     remaining cart    lines                                          other cart
merge        guest's           guest's, plus the user's as far as they fit    closed
keep_guest   guest's           guest's                                        closed
keep_user    user's            user's                                         closed
(any)        the only one      its own                                        none
"""

from collections.abc import Mapping, Sequence
from typing import Literal
from uuid import UUID

import msgspec

from shop.base.input_types import MAX_UNITS
from shop.models.cart.inputs import MAX_LINES, Strategy
from shop.rules.metadata import MAX_CART_METADATA_BYTES


class MergeLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """The fields of a cart line that merging needs."""

    variant_id: UUID
    quantity: int
    metadata_bytes: int = 0
    """Set only on the input lines; omitted from the output."""


class Merge(msgspec.Struct, frozen=True):
    """The result of a merge, line by line."""

    strategy: Strategy
    survivor: Literal["guest", "user"]
    lines: Sequence[MergeLine]
    moved: Sequence[MergeLine] = ()
    """Quantities moved from the user's cart, after capping."""
    capped: Sequence[MergeLine] = ()
    """Quantities not moved, because stock is short or the cart is full."""


def merge_carts(
    strategy: Strategy, guest: Sequence[MergeLine], user: Sequence[MergeLine] | None, available: Mapping[UUID, int]
) -> Merge:
    """Merges two carts. `user` is None if the user has no open cart; variants not in `available` are unlimited."""
    if user is None or strategy == "keep_guest":
        return Merge(strategy, "guest", guest)
    if strategy == "keep_user":
        return Merge(strategy, "user", user)
    quantities = {line.variant_id: line.quantity for line in guest}
    free_bytes = MAX_CART_METADATA_BYTES - sum(line.metadata_bytes for line in guest)
    moved_lines, capped_lines = [], []
    for line in user:
        present = quantities.get(line.variant_id, 0)
        capacity = max(min(available.get(line.variant_id, MAX_UNITS), MAX_UNITS) - present, 0)
        if not present and (len(quantities) >= MAX_LINES or line.metadata_bytes > free_bytes):
            capacity = 0
        quantity = min(line.quantity, capacity)
        if quantity:
            free_bytes -= 0 if present else line.metadata_bytes
            quantities[line.variant_id] = present + quantity
            moved_lines.append(MergeLine(line.variant_id, quantity))
        if quantity < line.quantity:
            capped_lines.append(MergeLine(line.variant_id, line.quantity - quantity))
    return Merge(strategy, "guest", [MergeLine(*item) for item in quantities.items()], moved_lines, capped_lines)
