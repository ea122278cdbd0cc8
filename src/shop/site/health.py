"""Liveness, readiness and metrics endpoints."""

import asyncio
from collections.abc import Callable, Iterable
from math import inf
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from shop.actions.context import Context
from shop.base.errors import Malformed, NotFound, Unavailable
from shop.base.lazy_modules import LazyModule
from shop.queries.operations.gauges import Gauges, read_gauges
from shop.queries.setup import shop as shop_queries
from shop.queries.setup.shop import DatabaseState
from shop.web.endpoint import Handler
from shop.web.input.request import Request
from shop.web.reply import NO_STORE, Reply, json_reply

if TYPE_CHECKING:
    from shop.site import metrics_text
else:
    metrics_text = LazyModule("shop.site.metrics_text")

READY_SECONDS = 1
TEXT_SECONDS = 1
GAUGE_SECONDS = 5
"""Maximum age of the database gauges."""


async def show_liveness(_request: Request, _ctx: Context) -> Reply:
    return json_reply({"status": "alive"})


def make_readiness_handler(is_stopping: Callable[[], bool], outdated_revisions: frozenset[str]) -> Handler:
    """Returns the readiness handler: not stopping, and the database responds, accepts writes and is not behind this
    program's migrations. With `for=reads`, a cached catalog is enough. Keys need no check: without them the process
    does not start.
    """

    async def answer(request: Request, ctx: Context) -> Reply:
        purpose = request.query.get("for", "writes")
        if purpose not in ("reads", "writes"):
            raise Malformed("Send for=reads or for=writes.")
        if is_stopping():
            raise Unavailable()
        try:
            async with asyncio.timeout(READY_SECONDS):
                state = await _check(ctx)
        except (TimeoutError, Unavailable):
            if purpose == "reads" and ctx.shared.response_cache.has_stale(ctx.shared.settings.catalog_stale_seconds):
                return json_reply({"status": "ready for reads"})
            raise Unavailable() from None
        if state is None or state.revision in outdated_revisions:
            raise Unavailable()
        return json_reply({"status": "ready"})

    return answer


async def _check(ctx: Context) -> DatabaseState | None:
    database = ctx.shared.database
    state = await shop_queries.find_state(ctx.db)
    if state and not state.is_writable:
        database.connections.close_all()
        raise Unavailable()
    if state and database.has_lost_write:
        await shop_queries.try_write(ctx.db)
        database.has_lost_write = False
    return state


def make_metrics_handler(others: Callable[[], Iterable[Path]]) -> Handler:
    """Returns the metrics handler of all workers. Open to try-out requests, otherwise only with SHOP_METRICS=public."""
    gauges, text, rendered_at = _LastGauges(), b"", -inf

    async def answer(_request: Request, ctx: Context) -> Reply:
        nonlocal text, rendered_at
        is_public = ctx.shared.settings.metrics == "public"
        if not is_public and not ctx.is_try_out:
            raise NotFound("Not found.")
        read = await gauges.read(ctx)
        # Rendering is slower than most requests, so public callers get a cached text.
        if not is_public or monotonic() - rendered_at >= TEXT_SECONDS:
            settings, database = ctx.shared.settings, ctx.shared.database
            hours = settings.backup_hours if settings.backup_url else None
            replica_states = database.replicas.states() if database.replicas else ()
            waits = database.connections.waits
            text = metrics_text.render_metrics(others(), waits, read, hours, replica_states)
            rendered_at = monotonic()
        return Reply(200, text, ((b"content-type", metrics_text.MEDIA_TYPE), NO_STORE))

    return answer


class _LastGauges:
    """Caches the database gauges, so that frequent scrapes add no database load."""

    def __init__(self) -> None:
        self._read_at = -inf
        self._gauges: Gauges | None = None
        self._reading = asyncio.Lock()

    async def read(self, ctx: Context) -> Gauges | None:
        async with self._reading:
            if monotonic() - self._read_at >= GAUGE_SECONDS:
                try:
                    async with asyncio.timeout(READY_SECONDS):
                        self._gauges = await read_gauges(ctx.db)
                except (TimeoutError, Unavailable):
                    self._gauges = None
                self._read_at = monotonic()
        return self._gauges
