"""Structs of plain JSON responses and of the empty body."""

from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import Meta

from shop.rules.checkout.steps import CheckoutRequirement


class LoginNotice(msgspec.Struct, frozen=True):
    """Confirms the request for a login code."""

    message: Annotated[str, Meta(examples=["If this address can receive e-mail, a code is sent to it."])]


class EmptyBody(msgspec.Struct):
    """An empty object, or no body at all."""


class CheckoutRequirements(msgspec.Struct):
    """The requirements that a cart does not meet yet."""

    state: str
    is_complete: bool
    missing: list[CheckoutRequirement]
    held_until: datetime | None = None
    """Stock is held until then, if the shop holds stock."""
