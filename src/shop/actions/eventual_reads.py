"""Lists that an application may read from a replica, once the replica shows the application's own changes."""

from shop.actions.context import Context
from shop.queries import eventual_reads as queries

COMMIT_SECONDS = 15
"""Longer than any transaction: an audit event has the time at which its transaction began."""


async def prefer_replica(ctx: Context) -> None:
    """Reads a replica for the rest of the request, unless it lacks a recent change of this application. Every change
    writes an audit event in its transaction, so a replica with these events has the changes, whichever process made
    them.
    """
    if ctx.shared.database.replicas is None or ctx.actor.id is None:
        return
    seconds = COMMIT_SECONDS + int(ctx.shared.settings.replica_lag_seconds)
    recent = await queries.count_recent_audits(ctx.db, ctx.actor.id, seconds)
    ctx.db.prefer_replica()
    if recent.count and ctx.db.replica:
        replica_count = await queries.count_audits_since(ctx.db, ctx.actor.id, recent.since)
        if replica_count < recent.count:
            ctx.db.replica = None
