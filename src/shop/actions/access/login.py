"""Customer sign-in: requests a login code, exchanges it for tokens and refreshes them."""

import asyncio
from select import select
from time import monotonic
from uuid import UUID

import msgspec

from shop.actions import rate_limits
from shop.actions.access import sessions
from shop.actions.access.sessions import UserTokens
from shop.actions.audit import audit
from shop.actions.context import Context
from shop.actions.event_subjects import CUSTOMER
from shop.actions.events import note_change, note_event
from shop.actions.mail import budget as mail_budget
from shop.actions.mail_events import queue_mails
from shop.base.actor import Actor
from shop.base.crypto.secrets import new_bytes
from shop.base.email import Email
from shop.base.errors import InvalidCode, InvalidRefreshToken
from shop.base.ids import new_id
from shop.models.access.sessions import LoginRequest
from shop.queries.access import login as login_queries
from shop.queries.access import sessions as session_queries
from shop.queries.customers import users
from shop.queries.operations import outbox
from shop.rules.access.codes import login_code, matches
from shop.rules.access.devices import device_kind
from shop.rules.mail_events import NEW_SIGN_IN, MailRequest

_NO_REQUEST = UUID(int=0)
REPLY_SECONDS, LAST_SECONDS = 0.02, 0.003
"""A request for a code, or with a wrong one, takes at least this long. To insert a user takes longer than to find one,
and to parse an address takes longer the first time; with many requests, a caller could tell a tenth of a millisecond.
"""


class UserNames(msgspec.Struct, frozen=True):
    """Unverified names sent by a caller; never used in an e-mail, and stored only until the address is verified."""

    first_name: str | None = None
    last_name: str | None = None


async def request_code(ctx: Context, email: Email, names: UserNames) -> None:
    """Queues an e-mail with a code if the mail budget allows it; the response is the same either way."""
    await _queue_code(ctx, email, names)
    await _wait_until(ctx.started_at + REPLY_SECONDS)


async def _wait_until(end: float) -> None:
    """Waits until this time, to the microsecond. The event loop counts whole milliseconds from the last work it did, so
    that the end of its pause would still depend on the work; the last part is therefore a pause of a thread. It uses
    `select`, because `sleep` ends at a time of the clock, which fails with a simulated one.
    """
    await asyncio.sleep(max(0.0, end - LAST_SECONDS - monotonic()))
    await asyncio.to_thread(lambda: select([], [], [], max(0.0, end - monotonic())))


async def _queue_code(ctx: Context, email: Email, names: UserNames) -> None:
    wait = await mail_budget.count_code_mail(ctx, email)
    if wait is None:
        return
    keys, ttl = ctx.shared.keys, ctx.shared.settings.login_code_ttl
    name_fields = msgspec.structs.asdict(names)
    async with ctx.db.transaction():
        user = await login_queries.lock_or_create_user(
            ctx.db, id=new_id(), email=email.address, email_key=email.key, **name_fields
        )
        is_long = await rate_limits.is_under_attack(ctx, email)
        await login_queries.supersede_requests(ctx.db, email.key)
        request = await login_queries.insert_request(
            ctx.db,
            id=new_id(),
            email_key=email.key,
            email=user.email,
            key_id=keys.current,
            nonce=new_bytes(16),
            is_long=is_long,
            ttl=ttl,
            **name_fields,
        )
        if user.disabled_at is None:
            await outbox.insert_mail(
                ctx.db,
                id=new_id(),
                kind="login_code",
                recipient=user.email,
                ref_id=request.id,
                ttl=ttl,
                delay=wait,
                awaits_budget=wait > 0,
            )
    ctx.shared.mail_queued.set()


async def exchange_code(ctx: Context, email: Email, submitted_code: str) -> UserTokens:
    try:
        return await _exchange(ctx, email, submitted_code)
    except InvalidCode:
        await _wait_until(ctx.started_at + REPLY_SECONDS)
        raise


async def _exchange(ctx: Context, email: Email, submitted_code: str) -> UserTokens:
    await rate_limits.check_source_failures(ctx)
    request = await rate_limits.count_login_attempt(ctx, email)
    # Do the same work without a request, so that the response time does not reveal whether one exists.
    code = _code(ctx, request)
    if request is None or code is None or not matches(code, submitted_code):
        await rate_limits.record_wrong_code(ctx, email, was_live=request is not None)
        raise InvalidCode()
    pair = await _redeem(ctx, request)
    if pair is None:
        raise InvalidCode()
    return pair


async def refresh(ctx: Context, email: Email | None, token: str) -> UserTokens:
    """Refreshes a session. If `email` is given it must match the token; Spree clients send the token only."""
    await rate_limits.check_source_failures(ctx)
    result = await sessions.refresh(ctx, sessions.USER, email.key if email else None, token)
    if result.pair is None:
        await rate_limits.record_bad_refresh(ctx, {"reason": result.reason})
        raise InvalidRefreshToken()
    return result.pair


def _code(ctx: Context, request: LoginRequest | None) -> str | None:
    keys = ctx.shared.keys
    if request is None:
        return login_code(keys, keys.current, _NO_REQUEST, bytes(16), is_long=False)
    if request.key_id not in keys:
        return None
    return login_code(keys, request.key_id, request.id, request.nonce, is_long=request.is_long)


async def _redeem(ctx: Context, request: LoginRequest) -> UserTokens | None:
    """Consumes the request and opens a session; returns None if the code was just used or the user is disabled."""
    async with ctx.db.transaction():
        # Lock the user before the request, in the order of `request_code`, to avoid a deadlock.
        name_fields = {"first_name": request.first_name, "last_name": request.last_name}
        user = await login_queries.lock_or_create_user(
            ctx.db, id=new_id(), email=request.email, email_key=request.email_key, **name_fields
        )
        if not await login_queries.consume_request(ctx.db, request.id):
            await audit(ctx, "sign_in", "refused", actor_id=user.id, detail={"reason": "used"})
            return None
        if user.disabled_at:
            await audit(ctx, "sign_in", "refused", actor_id=user.id, detail={"reason": "disabled"})
            return None
        ctx.actor = Actor("user", user.id)
        note_change(ctx, CUSTOMER, user.id, user)
        note_event(ctx, "customer.signed_in", CUSTOMER, user.id)
        await users.verify_user(ctx.db, user.id, **name_fields)
        session_id = new_id()
        if await _is_new_device(ctx, user.id):
            await queue_mails(ctx, [MailRequest(kind=NEW_SIGN_IN, ref_id=session_id, recipient=user.email)])
        pair = await sessions.new_session(ctx, sessions.USER, user_id=user.id, session_id=session_id)
        await rate_limits.reset_failures(ctx, request.email_key)
        await audit(ctx, "sign_in", "done", actor_id=user.id)
        return pair


async def _is_new_device(ctx: Context, user_id: UUID) -> bool:
    """Whether the customer has sessions, but none of this kind of device."""
    agents = await session_queries.list_user_agents(ctx.db, user_id)
    return bool(agents) and device_kind(ctx.origin.user_agent) not in map(device_kind, agents)
