"""How shoppers sign in and out: ask for a code, trade it for tokens, refresh them, end the session."""

from uuid import UUID

import msgspec

from shop.actions import attempts
from shop.actions.audit import audit
from shop.actions.context import Context
from shop.base.email import Email
from shop.base.errors import InvalidCode, InvalidRefreshToken
from shop.base.ids import new_id
from shop.base.secrets import USER_ACCESS, USER_REFRESH, is_secret, new_bytes, secret_hash, secret_text
from shop.models.access import LoginRequest
from shop.queries import access, outbox, people
from shop.rules.codes import login_code, matches
from shop.rules.refresh import Shown, is_spent, outcome

_NOBODY = UUID(int=0)
_ROTATION = "rotation"


class Names(msgspec.Struct, frozen=True):
    """What a caller says they are called; never shown in a mail, and kept only until someone proves the address."""

    first_name: str | None = None
    last_name: str | None = None


class TokenPair(msgspec.Struct, frozen=True):
    """What a sign-in gives: the seed's user token response."""

    access_token: str
    token_type: str
    expires_in: int
    refresh_token: str
    created_at: int


async def request_code(ctx: Context, email: Email, names: Names) -> None:
    """Queues a mail with a code, if the budgets allow it; the caller cannot tell."""
    if not await attempts.count_mail(ctx, email):
        return
    keys, ttl = ctx.shared.keys, ctx.shared.settings.login_code_ttl
    named = msgspec.structs.asdict(names)
    async with ctx.db.transaction():
        user = await access.lock_or_make_user(ctx.db, id=new_id(), email=email.address, email_key=email.key, **named)
        is_long = await attempts.is_under_attack(ctx, email)
        await access.supersede_requests(ctx.db, email.key)
        request = await access.insert_request(
            ctx.db,
            id=new_id(),
            email_key=email.key,
            email=user.email,
            key_id=keys.current,
            nonce=new_bytes(16),
            is_long=is_long,
            ttl=ttl,
            **named,
        )
        if user.disabled_at is None:
            mail = {"kind": "login_code", "recipient": user.email, "ref_id": request.id, "ttl": ttl}
            await outbox.insert_mail(ctx.db, id=new_id(), **mail)
    ctx.shared.mail_waits.set()


async def exchange_code(ctx: Context, email: Email, typed: str) -> TokenPair:
    await attempts.refuse_flood(ctx)
    request = await attempts.take_try(ctx, email)
    # The same work when there is nothing to compare with: the time must not tell whether there is.
    code = _code(ctx, request)
    if request is None or code is None or not matches(code, typed):
        await attempts.note_wrong_code(ctx, email, was_live=request is not None)
        raise InvalidCode()
    pair = await _redeem(ctx, request)
    if pair is None:
        raise InvalidCode()
    return pair


async def refresh(ctx: Context, email: Email, token: str) -> TokenPair:
    await attempts.refuse_flood(ctx)
    reason, pair = "form", None
    if is_secret(USER_REFRESH, token):
        async with ctx.db.transaction():
            reason, pair = await _shown(ctx, email, token)
    if pair is None:
        await attempts.note_bad_refresh(ctx, {"reason": reason})
        raise InvalidRefreshToken()
    return pair


async def end_session_of(ctx: Context, token: str) -> None:
    """A live token of either kind ends its whole session; anything else ends nothing, and the caller cannot tell."""
    if not is_secret(USER_ACCESS, token) and not is_secret(USER_REFRESH, token):
        return
    async with ctx.db.transaction():
        session_id = await _session_of(ctx, token)
        user_id = session_id and await access.end_session(ctx.db, session_id, "signed out")
        if user_id:
            await audit(ctx, "sign_out", "done", actor_id=user_id, detail={"session_id": str(session_id)})


async def _session_of(ctx: Context, token: str) -> UUID | None:
    if is_secret(USER_ACCESS, token):
        return await access.find_session_of(ctx.db, secret_hash(token))
    shown = await access.lock_refresh(ctx.db, secret_hash(token))
    if shown is None or is_spent(_facts(shown, shown.email_key), ctx.shared.settings.refresh_grace):
        return None
    return shown.session_id


def _facts(shown: access.ShownRefresh, email_key: str) -> Shown:
    return Shown(shown.is_live, shown.email_key == email_key, shown.seconds_since_rotation, shown.child_is_head)


def _code(ctx: Context, request: LoginRequest | None) -> str | None:
    keys = ctx.shared.keys
    if request is None:
        return login_code(keys, keys.current, _NOBODY, bytes(16), is_long=False)
    if request.key_id not in keys:
        return None
    return login_code(keys, request.key_id, request.id, request.nonce, is_long=request.is_long)


