"""Operator sign-in and sign-out, with a password and, if enrolled, an authenticator code. Sensitive actions require a
recent password check.
"""

import contextlib
from collections.abc import Mapping
from functools import partial
from hashlib import sha256
from math import ceil
from uuid import UUID

import msgspec

from shop.actions import rate_limits
from shop.actions.access import second_factor
from shop.actions.audit import audit
from shop.actions.context import Context
from shop.base.actor import Actor
from shop.base.client_networks import networks_of
from shop.base.crypto.passwords import hash_password, is_outdated, is_password
from shop.base.crypto.secrets import OPERATOR_SESSION, is_secret, new_secret, secret_hash
from shop.base.email import read_email
from shop.base.errors import InvalidSignIn, RateLimitError, Unavailable
from shop.base.ids import new_id
from shop.models.access.operators import Operator
from shop.queries.access import operators, server_keys
from shop.queries.access.operators import SignedInOperator
from shop.rules.access.operators import is_ticket, sign_in_ticket, ticket_owner
from shop.rules.access.passwords import MAX_PASSWORD

_WRONG_CODE = "The code is wrong or was used before. Wait for the next one, or use a recovery code."
SIGN_IN_EXPIRED = "The sign-in has expired; sign in again."


class SignInResult(msgspec.Struct, frozen=True):
    """The result of a sign-in step: the session's secret, or a ticket for the authenticator code page."""

    operator_id: UUID
    secret: str | None = None
    ticket: str | None = None


async def sign_in(ctx: Context, typed_email: str, password: str) -> SignInResult:
    email = read_email(typed_email.strip())
    name = email.key if email else typed_email[:254].lower()
    limits = await rate_limits.count_sign_in(ctx, name)
    candidate = await operators.find_by_key(ctx.db, name) if email else None
    operator = candidate if candidate and candidate.disabled_at is None else None
    ctx.actor = Actor("operator", candidate.id if candidate else None)
    if not await _is_password(ctx, operator, password) or operator is None or operator.password_hash is None:
        await audit_refusal(ctx, "password", name)
        raise InvalidSignIn()
    await rate_limits.uncount_attempt(ctx, limits)
    if operator.totp_sealed:
        now = await operators.read_clock(ctx.db)
        ticket = sign_in_ticket(ctx.shared.keys, operator.id, operator.password_hash, now)
        return SignInResult(operator.id, ticket=ticket)
    return SignInResult(operator.id, await open_session(ctx, operator, password))


async def finish_sign_in(ctx: Context, ticket: str, code: str) -> SignInResult:
    """Completes a sign-in with the authenticator code; the ticket identifies the operator."""
    owner_id = ticket_owner(ticket)
    operator = await operators.find_operator(ctx.db, owner_id) if owner_id else None
    if operator is None or operator.password_hash is None or operator.disabled_at:
        raise InvalidSignIn(SIGN_IN_EXPIRED)
    now = await operators.read_clock(ctx.db)
    not_before = await server_keys.read_not_before(ctx.db)
    void_until = ceil(not_before.timestamp()) if not_before else 0
    if not is_ticket(ctx.shared.keys, ticket, operator.password_hash, now, void_until):
        raise InvalidSignIn(SIGN_IN_EXPIRED)
    ctx.actor = Actor("operator", operator.id)
    limits = await rate_limits.count_sign_in(ctx, operator.email_key)
    if not await second_factor.check_at_sign_in(ctx, operator, code):
        await audit_refusal(ctx, "code", operator.email_key)
        raise InvalidSignIn(_WRONG_CODE)
    await rate_limits.uncount_attempt(ctx, limits)
    return SignInResult(operator.id, await open_session(ctx, operator))


async def open_session(
    ctx: Context, operator: Operator, password: str | None = None, *, detail: Mapping[str, object] | None = None
) -> str:
    """Opens a session and returns its new secret; rehashes a password whose hash is outdated.

    Hashing is slow, so the operator is checked again afterwards: the operator may have been disabled, or the password
    changed, in the meantime.
    """
    secret, new_hash = new_secret(OPERATOR_SESSION), None
    if password is not None and operator.password_hash and is_outdated(operator.password_hash):
        # If the hash queue is full, rehash at a later sign-in.
        with contextlib.suppress(RateLimitError, Unavailable):
            new_hash = await hash_for_caller(ctx, password)
    ctx.actor = Actor("operator", operator.id)
    async with ctx.db.transaction():
        current = await operators.lock_operator(ctx.db, operator.id)
        if current is None or current.disabled_at or current.password_hash != operator.password_hash:
            raise InvalidSignIn(SIGN_IN_EXPIRED)
        if new_hash:
            await operators.set_password(ctx.db, operator.id, new_hash)
        await operators.insert_session(
            ctx.db,
            id=new_id(),
            hash=secret_hash(secret),
            operator_id=operator.id,
            source=ctx.origin.source,
            user_agent=ctx.origin.user_agent,
        )
        await audit(ctx, "sign_in", "done", subject_id=operator.id, detail=detail)
    return secret


