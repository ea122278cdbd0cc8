"""The interface of payment providers: each provider is a class, and each call has an idempotency key.

    check         needs no source and always approves; an operator records the payment later
    store_credit  the same; the shop has its own ledger
    cash          the same; an operator receives it at once
    payment_link  the same; stands for the payment that the customer makes by the link in an e-mail
    test_card     charges nothing; its source determines the result; only in a try-out; see `test_card.py`
    stripe        charges cards; see `stripe.py`

The result of an interrupted call is looked up by its key, or the provider reports it in a signed webhook.
"""

from collections.abc import Mapping
from typing import Any, Literal, Protocol
from uuid import UUID

import msgspec

from shop.base.errors import BadSignature

Outcome = Literal["approved", "declined", "unknown"]
Act = Literal["authorise", "purchase", "capture", "void", "refund"]


class Call(msgspec.Struct, frozen=True):
    """A request to a provider. `reference` is the provider's id of the payment, once there is one."""

    key: UUID
    act: Act
    amount: int
    currency: str
    order_number: str
    source: str | None = None
    reference: str | None = None
    customer: str | None = None
    """The provider's id of the paying user, once there is one."""
    keep_for: UUID | None = None
    """The user for whom to save a card that is not saved yet."""


class Card(msgspec.Struct, frozen=True):
    """The card used for a payment, as reported by the provider."""

    is_saved: bool = False
    """Whether the card is saved for further payments of its owner."""
    reference: str | None = None
    customer: str | None = None
    cc_type: str | None = None
    last_digits: str | None = None
    month: int | None = None
    year: int | None = None


class NextAction(msgspec.Struct, frozen=True):
    """The next step of the shopper's client: open a page, or pass the client secret to the provider's library."""

    type: Literal["redirect_to_url", "use_stripe_sdk"]
    url: str | None = None
    """A path if the page belongs to the shop."""


class Result(msgspec.Struct, frozen=True):
    """The result of a call. An unknown outcome with a client secret awaits the shopper's confirmation in the provider's
    form; the secret is sent to the shopper only and never stored.
    """

    outcome: Outcome
    reference: str | None = None
    message: str | None = None
    card: Card | None = None
    client_secret: str | None = None
    next_action: NextAction | None = None


UNKNOWN = Result("unknown")


class PaymentWebhook(msgspec.Struct, frozen=True):
    """A webhook of a provider: the key of the call and its result. It may arrive repeatedly with the same `id`."""

    id: str
    key: UUID
    result: Result


class Provider(Protocol):
    """The interface of a payment provider."""

    needs_source: bool
    is_ready: bool = True
    """Whether the provider is configured; shoppers are not offered one without its keys."""
    preferences: Mapping[str, Any] = {}
    """Public configuration for a client's payment form."""

    async def execute(self, call: Call) -> Result:
        """Performs the call; idempotent by its key."""

    async def find(self, call: Call) -> Result:
        """Looks up the result of a call without performing it; `unknown` if the provider never received it."""

    def read_webhook(self, headers: Mapping[bytes, bytes], body: bytes) -> PaymentWebhook | None:
        """Parses a webhook; None if it is about something else. BadSignature if the provider did not sign it."""

    def source_error(self, reference: str | None) -> str | None:
        """Returns the reason why the source cannot be used; None if it can."""
        return None

    async def delete_source(self, reference: str) -> None:
        """Deletes a saved card; a no-op for most providers."""
        return


class Check(Provider):
    """Payment by check, by transfer or on delivery: nothing is called."""

    needs_source = False

    async def execute(self, call: Call) -> Result:
        return Result("approved", call.reference)

    async def find(self, call: Call) -> Result:
        return Result("approved")

    def read_webhook(self, headers: Mapping[bytes, bytes], body: bytes) -> PaymentWebhook | None:
        raise BadSignature()


class Absent(Check):
    """The provider of payments whose extension is not installed: every call is declined."""

    needs_source = True
    is_ready = False

    async def execute(self, call: Call) -> Result:
        return Result("declined", None, "The extension that handles this payment is not installed.")

    async def find(self, call: Call) -> Result:
        return UNKNOWN
