"""How shoppers sign in: ask for a code, trade it for tokens, refresh them."""

from typing import Any
from uuid import UUID

import msgspec

from shop.actions import rate_limits
from shop.actions.access import tokens
from shop.actions.access.tokens import TokenPair
from shop.actions.audit import audit
from shop.actions.context import Context
from shop.actions.mail import budget as mail_budget
from shop.base.email import Email
from shop.base.errors import InvalidCode, InvalidRefreshToken
from shop.base.ids import new_id
from shop.base.secrets import new_bytes
from shop.models.access.sessions import LoginRequest
from shop.queries.access import login as requests
from shop.queries.customers import users
from shop.queries.operations import outbox
from shop.rules.access.codes import login_code, matches

_NOBODY = UUID(int=0)


class Names(msgspec.Struct, frozen=True):
    """What a caller says they are called; never shown in a mail, and kept only until someone proves the address."""

    first_name: str | None = None
    last_name: str | None = None


async def request_code(ctx: Context, email: Email, names: Names) -> None:
    """Queues a mail with a code, if the budgets allow it; the caller cannot tell."""
    wait = await mail_budget.count_code_mail(ctx, email)
    if wait is None:
        return
    keys, ttl = ctx.shared.keys, ctx.shared.settings.login_code_ttl
    named = msgspec.structs.asdict(names)
    async with ctx.db.transaction():
        user = await requests.lock_or_make_user(ctx.db, id=new_id(), email=email.address, email_key=email.key, **named)
        is_long = await rate_limits.is_under_attack(ctx, email)
        await requests.supersede_requests(ctx.db, email.key)
        request = await requests.insert_request(
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
            mail: dict[str, Any] = {"kind": "login_code", "recipient": user.email, "ref_id": request.id, "ttl": ttl}
            await outbox.insert_mail(ctx.db, id=new_id(), delay=wait, awaits_budget=wait > 0, **mail)
    ctx.shared.mail_waits.set()


async def exchange_code(ctx: Context, email: Email, typed: str) -> TokenPair:
    await rate_limits.refuse_flood(ctx)
    request = await rate_limits.take_try(ctx, email)
    # The same work when there is nothing to compare with: the time must not tell whether there is.
    code = _code(ctx, request)
    if request is None or code is None or not matches(code, typed):
        await rate_limits.note_wrong_code(ctx, email, was_live=request is not None)
        raise InvalidCode()
    pair = await _redeem(ctx, request)
    if pair is None:
        raise InvalidCode()
    return pair


async def refresh(ctx: Context, email: Email | None, token: str) -> TokenPair:
    """With the user's address, which must be the token's; clients of Spree send the token alone."""
    await rate_limits.refuse_flood(ctx)
    refreshed = await tokens.refresh(ctx, tokens.USER, email.key if email else None, token)
    if refreshed.pair is None:
        await rate_limits.note_bad_refresh(ctx, {"reason": refreshed.reason})
        raise InvalidRefreshToken()
    return refreshed.pair


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
        found = await requests.lock_or_make_user(
            ctx.db, id=new_id(), email=request.email, email_key=request.email_key, **named
        )
        if not await requests.consume_request(ctx.db, request.id):
            await audit(ctx, "sign_in", "refused", actor_id=found.id, detail={"reason": "used"})
            return None
        if found.disabled_at:
            await audit(ctx, "sign_in", "refused", actor_id=found.id, detail={"reason": "disabled"})
            return None
        await users.verify_user(ctx.db, found.id, **named)
        pair = await tokens.new_session(ctx, tokens.USER, user_id=found.id)
        await rate_limits.forget_failures(ctx, request.email_key)
        await audit(ctx, "sign_in", "done", actor_id=found.id)
        return pair
