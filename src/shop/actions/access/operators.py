"""Operator accounts: invitations, passwords, authenticators, and disabling."""

from uuid import UUID

import msgspec

from shop.actions.access.operator_login import hash_for_caller, hash_for_operator, open_session
from shop.actions.access.operator_notices import audit_and_notify
from shop.actions.access.sealed_secrets import decrypt_secret, encrypt_secret
from shop.actions.access.second_factor import TOTP, check_in_session, replace_recovery_codes
from shop.actions.audit import audit
from shop.actions.context import Context
from shop.actions.event_subjects import OPERATOR
from shop.actions.events import note_change, note_locked
from shop.base.actor import Actor
from shop.base.crypto.secrets import OPERATOR_LINK, is_secret, new_bytes, new_secret, secret_hash
from shop.base.email import Email, read_email
from shop.base.errors import Conflict, ExpiredLink, Invalid, NotFound
from shop.base.ids import new_id
from shop.models.access.operators import Operator
from shop.queries.access import operator_links, operators, passkeys, recovery_codes, roles
from shop.queries.access.operator_links import UsableLink
from shop.queries.access.operators import ListedOperator, SignedInOperator
from shop.rules.access.operators import totp_step
from shop.rules.access.passwords import password_errors
from shop.rules.access.permissions import OWNER_ID

LINK_SECONDS = 900
_LINK_EXPIRED = "This link has expired or was already used."


class Enrollment(msgspec.Struct, frozen=True):
    """A pending authenticator: its secret to display, and the secret sealed for the form to send back."""

    secret: bytes
    sealed: str


async def list_operators(ctx: Context) -> list[ListedOperator]:
    return await operators.list_operators(ctx.db)


async def has_operators(ctx: Context) -> bool:
    return await operators.has_operators(ctx.db)


async def make_first_link(ctx: Context) -> str | None:
    """Creates the link for the first operator; returns None if the shop has one."""
    async with ctx.db.transaction():
        if await operators.has_operators(ctx.db):
            return None
        return await _new_link(ctx, None)


async def make_link(
    ctx: Context, typed_email: str, *, enable: bool = False, forget_totp: bool = False, forget_passkeys: bool = False
) -> str:
    """Creates a link for a new operator or a new password, for any address; used by the CLI only."""
    email = parse_operator_email(typed_email)
    async with ctx.db.transaction():
        operator = await lock_or_create_operator(ctx, email)
        if operator.disabled_at and not enable:
            raise Conflict(f"{operator.email} is disabled; add --enable to enable them again.")
        if operator.disabled_at:
            note_change(ctx, OPERATOR, operator.id, operator)
            await operators.set_disabled(ctx.db, operator.id, is_disabled=False)
            await audit(ctx, "operator_enabled", "done", subject_id=operator.id)
        if forget_totp and operator.totp_sealed:
            await _remove_totp(ctx, operator, kept_session=None)
        if forget_passkeys and (count := await passkeys.delete_passkeys(ctx.db, operator.id)):
            ended_count = await operators.end_other_sessions(ctx.db, operator.id, kept_id=None)
            await audit_and_notify(ctx, operator, "passkeys_removed", {"count": count, "sessions_ended": ended_count})
        return await _new_link(ctx, operator.id)


async def get_link(ctx: Context, token: str) -> UsableLink:
    """Returns the link and its operator without consuming it."""
    link = await operator_links.find_link(ctx.db, secret_hash(token)) if is_secret(OPERATOR_LINK, token) else None
    if link is None:
        raise ExpiredLink(_LINK_EXPIRED)
    return link


async def choose_password(ctx: Context, token: str, typed_email: str, password: str) -> str | None:
    """Consumes the link and sets the password. Returns a session's secret, or None if a second factor is needed."""
    link = await get_link(ctx, token)
    email = parse_operator_email(link.email or typed_email)
    _check_password(ctx, password, email.address)
    password_hash = await hash_for_caller(ctx, password)
    async with ctx.db.transaction():
        await operator_links.lock_first_operator(ctx.db)
        if not await operator_links.use_link(ctx.db, secret_hash(token)):
            raise ExpiredLink(_LINK_EXPIRED)
        operator = await lock_or_create_operator(ctx, email)
        ctx.actor = Actor("operator", operator.id)
        await operators.set_password(ctx.db, operator.id, password_hash)
        ended_count = await operators.end_other_sessions(ctx.db, operator.id, kept_id=None)
        await operator_links.end_links(ctx.db, operator.id)
        await audit(ctx, "link_used", "done", subject_id=operator.id, detail={"sessions_ended": ended_count})
        if operator.password_hash:
            await audit_and_notify(ctx, operator, "password_changed", {"sessions_ended": ended_count})
    if operator.totp_sealed:
        return None
    return await open_session(ctx, msgspec.structs.replace(operator, password_hash=password_hash))


