"""Who is asking: what a request claims, before and after the database has agreed."""

from uuid import UUID

import msgspec


class Actor(msgspec.Struct, frozen=True):
    """Who an event in the audit is ascribed to: a guest, user, application, operator, or the command line."""

    kind: str
    id: UUID | None = None


NOBODY = Actor("guest")


class Claim(msgspec.Struct, frozen=True):
    """What the headers say. Its order token is genuine by its key; whether it opens a cart, the database knows."""

    order_token_sent: bool = False
    cart_id: UUID | None = None
    token_version: int = 0
    """Of the order token; the cart opens when it is the cart's own."""
    order_token: str | None = None
    """The token as sent, when it was made with the current key."""
    bearer: bytes | None = None
    """The hash of an access token that is well formed; whether it is live, only the database knows."""
    is_platform: bool = False
    """The bearer is an application's."""

    @property
    def kind(self) -> str:
        if self.is_platform:
            return "application"
        return "user" if self.bearer else "order" if self.cart_id else "guest"


GUEST = Claim()
