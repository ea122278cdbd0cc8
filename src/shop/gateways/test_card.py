"""The test card: a provider that charges nothing and whose source determines the result. It works in a try-out only.

It stores its calls in files, so that they survive a crash of the shop as with a real provider:

    <key>.json       a call and its result, written once
    <key>.decision   the shopper's decision about a pending call; the first decision counts
    notice_secret    the key for webhook signatures and client secrets
"""

import asyncio
import hashlib
import hmac
import os
import re
import secrets
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Literal
from uuid import UUID

import msgspec

from shop.base.errors import BadSignature
from shop.gateways.payments import UNKNOWN, Call, Card, NextAction, PaymentWebhook, Provider, Result

SIGNATURE_HEADER = b"x-test-card-signature"
SOURCES: Mapping[str, str] = {
    "approve": "the payment succeeds",
    "decline": "the payment is declined",
    "confirm": "the shopper must confirm the payment first, as with 3-D Secure",
    "hang": "the provider does not answer and does nothing",
    "late": "the payment succeeds, but the provider's answer is lost",
}
CONFIRM_PATH = "/test_card"
_PAYS = frozenset({"authorise", "purchase"})
_UNAVAILABLE = Result("declined", None, "The test card works only in a try-out; choose another payment method.")
_DECLINE_MESSAGE = "The card was declined."
_CLIENT_SECRET = re.compile(r"test_([0-9a-f]{32})_secret_([0-9a-f]{64})", re.ASCII)

Decision = Literal["confirmed", "declined", "expired"]


class Confirmation(msgspec.Struct, frozen=True):
    """A payment that requires, or required, the shopper's confirmation."""

    order_number: str
    amount: int
    currency: str
    decision: Decision | None


class _Record(msgspec.Struct, frozen=True):
    """The content of a call's file. An unknown result awaits the shopper's confirmation."""

    call: Call
    result: Result


class TestCard(Provider):
    """`is_open` is true in a try-out. Otherwise payments are declined; refunds and voids still work."""

    needs_source = True

    def __init__(self, directory: Path, *, is_open: bool = True) -> None:
        self._directory = directory
        self.is_ready = is_open

    def source_error(self, reference: str | None) -> str | None:
        return None if reference in SOURCES else f"must be one of {', '.join(SOURCES)}"

    async def execute(self, call: Call) -> Result:
        if not self.is_ready and call.act in _PAYS | {"capture"}:
            return _UNAVAILABLE
        if call.act not in _PAYS:
            return await asyncio.to_thread(self._change, call)
        if call.source == "hang":
            await asyncio.Event().wait()
        result = await asyncio.to_thread(self._pay, call)
        if call.source == "late":
            await asyncio.Event().wait()
        return result

    async def find(self, call: Call) -> Result:
        if not self.is_ready and call.act in _PAYS | {"capture"}:
            return _UNAVAILABLE
        return await asyncio.to_thread(self._find, call.key)

    def read_webhook(self, headers: Mapping[bytes, bytes], body: bytes) -> PaymentWebhook | None:
        if not self.is_ready or not hmac.compare_digest(headers.get(SIGNATURE_HEADER, b""), self.sign(body)):
            raise BadSignature()
        try:
            return msgspec.json.decode(body, type=PaymentWebhook)
        except msgspec.ValidationError:
            return None

    def sign(self, body: bytes) -> bytes:
        """Returns the signature of a webhook, with the secret that the provider shares with the shop."""
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = self._directory / "notice_secret"
        if not file.exists():
            self._write_once(file, secrets.token_hex(32).encode())
        return hmac.new(file.read_bytes(), body, hashlib.sha256).hexdigest().encode()

    def find_confirmation(self, client_secret: str) -> Confirmation | None:
        record = self._read_waiting(client_secret)
        if record is None:
            return None
        call = record.call
        return Confirmation(call.order_number, call.amount, call.currency, self._read_decision(call.key))

    def decide(self, client_secret: str, decision: Decision) -> Decision | None:
        """Records the shopper's decision; returns the one that counts, or None for an unknown secret."""
        record = self._read_waiting(client_secret)
        return self._decide(record.call.key, decision) if record else None

    def _pay(self, call: Call) -> Result:
        reference = f"test-{call.key.hex[-12:]}"
        match call.source:
            case "approve" | "late":
                result = Result("approved", reference, card=Card(is_saved=True))
            case "confirm":
                result = Result("unknown", reference)
            case _:
                result = Result("declined", None, _DECLINE_MESSAGE)
        self._write(call, result)
        return self._find(call.key)

    def _change(self, call: Call) -> Result:
        """Captures, voids or refunds. A void with the key of a payment that awaits confirmation expires it."""
        existing = self._read(call.key)
        if existing and existing.result.outcome == "unknown":
            is_expired = self._decide(call.key, "expired") != "confirmed"
            return Result("approved", call.reference) if is_expired else Result("declined", None, "It was confirmed.")
        self._write(call, Result("approved", call.reference))
        return self._find(call.key)

    def _find(self, key: UUID) -> Result:
        record = self._read(key)
        if record is None:
            return UNKNOWN
        if record.result.outcome != "unknown":
            return record.result
        match self._read_decision(key):
            case None:
                client_secret = self._client_secret(key)
                next_action = NextAction("redirect_to_url", f"{CONFIRM_PATH}/{client_secret}")
                return msgspec.structs.replace(record.result, client_secret=client_secret, next_action=next_action)
            case "confirmed":
                return Result("approved", record.result.reference, card=Card(is_saved=True))
            case "expired":
                return Result("declined", None, "The payment was not confirmed in time.")
        return Result("declined", None, "The payment was not confirmed.")

    def _client_secret(self, key: UUID) -> str:
        return f"test_{key.hex}_secret_{self.sign(b'client secret of ' + key.bytes).decode()}"

    def _read_waiting(self, client_secret: str) -> _Record | None:
        match = _CLIENT_SECRET.fullmatch(client_secret)
        if match is None:
            return None
        key = UUID(match[1])
        if not hmac.compare_digest(self._client_secret(key), client_secret):
            return None
        record = self._read(key)
        return record if record and record.result.outcome == "unknown" else None

    def _decide(self, key: UUID, decision: Decision) -> Decision:
        self._write_once(self._decision_file(key), decision.encode())
        return self._read_decision(key) or decision

    def _read_decision(self, key: UUID) -> Decision | None:
        try:
            decision: Decision = msgspec.convert(self._decision_file(key).read_text(), Decision)
        except FileNotFoundError:
            return None
        return decision

    def _decision_file(self, key: UUID) -> Path:
        return self._directory / f"{key}.decision"

    def _read(self, key: UUID) -> _Record | None:
        try:
            return msgspec.json.decode((self._directory / f"{key}.json").read_bytes(), type=_Record)
        except FileNotFoundError:
            return None

    def _write(self, call: Call, result: Result) -> None:
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._write_once(self._directory / f"{call.key}.json", msgspec.json.encode(_Record(call, result)))

    def _write_once(self, file: Path, content: bytes) -> None:
        """Writes a file atomically, readable by this account only; an existing file stays unchanged."""
        descriptor, temporary = tempfile.mkstemp(dir=self._directory)
        try:
            with os.fdopen(descriptor, "wb") as out:
                out.write(content)
            os.link(temporary, file)
        except FileExistsError:
            pass
        finally:
            Path(temporary).unlink()
