"""Refresh token rotation: decides whether a session continues, repeats its last pair, or ends.

token           used                               outcome
head            before the session's end           rotate: a child token becomes the new head
parent of head  within the grace after rotation    repeat: the identical pair (two tabs, a lost response)
any older one   or the parent after the grace      reuse: the token was copied, so the session ends
anything else                                      refuse
"""

from typing import Literal

import msgspec

Outcome = Literal["rotate", "repeat", "reuse", "refuse"]


class RefreshFacts(msgspec.Struct, frozen=True):
    """The facts about a refresh token that decide its outcome."""

    is_live: bool
    """The session is not revoked or expired, its user is not disabled and its application is not revoked."""
    is_owners: bool
    """The token was sent with its user's e-mail, or by its own application."""
    seconds_since_rotation: float | None
    """None for the head token."""
    child_is_head: bool


def outcome(facts: RefreshFacts, grace: int) -> Outcome:
    if not facts.is_live or not facts.is_owners:
        return "refuse"
    if facts.seconds_since_rotation is None:
        return "rotate"
    return "reuse" if is_spent(facts, grace) else "repeat"


def is_spent(facts: RefreshFacts, grace: int) -> bool:
    """Returns whether the token is rotated and past the grace period; correct clients never send it, so it ends no
    session.
    """
    if facts.seconds_since_rotation is None:
        return False
    return not facts.child_is_head or facts.seconds_since_rotation > grace
