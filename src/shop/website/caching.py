"""Public pages: rendered once per version of the catalog and kept compressed; shared caches may revalidate them.

A signed-in customer sees own prices: such a page is shared only by customers with the same price lists, and no HTTP
cache may store it.
"""

import gzip
from collections.abc import Awaitable, Callable
from functools import wraps
from hashlib import blake2b
from math import inf
from time import monotonic, perf_counter

import msgspec

from shop.actions.catalog import storefront
from shop.actions.catalog.prices import resolve_pricing
from shop.actions.context import Context
from shop.base.caches.response_cache import CachedResponse
from shop.base.errors import RateLimitError, Unavailable
from shop.web.cookies import OPERATOR_COOKIE, read_cookies
from shop.web.endpoint import Handler
from shop.web.input.request import Request
from shop.web.reply import HTML, Header, Reply
from shop.web.static_content import accepts_gzip, is_match
from shop.website.assets import PAGE_HEADERS, speculation_rules
from shop.website.pages import PAGE_POLICY
from shop.website.visits import REFRESH_COOKIE, SESSION_COOKIE, Visit, here, reply_with_cookies, start_visit


class TimedPage(msgspec.Struct, frozen=True):
    """A page with data that has no version, such as stock counts or promotions; rendered again after `seconds`."""

    body: str
    seconds: float


RenderPage = Callable[[Request, Context], Awaitable[str | TimedPage]]
_PUBLIC: Header = (b"cache-control", b"public, no-cache")
_PRIVATE: Header = (b"cache-control", b"private, no-store")
_VARY: Header = (b"vary", b"Accept-Encoding, Cookie")
_LEVEL = 6
_STALE_WAIT_SECONDS = 0.5
"""Maximum wait for a database connection when a stale page is available instead."""


def public_page(handler: RenderPage, media: bytes = HTML) -> Handler:
    """Wraps a handler that renders a page that depends only on the URL, the catalog and the price lists."""

    @wraps(handler)
    async def answer(request: Request, ctx: Context) -> Reply:
        cookies = read_cookies(request)
        if SESSION_COOKIE not in cookies and REFRESH_COOKIE not in cookies:
            if OPERATOR_COOKIE not in cookies:
                # An operator sees own changes at once.
                ctx.db.prefer_replica()
            return await find_reply(request, ctx, None)
        try:
            visit = await start_visit(request, ctx)
        except RateLimitError:
            # Failures of others at the same source must not hide the catalog; the session is refreshed later.
            visit = Visit(cookies, here(request))
        return await reply_with_cookies(request, ctx, visit, find_reply(request, ctx, visit))

    async def find_reply(request: Request, ctx: Context, visit: Visit | None) -> Reply:
        start = perf_counter()
        entry, age = await _find_or_render(handler, request, ctx, is_public=visit is None or visit.user is None)
        extra = (*age, speculation_rules(ctx.shared)) if media == HTML else age
        return _reply(request, entry, media, start, is_public=visit is None, extra=extra)

    return answer


async def _find_or_render(
    handler: RenderPage, request: Request, ctx: Context, *, is_public: bool
) -> tuple[CachedResponse, tuple[Header, ...]]:
    pricing = await resolve_pricing(ctx, ctx.shared.shop.currencies[0])
    url = request.url(ctx.shared.settings.public_url)
    key = "page", url, ctx.shared.shop.version, pricing.cache_key
    cache = ctx.shared.response_cache
    is_cached = is_public and key in cache
    if is_cached:
        ctx.db.patience = _STALE_WAIT_SECONDS
    try:
        if is_cached and ctx.shared.database.is_unavailable:
            raise Unavailable()
        # Read the version first: the rendered data is then of this version or a newer one, never an older one.
        version = await storefront.find_version(ctx, pricing)
        entry = cache.find(key, version)
        if entry is None or entry.fresh_until <= monotonic():
            entry = _build_entry(version, await handler(request, ctx))
            cache.save(key, entry)
        return entry, ()
    except Unavailable:
        stale = cache.find_stale(key, ctx.shared.settings.catalog_stale_seconds) if is_public else None
        if stale is None:
            raise
        return stale[0], ((b"age", b"%d" % stale[1]),)


def _build_entry(version: object, page: str | TimedPage) -> CachedResponse:
    body, seconds = (page.body, page.seconds) if isinstance(page, TimedPage) else (page, inf)
    data = body.encode()
    tag = b'"' + blake2b(data, digest_size=16).hexdigest().encode() + b'"'
    gzip_body = gzip.compress(data, _LEVEL, mtime=0)
    return CachedResponse(version, gzip_body, tag, fresh_until=monotonic() + seconds)


def _reply(
    request: Request, entry: CachedResponse, media: bytes, start: float, *, is_public: bool, extra: tuple[Header, ...]
) -> Reply:
    is_compressed = accepts_gzip(request.headers.get(b"accept-encoding", b""))
    tag = entry.tag[:-1] + b'-gzip"' if is_compressed else entry.tag
    timing = (b"server-timing", f"app;dur={(perf_counter() - start) * 1000:.1f}".encode())
    if not is_public:
        headers: tuple[Header, ...] = (_PRIVATE, _VARY, timing, *extra)
    else:
        headers = (_PUBLIC, _VARY, (b"etag", tag), timing, *extra)
        if is_match(request.headers.get(b"if-none-match"), tag):
            return Reply(304, b"", headers, PAGE_POLICY, PAGE_HEADERS)
    headers = ((b"content-type", media), *headers)
    if is_compressed:
        headers = ((b"content-encoding", b"gzip"), *headers)
        return Reply(200, entry.body, headers, PAGE_POLICY, PAGE_HEADERS)
    return Reply(200, gzip.decompress(entry.body), headers, PAGE_POLICY, PAGE_HEADERS)
