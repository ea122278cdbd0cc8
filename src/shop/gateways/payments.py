"""Who takes the money: a provider is one class, and each of its calls is known by a key under which it is done once.

    check       needs no source and always approves: the money comes by itself, and somebody says so later
    store_credit  the same: the ledger is the shop's own
    test_card   does what its source says: approve, decline, hang (nothing was done), late (done, and the answer lost)
    stripe      takes cards; in a file of its own

What came of a call that was cut off is asked for by its key; or the provider tells it by itself, in a notice that it
signs.
"""

import asyncio
import hashlib
import hmac
import os
import secrets
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol
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


class Result(msgspec.Struct, frozen=True):
    """What came of it. What is unknown and has a client secret waits for the shopper, who confirms it with the
    provider's own form by that secret; it is told to them alone, and kept nowhere.
    """

    outcome: Outcome
    reference: str | None = None
    message: str | None = None
    card: Card | None = None
    client_secret: str | None = None


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


class TestCard(Provider):
    """Follows a script, and remembers what it did in a directory, as a provider does across our crashes."""

    needs_source = True
    SCRIPTS: ClassVar = ("approve", "decline", "hang", "late")

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    async def do(self, call: Call) -> Result:
        script = call.source if call.source in self.SCRIPTS else "approve"
        if script == "hang" and call.act in {"authorise", "purchase"}:
            await asyncio.Event().wait()
        result = await asyncio.to_thread(self._done, call, script)
        if script == "late" and call.act in {"authorise", "purchase"}:
            await asyncio.Event().wait()
        return result

    async def find(self, call: Call) -> Result:
        return await asyncio.to_thread(self._found, call.key)

    def read_notice(self, headers: Mapping[bytes, bytes], body: bytes) -> Notice | None:
        if not hmac.compare_digest(headers.get(TEST_CARD_SIGNATURE, b""), self.sign(body)):
            raise BadSignature()
        try:
            return msgspec.json.decode(body, type=Notice)
        except msgspec.ValidationError:
            return None

    def sign(self, body: bytes) -> bytes:
        """As the provider does, with the secret that it shares with us."""
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        kept = self._directory / "notice_secret"
        if not kept.exists():
            self._keep(kept, secrets.token_hex(32).encode())
        return hmac.new(kept.read_bytes(), body, hashlib.sha256).hexdigest().encode()

    def _done(self, call: Call, script: str) -> Result:
        if script == "decline" and call.act in {"authorise", "purchase"}:
            result = Result("declined", None, "The card was declined.")
        else:
            reference = call.reference or f"test-{call.key.hex[-12:]}"
            result = Result("approved", reference, card=Card(is_kept=True) if call.source else None)
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        kept = self._directory / f"{call.key}.json"
        if not self._keep(kept, msgspec.json.encode({"call": call, "result": result})):
            return self._found(call.key)
        return result

    def _keep(self, place: Path, content: bytes) -> bool:
        """Whole or not at all, readable by nobody else, and once: whether nobody was faster."""
        descriptor, making = tempfile.mkstemp(dir=self._directory)
        try:
            with os.fdopen(descriptor, "wb") as out:
                out.write(content)
            os.link(making, place)
        except FileExistsError:
            return False
        finally:
            Path(making).unlink()
        return True

    def _found(self, key: UUID) -> Result:
        try:
            kept = (self._directory / f"{key}.json").read_bytes()
        except FileNotFoundError:
            return UNKNOWN
        return msgspec.convert(msgspec.json.decode(kept)["result"], Result)


TEST_CARD_SIGNATURE = b"x-test-card-signature"
