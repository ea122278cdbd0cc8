"""The request context passed to every action: caller, database session, keys, shop and Idempotency-Key."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from math import ceil
from time import monotonic
from typing import Any, TypeVar
from uuid import UUID

import msgspec

from shop.actions.event_tail import EventTail
from shop.actions.hash_queue import HashQueue
from shop.actions.installed_extensions import NO_EXTENSIONS, InstalledExtensions
from shop.actions.pending_counts import PendingCounts
from shop.actions.work_signals import WorkSignals
from shop.base.actor import GUEST, GUEST_ACTOR, Actor, Claim
from shop.base.caches.response_cache import ResponseCache
from shop.base.caches.setup_cache import SetupCache
from shop.base.caches.sized_cache import SizedCache
from shop.base.config.settings import Settings
from shop.base.crypto.keys import Keys
from shop.base.errors import IdempotencyKeyConflict, InFlight, InsufficientScope, InvalidToken, Unauthenticated
from shop.db.pool import Database, DatabaseSession, LockTimeout
from shop.gateways.media import MediaStore, open_media
from shop.gateways.payments import Provider
from shop.gateways.providers import open_providers
from shop.models.setup.shop import Shop
from shop.queries import journal
from shop.queries.access import applications
from shop.queries.access import sessions as session_queries
from shop.queries.access.applications import Caller
from shop.queries.access.sessions import Bearer
from shop.queries.cart.promotions import PromotionWithParts
from shop.queries.catalog.prices import Pricing
from shop.queries.catalog.versions import CatalogState
from shop.rules.access.permissions import Act, can_read_everything, is_allowed
from shop.rules.cart.promotions import CompiledPromotion

T = TypeVar("T")
FRAGMENT_BYTES = 8 * 1024 * 1024
"""The maximum size of the fragments that a process keeps: those of about 1,500 products with variant and images."""
QUOTE_BYTES = 6 * 1024 * 1024
"""The maximum size of the variants that a process keeps for carts: about 4,000."""
MATCH_BYTES = 1024 * 1024
"""The maximum size of the search results that a process keeps: those of at least a hundred searches."""


class BlockedSources:
    """Sources over a rate limit, held in memory until their windows end, so that a flood causes no database writes."""

    MAX_SOURCES = 10_000

    def __init__(self) -> None:
        self._ends: dict[bytes, float] = {}

    def remember(self, key: bytes, seconds: int) -> None:
        if len(self._ends) >= self.MAX_SOURCES:
            self._ends.clear()  # Cleared sources are counted in the database again.
        self._ends[key] = max(monotonic() + seconds, self._ends.get(key, 0.0))

    def ends_in(self, key: bytes) -> int | None:
        """Returns the seconds to wait, or None for a source that is not blocked."""
        end = self._ends.get(key)
        return ceil(end - monotonic()) if end and end > monotonic() else None


class CachedPromotions(msgspec.Struct, frozen=True):
    """Cached automatic promotions at one version of the promotion data."""

    version: int = -1
    without_limits: Sequence[CompiledPromotion] = ()
    """Promotions without a start, an end or a usage limit."""
    with_limits: Sequence[tuple[PromotionWithParts, CompiledPromotion]] = ()


class Shared(msgspec.Struct):
    """State shared by all requests of one process. `shop` is replaced when an operator changes the settings."""

    database: Database
    keys: Keys
    shop: Shop
    settings: Settings
    mail_queued: asyncio.Event
    """Set when an e-mail is queued, so that this process's worker sends it before its next poll."""
    is_mail_budget_exhausted: bool = False
    """Whether the last e-mail that this process was to count found a window full, such as that of its address."""
    event_tail: EventTail = msgspec.field(default_factory=EventTail)
    work_signals: WorkSignals = msgspec.field(default_factory=WorkSignals)
    pending_counts: PendingCounts = msgspec.field(default_factory=PendingCounts)
    blocked_sources: BlockedSources = msgspec.field(default_factory=BlockedSources)
    response_cache: ResponseCache = msgspec.field(default_factory=ResponseCache)
    fragments: SizedCache = msgspec.field(default_factory=lambda: SizedCache(FRAGMENT_BYTES))
    """Encoded parts of responses, each with the version of its data."""
    matches: SizedCache = msgspec.field(default_factory=lambda: SizedCache(MATCH_BYTES))
    """The products that match a query, with the version of what decides it."""
    automatic_promotions: CachedPromotions = CachedPromotions()
    setup_cache: SetupCache = msgspec.field(default_factory=SetupCache)
    quotes: SizedCache = msgspec.field(default_factory=lambda: SizedCache(QUOTE_BYTES))
    """Variants at base prices, as carts quote and include them, each with its version of the catalog."""
    estimated_totals: dict[str, tuple[int, float]] = msgspec.field(default_factory=dict)
    """The totals of large resources by name, each with the time until which it is used."""
    hash_queue: HashQueue = msgspec.field(default_factory=HashQueue)
    extensions: InstalledExtensions = NO_EXTENSIONS
    is_try_out: bool = False
    """Whether this process runs in try-out mode; see `Settings.is_try_out`."""
    charges_in_progress: set[UUID] = msgspec.field(default_factory=set)
    """Ids of the payment attempts with a provider call in progress in this process."""
    charges_starting: int = 0
    """The number of provider calls about to start."""

    @property
    def media(self) -> MediaStore:
        """The image store, opened on first use because most CLI commands never need it."""
        return open_media(self.settings.media_url, self.settings.data_dir)


