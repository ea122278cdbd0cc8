"""Rate limits for guesses, floods and failures.

Each count is committed in its own transaction, so that a guess counts even if the request then fails. The limits fail
closed: if the database is unavailable, the request is refused.
"""

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from uuid import UUID

from shop.actions.audit import audit
from shop.actions.context import Context
from shop.base.client_networks import networks_of
from shop.base.config.setting_parsers import Limits
from shop.base.email import Email
from shop.base.errors import RateLimitError
from shop.models.access.sessions import LoginRequest
from shop.queries import journal
from shop.queries.access import login as login_queries
from shop.rules.rate_limits import (
    Count,
    Limit,
    build_limits,
    counter_key,
    exceeded_limits,
    is_first_over,
    retry_after,
    source_limits,
)

DENIAL_SECONDS = 300
MAX_BLOCK_SECONDS = 5
_BREAKER = counter_key("breaker", "")


async def count_cart(ctx: Context) -> None:
    """Counts a new cart by source: in memory, unless the source is near its limit. The only limit that is not exact
    (`docs/decisions/0029-carts-are-counted-in-memory.md`).
    """
    limits = _source_limits(ctx, "carts by source", ctx.shared.settings.limit_carts_per_source)
    pending = ctx.shared.pending_counts
    _refuse(pending.exceeded(limits))
    if limits and not pending.add(limits):
        _refuse(await _save_counts(ctx, pending.take(limits)))


async def save_pending_counts(ctx: Context) -> None:
    """Moves the counts in memory to the database."""
    await _save_counts(ctx, ctx.shared.pending_counts.take())


async def _save_counts(ctx: Context, amounts: Mapping[Limit, int]) -> list[tuple[Limit, Count]]:
    """Adds amounts to their windows; returns the limits that they exceed. On failure, they remain in memory."""
    # In a separate session, so that the count is committed even if the request fails.
    separate_session = ctx.db.separate()
    try:
        counts = await journal.add_counts(
            separate_session, {(limit.key, limit.seconds): amount for limit, amount in amounts.items()}
        )
    except BaseException:
        ctx.shared.pending_counts.put_back(amounts)
        raise
    ctx.db.count += separate_session.count
    ctx.shared.pending_counts.remember(amounts, counts)
    over = exceeded_limits(amounts, counts)
    first = [(limit, count) for limit, count in over if count.count - amounts[limit] <= limit.count]
    if first:
        async with ctx.db.transaction():
            await _audit_excess(ctx, first)
    return over


def check_coupon_block(ctx: Context) -> None:
    """Refuses a source that sent too many unknown coupon codes until its window ends, even with a valid code."""
    for limit in _coupon_limits(ctx):
        ends_in = ctx.shared.blocked_sources.ends_in(limit.key)
        if ends_in:
            raise RateLimitError(ends_in, passed=_policies([limit]))


async def record_unknown_coupon(ctx: Context) -> None:
    over = await _count(ctx, _coupon_limits(ctx))
    _block_sources(ctx, over)
    _refuse(over)


def _coupon_limits(ctx: Context) -> list[Limit]:
    return _source_limits(ctx, "unknown coupons by source", ctx.shared.settings.limit_coupons_per_source)


async def count_sign_in(ctx: Context, email_key: str) -> list[Limit]:
    """Counts an attempt at an operator's password or code, by source and by operator and source together.

    If attempts were counted by operator alone, anyone who knows the address could lock the operator out.
    `uncount_attempt` subtracts a successful attempt.
    """
    quotas = ctx.shared.settings.limit_sign_ins
    by_source = _source_limits(ctx, "sign-ins by source", quotas)
    limits = [
        *by_source,
        *(_limit_for_target(limit, "sign-ins by operator and source", email_key) for limit in by_source),
    ]
    for limit in limits:
        if ends_in := ctx.shared.blocked_sources.ends_in(limit.key):
            raise RateLimitError(ends_in)
    over = await _count(ctx, limits)
    for limit, _ in over:
        # Refuse from memory for a few seconds, so that a flood does not load the database.
        ctx.shared.blocked_sources.remember(limit.key, min(retry_after(over), MAX_BLOCK_SECONDS))
    _refuse(over)
    return limits


async def count_confirmation(ctx: Context, session_id: UUID) -> list[Limit]:
    """Counts an attempt inside an operator's session by that session only, so failures elsewhere never block it."""
    limits = build_limits("confirmations by session", str(session_id), ctx.shared.settings.limit_sign_ins)
    _refuse(await _count(ctx, limits))
    return limits


