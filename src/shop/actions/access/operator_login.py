"""How operators sign in and out: the password, then the authenticator's code where there is one; and both again before
a dangerous act.
"""

import contextlib
from functools import partial
from hashlib import sha256
from math import ceil

import msgspec

from shop.actions import rate_limits
from shop.actions.access import second_factor
from shop.actions.audit import audit
from shop.actions.context import Context
from shop.base.actor import Actor
from shop.base.email import read_email
from shop.base.errors import InvalidSignIn, TooMany, Unavailable
from shop.base.ids import new_id
from shop.base.passwords import hash_password, is_outdated, is_password
from shop.base.secrets import OPERATOR_SESSION, is_secret, new_secret, secret_hash
from shop.base.sources import networks_of
from shop.models.access.operators import Operator
from shop.queries.access import operators, server_keys
from shop.queries.access.operators import SignedIn
from shop.rules.access.operators import is_ticket, sign_in_ticket, ticket_owner
from shop.rules.access.passwords import MAX_PASSWORD

_WRONG_CODE = "The code is wrong or was used before. Wait for the next one, or use a recovery code."
TOO_LATE = "That took too long; sign in again."


class Entry(msgspec.Struct, frozen=True):
    """How far a sign-in has come: in, with the session's secret; or half-way, with a ticket for the code's page."""

    secret: str | None = None
    ticket: str | None = None


async def sign_in(ctx: Context, typed_email: str, password: str) -> Entry:
    email = read_email(typed_email.strip())
    name = email.key if email else typed_email[:254].lower()
    counted = await rate_limits.count_sign_in(ctx, name)
    found = await operators.find_by_key(ctx.db, name) if email else None
    operator = found if found and found.disabled_at is None else None
    ctx.actor = Actor("operator", found.id if found else None)
    if not await _is_password(ctx, operator, password) or operator is None or operator.password_hash is None:
        await _refused(ctx, "password", name)
        raise InvalidSignIn()
    await rate_limits.forgive(ctx, counted)
    if operator.totp_sealed:
        now = await operators.read_clock(ctx.db)
        return Entry(ticket=sign_in_ticket(ctx.shared.keys, operator.id, operator.password_hash, now))
    return Entry(secret=await open_session(ctx, operator, password))


async def finish_sign_in(ctx: Context, ticket: str, code: str) -> Entry:
    """The second page: who it is stands in the ticket, and nothing was opened yet."""
    owner_id = ticket_owner(ticket)
    operator = await operators.find_operator(ctx.db, owner_id) if owner_id else None
    if operator is None or operator.password_hash is None or operator.disabled_at:
        raise InvalidSignIn(TOO_LATE)
    now = await operators.read_clock(ctx.db)
    not_before = await server_keys.read_not_before(ctx.db)
    void_until = ceil(not_before.timestamp()) if not_before else 0
    if not is_ticket(ctx.shared.keys, ticket, operator.password_hash, now, void_until):
        raise InvalidSignIn(TOO_LATE)
    ctx.actor = Actor("operator", operator.id)
    counted = await rate_limits.count_sign_in(ctx, operator.email_key)
    if not await second_factor.check_at_sign_in(ctx, operator, code):
        await _refused(ctx, "code", operator.email_key)
        raise InvalidSignIn(_WRONG_CODE)
    await rate_limits.forgive(ctx, counted)
    return Entry(secret=await open_session(ctx, operator))


async def open_session(ctx: Context, operator: Operator, password: str | None = None) -> str:
    """A session and its secret, new at each sign-in; a password hashed the old way is hashed anew on the occasion.

    Hashing takes its time: whoever was shut out or given another password meanwhile does not come in by the old one.
    """
    secret, renewed = new_secret(OPERATOR_SESSION), None
    if password is not None and operator.password_hash and is_outdated(operator.password_hash):
        # At another sign-in, when too many are waiting now.
        with contextlib.suppress(TooMany, Unavailable):
            renewed = await hash_for_caller(ctx, password)
    ctx.actor = Actor("operator", operator.id)
    async with ctx.db.transaction():
        held = await operators.lock_operator(ctx.db, operator.id)
        if held is None or held.disabled_at or held.password_hash != operator.password_hash:
            raise InvalidSignIn(TOO_LATE)
        if renewed:
            await operators.set_password(ctx.db, operator.id, renewed)
        await operators.insert_session(
            ctx.db,
            id=new_id(),
            hash=secret_hash(secret),
            operator_id=operator.id,
            source=ctx.origin.source,
            user_agent=ctx.origin.user_agent,
        )
        await audit(ctx, "sign_in", "done", subject_id=operator.id)
    return secret