async def change_password(ctx: Context, operator_session: SignedInOperator, password: str) -> None:
    """Changes the operator's own password and ends their other sessions."""
    operator = operator_session.operator
    _check_password(ctx, password, operator.email)
    password_hash = await hash_for_operator(ctx, operator_session, password)
    async with ctx.db.transaction():
        await operators.set_password(ctx.db, operator.id, password_hash)
        ended_count = await operators.end_other_sessions(ctx.db, operator.id, kept_id=operator_session.session_id)
        await operator_links.end_links(ctx.db, operator.id)
        await audit_and_notify(ctx, operator, "password_changed", {"sessions_ended": ended_count})


def new_enrollment(ctx: Context, operator: Operator, sealed_secret: str | None = None) -> Enrollment:
    """Returns a new secret, or the one that the form sent back."""
    if sealed_secret is not None:
        return Enrollment(_unseal_secret(ctx, operator, sealed_secret), sealed_secret)
    secret = new_bytes(20)
    return Enrollment(secret, encrypt_secret(ctx.shared.keys, TOTP, secret, operator.id.bytes).hex())


async def enroll_totp(
    ctx: Context, operator_session: SignedInOperator, sealed_secret: str, code: str, current: str
) -> list[str]:
    """Enrolls an authenticator and returns the recovery codes, which are shown once.

    `code` proves that the authenticator works, so that a mistake cannot lock its owner out; `current` is a code of the
    second factor that it replaces.
    """
    operator = operator_session.operator
    secret = _unseal_secret(ctx, operator, sealed_secret)
    step = totp_step(secret, code, now=await operators.read_clock(ctx.db), last_step=0)
    if step is None:
        raise Invalid({"code": ["is not the authenticator's current code"]})
    await _check_second_factor(ctx, operator_session, current)
    async with ctx.db.transaction():
        before = await operators.lock_operator(ctx.db, operator.id)
        if before is None or (before.totp_sealed is not None) != (operator.totp_sealed is not None):
            raise Conflict()
        await operators.set_totp(
            ctx.db, operator.id, encrypt_secret(ctx.shared.keys, TOTP, secret, operator.id.bytes), step
        )
        codes = await replace_recovery_codes(ctx, operator)
        ended_count = await operators.end_other_sessions(ctx.db, operator.id, kept_id=operator_session.session_id)
        action = "totp_replaced" if before.totp_sealed else "totp_enrolled"
        await audit_and_notify(ctx, operator, action, {"sessions_ended": ended_count})
    return codes


async def remove_totp(ctx: Context, operator_session: SignedInOperator, current: str) -> None:
    if operator_session.operator.totp_sealed is None:
        return
    await _check_second_factor(ctx, operator_session, current)
    async with ctx.db.transaction():
        await _remove_totp(ctx, operator_session.operator, kept_session=operator_session.session_id)


async def new_recovery_codes(ctx: Context, operator_session: SignedInOperator, current: str) -> list[str]:
    """Replaces the recovery codes with ten new ones. They grant access, so the second factor is checked first."""
    operator = operator_session.operator
    if operator.totp_sealed is None:
        raise Conflict("Set up an authenticator first.")
    await _check_second_factor(ctx, operator_session, current)
    async with ctx.db.transaction():
        locked_operator = await operators.lock_operator(ctx.db, operator.id)
        if locked_operator is None or locked_operator.totp_sealed is None:
            raise Conflict()
        codes = await replace_recovery_codes(ctx, operator)
        await audit_and_notify(ctx, operator, "recovery_codes_replaced", {})
    return codes


async def count_recovery_codes(ctx: Context, operator: Operator) -> int:
    return await recovery_codes.count_unused(ctx.db, operator.id)


