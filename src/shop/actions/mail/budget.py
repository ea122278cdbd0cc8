"""The budget for e-mail that unverified callers can cause: login codes, order confirmations to addresses other than the
signed-in owner's, failed payments, sign-ins from new devices, and requests to be told of a restock. It has windows per
address, per source and for the whole shop. E-mail that operators, applications or the shop itself cause spends none.

                      an address and a source       the shop
    code              all of it                     half of it; all of it for a verified customer's address
    new device        none: its code paid for it    all of it
    back in stock     half of an address            a quarter of it
    any other         half of it                    half of it

Neither orders, unknown addresses nor a popular restock can exhaust the budget that customers need to sign in. An e-mail
beyond its share waits in the outbox until its windows have room, and is dropped when it expires.
"""

from collections.abc import Sequence

from shop.actions.audit import audit
from shop.actions.context import Context, Shared
from shop.actions.rate_limits import audit_first_excess, count_source
from shop.base.email import Email, read_email
from shop.models.journal import OutboxMail
from shop.queries import journal
from shop.queries.access import login
from shop.queries.operations import outbox
from shop.rules.mail_events import BACK_IN_STOCK, NEW_SIGN_IN
from shop.rules.rate_limits import (
    Count,
    Limit,
    build_limits,
    counter_key,
    exceeded_limits,
    half_of,
    is_first_over,
    is_near,
    pair_with_counts,
    retry_after,
    source_limits,
)

BY_ADDRESS, BY_SOURCE, UNVERIFIED, RESTOCKS, ALL = (
    "mails by address",
    "mails by source",
    "mails to unverified addresses",
    "mails about restocks",
    "mails",
)
NEAR = "warning"
"""The outcome of the audit event at 80 % of a limit."""


async def count_code_mail(ctx: Context, email: Email) -> int | None:
    """Returns the seconds until a code may be sent, 0 for now; None if the address gets no more in this window.

    Too many requests from one source are refused. Requests beyond the address's budget get the same response as any
    other, so that requests by others do not affect its owner. The same statements run for known and unknown addresses.
    """
    settings = ctx.shared.settings
    await count_source(ctx, BY_SOURCE, settings.limit_mails_per_source)
    limits = build_limits(BY_ADDRESS, email.budget_key, settings.limit_mails_per_address)
    # In a separate session, so that the count is committed even if the request fails.
    separate_session = ctx.db.separate()
    counts, is_verified = await login.count_request(separate_session, limits, email.key)
    ctx.db.count += separate_session.count
    if over := exceeded_limits(limits, counts):
        async with ctx.db.transaction():
            await audit_first_excess(ctx, over)
        return None
    return await _count_for_shop(ctx, is_verified=is_verified) if settings.limit_mails else 0


async def _count_for_shop(ctx: Context, *, is_verified: bool) -> int:
    unverified, everyone = _shop_limits(ctx)
    first = _decoys(unverified) if is_verified else unverified
    separate_session = ctx.db.separate()
    counts = await journal.count_in_turn(separate_session, first, everyone, _decoys(everyone))
    ctx.db.count += separate_session.count
    over = exceeded_limits([*first, *everyone], counts)
    near = _near([*first, *everyone], counts)
    # The duration of an empty transaction would reveal that the address is not a customer's.
    if near or any(is_first_over(*pair) for pair in over):
        async with ctx.db.transaction():
            await audit_first_excess(ctx, over)
            await _audit_near(ctx, near)
    return retry_after(over) if over else 0


async def count_mail(shared: Shared, mail: OutboxMail) -> int:
    """Counts an e-mail that awaits the budget; returns 0.

    If a window is full, counts nothing and returns the seconds until it ends.
    """
    ctx = Context(shared)
    limits, everyone = await _limits_of(ctx, mail)
    # After an e-mail that found a full window, the next one probably finds it too: to read costs less than to count and
    # roll back.
    if shared.is_mail_budget_exhausted and (full := await _find_full(ctx, [*limits, *everyone])):
        return retry_after(full)
    shared.is_mail_budget_exhausted = False
    try:
        async with ctx.db.transaction():
            await outbox.mark_counted(ctx.db, mail.id)
            # Every code request locks the shop's row too: lock it last, in the same order.
            counts = await _count(ctx, limits) + await _count(ctx, everyone)
            if over := exceeded_limits([*limits, *everyone], counts):
                raise _BudgetExhausted(over)
            await _audit_near(ctx, _near([*limits, *everyone], counts))
    except _BudgetExhausted as exhausted:
        async with ctx.db.transaction():
            await _audit_full(ctx, exhausted.windows)
        shared.is_mail_budget_exhausted = True
        return retry_after(exhausted.windows)
    return 0


