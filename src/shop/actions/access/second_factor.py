"""The second factor of operators: an authenticator code or a recovery code; each works once."""

from shop.actions import rate_limits
from shop.actions.access.operator_notices import audit_and_notify
from shop.actions.access.sealed_secrets import decrypt_secret, encrypt_secret
from shop.actions.context import Context
from shop.base.crypto.secrets import new_bytes, secret_hash
from shop.base.errors import InvalidSignIn
from shop.models.access.operators import Operator
from shop.queries.access import operators, recovery_codes
from shop.queries.access.operators import SignedInOperator
from shop.rules.access.operators import totp_step
from shop.rules.access.recovery_codes import BYTES, CODES, normalize_recovery_code, recovery_code

TOTP = "totp"
_TOO_MANY_CODES = "Too many wrong codes. Use a recovery code, or try again tomorrow."


async def check_at_sign_in(ctx: Context, operator: Operator, code: str) -> bool:
    """Checks a code after the correct password, before a session exists."""
    if normalize_recovery_code(code):
        return await _use_recovery_code(ctx, operator, code)
    limits = await rate_limits.count_authenticator_code(ctx, operator.id, operator.password_hash or "")
    if limits is None:
        raise InvalidSignIn(_TOO_MANY_CODES)
    if not await _use_authenticator_code(ctx, operator, code):
        return False
    await rate_limits.uncount_attempt(ctx, limits)
    return True


async def check_in_session(ctx: Context, operator_session: SignedInOperator, code: str) -> bool:
    """Checks a code of a signed-in operator; attempts count by session only."""
    limits = await rate_limits.count_confirmation(ctx, operator_session.session_id)
    if not await check(ctx, operator_session.operator, code):
        return False
    await rate_limits.uncount_attempt(ctx, limits)
    return True


async def check(ctx: Context, operator: Operator, code: str) -> bool:
    """Returns whether this is the current authenticator code or an unused recovery code; consumes it."""
    if normalize_recovery_code(code):
        return await _use_recovery_code(ctx, operator, code)
    return await _use_authenticator_code(ctx, operator, code)


async def replace_recovery_codes(ctx: Context, operator: Operator) -> list[str]:
    """Replaces the recovery codes with ten new ones, shown once. Runs in the caller's transaction."""
    codes = [recovery_code(new_bytes(BYTES)) for _ in range(CODES)]
    await recovery_codes.delete_codes(ctx.db, operator.id)
    await recovery_codes.insert_codes(ctx.db, operator.id, [secret_hash(code) for code in codes])
    return codes


async def _use_authenticator_code(ctx: Context, operator: Operator, code: str) -> bool:
    owner, keys = operator.id.bytes, ctx.shared.keys
    secret = decrypt_secret(keys, TOTP, operator.totp_sealed, owner) if operator.totp_sealed else None
    if secret is None:
        return False
    step = totp_step(secret, code, now=await operators.read_clock(ctx.db), last_step=operator.totp_step)
    if step is None:
        return False
    # In a separate transaction: the code is consumed even if the request fails later.
    separate_session = ctx.db.separate()
    return await operators.take_totp_step(separate_session, operator, step, encrypt_secret(keys, TOTP, secret, owner))


async def _use_recovery_code(ctx: Context, operator: Operator, text: str) -> bool:
    code = normalize_recovery_code(text)
    if code is None or operator.totp_sealed is None:
        return False
    async with ctx.db.transaction():
        if not await recovery_codes.use_code(ctx.db, operator.id, secret_hash(code)):
            return False
        left = await recovery_codes.count_unused(ctx.db, operator.id)
        await audit_and_notify(ctx, operator, "recovery_code_used", {"left": left})
    return True