async def disable_by_email(ctx: Context, typed_email: str, *, even_last: bool) -> int:
    """Disables an operator from the CLI, which can always enable one again. Returns how many can still sign in."""
    email = parse_operator_email(typed_email)
    async with ctx.db.transaction():
        operator = await operators.find_by_key(ctx.db, email.key)
        if operator is None:
            raise NotFound(f"There is no operator {email.address}; `shop admin list` lists them.")
        await roles.lock_staff(ctx.db, OWNER_ID)
        if await roles.list_owners(ctx.db, OWNER_ID) == [operator.id] and not even_last:
            raise Conflict(
                f"{operator.email} is the last owner who can sign in. Add --force to disable them anyway; "
                "`shop admin create EMAIL` then restores access."
            )
        await disable(ctx, operator.id)
        return len(await operators.list_enabled_emails(ctx.db))


async def disable(ctx: Context, operator_id: UUID) -> None:
    """Blocks the sign-in of an operator and ends sessions and links, in the caller's transaction."""
    await note_locked(ctx, OPERATOR, operator_id)
    if not await operators.set_disabled(ctx.db, operator_id, is_disabled=True):
        raise NotFound()
    ended_count = await operators.end_other_sessions(ctx.db, operator_id, kept_id=None)
    await operator_links.end_links(ctx.db, operator_id)
    await audit(ctx, "operator_disabled", "done", subject_id=operator_id, detail={"sessions_ended": ended_count})


async def _check_second_factor(ctx: Context, operator_session: SignedInOperator, current: str) -> None:
    if operator_session.operator.totp_sealed and not await check_in_session(ctx, operator_session, current):
        async with ctx.db.transaction():
            await audit(ctx, "second_factor", "refused", subject_id=operator_session.operator.id)
        raise Invalid(
            {"current_code": ["This code is not valid. Enter the newest code of your app, or an unused recovery code."]}
        )


async def _remove_totp(ctx: Context, operator: Operator, *, kept_session: UUID | None) -> None:
    await operators.set_totp(ctx.db, operator.id, None, 0)
    await recovery_codes.delete_codes(ctx.db, operator.id)
    ended_count = await operators.end_other_sessions(ctx.db, operator.id, kept_id=kept_session)
    await audit_and_notify(ctx, operator, "totp_removed", {"sessions_ended": ended_count})


async def lock_or_create_operator(ctx: Context, email: Email, role_id: UUID = OWNER_ID) -> Operator:
    """Returns the operator with this address, created if missing; locked until the transaction ends."""
    operator_id = new_id()
    if await operators.insert_operator(
        ctx.db, id=operator_id, email=email.address, email_key=email.key, role_id=role_id
    ):
        note_change(ctx, OPERATOR, operator_id)
        await audit(ctx, "operator_made", "done", subject_id=operator_id)
    existing = await operators.find_by_key(ctx.db, email.key)
    operator = existing and await operators.lock_operator(ctx.db, existing.id)
    if operator is None:
        raise Conflict()
    return operator


async def _new_link(ctx: Context, operator_id: UUID | None) -> str:
    """Creates a link and revokes the operator's earlier links."""
    token = new_secret(OPERATOR_LINK)
    await operator_links.end_links(ctx.db, operator_id)
    await operator_links.insert_link(ctx.db, hash=secret_hash(token), operator_id=operator_id, ttl=LINK_SECONDS)
    await audit(ctx, "link_made", "done", subject_id=operator_id)
    return token


def _unseal_secret(ctx: Context, operator: Operator, sealed_secret: str) -> bytes:
    try:
        secret = decrypt_secret(ctx.shared.keys, TOTP, bytes.fromhex(sealed_secret), operator.id.bytes)
    except ValueError:
        secret = None
    if secret is None:
        raise Conflict("The authenticator setup is invalid; start again.")
    return secret


def _check_password(ctx: Context, password: str, email: str) -> None:
    errors = password_errors(password, email, ctx.shared.shop.name)
    if errors:
        raise Invalid({"password": errors})


def parse_operator_email(text: str) -> Email:
    email = read_email(text.strip())
    if email is None:
        raise Invalid({"email": ["Give an e-mail address like ada@example.com."]})
    return email
