"""How sessions live and end: a pair of tokens at the start, a new pair at each refresh, the end of them all."""

from uuid import UUID

import msgspec

from shop.actions.audit import audit
from shop.actions.context import Context
from shop.base.actor import Actor
from shop.base.ids import new_id
from shop.base.secrets import (
    PLATFORM_ACCESS,
    PLATFORM_REFRESH,
    USER_ACCESS,
    USER_REFRESH,
    is_secret,
    new_bytes,
    secret_hash,
    secret_text,
)
from shop.base.settings import Settings
from shop.queries.access import sessions as access
from shop.rules.access.permissions import is_within
from shop.rules.access.refresh import Shown, is_spent, outcome

MIN_REFRESH_LIMIT = 2000
_ROTATION = "rotation"


class TokenPair(msgspec.Struct, frozen=True):
    """What a sign-in gives: a token to send with requests, and one to get the next pair with."""

    access_token: str
    token_type: str
    expires_in: int
    refresh_token: str
    created_at: int


class Kind(msgspec.Struct, frozen=True):
    """Whose tokens: their prefixes, so that no kind is ever taken for another."""

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
) -> TokenPair:
    settings = ctx.shared.settings
    session = await access.insert_session(
        ctx.db,
        id=new_id(),
        user_id=user_id,
        application_id=application_id,
        scope=scope,
        source=ctx.origin.source,
        user_agent=ctx.origin.user_agent,
        idle=settings.refresh_idle_ttl,
        absolute=settings.refresh_max_ttl,
    )
    return await _issue(ctx, kind, session.id, (new_bytes(), new_bytes()), parent=None)


class Refreshed(msgspec.Struct, frozen=True):
    """What was decided of a refresh token: the pair, or the reason why there is none."""

    reason: str
    pair: TokenPair | None = None
    scope: str | None = None


async def refresh(ctx: Context, kind: Kind, owner_key: str | None, token: str, scope: str | None = None) -> Refreshed:
    """The next pair of a session. `owner_key` is whose it must be, an address or a client id; none asks for the token
    alone. `scope` may narrow it.
    """
    if not is_secret(kind.refresh, token):
        return Refreshed("form")
    async with ctx.db.transaction():
        return await _shown(ctx, kind, owner_key, token, scope)


def is_of(kind: Kind, token: str) -> bool:
    """Whether it is written as an access or a refresh token of this kind."""
    return is_secret(kind.access, token) or is_secret(kind.refresh, token)


async def end_session_of(ctx: Context, kind: Kind, token: str) -> None:
    """A live token of this kind ends its whole session; anything else ends nothing, and the caller cannot tell."""
    if not is_of(kind, token):
        return
    async with ctx.db.transaction():
        session_id = await _session_of(ctx, kind, token)
        owner_id = session_id and await access.end_session(ctx.db, session_id, "signed out")
        if owner_id:
            ctx.actor = Actor(kind.actor, owner_id)
            await audit(ctx, "sign_out", "done", detail={"session_id": str(session_id)})


async def _session_of(ctx: Context, kind: Kind, token: str) -> UUID | None:
    if is_secret(kind.access, token):
        return await access.find_session_of(ctx.db, secret_hash(token))
    shown = await access.lock_refresh(ctx.db, secret_hash(token))
    if shown is None or is_spent(_facts(shown, shown.owner_key), ctx.shared.settings.refresh_grace):
        return None
    return shown.session_id


def _facts(shown: access.ShownRefresh, owner_key: str | None) -> Shown:
    return Shown(shown.is_live, owner_key in {shown.owner_key, None}, shown.seconds_since_rotation, shown.child_is_head)


