"""What Stripe says, in our words: of payments, of cards that were declined, and in the notices that it signs."""

import hashlib
import hmac
import re
import time
from collections.abc import Mapping
from typing import Any

import msgspec

from shop.base.errors import BadSignature
from shop.base.ids import as_uuid
from shop.gateways.payments import UNKNOWN, Card, NextAction, Notice, Result

ATTEMPT, CAPTURE = "attempt", "capture"
"""Under which names our keys stand in their metadata."""
TOLERANCE = 300
"""So old, in seconds, a signature may be: what was listened to once cannot be told again tomorrow."""
_SOURCE = re.compile(r"pm_[0-9A-Za-z_]{1,200}", re.ASCII)
_EVENTS = {
    "payment_intent.succeeded": "approved",
    "payment_intent.amount_capturable_updated": "approved",
    "payment_intent.payment_failed": "declined",
    "payment_intent.canceled": "declined",
    "refund.failed": "declined",
}
_DECLINED = "The card was declined; choose another way to pay."
# Where the shopper can do something. That a card is lost, stolen or suspected is between its owner and the bank.
_REASONS = {
    "insufficient_funds": "There is not enough money on the card; choose another way to pay.",
    "card_velocity_exceeded": "The card was used too often or for too much today; choose another way to pay.",
    "expired_card": "The card has expired; choose another one.",
    "incorrect_cvc": "The security code of the card is wrong; type it again.",
    "invalid_cvc": "The security code of the card is wrong; type it again.",
    "incorrect_number": "The number of the card is wrong; type it again.",
    "invalid_number": "The number of the card is wrong; type it again.",
    "incorrect_zip": "The postal code is not the one that the bank knows; look at the billing address.",
    "currency_not_supported": "The card cannot pay in this currency; choose another way to pay.",
    "authentication_required": "The bank wants this payment confirmed, and it was not; try again and confirm it.",
    "payment_intent_authentication_failure": "The payment was not confirmed at the bank; try again, or another way.",
    "processing_error": "The card could not be charged this time; try again in a moment.",
    "try_again_later": "The card could not be charged this time; try again in a moment.",
    "issuer_not_available": "The card's bank does not answer; try again in a moment.",
}


class Trouble(msgspec.Struct, frozen=True):
    """Why a card was declined."""

    code: str | None = None
    decline_code: str | None = None


class CardFace(msgspec.Struct, frozen=True):
    """What may be known of a card."""

    brand: str | None = None
    last4: str | None = None
    exp_month: int | None = None
    exp_year: int | None = None


class Method(msgspec.Struct, frozen=True):
    """A card as they name it."""

    id: str
    card: CardFace | None = None


class Intent(msgspec.Struct, frozen=True):
    """A payment as they tell of it."""

    id: str
    status: str
    metadata: Mapping[str, str] = {}
    client_secret: str | None = None
    customer: str | None = None
    payment_method: Method | str | None = None
    last_payment_error: Trouble | None = None


class Refund(msgspec.Struct, frozen=True):
    """Money given back, as they tell of it."""

    id: str
    status: str | None = None
    metadata: Mapping[str, str] = {}


class Told(msgspec.Struct, frozen=True):
    """What an event is about."""

    object: msgspec.Raw


class Event(msgspec.Struct, frozen=True):
    """What they tell by themselves."""

    id: str
    type: str
    data: Told


def came_of(intent: Intent, act: str) -> Result:
    """
    succeeded                            yes
    requires_capture                     yes, where no more was asked for
    requires_action                      not yet: the shopper has to confirm it
    processing, requires_confirmation    not yet
    canceled                             yes, where that was asked for; else no
    requires_payment_method              no
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
    face = method.card if isinstance(method, Method) and method.card else CardFace()
    return Card(
        is_kept=intent.customer is not None,
        reference=method.id if isinstance(method, Method) else method,
        customer=intent.customer,
        cc_type=face.brand,
        last_digits=face.last4,
        month=face.exp_month,
        year=face.exp_year,
    )


def decline(said: Mapping[str, Any]) -> Result:
    """In a sentence of ours: theirs may say more than the shopper should know."""
    reasons = (_REASONS.get(str(said.get(name))) for name in ("decline_code", "code"))
    return Result("declined", None, next(filter(None, reasons), _DECLINED))


def is_source(reference: str | None) -> bool:
    return reference is not None and _SOURCE.fullmatch(reference) is not None


def read_event(header: bytes, body: bytes, secret: str) -> Notice | None:
    """What is told of a call of ours; none when it is about something else."""
    if not _is_signed(header, body, secret):
        raise BadSignature()
    try:
        event = msgspec.json.decode(body, type=Event)
        if event.type not in _EVENTS:
            return None
        kind: type[Intent] | type[Refund] = Refund if event.type.startswith("refund.") else Intent
        told = msgspec.json.decode(event.data.object, type=kind)
    except msgspec.DecodeError:
        return None
    # What was captured later succeeded by the call that captured it, and was authorised by the first.
    is_capture = event.type == "payment_intent.succeeded" and CAPTURE in told.metadata
    key = as_uuid(told.metadata.get(CAPTURE if is_capture else ATTEMPT))
    return Notice(event.id, key, _result(event, told)) if key else None


def _result(event: Event, told: Intent | Refund) -> Result:
    if isinstance(told, Refund):
        return Result("declined", None, "Stripe could not give the money back.")
    if _EVENTS[event.type] == "approved":
        return Result("approved", told.id)
    return decline(msgspec.structs.asdict(told.last_payment_error) if told.last_payment_error else {})


def _is_signed(header: bytes, body: bytes, secret: str) -> bool:
    """`t=seconds,v1=signature`, with a second one while the secret is being changed."""
    parts = [part.strip().partition(b"=") for part in header.split(b",")]
    times = [value for name, _, value in parts if name == b"t"]
    if len(times) != 1 or not times[0].isdigit() or len(times[0]) > 12:
        return False
    wanted = hmac.new(secret.encode(), times[0] + b"." + body, hashlib.sha256).hexdigest().encode()
    # Each is compared, whichever fits.
    fitting = [hmac.compare_digest(value, wanted) for name, _, value in parts if name == b"v1"]
    return any(fitting) and time.time() - int(times[0]) <= TOLERANCE