async def find_signed_in(ctx: Context, session_hash: bytes) -> SignedIn | None:
    """Who this session is of; that they were here is noted once a minute, apart from the request's own work."""
    found = await operators.find_session(ctx.db, session_hash)
    if found and not found.is_seen:
        await operators.see_session(ctx.db.apart(), found.session_id)
    return found


async def confirm(ctx: Context, visitor: SignedIn, password: str, code: str) -> str:
    """The password again, and the code: the session's new secret."""
    operator = visitor.operator
    counted = await rate_limits.count_confirmation(ctx, visitor.session_id)
    if not await _is_password(ctx, operator, password, visitor):
        await _refused(ctx, "password", operator.email_key)
        raise InvalidSignIn("That is not your password.")
    if operator.totp_sealed and not await second_factor.check(ctx, operator, code):
        await _refused(ctx, "code", operator.email_key)
        raise InvalidSignIn(_WRONG_CODE)
    await rate_limits.forgive(ctx, counted)
    secret = new_secret(OPERATOR_SESSION)
    async with ctx.db.transaction():
        if not await operators.confirm_session(ctx.db, visitor.session_id, secret_hash(secret)):
            raise InvalidSignIn(TOO_LATE)
        await audit(ctx, "confirm", "done", subject_id=operator.id)
    return secret


async def sign_out(ctx: Context, visitor: SignedIn) -> None:
    async with ctx.db.transaction():
        await operators.end_session(ctx.db, visitor.session_id)
        await audit(ctx, "sign_out", "done", subject_id=visitor.operator.id)


async def end_other_sessions(ctx: Context, visitor: SignedIn) -> int:
    async with ctx.db.transaction():
        count = await operators.end_other_sessions(ctx.db, visitor.operator.id, kept_id=visitor.session_id)
        await audit(ctx, "sessions_end", "done", subject_id=visitor.operator.id, detail={"count": count})
    return count


def session_hash_of(text: str) -> bytes | None:
    """What is kept of a session's secret; none when the text cannot be one."""
    return secret_hash(text) if is_secret(OPERATOR_SESSION, text) else None


async def hash_for_caller(ctx: Context, password: str) -> str:
    """A new hash, in the queue of the caller's source."""
    return await ctx.shared.hash_queue.run(_queue_of(ctx), partial(hash_password, password))


async def hash_for_operator(ctx: Context, visitor: SignedIn, password: str) -> str:
    """A new hash, in the queue of an operator who is signed in."""
    work = partial(hash_password, password)
    return await ctx.shared.hash_queue.run(str(visitor.session_id), work, is_signed_in=True)


async def _is_password(ctx: Context, operator: Operator | None, password: str, visitor: SignedIn | None = None) -> bool:
    # One that is too long to be anyone's is cut: the work and the response stay the same.
    expected, typed = operator.password_hash if operator else None, password[: MAX_PASSWORD + 1]
    owner = str(visitor.session_id) if visitor else _queue_of(ctx)
    work = partial(is_password, expected, typed)
    return await ctx.shared.hash_queue.run(owner, work, is_signed_in=visitor is not None)


def _queue_of(ctx: Context) -> str:
    """The largest network of the caller: whoever has many small ones must not have as many queues."""
    return networks_of(ctx.origin.source)[-1][0]


async def _refused(ctx: Context, reason: str, name: str) -> None:
    address = sha256(f"audit\x00{name}".encode()).hexdigest()[:16]
    detail = {"reason": reason, "address": address}
    async with ctx.db.transaction():
        await audit(ctx, "sign_in", "refused", subject_id=ctx.actor.id, detail=detail)
