"""Response caching: this process caches all responses; HTTP caches may store public responses only."""

from collections.abc import Awaitable, Callable, Sequence
from functools import wraps
from hashlib import blake2b
from typing import Any

from shop.actions.catalog import storefront
from shop.actions.catalog.prices import resolve_pricing
from shop.actions.context import Context
from shop.base.caches.response_cache import CachedResponse
from shop.base.errors import NotFound, Unavailable
from shop.jsonapi.document import Rendering
from shop.queries.catalog.prices import Pricing
from shop.storefront import catalog
from shop.storefront.product_filters import BEST_SELLING, read_currency
from shop.web.input.request import Request
from shop.web.reply import JSON_API, Header, Reply
from shop.web.static_content import is_match

RenderHandler = Callable[[Request, Context], Awaitable[bytes | Rendering]]
_VARY = (b"vary", b"Authorization")
_PUBLIC_CACHE = (b"cache-control", b"public, no-cache")
_PRIVATE_CACHE = (b"cache-control", b"private, no-store")
_TYPE = (b"content-type", JSON_API)
_STALE_WAIT_SECONDS = 0.5
"""Maximum wait for a database connection when a stale response is available instead."""


def cache_response(render: RenderHandler) -> Callable[[Request, Context], Awaitable[Reply]]:
    """Returns a handler that renders with `render` once per catalog version.

    Without a credential the response is public and revalidated by its ETag; while the database is unavailable, the
    last response is served with its `Age`. With a credential it is shared only by callers with the same price lists,
    and no HTTP cache may store it.
    """

    @wraps(render)
    async def answer(request: Request, ctx: Context) -> Reply:
        pricing = await resolve_pricing(ctx, read_currency(request.params, ctx.shared.shop))
        key = request.url(ctx.shared.settings.public_url), ctx.shared.shop.version, pricing.cache_key
        if request.claim.bearer is not None:
            entry = await _load_or_render(render, request, ctx, pricing, key)
            return Reply(200, entry.body, (_TYPE, _PRIVATE_CACHE, _VARY))
        ctx.db.prefer_replica()
        entry, age = await _public(render, request, ctx, pricing, key)
        headers = (_PUBLIC_CACHE, _VARY, (b"etag", entry.tag), *age)
        if is_match(request.headers.get(b"if-none-match"), entry.tag):
            return Reply(304, b"", headers)
        return Reply(200, entry.body, (_TYPE, *headers))

    return answer


async def _public(
    render: RenderHandler, request: Request, ctx: Context, pricing: Pricing, key: Any
) -> tuple[CachedResponse, Sequence[Header]]:
    """Returns an entry, with an `Age` header if it could not be revalidated."""
    is_cached = key in ctx.shared.response_cache
    if is_cached:
        ctx.db.patience = _STALE_WAIT_SECONDS
    try:
        if is_cached and ctx.shared.database.is_unavailable:
            raise Unavailable()
        return await _load_or_render(render, request, ctx, pricing, key), ()
    except Unavailable:
        stale = ctx.shared.response_cache.find_stale(key, ctx.shared.settings.catalog_stale_seconds)
        if stale is None:
            raise
        entry, age = stale
        return entry, ((b"age", b"%d" % age),)


async def _load_or_render(
    render: RenderHandler, request: Request, ctx: Context, pricing: Pricing, key: Any
) -> CachedResponse:
    cache = ctx.shared.response_cache
    if request.params.get("sort_by") == BEST_SELLING:
        # A sale does not change the catalog version but changes this sort order. Cache the response for outages only.
        return _save(ctx, key, None, await render(request, ctx))
    if render is catalog.show_product and catalog.has_fragment(request, pricing):
        # The fragment is current or made anew. Cache the response for outages only.
        try:
            rendering = await render(request, ctx)
        except NotFound:
            cache.remove(key)
            raise
        cache.confirm(version := await storefront.find_version(ctx, pricing))
        return _save(ctx, key, version, rendering)
    # Read the version first: the rendered data is then of this version or a newer one, never an older one.
    version = await storefront.find_version(ctx, pricing)
    entry = cache.find(key, version)
    return entry or _save(ctx, key, version, await render(request, ctx))


def _save(ctx: Context, key: Any, version: Any, rendering: bytes | Rendering) -> CachedResponse:
    if isinstance(rendering, bytes):
        rendering = Rendering(rendering, blake2b(rendering, digest_size=16).digest())
    entry = CachedResponse(version, rendering.body, b'"%b"' % rendering.digest.hex().encode())
    ctx.shared.response_cache.save(key, entry)
    return entry