async def count_authenticator_code(ctx: Context, operator_id: UUID, password_hash: str) -> list[Limit] | None:
    """Counts an authenticator code sent after the correct password, across all sources.

    Returns None after too many attempts; then only a recovery code is accepted. A new password resets the count.
    """
    key = f"{operator_id} {sha256(password_hash.encode()).hexdigest()}"
    limits = build_limits("authenticator codes by operator", key, ctx.shared.settings.limit_authenticator_codes)
    return None if await _count(ctx, limits) else limits


async def uncount_attempt(ctx: Context, limits: Sequence[Limit]) -> None:
    """Subtracts a successful attempt, which was counted before its outcome was known."""
    if limits:
        separate_session = ctx.db.separate()
        await journal.subtract_counts(separate_session, [(limit.key, limit.seconds) for limit in limits])


async def check_source_failures(ctx: Context) -> None:
    """Refuses a source with too many failures until its window ends, even with valid credentials."""
    limits = _source_limits(ctx, "failures by source", ctx.shared.settings.limit_failures_per_source)
    if not limits:
        return
    counts = await journal.read_counts(ctx.db, [(limit.key, limit.seconds) for limit in limits])
    _refuse(exceeded_limits(limits, counts))


async def count_login_attempt(ctx: Context, email: Email) -> LoginRequest | None:
    """Counts an attempt and returns the live login request of an address. Without one, makes an equal write, so that
    the response time does not reveal it.
    """
    tries = ctx.shared.settings.limit_tries_per_code or 2**31
    request = await login_queries.count_attempt(ctx.db, email_key=email.key, tries=tries)
    if request is None:
        await _count(ctx, [Limit("decoy", counter_key("decoy try", email.key), 2**31, 1)])
    return request


async def record_wrong_code(ctx: Context, email: Email, *, was_live: bool) -> None:
    """Counts a failed code exchange.

    Only a guess at a live code counts against the address and the shop; any other writes as many decoy rows, so that
    response times reveal nothing.
    """
    settings = ctx.shared.settings
    by_address = build_limits("failures by address", email.key, settings.limit_failures_per_address)
    everyone = build_limits("failures", "", settings.limit_failures)
    source = _source_limits(ctx, "failures by source", settings.limit_failures_per_source)
    limits = [*by_address, *everyone]
    limits = limits if was_live else [_decoy(limit, email) for limit in limits]
    async with ctx.db.transaction():
        counts = await journal.count(ctx.db, [(limit.key, limit.seconds) for limit in (*limits, *source)])
        address = counter_key("audit", email.key).hex()[:16]
        await audit(ctx, "sign_in", "refused", detail={"reason": "code", "address": address})
        over = exceeded_limits([*(limits if was_live else ()), *source], counts)
        await audit_first_excess(ctx, over)
        if was_live and exceeded_limits(everyone, counts):
            await journal.open_breaker(ctx.db, _BREAKER)
    _refuse([pair for pair in over if pair[0] in source])


async def record_bad_refresh(ctx: Context, detail: dict[str, str]) -> None:
    source = _source_limits(ctx, "failures by source", ctx.shared.settings.limit_failures_per_source)
    async with ctx.db.transaction():
        counts = await journal.count(ctx.db, [(limit.key, limit.seconds) for limit in source])
        await audit(ctx, "refresh", "refused", detail=detail)
        over = exceeded_limits(source, counts)
        await audit_first_excess(ctx, over)
    _refuse(over)


async def record_bad_client(ctx: Context, client_id: str | None) -> None:
    """Counts a failed authentication of an application, and refuses a source that has failed too often.

    A secret cannot be guessed, so the correct one is accepted no matter how often the source has failed. A flood of
    wrong secrets must cost little: a source over its limit is blocked in memory until its window ends. The first
    failure in a window is audited, because even one wrong secret matters; passing the limit is audited too.
    """
    name = "client failures by source"
    limits = _source_limits(ctx, name, ctx.shared.settings.limit_client_failures)
    # Count even without limits, so that the audit log has one event per window instead of one per failure.
    counters = limits or [Limit(name, counter_key(name, networks_of(ctx.origin.source)[0][0]), 2**31, 300)]
    waits = [(limit, seconds) for limit in counters if (seconds := ctx.shared.blocked_sources.ends_in(limit.key))]
    if waits:
        raise RateLimitError(max(seconds for _, seconds in waits), passed=_policies(limit for limit, _ in waits))
    separate_session = ctx.db.separate()
    counts = await journal.count(separate_session, [(limit.key, limit.seconds) for limit in counters])
    over = exceeded_limits(limits, counts)
    _block_sources(ctx, over)
    if over or any(count.count == 1 for count in counts):
        async with ctx.db.transaction():
            if any(count.count == 1 for count in counts):
                await audit(ctx, "client_authentication", "refused", detail={"client_id": client_id})
            await audit_first_excess(ctx, over)
    _refuse(over)