class Origin(msgspec.Struct, frozen=True):
    """The origin of a request, for rate limits, the audit log and the list of sessions."""

    request_id: str | None
    source: str
    user_agent_sent: bytes | None

    @property
    def user_agent(self) -> str | None:
        """The User-Agent header as one printable line, or None if it was not sent."""
        if self.user_agent_sent is None:
            return None
        text = self.user_agent_sent[:200].decode("latin-1")
        return "".join(letter if letter.isprintable() else "?" for letter in text)


NO_ORIGIN = Origin(None, "", None)


class RequestKey(msgspec.Struct, frozen=True):
    """Digests of an Idempotency-Key, of its credential (`scope`) and of the request (`fingerprint`)."""

    scope: bytes
    key: bytes
    fingerprint: bytes


class Idempotency:
    """Work under an Idempotency-Key.

    `existing_id` is the id of the record that an earlier request created; `record` sets the id of this request's
    record.
    """

    __slots__ = ("existing_id", "record_id")

    def __init__(self, existing_id: UUID | None = None) -> None:
        self.existing_id = existing_id
        self.record_id: UUID | None = None

    def record(self, record_id: UUID) -> None:
        self.record_id = record_id


class Context:
    """The state of one request."""

    __slots__ = (
        "_bearer",
        "actor",
        "audits_each_record",
        "catalog_version",
        "claim",
        "db",
        "is_try_out",
        "logs_events",
        "origin",
        "pending_refresh",
        "permission",
        "pricing",
        "request_key",
        "scope",
        "setup_version",
        "shared",
        "started_at",
    )

    def __init__(self, shared: Shared, claim: Claim = GUEST) -> None:
        self.shared = shared
        self.started_at = monotonic()
        self.claim = claim
        self.actor = GUEST_ACTOR
        self.db: DatabaseSession = shared.database.session()
        self.request_key: RequestKey | None = None
        self.origin = NO_ORIGIN
        self.permission = ""
        """The permission that the route names."""
        self.scope: str | None = None
        """The scope of the application's token, once it was checked."""
        self._bearer: Bearer | None = None
        self.pricing: Pricing | None = None
        """The bearer's pricing, loaded on first use."""
        self.catalog_version: CatalogState | None = None
        """The version of all public data, loaded on first use."""
        self.setup_version: str | None = None
        """The version of the setup, read with the checkout; None if no checkout was read."""
        self.pending_refresh: set[UUID] | None = None
        """Ids of products to refresh at the end of a batch; None if each product is refreshed immediately."""
        self.is_try_out = shared.is_try_out
        """Whether try-out mode applies to this request; it does not apply to proxied requests."""
        self.logs_events = True
        """Whether changes are events; those of the demo data are not."""
        self.audits_each_record = True
        """Whether each changed record has an audit event; an import has one for all of them."""

    def wake(self, kind: str) -> None:
        """Wakes the loop of this process that does this kind of work, once the transaction is committed."""
        self.db.wakes.add(self.shared.work_signals.find(kind))

    @property
    def providers(self) -> Mapping[str, Provider]:
        """The payment providers, by payment method type."""
        settings = self.shared.settings
        providers = open_providers(settings.data_dir, settings.stripe, is_try_out=self.is_try_out)
        return self.shared.extensions.add_providers(providers, self.shared)

    def can_pay_with(self, provider_type: str) -> bool:
        provider = self.providers.get(provider_type)
        return provider is not None and provider.is_ready

    async def read_setup(self, query: Callable[..., Awaitable[T]], *arguments: Any, **values: Any) -> T:
        """Runs a query on the shop's setup, or returns its result from memory if the setup has not changed since. Only
        with a checkout, whose statement reads the version; never from a replica, which may be older than the version.
        """
        if self.setup_version is None or self.db.replica is not None:
            return await query(self.db, *arguments, **values)
        cache = self.shared.setup_cache
        if cache.version != self.setup_version:
            cache = self.shared.setup_cache = SetupCache(self.setup_version)
        key = (query, *arguments, *values.items())
        result: T | None = cache.find(key)
        if result is None:
            # A later version may replace the cache meanwhile; the result is not kept with that.
            result = await query(self.db, *arguments, **values)
            cache.keep(key, result)
        return result

    def with_new_session(self) -> "Context":
        """Returns a context for the same caller with a separate database session.

        Its failures do not affect earlier commits. Within a request, its statements share the time limit of one
        request.
        """
        context = Context(self.shared, self.claim)
        context.db.is_bounded = self.db.is_bounded
        context.actor, context.origin, context.is_try_out = self.actor, self.origin, self.is_try_out
        context.permission, context.scope = self.permission, self.scope
        context.logs_events, context.audits_each_record = self.logs_events, self.audits_each_record
        return context

    async def signed_in(self) -> Bearer:
        """Returns the user of the bearer token; queried once."""
        if self.claim.bearer is None:
            raise Unauthenticated("Send a user token with this request.")
        if self._bearer is None:
            self._bearer = await session_queries.find_bearer(self.db, self.claim.bearer)
        if self._bearer is None:
            raise InvalidToken()
        self.actor = Actor("user", self._bearer.user.id)
        return self._bearer

    async def check_bearer(self) -> None:
        """Rejects an invalid token where signing in is optional, so that clients learn that their session has ended."""
        if self.claim.bearer is not None:
            await self.signed_in()

    async def application(self, act: Act) -> Caller:
        """Returns the application of the bearer token, if the token allows `act` on the route."""
        if self.claim.bearer is None or not self.claim.is_platform:
            raise Unauthenticated("Send a platform token with this request.")
        caller = await applications.find_caller(self.db, self.claim.bearer)
        if caller is None:
            raise InvalidToken("The bearer token is unknown, expired or revoked; request a new one.")
        self.actor = Actor("application", caller.application_id)
        if not is_allowed(act, caller.scope, caller.access_level, self.permission, caller.permissions):
            raise InsufficientScope(self._needed_scope(act, caller))
        self.scope = caller.scope
        if caller.is_unseen:
            # In a separate session, so that the use is recorded even if the request fails.
            await applications.record_use(self.db.separate(), caller.application_id)
        return caller

    def _needed_scope(self, act: Act, caller: Caller) -> str:
        """Names the missing scope in the words that the token uses: levels or permissions."""
        uses_levels = can_read_everything(caller.scope) or (act == "write" and caller.access_level == "read")
        return act if uses_levels or not self.permission else self.permission

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Idempotency]:
        """Runs a transaction that also writes the Idempotency-Key row, so that a crash cannot separate the two."""
        async with self.db.transaction():
            idempotency = await self._claim_request_key()
            yield idempotency
            if self.request_key and not idempotency.existing_id:
                key = self.request_key
                if idempotency.record_id is None:
                    raise AssertionError("work under an Idempotency-Key must name its record with `once.record(id)`")
                await journal.finish_idempotency_key(
                    self.db, scope=key.scope, key=key.key, record_id=idempotency.record_id
                )

    async def _claim_request_key(self) -> Idempotency:
        key = self.request_key
        if key is None:
            return Idempotency()
        try:
            if await journal.claim_idempotency_key(self.db, scope=key.scope, key=key.key, fingerprint=key.fingerprint):
                return Idempotency()
        except LockTimeout as error:
            raise InFlight() from error
        earlier = await journal.find_idempotency_key(self.db, scope=key.scope, key=key.key)
        if earlier is None:
            raise InFlight()
        if earlier.fingerprint != key.fingerprint:
            raise IdempotencyKeyConflict()
        return Idempotency(earlier.record_id)