async def find_session(ctx: Context, session_hash: bytes) -> SignedInOperator | None:
    """Returns the session's operator; records the visit once a minute, in a separate database session."""
    session = await operators.find_session(ctx.db, session_hash)
    if session and not session.is_seen:
        await operators.touch_session(ctx.db.separate(), session.session_id)
    return session


async def confirm_password(ctx: Context, operator_session: SignedInOperator, password: str, code: str) -> str:
    """Checks the password and the code again; returns a new secret for the session."""
    operator = operator_session.operator
    limits = await rate_limits.count_confirmation(ctx, operator_session.session_id)
    if not await _is_password(ctx, operator, password, operator_session):
        await audit_refusal(ctx, "password", operator.email_key)
        raise InvalidSignIn("Wrong password.")
    if operator.totp_sealed and not await second_factor.check(ctx, operator, code):
        await audit_refusal(ctx, "code", operator.email_key)
        raise InvalidSignIn(_WRONG_CODE)
    await rate_limits.uncount_attempt(ctx, limits)
    return await renew_session(ctx, operator_session)


async def renew_session(
    ctx: Context, operator_session: SignedInOperator, *, detail: Mapping[str, object] | None = None
) -> str:
    """Makes a session fresh and returns its new secret; the operator was just authenticated again."""
    secret = new_secret(OPERATOR_SESSION)
    async with ctx.db.transaction():
        if not await operators.confirm_session(ctx.db, operator_session.session_id, secret_hash(secret)):
            raise InvalidSignIn(SIGN_IN_EXPIRED)
        await audit(ctx, "confirm", "done", subject_id=operator_session.operator.id, detail=detail)
    return secret


async def sign_out(ctx: Context, operator_session: SignedInOperator) -> None:
    async with ctx.db.transaction():
        await operators.end_session(ctx.db, operator_session.session_id)
        await audit(ctx, "sign_out", "done", subject_id=operator_session.operator.id)


async def end_other_sessions(ctx: Context, operator_session: SignedInOperator) -> int:
    async with ctx.db.transaction():
        count = await operators.end_other_sessions(
            ctx.db, operator_session.operator.id, kept_id=operator_session.session_id
        )
        await audit(ctx, "sessions_end", "done", subject_id=operator_session.operator.id, detail={"count": count})
    return count


def session_hash_of(text: str) -> bytes | None:
    """Returns the stored hash of a session secret, or None if the text is not a session secret."""
    return secret_hash(text) if is_secret(OPERATOR_SESSION, text) else None


async def hash_for_caller(ctx: Context, password: str) -> str:
    """Hashes a password in the queue of the caller's source."""
    return await ctx.shared.hash_queue.run(_queue_key(ctx), partial(hash_password, password))


async def hash_for_operator(ctx: Context, operator_session: SignedInOperator, password: str) -> str:
    """Hashes a password in the queue of a signed-in operator."""
    work = partial(hash_password, password)
    return await ctx.shared.hash_queue.run(str(operator_session.session_id), work, is_signed_in=True)


async def _is_password(
    ctx: Context, operator: Operator | None, password: str, operator_session: SignedInOperator | None = None
) -> bool:
    # Truncate a password beyond the maximum length, so that the work and the response stay the same.
    expected, candidate = operator.password_hash if operator else None, password[: MAX_PASSWORD + 1]
    owner = str(operator_session.session_id) if operator_session else _queue_key(ctx)
    work = partial(is_password, expected, candidate)
    return await ctx.shared.hash_queue.run(owner, work, is_signed_in=operator_session is not None)


def _queue_key(ctx: Context) -> str:
    """Returns the caller's largest network, so that a caller with many small networks has only one queue."""
    return networks_of(ctx.origin.source)[-1][0]


async def audit_refusal(ctx: Context, reason: str, name: str) -> None:
    """Audits a rejected sign-in; the name is what the caller tried, and is stored as a hash only."""
    address = sha256(f"audit\x00{name}".encode()).hexdigest()[:16]
    detail = {"reason": reason, "address": address}
    async with ctx.db.transaction():
        await audit(ctx, "sign_in", "refused", subject_id=ctx.actor.id, detail=detail)