async def _redeem(ctx: Context, request: LoginRequest) -> TokenPair | None:
    """None when somebody was faster, or the user may not sign in."""
    async with ctx.db.transaction():
        # The user before the request, as when a code is asked for, or the two would wait for each other.
        named = {"first_name": request.first_name, "last_name": request.last_name}
        found = await access.lock_or_make_user(
            ctx.db, id=new_id(), email=request.email, email_key=request.email_key, **named
        )
        if not await access.consume_request(ctx.db, request.id):
            await audit(ctx, "sign_in", "refused", actor_id=found.id, detail={"reason": "used"})
            return None
        if found.disabled_at:
            await audit(ctx, "sign_in", "refused", actor_id=found.id, detail={"reason": "disabled"})
            return None
        await people.verify_user(ctx.db, found.id, **named)
        pair = await _new_session(ctx, found.id)
        await attempts.forget_failures(ctx, request.email_key)
        await audit(ctx, "sign_in", "done", actor_id=found.id)
        return pair


async def _new_session(ctx: Context, user_id: UUID) -> TokenPair:
    settings = ctx.shared.settings
    session = await access.insert_session(
        ctx.db,
        id=new_id(),
        user_id=user_id,
        source=ctx.origin.source,
        user_agent=ctx.origin.user_agent,
        idle=settings.refresh_idle_ttl,
        absolute=settings.refresh_max_ttl,
    )
    return await _issue(ctx, session.id, new_bytes(), new_bytes(), parent=None)


async def _issue(
    ctx: Context, session_id: UUID, access_value: bytes, refresh_value: bytes, *, parent: bytes | None
) -> TokenPair:
    access_token, refresh_token = secret_text(USER_ACCESS, access_value), secret_text(USER_REFRESH, refresh_value)
    ttl = ctx.shared.settings.user_token_ttl
    created_at = await access.insert_tokens(
        ctx.db,
        session_id=session_id,
        refresh_hash=secret_hash(refresh_token),
        access_hash=secret_hash(access_token),
        parent=parent,
        ttl=ttl,
    )
    return TokenPair(access_token, "Bearer", ttl, refresh_token, created_at)


async def _shown(ctx: Context, email: Email, token: str) -> tuple[str, TokenPair | None]:
    """What is decided of a refresh token, and done; nothing of it may be undone by the refusal that follows."""
    shown = await access.lock_refresh(ctx.db, secret_hash(token))
    if shown is None:
        return "unknown", None
    facts = _facts(shown, email.key)
    decided = outcome(facts, ctx.shared.settings.refresh_grace)
    if decided == "rotate":
        return decided, await _rotate(ctx, shown, token)
    if decided == "repeat":
        return decided, await _repeat(ctx, shown, token)
    if decided == "reuse":
        await access.end_session(ctx.db, shown.session_id, "a rotated refresh token was used again")
        await audit(ctx, "reuse", "ended", actor_id=shown.user_id, detail={"session_id": str(shown.session_id)})
    return decided if facts.is_users else "e-mail", None


async def _rotate(ctx: Context, shown: access.ShownRefresh, token: str) -> TokenPair:
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
    pair = await _issue(ctx, shown.session_id, *values, parent=parent)
    await audit(ctx, "refresh", "done", actor_id=shown.user_id, detail={"session_id": str(shown.session_id)})
    return pair


async def _repeat(ctx: Context, shown: access.ShownRefresh, token: str) -> TokenPair | None:
    """The identical pair, worked out again from the token that was shown: neither was ever kept."""
    if shown.key_id is None or shown.nonce is None or shown.key_id not in ctx.shared.keys:
        return None
    access_value, refresh_value = _children(ctx, shown.key_id, token, shown.nonce)
    refresh_token = secret_text(USER_REFRESH, refresh_value)
    issued = await access.find_issued_at(ctx.db, secret_hash(refresh_token))
    if issued is None:
        return None
    ttl = ctx.shared.settings.user_token_ttl
    return TokenPair(secret_text(USER_ACCESS, access_value), "Bearer", ttl, refresh_token, issued)


def _children(ctx: Context, key_id: str, parent: str, nonce: bytes) -> tuple[bytes, bytes]:
    def child(kind: bytes) -> bytes:
        return ctx.shared.keys.mac(key_id, _ROTATION, b"\x00".join((kind, parent.encode(), nonce)))

    return child(b"access"), child(b"refresh")
