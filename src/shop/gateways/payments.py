"""Who takes the money: a provider is one class, and each of its calls is known by a key under which it is done once.

    check       needs no source and always approves: the money comes by itself, and somebody says so later
    store_credit  the same: the ledger is the shop's own
    test_card   takes no money and does what its source says, in a try-out only; in a file of its own
    stripe      takes cards; in a file of its own

What came of a call that was cut off is asked for by its key; or the provider tells it by itself, in a notice that it
signs.
"""

from collections.abc import Mapping
from typing import Any, Literal, Protocol
from uuid import UUID

import msgspec

from shop.base.errors import BadSignature

Outcome = Literal["approved", "declined", "unknown"]
Act = Literal["authorise", "purchase", "capture", "void", "refund"]


class Call(msgspec.Struct, frozen=True):
    """What a provider is asked to do. `reference` is its own name for the payment, once there is one."""

    key: UUID
    act: Act
    amount: int
    currency: str
    order_number: str
    source: str | None = None
    reference: str | None = None
    customer: str | None = None
    """The provider's own name for the user who pays, once there is one."""
    keep_for: UUID | None = None
    """The user for whom a card is to be kept that is not kept yet."""


class Card(msgspec.Struct, frozen=True):
    """What a provider tells of the card that was paid with."""

    is_kept: bool = False
    """Whether its owner can pay with it again."""
    reference: str | None = None
    customer: str | None = None
    cc_type: str | None = None
    last_digits: str | None = None
    month: int | None = None
    year: int | None = None


class NextAction(msgspec.Struct, frozen=True):
    """What the shopper's client does next: opens a page, or hands the client secret to the provider's own library."""

    type: Literal["redirect_to_url", "use_stripe_sdk"]
    url: str | None = None
    """A path where the page is the shop's own."""


class Result(msgspec.Struct, frozen=True):
    """What came of it. What is unknown and has a client secret waits for the shopper, who confirms it with the
    provider's own form by that secret; it is told to them alone, and kept nowhere.
    """

    outcome: Outcome
    reference: str | None = None
    message: str | None = None
    card: Card | None = None
    client_secret: str | None = None
    next_action: NextAction | None = None


UNKNOWN = Result("unknown")


class Notice(msgspec.Struct, frozen=True):
    """What a provider tells by itself: of which call, and what came of it. It may tell it twice, under one `id`."""

    id: str
    key: UUID
    result: Result


class Provider(Protocol):
    """What the shop asks of whoever takes the money."""

    needs_source: bool
    is_ready: bool = True
    """Whether it can be asked at all: one without its keys is offered to nobody."""
    preferences: Mapping[str, Any] = {}
    """What a client's form must know of it; nothing secret."""

    async def do(self, call: Call) -> Result:
        """Does it once for each key, however often it is asked."""

    async def find(self, call: Call) -> Result:
        """What came of a call, which is not done by this; `unknown` when it never arrived."""

    def read_notice(self, headers: Mapping[bytes, bytes], body: bytes) -> Notice | None:
        """What is told; none when it is about something else. `BadSignature` when it comes from somebody else."""

    def source_error(self, reference: str | None) -> str | None:
        """Why this cannot be paid with; none when it may be."""
        return None

    async def forget(self, reference: str) -> None:
        """A kept card is to be kept no more. Most keep none."""
        return


class Check(Provider):
    """Paid by check, by transfer, at the door: nothing is called."""

    needs_source = False

    async def do(self, call: Call) -> Result:
        return Result("approved", call.reference)

    async def find(self, call: Call) -> Result:
        return Result("approved")

    def read_notice(self, headers: Mapping[bytes, bytes], body: bytes) -> Notice | None:
        raise BadSignature()