async def record_denial(ctx: Context, required_act: str) -> None:
    """Audits a request that exceeds an application's token scope, once per window."""
    separate_session = ctx.db.separate()
    key = counter_key("denials by application", f"{ctx.actor.id} {required_act}")
    counts = await journal.count(separate_session, [(key, DENIAL_SECONDS)])
    if counts[0].count == 1:
        async with ctx.db.transaction():
            await audit(ctx, "access", "refused", subject_id=ctx.actor.id, detail={"needed": required_act})


async def count_token(ctx: Context, client_id: str) -> None:
    """Counts a token issued to an application, if the shop limits them."""
    limits = build_limits("tokens by client", client_id, ctx.shared.settings.limit_tokens_per_client)
    _refuse(await _count(ctx, limits))


async def is_under_attack(ctx: Context, email: Email) -> bool:
    """Returns whether the next login code must be long: for this address, or for all while the breaker is open."""
    limits = build_limits("failures by address", email.key, ctx.shared.settings.limit_failures_per_address)
    counts = await journal.read_counts(ctx.db, [(limit.key, limit.seconds) for limit in limits])
    reached_limits = [limit for limit in limits if any(_is_reached(limit, count) for count in counts)]
    return bool(reached_limits) or await journal.is_breaker_open(ctx.db, _BREAKER)


async def reset_failures(ctx: Context, email_key: str) -> None:
    """Resets the failures since the last success after a sign-in; the daily count remains."""
    await journal.delete_count(ctx.db, counter_key("failures by address", email_key))


async def count_source(ctx: Context, name: str, quotas: Limits) -> None:
    _refuse(await _count(ctx, _source_limits(ctx, name, quotas)))


async def _count(ctx: Context, limits: Sequence[Limit]) -> list[tuple[Limit, Count]]:
    if not limits:
        return []
    # In a separate session, so that the count is committed even if the request fails.
    separate_session = ctx.db.separate()
    counts = await journal.count(separate_session, [(limit.key, limit.seconds) for limit in limits])
    ctx.db.count += separate_session.count
    over = exceeded_limits(limits, counts)
    if over:
        async with ctx.db.transaction():
            await audit_first_excess(ctx, over)
    return over


async def audit_first_excess(ctx: Context, over: Iterable[tuple[Limit, Count]]) -> None:
    """Audits each limit once per key and window: for the request that passes it."""
    await _audit_excess(ctx, [(limit, count) for limit, count in over if is_first_over(limit, count)])


async def _audit_excess(ctx: Context, over: Iterable[tuple[Limit, Count]]) -> None:
    for limit, count in over:
        detail = {"limit": limit.name, "allowed": f"{limit.count}/{limit.seconds}", "count": count.count}
        detail["key"] = limit.key.hex()[:16]
        await audit(ctx, "limit", "refused", detail=detail)


def _block_sources(ctx: Context, over: Iterable[tuple[Limit, Count]]) -> None:
    """Refuses networks over their limits from memory until their windows end."""
    for limit, count in over:
        ctx.shared.blocked_sources.remember(limit.key, count.ends_in)


def _refuse(over: Sequence[tuple[Limit, Count]]) -> None:
    """Raises TooMany for passed limits; names only those by source, to reveal nothing about addresses and operators."""
    if over:
        own = [limit for limit, _ in over if limit.name.endswith("by source")]
        raise RateLimitError(retry_after(over), passed=_policies(own))


def _policies(limits: Iterable[Limit]) -> list[tuple[str, int, int]]:
    return [(limit.name, limit.count, limit.seconds) for limit in limits]


def _source_limits(ctx: Context, name: str, quotas: Limits) -> list[Limit]:
    return source_limits(ctx.shared.settings, ctx.origin.source, name, quotas)


def _limit_for_target(limit: Limit, name: str, target: str) -> Limit:
    """Returns the same limit for one target of its source."""
    return Limit(name, counter_key(name, f"{limit.key.hex()} {target}"), limit.count, limit.seconds)


def _decoy(limit: Limit, email: Email) -> Limit:
    return Limit("decoy", counter_key(f"decoy {limit.name}", email.key), limit.count, limit.seconds or 1)


def _is_reached(limit: Limit, count: Count) -> bool:
    return (limit.key, limit.seconds) == (count.key, count.seconds) and count.count >= limit.count
