"""What becomes of a refresh token that is shown: the session goes on, repeats itself, or ends.

token           shown                              then
head            before the session's end           rotate: a child of it is the new head
parent of head  within the grace after rotation    repeat: the identical pair again (two tabs, a lost answer)
any older one   or the parent after the grace      reuse: somebody has a copy, the session ends
anything else                                      refuse
"""

from typing import Literal

import msgspec

Outcome = Literal["rotate", "repeat", "reuse", "refuse"]


class Shown(msgspec.Struct, frozen=True):
    """What the database knows of a refresh token that was shown."""

    is_live: bool
    """Its session is neither revoked nor past its end, nor is its user disabled or its application revoked."""
    is_owners: bool
    """It was shown with its user's e-mail, or by its own application."""
    seconds_since_rotation: float | None
    """None for the head."""
    child_is_head: bool


def outcome(shown: Shown, grace: int) -> Outcome:
    if not shown.is_live or not shown.is_owners:
        return "refuse"
    if shown.seconds_since_rotation is None:
        return "rotate"
    return "reuse" if is_spent(shown, grace) else "repeat"


def is_spent(shown: Shown, grace: int) -> bool:
    """Rotated, and past what two tabs or a lost answer excuse: nobody honest shows it, so it must not end anything."""
    if shown.seconds_since_rotation is None:
        return False
    return not shown.child_is_head or shown.seconds_since_rotation > grace
