"""Passkeys of operators: adding, renaming and removing them, and signing in or confirming with one."""

import asyncio
import hmac
from collections.abc import Mapping
from hashlib import sha256
from typing import Any
from uuid import UUID

import msgspec

from shop.actions import rate_limits
from shop.actions.access.operator_login import (
    SIGN_IN_EXPIRED,
    SignInResult,
    audit_refusal,
    open_session,
    renew_session,
)
from shop.actions.access.operator_notices import audit_and_notify
from shop.actions.audit import audit
from shop.actions.context import Context
from shop.base.actor import Actor
from shop.base.crypto.passkeys import (
    InvalidPasskey,
    RelyingParty,
    decode_bytes,
    read_challenge,
    read_credential_id,
    verify_assertion,
    verify_new_credential,
)
from shop.base.crypto.secrets import new_bytes
from shop.base.errors import Conflict, Invalid, InvalidSignIn, Malformed, NotFound
from shop.base.ids import new_id
from shop.base.values import EMPTY, read_line
from shop.models.access.passkeys import Passkey
from shop.queries.access import operators, passkeys, server_keys
from shop.queries.access.operators import SignedInOperator
from shop.rules.access.passkeys import (
    CONFIRM,
    MAX_PASSKEYS,
    REGISTER,
    SIGN_IN,
    creation_options,
    new_challenge,
    read_step,
    request_options,
)

MAX_NAME = 100
_REFUSED = "This passkey was not accepted. Try again, or sign in with your password."
_NOT_ADDED = "The passkey was not added: the answer of the browser is invalid or has expired. Try again."


class Ceremony(msgspec.Struct, frozen=True):
    """One exchange with a browser: the host that asks, and a secret of the browser that its challenges are bound to."""

    party: RelyingParty
    browser: str


async def list_passkeys(ctx: Context, operator_id: UUID) -> list[Passkey]:
    return await passkeys.list_passkeys(ctx.db, operator_id)


async def get_passkey(ctx: Context, operator_id: UUID, passkey_id: UUID) -> Passkey:
    passkey = await passkeys.find_own_passkey(ctx.db, operator_id, passkey_id)
    if passkey is None:
        raise NotFound()
    return passkey


async def new_sign_in_options(ctx: Context, ceremony: Ceremony) -> dict[str, Any]:
    """Returns the options for a sign-in. They name no passkeys, so that they reveal nothing about operators."""
    return request_options(ceremony.party, await _issue_challenge(ctx, SIGN_IN, ceremony), ())


async def new_confirmation_options(
    ctx: Context, operator_session: SignedInOperator, ceremony: Ceremony
) -> dict[str, Any]:
    own = await passkeys.list_passkeys(ctx.db, operator_session.operator.id)
    return request_options(ceremony.party, await _issue_challenge(ctx, CONFIRM, ceremony), own)


async def new_registration_options(
    ctx: Context, operator_session: SignedInOperator, ceremony: Ceremony
) -> dict[str, Any]:
    operator = operator_session.operator
    own = await passkeys.list_passkeys(ctx.db, operator.id)
    challenge = await _issue_challenge(ctx, REGISTER, ceremony)
    return creation_options(ceremony.party, ctx.shared.shop.name, operator, challenge, own)


async def add_passkey(
    ctx: Context,
    operator_session: SignedInOperator,
    ceremony: Ceremony,
    credential: Mapping[str, Any],
    typed_name: str,
) -> None:
    """Adds a passkey to the operator's own account."""
    name, operator_id = _read_name(typed_name), operator_session.operator.id
    try:
        challenge = read_challenge(credential)
        step = await _check_challenge(ctx, REGISTER, ceremony, challenge)
        new = await asyncio.to_thread(verify_new_credential, credential, challenge, ceremony.party)
    except InvalidPasskey:
        raise Conflict(_NOT_ADDED) from None
    async with ctx.db.transaction():
        await operators.lock_operator(ctx.db, operator_id)
        if not await passkeys.use_challenge(ctx.db, operator_id, step):
            raise Conflict(_NOT_ADDED)
        if len(await passkeys.list_passkeys(ctx.db, operator_id)) >= MAX_PASSKEYS:
            raise Conflict(f"You have {MAX_PASSKEYS} passkeys. Remove one that you no longer use first.")
        values = msgspec.structs.asdict(new) | {"name": name, "rp_id": ceremony.party.id}
        passkey_id = new_id()
        if not await passkeys.insert_passkey(ctx.db, id=passkey_id, operator_id=operator_id, **values):
            raise Conflict("This passkey was added before.")
        await audit_and_notify(ctx, operator_session.operator, "passkey_added", {"passkey": str(passkey_id)})


async def rename_passkey(ctx: Context, operator_id: UUID, passkey_id: UUID, typed_name: str) -> None:
    name = _read_name(typed_name)
    async with ctx.db.transaction():
        if not await passkeys.rename_passkey(ctx.db, operator_id, passkey_id, name):
            raise NotFound()
        await audit(ctx, "passkey_renamed", "done", subject_id=operator_id, detail={"passkey": str(passkey_id)})


