"""How an answer that anybody may see is kept, here and by caches on the way, and one that is somebody's own by none."""

from collections.abc import Awaitable, Callable, Sequence
from functools import wraps
from hashlib import blake2b
from typing import Any

from shop.actions.catalog import storefront
from shop.actions.catalog.prices import pricing_for
from shop.actions.context import Context
from shop.base.errors import Unavailable
from shop.base.remembered import Kept
from shop.queries.catalog.prices import Pricing
from shop.storefront.wishes import BEST_SELLING, read_currency
from shop.web.reply import JSON_API, Header, Reply
from shop.web.request import Request
from shop.web.static_content import is_match

Draw = Callable[[Request, Context], Awaitable[bytes]]
_VARY = (b"vary", b"Authorization")
_ANYBODYS = (b"cache-control", b"public, no-cache")
_ONES_OWN = (b"cache-control", b"private, no-store")
_TYPE = (b"content-type", JSON_API)
_HURRY_SECONDS = 0.5
"""How long a connection is waited for when there is an older answer to give instead."""


def kept(draw: Draw) -> Callable[[Request, Context], Awaitable[Reply]]:
    """A handler for what `draw` makes, which is drawn once for each version of the catalogue. Without a credential it
    is everybody's, and asked for anew by its ETag; while the database is away, the last answer is given with its `Age`.
    With one it is the same for those alone whose prices the same lists decide, and no cache on the way may keep it.
    """

    @wraps(draw)
    async def answer(request: Request, ctx: Context) -> Reply:
        pricing = await pricing_for(ctx, read_currency(request.params, ctx.shared.shop))
        key = request.url(ctx.shared.settings.public_url), ctx.shared.shop.version, frozenset(pricing.list_ids)
        if request.claim.bearer is not None:
            found = await _drawn(draw, request, ctx, pricing, key)
            return Reply(200, found.body, (_TYPE, _ONES_OWN, _VARY))
        found, age = await _public(draw, request, ctx, pricing, key)
        headers = (_ANYBODYS, _VARY, (b"etag", found.tag), *age)
        if is_match(request.headers.get(b"if-none-match"), found.tag):
            return Reply(304, b"", headers)
        return Reply(200, found.body, (_TYPE, *headers))

    return answer


async def _public(
    draw: Draw, request: Request, ctx: Context, pricing: Pricing, key: Any
) -> tuple[Kept, Sequence[Header]]:
    """An answer with the headers that tell its age, if it could not be confirmed."""
    is_kept = key in ctx.shared.answers
    if is_kept:
        ctx.db.patience = _HURRY_SECONDS
    try:
        if is_kept and ctx.shared.database.is_away:
            raise Unavailable()
        return await _drawn(draw, request, ctx, pricing, key), ()
    except Unavailable:
        stale = ctx.shared.answers.find_stale(key, ctx.shared.settings.catalog_stale_seconds)
        if stale is None:
            raise
        kept, age = stale
        return kept, ((b"age", b"%d" % age),)


async def _drawn(draw: Draw, request: Request, ctx: Context, pricing: Pricing, key: Any) -> Kept:
    if request.params.get("sort_by") == BEST_SELLING:
        # A sale is no new version of the catalogue, and is seen in this order alone. It is kept for an outage.
        bestsellers = _keepable(None, await draw(request, ctx))
        ctx.shared.answers.keep(key, bestsellers)
        return bestsellers
    # Read before the rest: what is drawn is of this version or a newer one, never of an older.
    version = await storefront.find_version(ctx, pricing)
    found = ctx.shared.answers.find(key, version)
    if found is None:
        found = _keepable(version, await draw(request, ctx))
        ctx.shared.answers.keep(key, found)
    return found


def _keepable(version: Any, body: bytes) -> Kept:
    return Kept(version, body, b'"' + blake2b(body, digest_size=16).hexdigest().encode() + b'"')
