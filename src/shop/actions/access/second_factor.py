"""The second factor of operators: the authenticator's code, or a recovery code in its place. Each works once."""

from shop.actions import rate_limits
from shop.actions.access.operator_notices import audit_and_notify
from shop.actions.context import Context
from shop.base.errors import InvalidSignIn
from shop.base.sealed import seal, unseal
from shop.base.secrets import new_bytes, secret_hash
from shop.models.access.operators import Operator
from shop.queries.access import operators, recovery_codes
from shop.queries.access.operators import SignedIn
from shop.rules.access.operators import totp_step
from shop.rules.access.recovery_codes import BYTES, CODES, recovery_code, typed_recovery_code

TOTP = "totp"
_EXHAUSTED = "Too many wrong codes were given for this account. Use a recovery code, or try again tomorrow."


async def check_at_sign_in(ctx: Context, operator: Operator, typed: str) -> bool:
    """For someone who gave the right password and is not signed in yet."""
    if typed_recovery_code(typed):
        return await _use_recovery_code(ctx, operator, typed)
    counted = await rate_limits.count_authenticator_code(ctx, operator.id, operator.password_hash or "")
    if counted is None:
        raise InvalidSignIn(_EXHAUSTED)
    if not await _use_authenticator_code(ctx, operator, typed):
        return False
    await rate_limits.forgive(ctx, counted)
    return True


async def check_in_session(ctx: Context, visitor: SignedIn, typed: str) -> bool:
    """For an operator who is signed in; counted by their session alone."""
    counted = await rate_limits.count_confirmation(ctx, visitor.session_id)
    if not await check(ctx, visitor.operator, typed):
        return False
    await rate_limits.forgive(ctx, counted)
    return True


async def check(ctx: Context, operator: Operator, typed: str) -> bool:
    """Whether this is the current code or an unused recovery code; whichever it is cannot be used again."""
    if typed_recovery_code(typed):
        return await _use_recovery_code(ctx, operator, typed)
    return await _use_authenticator_code(ctx, operator, typed)


async def replace_recovery_codes(ctx: Context, operator: Operator) -> list[str]:
    """Ten new codes, to be shown once; those before are void. Within the caller's transaction."""
    codes = [recovery_code(new_bytes(BYTES)) for _ in range(CODES)]
    await recovery_codes.delete_codes(ctx.db, operator.id)
    await recovery_codes.insert_codes(ctx.db, operator.id, [secret_hash(code) for code in codes])
    return codes


async def _use_authenticator_code(ctx: Context, operator: Operator, typed: str) -> bool:
    owner, keys = operator.id.bytes, ctx.shared.keys
    secret = unseal(keys, TOTP, operator.totp_sealed, owner) if operator.totp_sealed else None
    if secret is None:
        return False
    step = totp_step(secret, typed, now=await operators.read_clock(ctx.db), used=operator.totp_step)
    if step is None:
        return False
    # In a transaction of its own: a code that was shown is used up, even when the request fails later.
    apart = ctx.db.apart()
    return await operators.take_totp_step(apart, operator, step, seal(keys, TOTP, secret, owner))


async def _use_recovery_code(ctx: Context, operator: Operator, typed: str) -> bool:
    code = typed_recovery_code(typed)
    if code is None or operator.totp_sealed is None:
        return False
    async with ctx.db.transaction():
        if not await recovery_codes.use_code(ctx.db, operator.id, secret_hash(code)):
            return False
        left = await recovery_codes.count_unused(ctx.db, operator.id)
        await audit_and_notify(ctx, operator, "recovery_code_used", {"left": left})
    return True
