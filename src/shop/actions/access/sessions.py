"""Sessions and their token pairs: issue, refresh and revocation."""

from uuid import UUID

import msgspec

from shop.actions.audit import audit
from shop.actions.context import Context
from shop.base.actor import Actor
from shop.base.config.settings import Settings
from shop.base.crypto.secrets import (
    PLATFORM_ACCESS,
    PLATFORM_REFRESH,
    USER_ACCESS,
    USER_REFRESH,
    is_secret,
    new_bytes,
    secret_hash,
    secret_text,
)
from shop.base.ids import new_id
from shop.queries.access import sessions as session_queries
from shop.rules.access.permissions import is_within
from shop.rules.access.refresh import RefreshFacts, is_spent, outcome

MIN_REFRESH_LIMIT = 2000
_ROTATION = "rotation"


class UserTokens(msgspec.Struct, frozen=True):
    """The token response of a sign-in: an access token and a refresh token."""

    access_token: str
    token_type: str
    expires_in: int
    refresh_token: str
    created_at: int


class Kind(msgspec.Struct, frozen=True):
    """The token prefixes of one kind of actor, so that a token of one kind is not accepted for another."""

    actor: str
    access: str
    refresh: str

    def ttl(self, settings: Settings) -> int:
        return settings.user_token_ttl if self.actor == "user" else settings.platform_token_ttl


USER = Kind("user", USER_ACCESS, USER_REFRESH)
PLATFORM = Kind("application", PLATFORM_ACCESS, PLATFORM_REFRESH)


async def new_session(
    ctx: Context,
    kind: Kind,
    *,
    user_id: UUID | None = None,
    application_id: UUID | None = None,
    scope: str | None = None,
    session_id: UUID | None = None,
) -> UserTokens:
    settings = ctx.shared.settings
    session = await session_queries.insert_session(
        ctx.db,
        id=session_id or new_id(),
        user_id=user_id,
        application_id=application_id,
        scope=scope,
        source=ctx.origin.source,
        user_agent=ctx.origin.user_agent,
        idle=settings.refresh_idle_ttl,
        absolute=settings.refresh_max_ttl,
    )
    return await _issue(ctx, kind, session.id, (new_bytes(), new_bytes()), parent=None)


class RefreshResult(msgspec.Struct, frozen=True):
    """The outcome of a refresh: the token pair, or the reason for the refusal."""

    reason: str
    pair: UserTokens | None = None
    scope: str | None = None


async def refresh(
    ctx: Context, kind: Kind, owner_key: str | None, token: str, scope: str | None = None
) -> RefreshResult:
    """Returns the next token pair of a session; `scope` may narrow it.

    `owner_key` is the required owner, an e-mail key or a client id; None accepts the token alone.
    """
    if not is_secret(kind.refresh, token):
        return RefreshResult("form")
    async with ctx.db.transaction():
        return await _handle_refresh(ctx, kind, owner_key, token, scope)


def is_token_of(kind: Kind, token: str) -> bool:
    """Returns whether the text has the form of an access or refresh token of this kind."""
    return is_secret(kind.access, token) or is_secret(kind.refresh, token)


async def end_session_of(ctx: Context, kind: Kind, token: str) -> None:
    """Ends the session of a live token; any other text has no effect, and the response is the same."""
    if not is_token_of(kind, token):
        return
    async with ctx.db.transaction():
        session_id = await _session_of(ctx, kind, token)
        owner_id = session_id and await session_queries.end_session(ctx.db, session_id, "signed out")
        if owner_id:
            ctx.actor = Actor(kind.actor, owner_id)
            await audit(ctx, "sign_out", "done", detail={"session_id": str(session_id)})


async def _session_of(ctx: Context, kind: Kind, token: str) -> UUID | None:
    if is_secret(kind.access, token):
        return await session_queries.find_session_of(ctx.db, secret_hash(token))
    row = await session_queries.lock_refresh(ctx.db, secret_hash(token))
    if row is None or is_spent(_refresh_facts(row, row.owner_key), ctx.shared.settings.refresh_grace):
        return None
    return row.session_id


def _refresh_facts(row: session_queries.PresentedRefreshToken, owner_key: str | None) -> RefreshFacts:
    return RefreshFacts(row.is_live, owner_key in {row.owner_key, None}, row.seconds_since_rotation, row.child_is_head)


