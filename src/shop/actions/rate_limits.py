"""What must be counted before it is decided: guesses, floods, failures. Each count is committed by itself, so that a
guess costs a try even when the request then fails. Closed when the database is away: no count, no answer.
"""

from collections.abc import Iterable, Sequence
from hashlib import sha256
from uuid import UUID

from shop.actions.audit import audit
from shop.actions.context import Context
from shop.base.email import Email
from shop.base.errors import TooMany
from shop.base.settings import Limits
from shop.base.sources import networks_of
from shop.models.access.sessions import LoginRequest
from shop.queries import journal
from shop.queries.access import login as requests
from shop.rules.limits import (
    Count,
    Limit,
    build_limits,
    counter_key,
    exceeded,
    is_first_over,
    retry_after,
    source_limits,
)

DENIAL_SECONDS = 300
FLOOD_SECONDS = 5
_BREAKER = counter_key("breaker", "")


def cart_limits(ctx: Context) -> list[Limit]:
    return _source_limits(ctx, "carts by source", ctx.shared.settings.limit_carts_per_source)


async def count_cart(ctx: Context) -> None:
    _refuse(await _count(ctx, cart_limits(ctx)))


async def refuse_cart(ctx: Context, limits: Sequence[Limit], counts: Sequence[Count]) -> None:
    """For a cart that was counted where it would have been made, and was one too many."""
    over = exceeded(limits, counts)
    async with ctx.db.transaction():
        await audit_first(ctx, over)
    _refuse(over)


def refuse_guesses(ctx: Context) -> None:
    """A source that typed too many codes that there are not is not listened to for a while, right or wrong."""
    for limit in _coupon_limits(ctx):
        ends_in = ctx.shared.floods.ends_in(limit.key)
        if ends_in:
            raise TooMany(ends_in, passed=_policies([limit]))


async def note_unknown_coupon(ctx: Context) -> None:
    over = await _count(ctx, _coupon_limits(ctx))
    _remember(ctx, over)
    _refuse(over)


def _coupon_limits(ctx: Context) -> list[Limit]:
    return _source_limits(ctx, "unknown coupons by source", ctx.shared.settings.limit_coupons_per_source)


async def count_sign_in(ctx: Context, email_key: str) -> list[Limit]:
    """Counts an attempt at an operator's password or code, by source and by operator and source together: never by
    operator alone, or knowing an address would be enough to lock its owner out. `forgive` takes a success off again.
    """
    allowed = ctx.shared.settings.limit_sign_ins
    by_source = _source_limits(ctx, "sign-ins by source", allowed)
    limits = [*by_source, *(_narrowed(limit, "sign-ins by operator and source", email_key) for limit in by_source)]
    for limit in limits:
        if ends_in := ctx.shared.floods.ends_in(limit.key):
            raise TooMany(ends_in)
    over = await _count(ctx, limits)
    for limit, _ in over:
        # Refused from memory for a moment, so that a flood does not occupy the database.
        ctx.shared.floods.remember(limit.key, min(retry_after(over), FLOOD_SECONDS))
    _refuse(over)
    return limits


async def count_confirmation(ctx: Context, session_id: UUID) -> list[Limit]:
    """Counts an attempt inside an operator's session, by that session alone: failures elsewhere never block it."""
    limits = build_limits("confirmations by session", str(session_id), ctx.shared.settings.limit_sign_ins)
    _refuse(await _count(ctx, limits))
    return limits


async def count_authenticator_code(ctx: Context, operator_id: UUID, password_hash: str) -> list[Limit] | None:
    """Counts an attempt at the authenticator's six digits by someone who gave the right password, from any source.
    None when there were too many: then only a recovery code will do. A new password begins a new count.
    """
    key = f"{operator_id} {sha256(password_hash.encode()).hexdigest()}"
    limits = build_limits("authenticator codes by operator", key, ctx.shared.settings.limit_authenticator_codes)
    return None if await _count(ctx, limits) else limits