class _BudgetExhausted(Exception):
    """Rolls back the count of an e-mail whose windows are full."""

    def __init__(self, windows: Sequence[tuple[Limit, Count]]) -> None:
        super().__init__()
        self.windows = windows


async def _limits_of(ctx: Context, mail: OutboxMail) -> tuple[list[Limit], list[Limit]]:
    """Returns the limits that an e-mail counts towards: its own, and those of the whole shop."""
    settings, email = ctx.shared.settings, read_email(mail.recipient)
    unverified, everyone = _shop_limits(ctx)
    if mail.kind == "login_code":
        # Its address and its source were counted by the request.
        is_verified = email is not None and await login.is_verified(ctx.db, email.key)
        return [] if is_verified else unverified, everyone
    if mail.kind == NEW_SIGN_IN:
        # It follows a redeemed code, which its address and its source have paid for.
        return [], everyone
    key = email.budget_key if email else mail.recipient
    by_address = build_limits(BY_ADDRESS, key, half_of(settings.limit_mails_per_address))
    if mail.kind == BACK_IN_STOCK:
        return [*by_address, *build_limits(RESTOCKS, "", half_of(half_of(settings.limit_mails)))], everyone
    quotas = half_of(settings.limit_mails_per_source)
    by_source = source_limits(settings, mail.source, BY_SOURCE, quotas) if mail.source else []
    return [*by_address, *by_source, *unverified], everyone


def _shop_limits(ctx: Context) -> tuple[list[Limit], list[Limit]]:
    """Returns the limits for e-mail to unverified addresses, and for all e-mail."""
    quotas = ctx.shared.settings.limit_mails
    return build_limits(UNVERIFIED, "", half_of(quotas)), build_limits(ALL, "", quotas)


def _decoys(limits: Sequence[Limit]) -> list[Limit]:
    """Returns decoy limits that are counted in place of real ones, to keep the timing the same."""
    return [Limit("decoy", counter_key(f"decoy {limit.name}", ""), 2**31, limit.seconds) for limit in limits]


async def _find_full(ctx: Context, limits: Sequence[Limit]) -> list[tuple[Limit, Count]]:
    """Returns the limits whose windows are full, with their counts; none if one of these was not audited yet."""
    audited_limits = [_full_limit(limit) for limit in limits]
    counts = await journal.read_counts(ctx.db, [(limit.key, limit.seconds) for limit in [*limits, *audited_limits]])
    pairs = zip(pair_with_counts(limits, counts), pair_with_counts(audited_limits, counts), strict=True)
    full = [(pair, audited.count > 0) for pair, (_, audited) in pairs if pair[1].count >= pair[0].count]
    return [pair for pair, _ in full] if all(is_audited for _, is_audited in full) else []


def _full_limit(limit: Limit) -> Limit:
    """Returns the window that counts how often e-mail found the window of a limit full."""
    return Limit("full", counter_key("full", limit.key.hex()), 0, limit.seconds)


async def _count(ctx: Context, limits: Sequence[Limit]) -> list[Count]:
    return await journal.count(ctx.db, [(limit.key, limit.seconds) for limit in limits]) if limits else []


def _near(limits: Sequence[Limit], counts: Sequence[Count]) -> list[tuple[Limit, Count]]:
    return [pair for pair in pair_with_counts(limits, counts) if pair[0].name in {UNVERIFIED, ALL} and is_near(*pair)]


async def _audit_near(ctx: Context, near: Sequence[tuple[Limit, Count]]) -> None:
    for limit, count in near:
        detail = {"limit": limit.name, "allowed": f"{limit.count}/{limit.seconds}", "count": count.count}
        await audit(ctx, "limit", NEAR, detail=detail)


async def _audit_full(ctx: Context, full: Sequence[tuple[Limit, Count]]) -> None:
    """Audits each full limit once per window, when the first e-mail exceeds it."""
    for limit, count in full:
        full_limit = _full_limit(limit)
        (first,) = await journal.count(ctx.db, [(full_limit.key, full_limit.seconds)])
        if first.count == 1:
            # The e-mail that exceeded the limit is not counted.
            detail = {"limit": limit.name, "allowed": f"{limit.count}/{limit.seconds}", "count": count.count - 1}
            await audit(ctx, "limit", "refused", detail={**detail, "key": limit.key.hex()[:16]})