async def _issue(
    ctx: Context,
    kind: Kind,
    session_id: UUID,
    values: tuple[bytes, bytes],
    *,
    parent: bytes | None,
    scope: str | None = None,
) -> UserTokens:
    access_token, refresh_token = secret_text(kind.access, values[0]), secret_text(kind.refresh, values[1])
    ttl = kind.ttl(ctx.shared.settings)
    created_at = await session_queries.insert_tokens(
        ctx.db,
        session_id=session_id,
        refresh_hash=secret_hash(refresh_token),
        access_hash=secret_hash(access_token),
        parent=parent,
        ttl=ttl,
        scope=scope,
    )
    return UserTokens(access_token, "Bearer", ttl, refresh_token, created_at)


async def _handle_refresh(
    ctx: Context, kind: Kind, owner_key: str | None, token: str, scope: str | None
) -> RefreshResult:
    """Applies the outcome for a refresh token; the caller must commit even if the refresh is refused."""
    row = await session_queries.lock_refresh(ctx.db, secret_hash(token))
    if row is None:
        return RefreshResult("unknown")
    facts = _refresh_facts(row, owner_key)
    ctx.actor = Actor(kind.actor, row.owner_id) if facts.is_owners else ctx.actor
    decision = outcome(facts, ctx.shared.settings.refresh_grace)
    if decision in {"rotate", "repeat"} and scope and not is_within(scope, row.scope or "", row.access_level or ""):
        return RefreshResult("scope")
    if decision == "rotate" and row.refresh_count >= _max_refreshes(ctx, kind):
        await session_queries.end_session(ctx.db, row.session_id, "refreshed too often")
        return RefreshResult("limit")
    if decision == "rotate":
        return RefreshResult(decision, await _rotate(ctx, kind, row, token, scope), scope or row.scope)
    if decision == "repeat":
        return await _repeat(ctx, kind, row, token)
    if decision == "reuse":
        await session_queries.end_session(ctx.db, row.session_id, "a rotated refresh token was used again")
        await audit(ctx, "reuse", "ended", detail={"session_id": str(row.session_id)})
    return RefreshResult(decision if facts.is_owners else "owner")


def _max_refreshes(ctx: Context, kind: Kind) -> int:
    """Returns the refresh limit of a session, far above the needs of a client that refreshes on expiry."""
    settings = ctx.shared.settings
    return max(MIN_REFRESH_LIMIT, 4 * settings.refresh_max_ttl // kind.ttl(settings))


async def _rotate(
    ctx: Context, kind: Kind, row: session_queries.PresentedRefreshToken, token: str, scope: str | None
) -> UserTokens:
    keys, nonce, parent = ctx.shared.keys, new_bytes(16), secret_hash(token)
    await session_queries.rotate(
        ctx.db,
        parent=parent,
        key_id=keys.current,
        nonce=nonce,
        session_id=row.session_id,
        idle=ctx.shared.settings.refresh_idle_ttl,
    )
    values = _derive_values(ctx, keys.current, token, nonce)
    pair = await _issue(ctx, kind, row.session_id, values, parent=parent, scope=scope)
    await audit(ctx, "refresh", "done", detail={"session_id": str(row.session_id)})
    return pair


async def _repeat(ctx: Context, kind: Kind, row: session_queries.PresentedRefreshToken, token: str) -> RefreshResult:
    """Derives the identical pair again from the parent token; neither token is ever stored."""
    if row.key_id is None or row.nonce is None or row.key_id not in ctx.shared.keys:
        return RefreshResult("key")
    access_value, refresh_value = _derive_values(ctx, row.key_id, token, row.nonce)
    refresh_token = secret_text(kind.refresh, refresh_value)
    original = await session_queries.find_issued(ctx.db, secret_hash(refresh_token))
    if original is None:
        return RefreshResult("unknown")
    ttl = kind.ttl(ctx.shared.settings)
    pair = UserTokens(secret_text(kind.access, access_value), "Bearer", ttl, refresh_token, original[0])
    return RefreshResult("repeat", pair, original[1] or row.scope)


def _derive_values(ctx: Context, key_id: str, parent: str, nonce: bytes) -> tuple[bytes, bytes]:
    def child(kind: bytes) -> bytes:
        return ctx.shared.keys.mac(key_id, _ROTATION, b"\x00".join((kind, parent.encode(), nonce)))

    return child(b"access"), child(b"refresh")
