"""What becomes of two carts when a guest signs in.

strategy     survives          lines                                          the other cart
merge        the guest's       the user's move in, capped by stock            closed
keep_guest   the guest's       the guest's                                    closed
keep_user    the user's        the user's                                     closed
(any)        the only one      its own                                        there is none
"""

from collections.abc import Mapping, Sequence
from typing import Literal, get_args
from uuid import UUID

import msgspec

Strategy = Literal["merge", "keep_guest", "keep_user"]
STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)


class Line(msgspec.Struct, frozen=True):
    """A cart's line as far as merging cares."""

    variant_id: UUID
    quantity: int


class Merge(msgspec.Struct, frozen=True):
    """What happens, line by line."""

    strategy: Strategy
    survivor: Literal["guest", "user"]
    lines: Sequence[Line]
    moved: Sequence[Line] = ()
    """What the user's cart brought in, after capping."""
    capped: Sequence[Line] = ()
    """What could not be brought in, because the stock has no more."""


def merge_carts(
    strategy: Strategy, guest: Sequence[Line], user: Sequence[Line] | None, available: Mapping[UUID, int]
) -> Merge:
    """`user` is none when the user has no open cart; a variant that `available` does not name is not counted."""
    if user is None or strategy == "keep_guest":
        return Merge(strategy, "guest", guest)
    if strategy == "keep_user":
        return Merge(strategy, "user", user)
    quantities = {line.variant_id: line.quantity for line in guest}
    moved, capped = [], []
    for line in user:
        present = quantities.get(line.variant_id, 0)
        room = max(available.get(line.variant_id, present + line.quantity) - present, 0)
        taken = min(line.quantity, room)
        if taken:
            quantities[line.variant_id] = present + taken
            moved.append(Line(line.variant_id, taken))
        if taken < line.quantity:
            capped.append(Line(line.variant_id, line.quantity - taken))
    return Merge(strategy, "guest", [Line(*item) for item in quantities.items()], moved, capped)
