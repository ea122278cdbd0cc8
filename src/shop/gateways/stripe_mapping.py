"""Maps Stripe's payment intents, decline codes and signed webhooks to results of the shop."""

import hashlib
import hmac
import re
import time
from collections.abc import Mapping
from typing import Any

import msgspec

from shop.base.errors import BadSignature
from shop.base.ids import as_uuid
from shop.gateways.payments import UNKNOWN, Card, NextAction, PaymentWebhook, Result

ATTEMPT, CAPTURE = "attempt", "capture"
"""The names of our keys in Stripe's metadata."""
TOLERANCE = 300
"""The maximum age of a signature in seconds, against replay."""
_SOURCE = re.compile(r"pm_[0-9A-Za-z_]{1,200}", re.ASCII)
_EVENTS = {
    "payment_intent.succeeded": "approved",
    "payment_intent.amount_capturable_updated": "approved",
    "payment_intent.payment_failed": "declined",
    "payment_intent.canceled": "declined",
    "refund.failed": "declined",
}
_DEFAULT_REASON = "The card was declined; choose another payment method."
# Only reasons the shopper can act on. A lost, stolen or suspected card concerns only its owner and the bank.
_REASONS = {
    "insufficient_funds": "The card has insufficient funds; choose another payment method.",
    "card_velocity_exceeded": "The card has exceeded its limit; choose another payment method.",
    "expired_card": "The card has expired; choose another one.",
    "incorrect_cvc": "The card's security code is incorrect; enter it again.",
    "invalid_cvc": "The card's security code is incorrect; enter it again.",
    "incorrect_number": "The card number is incorrect; enter it again.",
    "invalid_number": "The card number is incorrect; enter it again.",
    "incorrect_zip": "The postal code does not match the card; check the billing address.",
    "currency_not_supported": "The card does not support this currency; choose another payment method.",
    "authentication_required": "The bank requires confirmation of this payment; try again and confirm it.",
    "payment_intent_authentication_failure": "The payment was not confirmed; try again or use another payment method.",
    "processing_error": "The card could not be charged; try again shortly.",
    "try_again_later": "The card could not be charged; try again shortly.",
    "issuer_not_available": "The card's bank is not responding; try again shortly.",
}


class DeclineReason(msgspec.Struct, frozen=True):
    """Why a card was declined."""

    code: str | None = None
    decline_code: str | None = None


class CardFace(msgspec.Struct, frozen=True):
    """The public details of a card."""

    brand: str | None = None
    last4: str | None = None
    exp_month: int | None = None
    exp_year: int | None = None


class CardDetails(msgspec.Struct, frozen=True):
    """A payment method of Stripe."""

    id: str
    card: CardFace | None = None


class Intent(msgspec.Struct, frozen=True):
    """A payment intent of Stripe."""

    id: str
    status: str
    metadata: Mapping[str, str] = {}
    client_secret: str | None = None
    customer: str | None = None
    payment_method: CardDetails | str | None = None
    last_payment_error: DeclineReason | None = None


class RefundData(msgspec.Struct, frozen=True):
    """A refund of Stripe."""

    id: str
    status: str | None = None
    metadata: Mapping[str, str] = {}


class EventData(msgspec.Struct, frozen=True):
    """The object of an event."""

    object: msgspec.Raw


class StripeEvent(msgspec.Struct, frozen=True):
    """A webhook event of Stripe."""

    id: str
    type: str
    data: EventData


def to_result(intent: Intent, act: str) -> Result:
    """Converts the status of an intent.

    succeeded                            approved
    requires_capture                     approved for `authorise`, else unknown
    requires_action                      unknown: the shopper must confirm it
    processing, requires_confirmation    unknown
    canceled                             approved for `void`, else declined
    requires_payment_method              declined
    """
    if intent.status == "canceled" and act == "void":
        return Result("approved", intent.id)
    if intent.status == "succeeded" or (intent.status == "requires_capture" and act == "authorise"):
        return Result("approved", intent.id, card=_card(intent))
    if intent.status == "requires_action":
        next_action = NextAction("use_stripe_sdk")
        return Result("unknown", intent.id, client_secret=intent.client_secret, next_action=next_action)
    if intent.status in {"requires_payment_method", "canceled"}:
        return decline(msgspec.structs.asdict(intent.last_payment_error) if intent.last_payment_error else {})
    return msgspec.structs.replace(UNKNOWN, reference=intent.id)


def _card(intent: Intent) -> Card:
    method = intent.payment_method
    face = method.card if isinstance(method, CardDetails) and method.card else CardFace()
    return Card(
        is_saved=intent.customer is not None,
        reference=method.id if isinstance(method, CardDetails) else method,
        customer=intent.customer,
        cc_type=face.brand,
        last_digits=face.last4,
        month=face.exp_month,
        year=face.exp_year,
    )


def decline(error: Mapping[str, Any]) -> Result:
    """Returns a declined result with our own message: Stripe's may reveal more than the shopper should know."""
    reasons = (_REASONS.get(str(error.get(name))) for name in ("decline_code", "code"))
    return Result("declined", None, next(filter(None, reasons), _DEFAULT_REASON))


def is_source(reference: str | None) -> bool:
    return reference is not None and _SOURCE.fullmatch(reference) is not None


def read_event(header: bytes, body: bytes, secret: str) -> PaymentWebhook | None:
    """Parses a webhook about one of our calls; None if it is about something else."""
    if not _is_signed(header, body, secret):
        raise BadSignature()
    try:
        event = msgspec.json.decode(body, type=StripeEvent)
        if event.type not in _EVENTS:
            return None
        kind: type[Intent] | type[RefundData] = RefundData if event.type.startswith("refund.") else Intent
        resource = msgspec.json.decode(event.data.object, type=kind)
    except msgspec.DecodeError:
        return None
    # A separately captured payment succeeded by its capture call, and was authorized by the first call.
    is_capture = event.type == "payment_intent.succeeded" and CAPTURE in resource.metadata
    key = as_uuid(resource.metadata.get(CAPTURE if is_capture else ATTEMPT))
    return PaymentWebhook(event.id, key, _result(event, resource)) if key else None


def _result(event: StripeEvent, resource: Intent | RefundData) -> Result:
    if isinstance(resource, RefundData):
        return Result("declined", None, "Stripe could not refund the payment.")
    if _EVENTS[event.type] == "approved":
        return Result("approved", resource.id)
    return decline(msgspec.structs.asdict(resource.last_payment_error) if resource.last_payment_error else {})


def _is_signed(header: bytes, body: bytes, secret: str) -> bool:
    """Verifies `t=seconds,v1=signature`, with a second signature while the secret is being rotated."""
    parts = [part.strip().partition(b"=") for part in header.split(b",")]
    times = [value for name, _, value in parts if name == b"t"]
    if len(times) != 1 or not times[0].isdigit() or len(times[0]) > 12:
        return False
    expected = hmac.new(secret.encode(), times[0] + b"." + body, hashlib.sha256).hexdigest().encode()
    # Compares every signature, even after a match.
    matches = [hmac.compare_digest(value, expected) for name, _, value in parts if name == b"v1"]
    return any(matches) and time.time() - int(times[0]) <= TOLERANCE