async def forgive(ctx: Context, limits: Sequence[Limit]) -> None:
    """Takes back an attempt that succeeded: it was counted before anyone could know."""
    if limits:
        apart = ctx.db.apart()
        await journal.uncount(apart, [(limit.key, limit.seconds) for limit in limits])


async def refuse_flood(ctx: Context) -> None:
    """A source that has failed too often is not listened to until its window ends, right or wrong."""
    limits = _source_limits(ctx, "failures by source", ctx.shared.settings.limit_failures_per_source)
    if not limits:
        return
    counts = await journal.read_counts(ctx.db, [(limit.key, limit.seconds) for limit in limits])
    _refuse(exceeded(limits, counts))


async def take_try(ctx: Context, email: Email) -> LoginRequest | None:
    """The address's live request, one more try counted and kept; where there is none, as much is written elsewhere."""
    tries = ctx.shared.settings.limit_tries_per_code or 2**31
    request = await requests.take_try(ctx.db, email_key=email.key, tries=tries)
    if request is None:
        await _count(ctx, [Limit("decoy", counter_key("decoy try", email.key), 2**31, 1)])
    return request


async def note_wrong_code(ctx: Context, email: Email, *, was_live: bool) -> None:
    """Counts a failed exchange. Only a guess at a live code counts against the address and the shop; any other writes
    as many rows under names that nobody reads, so that time tells nothing.
    """
    settings = ctx.shared.settings
    by_address = build_limits("failures by address", email.key, settings.limit_failures_per_address)
    everyone = build_limits("failures", "", settings.limit_failures)
    source = _source_limits(ctx, "failures by source", settings.limit_failures_per_source)
    counted = [*by_address, *everyone]
    counted = counted if was_live else [_decoy(limit, email) for limit in counted]
    async with ctx.db.transaction():
        counts = await journal.count(ctx.db, [(limit.key, limit.seconds) for limit in (*counted, *source)])
        address = counter_key("audit", email.key).hex()[:16]
        await audit(ctx, "sign_in", "refused", detail={"reason": "code", "address": address})
        over = exceeded([*(counted if was_live else ()), *source], counts)
        await audit_first(ctx, over)
        if was_live and exceeded(everyone, counts):
            await journal.open_breaker(ctx.db, _BREAKER)
    _refuse([pair for pair in over if pair[0] in source])


async def note_bad_refresh(ctx: Context, detail: dict[str, str]) -> None:
    source = _source_limits(ctx, "failures by source", ctx.shared.settings.limit_failures_per_source)
    async with ctx.db.transaction():
        counts = await journal.count(ctx.db, [(limit.key, limit.seconds) for limit in source])
        await audit(ctx, "refresh", "refused", detail=detail)
        over = exceeded(source, counts)
        await audit_first(ctx, over)
    _refuse(over)


async def note_bad_client(ctx: Context, client_id: str | None) -> None:
    """Counts a failed authentication of an application, and refuses a source that has failed too often.

    A secret cannot be guessed, so whoever shows the right one is let in however often others failed beside them. A
    flood of wrong ones must cost little: once over its limit, a source is remembered here until its window ends.
    Its first failure in a window is an event, for one wrong secret is worth knowing of; to pass the limit is another.
    """
    name = "client failures by source"
    enforced = _source_limits(ctx, name, ctx.shared.settings.limit_client_failures)
    # Counted in any case, so that the audit has one event a window and not one a failure.
    counted = enforced or [Limit(name, counter_key(name, networks_of(ctx.origin.source)[0][0]), 2**31, 300)]
    waits = [(limit, seconds) for limit in counted if (seconds := ctx.shared.floods.ends_in(limit.key))]
    if waits:
        raise TooMany(max(seconds for _, seconds in waits), passed=_policies(limit for limit, _ in waits))
    apart = ctx.db.apart()
    counts = await journal.count(apart, [(limit.key, limit.seconds) for limit in counted])
    over = exceeded(enforced, counts)
    _remember(ctx, over)
    if over or any(count.count == 1 for count in counts):
        async with ctx.db.transaction():
            if any(count.count == 1 for count in counts):
                await audit(ctx, "client_authentication", "refused", detail={"client_id": client_id})
            await audit_first(ctx, over)
    _refuse(over)


