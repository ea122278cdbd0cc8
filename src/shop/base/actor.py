"""The caller of a request: the claims in its headers, and the actor recorded in the audit log."""

from uuid import UUID

import msgspec


class Actor(msgspec.Struct, frozen=True):
    """The originator of a change: a guest, user, application, operator, the command line, or the shop itself."""

    kind: str
    id: UUID | None = None


GUEST_ACTOR = Actor("guest")
SHOP_ACTOR = Actor("shop")


class Claim(msgspec.Struct, frozen=True):
    """The credentials in the headers. The order token is verified by its key; the database decides if it is current."""

    order_token_sent: bool = False
    cart_id: UUID | None = None
    token_version: int = 0
    """The order token's version; must equal the cart's."""
    order_token: str | None = None
    """The token as sent, if it was signed with the current key."""
    bearer: bytes | None = None
    """The hash of a well-formed access token; the database decides whether it is valid."""
    is_platform: bool = False
    """Whether the bearer token belongs to an application."""

    @property
    def kind(self) -> str:
        if self.is_platform:
            return "application"
        return "user" if self.bearer else "order" if self.cart_id else "guest"


GUEST = Claim()
