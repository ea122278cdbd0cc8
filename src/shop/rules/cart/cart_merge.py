"""What becomes of two carts when a guest signs in.

strategy     survives          lines                                          the other cart
merge        the guest's       the user's move in, as far as they fit         closed
keep_guest   the guest's       the guest's                                    closed
keep_user    the user's        the user's                                     closed
(any)        the only one      its own                                        there is none
"""

from collections.abc import Mapping, Sequence
from typing import Literal, get_args
from uuid import UUID

import msgspec

from shop.rules.cart.line_items import MOST_LINES, MOST_PIECES
from shop.rules.metadata import MAX_CART_METADATA_BYTES

Strategy = Literal["merge", "keep_guest", "keep_user"]
STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)


class Line(msgspec.Struct, frozen=True, omit_defaults=True):
    """A cart's line as far as merging cares."""

    variant_id: UUID
    quantity: int
    metadata_bytes: int = 0
    """Only of lines that are compared; left out of what is shown."""


class Merge(msgspec.Struct, frozen=True):
    """What happens, line by line."""

    strategy: Strategy
    survivor: Literal["guest", "user"]
    lines: Sequence[Line]
    moved: Sequence[Line] = ()
    """What the user's cart brought in, after capping."""
    capped: Sequence[Line] = ()
    """What could not be brought in, because the stock has no more or the cart is full."""


def merge_carts(
    strategy: Strategy, guest: Sequence[Line], user: Sequence[Line] | None, available: Mapping[UUID, int]
) -> Merge:
    """`user` is none when the user has no open cart; a variant that `available` does not name is not counted."""
    if user is None or strategy == "keep_guest":
        return Merge(strategy, "guest", guest)
    if strategy == "keep_user":
        return Merge(strategy, "user", user)
    quantities = {line.variant_id: line.quantity for line in guest}
    free_bytes = MAX_CART_METADATA_BYTES - sum(line.metadata_bytes for line in guest)
    moved, capped = [], []
    for line in user:
        present = quantities.get(line.variant_id, 0)
        room = max(min(available.get(line.variant_id, MOST_PIECES), MOST_PIECES) - present, 0)
        if not present and (len(quantities) >= MOST_LINES or line.metadata_bytes > free_bytes):
            room = 0
        taken = min(line.quantity, room)
        if taken:
            free_bytes -= 0 if present else line.metadata_bytes
            quantities[line.variant_id] = present + taken
            moved.append(Line(line.variant_id, taken))
        if taken < line.quantity:
            capped.append(Line(line.variant_id, line.quantity - taken))
    return Merge(strategy, "guest", [Line(*item) for item in quantities.items()], moved, capped)
