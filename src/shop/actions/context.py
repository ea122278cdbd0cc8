"""What every action is given: who asks, the database, the keys, the shop, and the key under which work is done once."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

import msgspec

from shop.base.actor import GUEST, NOBODY, Claim
from shop.base.errors import InFlight, InvalidToken, KeyReused, Unauthenticated
from shop.base.keys import Keys
from shop.base.settings import Settings
from shop.db.pool import Database, LockTimeout, Session
from shop.models.setup import Shop
from shop.queries import access, journal
from shop.queries.access import Bearer


class Shared(msgspec.Struct):
    """What one process has for all its requests. The shop's row is replaced when an operator changes it."""

    database: Database
    keys: Keys
    shop: Shop
    settings: Settings
    mail_waits: asyncio.Event
    """Set when a mail was queued, so that this process's worker need not wait for its next look."""


class Origin(msgspec.Struct, frozen=True):
    """Where a request came from, for limits, the audit and the list of sessions."""

    request_id: str | None
    source: str
    user_agent_sent: bytes | None

    @property
    def user_agent(self) -> str | None:
        """As one line that can be kept and shown."""
        if self.user_agent_sent is None:
            return None
        text = self.user_agent_sent[:200].decode("latin-1")
        return "".join(letter if letter.isprintable() else "?" for letter in text)


NOWHERE = Origin(None, "", None)


class OnceKey(msgspec.Struct, frozen=True):
    """An Idempotency-Key with the credential it belongs to and what was asked, all three as digests."""

    scope: bytes
    key: bytes
    fingerprint: bytes


class Once:
    """Work under an Idempotency-Key: `done` names the record an earlier request made; `made` notes ours."""

    __slots__ = ("done", "record_id")

    def __init__(self, done: UUID | None = None) -> None:
        self.done = done
        self.record_id: UUID | None = None

    def made(self, record_id: UUID) -> None:
        self.record_id = record_id


class Context:
    """One request's view of the program."""

    __slots__ = ("_bearer", "actor", "claim", "db", "once_key", "origin", "shared")

    def __init__(self, shared: Shared, claim: Claim = GUEST) -> None:
        self.shared = shared
        self.claim = claim
        self.actor = NOBODY
        self.db: Session = shared.database.session()
        self.once_key: OnceKey | None = None
        self.origin = NOWHERE
        self._bearer: Bearer | None = None

    async def signed_in(self) -> Bearer:
        """The user whose token was sent; asked for once."""
        if self.claim.bearer is None:
            raise Unauthenticated("Send a user token with this request.")
        if self._bearer is None:
            self._bearer = await access.find_bearer(self.db, self.claim.bearer)
        if self._bearer is None:
            raise InvalidToken()
        return self._bearer

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Once]:
        """All or nothing; the row of the Idempotency-Key is written with the work, so a crash cannot part them."""
        async with self.db.transaction():
            once = await self._begin_once()
            yield once
            if self.once_key and not once.done:
                key = self.once_key
                if once.record_id is None:
                    raise AssertionError("work under an Idempotency-Key must name its record with `once.made(id)`")
                await journal.finish_idempotency_key(self.db, scope=key.scope, key=key.key, record_id=once.record_id)

    async def _begin_once(self) -> Once:
        key = self.once_key
        if key is None:
            return Once()
        try:
            if await journal.take_idempotency_key(self.db, scope=key.scope, key=key.key, fingerprint=key.fingerprint):
                return Once()
        except LockTimeout as error:
            raise InFlight() from error
        earlier = await journal.find_idempotency_key(self.db, scope=key.scope, key=key.key)
        if earlier is None:
            raise InFlight()
        if earlier.fingerprint != key.fingerprint:
            raise KeyReused()
        return Once(earlier.record_id)
