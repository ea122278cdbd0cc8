"""What every action is given: who asks, the database, the keys, the shop, and the key under which work is done once."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from math import ceil
from time import monotonic
from uuid import UUID

import msgspec

from shop.actions.hash_queue import HashQueue
from shop.base.actor import GUEST, NOBODY, Actor, Claim
from shop.base.errors import InFlight, InsufficientScope, InvalidToken, KeyReused, Unauthenticated
from shop.base.keys import Keys
from shop.base.remembered import Answers
from shop.base.settings import Settings
from shop.db.pool import Database, LockTimeout, Session
from shop.gateways.media import MediaStore, open_media
from shop.gateways.payments import Provider
from shop.gateways.providers import open_providers
from shop.models.setup.shop import Shop
from shop.queries import journal
from shop.queries.access import applications
from shop.queries.access import sessions as access
from shop.queries.access.applications import Caller
from shop.queries.access.sessions import Bearer
from shop.queries.cart.promotions import Offered
from shop.queries.catalog.prices import Pricing
from shop.rules.access.permissions import Act, may
from shop.rules.cart.promotions import Deal


class Floods:
    """Sources that are over a limit, kept in memory until their windows end, so that a flood costs no writing."""

    MOST = 10_000

    def __init__(self) -> None:
        self._ends: dict[bytes, float] = {}

    def remember(self, key: bytes, seconds: int) -> None:
        if len(self._ends) >= self.MOST:
            self._ends.clear()  # Forgotten, a flood is counted in the database again.
        self._ends[key] = max(monotonic() + seconds, self._ends.get(key, 0.0))

    def ends_in(self, key: bytes) -> int | None:
        """Seconds to wait, or none for a source that is not remembered."""
        end = self._ends.get(key)
        return ceil(end - monotonic()) if end and end > monotonic() else None


class KeptDeals(msgspec.Struct, frozen=True):
    """The automatic promotions as they were read at some version of them."""

    version: int = -1
    always: Sequence[Deal] = ()
    """Those without a time and without a limit."""
    at_times: Sequence[tuple[Offered, Deal]] = ()


class Shared(msgspec.Struct):
    """What one process has for all its requests. The shop's row is replaced when an operator changes it."""

    database: Database
    keys: Keys
    shop: Shop
    settings: Settings
    mail_waits: asyncio.Event
    """Set when a mail was queued, so that this process's worker need not wait for its next look."""
    floods: Floods = msgspec.field(default_factory=Floods)
    answers: Answers = msgspec.field(default_factory=Answers)
    deals: KeptDeals = KeptDeals()
    hash_queue: HashQueue = msgspec.field(default_factory=HashQueue)
    is_try_out: bool = False
    """Whether this process is a try-out, as `Settings.is_try_out` defines it."""
    charging: set[UUID] = msgspec.field(default_factory=set)
    """The payment attempts about which this process is asking a provider."""
    charges_starting: int = 0
    """How many more it is about to ask about."""

    @property
    def media(self) -> MediaStore:
        """Where pictures lie; opened when first asked for, since most processes of a command never do."""
        return open_media(self.settings.media_url, self.settings.data_dir)


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

    __slots__ = ("_bearer", "actor", "claim", "db", "is_try_out", "once_key", "origin", "pricing", "shared", "stale")

    def __init__(self, shared: Shared, claim: Claim = GUEST) -> None:
        self.shared = shared
        self.claim = claim
        self.actor = NOBODY
        self.db: Session = shared.database.session()
        self.once_key: OnceKey | None = None
        self.origin = NOWHERE
        self._bearer: Bearer | None = None
        self.pricing: Pricing | None = None
        """The bearer's, once it was asked for."""
        self.stale: set[UUID] | None = None
        """Products to be shown anew when work on many of them ends; none where each is at once."""
        self.is_try_out = shared.is_try_out
        """Whether this request is part of a try-out: one that a proxy passed on is not."""

    @property
    def providers(self) -> Mapping[str, Provider]:
        """The payment providers, by the type of a payment method."""
        settings = self.shared.settings
        return open_providers(settings.data_dir, settings.stripe, is_try_out=self.is_try_out)

    def can_pay_with(self, provider_type: str) -> bool:
        provider = self.providers.get(provider_type)
        return provider is not None and provider.is_ready

    def fresh(self) -> "Context":
        """The same caller with a session of its own: what was committed before stays, whatever comes of this. In a
        request its statements have the time of one request, all together.
        """
        fresh = Context(self.shared, self.claim)
        fresh.db.is_bounded = self.db.is_bounded
        fresh.actor, fresh.origin, fresh.is_try_out = self.actor, self.origin, self.is_try_out
        return fresh

    async def signed_in(self) -> Bearer:
        """The user whose token was sent; asked for once."""
        if self.claim.bearer is None:
            raise Unauthenticated("Send a user token with this request.")
        if self._bearer is None:
            self._bearer = await access.find_bearer(self.db, self.claim.bearer)
        if self._bearer is None:
            raise InvalidToken()
        self.actor = Actor("user", self._bearer.user.id)
        return self._bearer

    async def check_bearer(self) -> None:
        """Where nobody need sign in, a token that was sent must still be a good one: a client must learn that its
        session is gone.
        """
        if self.claim.bearer is not None:
            await self.signed_in()

    async def application(self, act: Act) -> Caller:
        """The application whose token was sent, if the token allows this; asked for once."""
        if self.claim.bearer is None or not self.claim.is_platform:
            raise Unauthenticated("Send a platform token with this request.")
        caller = await applications.find_caller(self.db, self.claim.bearer)
        if caller is None:
            raise InvalidToken("The bearer token is unknown, expired or revoked; ask for a new one.")
        self.actor = Actor("application", caller.application_id)
        if not may(act, caller.scope, caller.access_level):
            raise InsufficientScope(act)
        if caller.is_unseen:
            # Apart from the request's own work, which may fail and was a use all the same.
            await applications.note_use(self.db.apart(), caller.application_id)
        return caller

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