async def _issue(
    ctx: Context,
    kind: Kind,
    session_id: UUID,
    values: tuple[bytes, bytes],
    *,
    parent: bytes | None,
    scope: str | None = None,
) -> TokenPair:
    access_token, refresh_token = secret_text(kind.access, values[0]), secret_text(kind.refresh, values[1])
    ttl = kind.ttl(ctx.shared.settings)
    created_at = await access.insert_tokens(
        ctx.db,
        session_id=session_id,
        refresh_hash=secret_hash(refresh_token),
        access_hash=secret_hash(access_token),
        parent=parent,
        ttl=ttl,
        scope=scope,
    )
    return TokenPair(access_token, "Bearer", ttl, refresh_token, created_at)


async def _shown(ctx: Context, kind: Kind, owner_key: str | None, token: str, scope: str | None) -> Refreshed:
    """What is decided of a refresh token, and done; nothing of it may be undone by the refusal that follows."""
    shown = await access.lock_refresh(ctx.db, secret_hash(token))
    if shown is None:
        return Refreshed("unknown")
    facts = _facts(shown, owner_key)
    ctx.actor = Actor(kind.actor, shown.owner_id) if facts.is_owners else ctx.actor
    decided = outcome(facts, ctx.shared.settings.refresh_grace)
    if decided in {"rotate", "repeat"} and scope and not is_within(scope, shown.scope or "", shown.access_level or ""):
        return Refreshed("scope")
    if decided == "rotate" and shown.refresh_count >= _max_refreshes(ctx, kind):
        await access.end_session(ctx.db, shown.session_id, "refreshed too often")
        return Refreshed("limit")
    if decided == "rotate":
        return Refreshed(decided, await _rotate(ctx, kind, shown, token, scope), scope or shown.scope)
    if decided == "repeat":
        return await _repeat(ctx, kind, shown, token)
    if decided == "reuse":
        await access.end_session(ctx.db, shown.session_id, "a rotated refresh token was used again")
        await audit(ctx, "reuse", "ended", detail={"session_id": str(shown.session_id)})
    return Refreshed(decided if facts.is_owners else "owner")


def _max_refreshes(ctx: Context, kind: Kind) -> int:
    """Of one session: far more than a client needs that refreshes when its token expires."""
    settings = ctx.shared.settings
    return max(MIN_REFRESH_LIMIT, 4 * settings.refresh_max_ttl // kind.ttl(settings))


async def _rotate(ctx: Context, kind: Kind, shown: access.ShownRefresh, token: str, scope: str | None) -> TokenPair:
    keys, nonce, parent = ctx.shared.keys, new_bytes(16), secret_hash(token)
    await access.rotate(
        ctx.db,
        parent=parent,
        key_id=keys.current,
        nonce=nonce,
        session_id=shown.session_id,
        idle=ctx.shared.settings.refresh_idle_ttl,
    )
    values = _children(ctx, keys.current, token, nonce)
    pair = await _issue(ctx, kind, shown.session_id, values, parent=parent, scope=scope)
    await audit(ctx, "refresh", "done", detail={"session_id": str(shown.session_id)})
    return pair


async def _repeat(ctx: Context, kind: Kind, shown: access.ShownRefresh, token: str) -> Refreshed:
    """The identical pair, worked out again from the token that was shown: neither was ever kept."""
    if shown.key_id is None or shown.nonce is None or shown.key_id not in ctx.shared.keys:
        return Refreshed("key")
    access_value, refresh_value = _children(ctx, shown.key_id, token, shown.nonce)
    refresh_token = secret_text(kind.refresh, refresh_value)
    issued = await access.find_issued(ctx.db, secret_hash(refresh_token))
    if issued is None:
        return Refreshed("unknown")
    ttl = kind.ttl(ctx.shared.settings)
    pair = TokenPair(secret_text(kind.access, access_value), "Bearer", ttl, refresh_token, issued[0])
    return Refreshed("repeat", pair, issued[1] or shown.scope)


def _children(ctx: Context, key_id: str, parent: str, nonce: bytes) -> tuple[bytes, bytes]:
    def child(kind: bytes) -> bytes:
        return ctx.shared.keys.mac(key_id, _ROTATION, b"\x00".join((kind, parent.encode(), nonce)))

    return child(b"access"), child(b"refresh")