async def remove_passkey(ctx: Context, operator_session: SignedInOperator, passkey_id: UUID) -> None:
    """Removes a passkey and ends the operator's other sessions: whoever has the device may have signed in with it."""
    operator = operator_session.operator
    async with ctx.db.transaction():
        await operators.lock_operator(ctx.db, operator.id)
        if not await passkeys.delete_passkey(ctx.db, operator.id, passkey_id):
            raise NotFound()
        ended_count = await operators.end_other_sessions(ctx.db, operator.id, kept_id=operator_session.session_id)
        detail = {"passkey": str(passkey_id), "sessions_ended": ended_count}
        await audit_and_notify(ctx, operator, "passkey_removed", detail)


async def sign_in(ctx: Context, ceremony: Ceremony, credential: Mapping[str, Any]) -> SignInResult:
    """Signs in with a passkey, without password and code."""
    name = f"passkey {_read_id(credential).hex()}"
    limits = await rate_limits.count_sign_in(ctx, name)
    passkey = await passkeys.find_passkey(ctx.db, _read_id(credential))
    operator = await operators.find_operator(ctx.db, passkey.operator_id) if passkey else None
    ctx.actor = Actor("operator", operator.id if operator else None)
    if (
        passkey is None
        or operator is None
        or operator.disabled_at
        or operator.password_hash is None
        or not await _is_signed(ctx, SIGN_IN, ceremony, credential, passkey)
    ):
        await audit_refusal(ctx, "passkey", name)
        raise InvalidSignIn(_REFUSED)
    await rate_limits.uncount_attempt(ctx, limits)
    return SignInResult(operator.id, await open_session(ctx, operator, detail={"passkey": str(passkey.id)}))


async def confirm(
    ctx: Context, operator_session: SignedInOperator, ceremony: Ceremony, credential: Mapping[str, Any]
) -> str:
    """Confirms a session with a passkey instead of the password; returns a new secret for the session."""
    limits = await rate_limits.count_confirmation(ctx, operator_session.session_id)
    passkey = await passkeys.find_passkey(ctx.db, _read_id(credential))
    is_own = passkey is not None and passkey.operator_id == operator_session.operator.id
    if passkey is None or not is_own or not await _is_signed(ctx, CONFIRM, ceremony, credential, passkey):
        await audit_refusal(ctx, "passkey", operator_session.operator.email_key)
        raise InvalidSignIn("This passkey was not accepted. Try again, or enter your password.")
    await rate_limits.uncount_attempt(ctx, limits)
    return await renew_session(ctx, operator_session, detail={"passkey": str(passkey.id)})


async def _is_signed(
    ctx: Context, purpose: str, ceremony: Ceremony, credential: Mapping[str, Any], passkey: Passkey
) -> bool:
    """Returns whether the passkey signed a challenge of this browser; consumes the challenge."""
    try:
        challenge = read_challenge(credential)
        step = await _check_challenge(ctx, purpose, ceremony, challenge)
        _check_user_handle(credential, passkey.operator_id)
        sign_count = await asyncio.to_thread(
            verify_assertion, credential, challenge, ceremony.party, passkey.public_key, passkey.sign_count
        )
    except InvalidPasskey:
        return False
    # In a separate transaction: the challenge is consumed even if the request fails later.
    separate_session = ctx.db.separate()
    async with separate_session.transaction():
        is_first_use = await passkeys.use_challenge(separate_session, passkey.operator_id, step)
        return is_first_use and await passkeys.record_use(separate_session, passkey.id, sign_count)


async def _issue_challenge(ctx: Context, purpose: str, ceremony: Ceremony) -> bytes:
    now = await passkeys.read_microseconds(ctx.db)
    return new_challenge(ctx.shared.keys, purpose, _browser_hash(ceremony), new_bytes(16), now)


async def _check_challenge(ctx: Context, purpose: str, ceremony: Ceremony, challenge: bytes) -> int:
    """Returns when the challenge was issued; raises InvalidPasskey unless it is ours, for this browser, and recent."""
    not_before = await server_keys.read_not_before(ctx.db)
    void_until = int(not_before.timestamp() * 1_000_000) if not_before else 0
    now = await passkeys.read_microseconds(ctx.db)
    step = read_step(ctx.shared.keys, purpose, _browser_hash(ceremony), challenge, now, void_until)
    if step is None:
        raise InvalidPasskey(SIGN_IN_EXPIRED)
    return step


def _browser_hash(ceremony: Ceremony) -> bytes:
    return sha256(f"{ceremony.party.origin}\0{ceremony.browser}".encode()).digest()


def _check_user_handle(credential: Mapping[str, Any], operator_id: UUID) -> None:
    """An authenticator returns the id of the account that it created the passkey for."""
    handle = credential["response"].get("userHandle")
    if handle is not None and not hmac.compare_digest(decode_bytes(handle), operator_id.bytes):
        raise InvalidPasskey("another account")


def _read_id(credential: Mapping[str, Any]) -> bytes:
    try:
        return read_credential_id(credential)
    except InvalidPasskey:
        raise Malformed("The answer of the authenticator cannot be read.") from None


def _read_name(typed_name: str) -> str:
    try:
        name = read_line(typed_name.strip(), MAX_NAME)
    except ValueError as error:
        raise Invalid({"name": [str(error)]}) from None
    if not name:
        raise Invalid({"name": [EMPTY]})
    return name