async def note_denial(ctx: Context, needed: str) -> None:
    """An application asked for what its token does not allow. One event a window: asking again tells nothing new."""
    apart = ctx.db.apart()
    key = counter_key("denials by application", f"{ctx.actor.id} {needed}")
    counts = await journal.count(apart, [(key, DENIAL_SECONDS)])
    if counts[0].count == 1:
        async with ctx.db.transaction():
            await audit(ctx, "access", "refused", subject_id=ctx.actor.id, detail={"needed": needed})


async def count_token(ctx: Context, client_id: str) -> None:
    """Tokens of one application, where the shop limits them."""
    limits = build_limits("tokens by client", client_id, ctx.shared.settings.limit_tokens_per_client)
    _refuse(await _count(ctx, limits))


async def is_under_attack(ctx: Context, email: Email) -> bool:
    """Whether the next code must be a long one: for this address, or for all while the breaker is open."""
    limits = build_limits("failures by address", email.key, ctx.shared.settings.limit_failures_per_address)
    counts = await journal.read_counts(ctx.db, [(limit.key, limit.seconds) for limit in limits])
    reached = [limit for limit in limits if any(_reached(limit, count) for count in counts)]
    return bool(reached) or await journal.is_breaker_open(ctx.db, _BREAKER)


async def forget_failures(ctx: Context, email_key: str) -> None:
    """A sign-in ends the count of failures since the last success; the day's count stays."""
    await journal.forget_count(ctx.db, counter_key("failures by address", email_key))


async def count_source(ctx: Context, name: str, allowed: Limits) -> None:
    _refuse(await _count(ctx, _source_limits(ctx, name, allowed)))


async def _count(ctx: Context, limits: Sequence[Limit]) -> list[tuple[Limit, Count]]:
    if not limits:
        return []
    # Apart from the request's own work: a count is kept whatever becomes of that.
    apart = ctx.db.apart()
    counts = await journal.count(apart, [(limit.key, limit.seconds) for limit in limits])
    ctx.db.count += apart.count
    over = exceeded(limits, counts)
    if over:
        async with ctx.db.transaction():
            await audit_first(ctx, over)
    return over


async def audit_first(ctx: Context, over: Iterable[tuple[Limit, Count]]) -> None:
    """One event a limit, key and window: written by whoever passes it first."""
    for limit, count in over:
        if is_first_over(limit, count):
            detail = {"limit": limit.name, "allowed": f"{limit.count}/{limit.seconds}", "count": count.count}
            detail["key"] = limit.key.hex()[:16]
            await audit(ctx, "limit", "refused", detail=detail)


def _remember(ctx: Context, over: Iterable[tuple[Limit, Count]]) -> None:
    """Networks over their limits are refused from memory until their windows end."""
    for limit, count in over:
        ctx.shared.floods.remember(limit.key, count.ends_in)


def _refuse(over: Sequence[tuple[Limit, Count]]) -> None:
    """What is counted by source is its own doing, and told; what is counted by address or operator is not."""
    if over:
        own = [limit for limit, _ in over if limit.name.endswith("by source")]
        raise TooMany(retry_after(over), passed=_policies(own))


def _policies(limits: Iterable[Limit]) -> list[tuple[str, int, int]]:
    return [(limit.name, limit.count, limit.seconds) for limit in limits]


def _source_limits(ctx: Context, name: str, allowed: Limits) -> list[Limit]:
    return source_limits(ctx.shared.settings, ctx.origin.source, name, allowed)


def _narrowed(limit: Limit, name: str, target: str) -> Limit:
    """The same limit for one target of its source."""
    return Limit(name, counter_key(name, f"{limit.key.hex()} {target}"), limit.count, limit.seconds)


def _decoy(limit: Limit, email: Email) -> Limit:
    return Limit("decoy", counter_key(f"decoy {limit.name}", email.key), limit.count, limit.seconds or 1)


def _reached(limit: Limit, count: Count) -> bool:
    return (limit.key, limit.seconds) == (count.key, count.seconds) and count.count >= limit.count
