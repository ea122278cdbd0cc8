"""How an answer that anybody may see is kept, here and by caches on the way, and one that is somebody's own by none."""

from collections.abc import Awaitable, Callable
from functools import wraps
from hashlib import blake2b
from typing import Any

from shop.actions import browse
from shop.actions.context import Context
from shop.actions.pricing import pricing_for
from shop.base.remembered import Kept
from shop.queries.prices import Pricing
from shop.storefront.wishes import BEST_SELLING, read_currency
from shop.web.reply import JSON_API, Reply
from shop.web.request import Request

Draw = Callable[[Request, Context], Awaitable[bytes]]
_VARY = (b"vary", b"Authorization")
_ANYBODYS = (b"cache-control", b"public, no-cache")
_ONES_OWN = (b"cache-control", b"private, no-store")
_TYPE = (b"content-type", JSON_API)


def kept(draw: Draw) -> Callable[[Request, Context], Awaitable[Reply]]:
    """A handler for what `draw` makes, which is drawn once for each version of the catalogue. Without a credential it
    is everybody's, and asked for anew by its ETag. With one it is the same for those alone whose prices the same lists
    decide, and no cache on the way may keep it.
    """

    @wraps(draw)
    async def answer(request: Request, ctx: Context) -> Reply:
        pricing = await pricing_for(ctx, read_currency(request.params, ctx.shared.shop))
        found = await _drawn(draw, request, ctx, pricing)
        if request.claim.bearer is not None:
            return Reply(200, found.body, (_TYPE, _ONES_OWN, _VARY))
        headers = (_ANYBODYS, _VARY, (b"etag", found.tag))
        if _matches(request.headers.get(b"if-none-match"), found.tag):
            return Reply(304, b"", headers)
        return Reply(200, found.body, (_TYPE, *headers))

    return answer


async def _drawn(draw: Draw, request: Request, ctx: Context, pricing: Pricing) -> Kept:
    if request.params.get("sort_by") == BEST_SELLING:
        # A sale is no new version of the catalogue, and is seen in this order alone.
        return _keepable(None, await draw(request, ctx))
    key = request.url(ctx.shared.settings.public_url), ctx.shared.shop.version, frozenset(pricing.list_ids)
    # Read before the rest: what is drawn is of this version or a newer one, never of an older.
    version = await browse.find_version(ctx, pricing)
    found = ctx.shared.answers.find(key, version)
    if found is None:
        found = _keepable(version, await draw(request, ctx))
        ctx.shared.answers.keep(key, found)
    return found


def _keepable(version: Any, body: bytes) -> Kept:
    return Kept(version, body, b'"' + blake2b(body, digest_size=16).hexdigest().encode() + b'"')


def _matches(sent: bytes | None, tag: bytes) -> bool:
    if not sent:
        return False
    # Compared weakly, as RFC 9110 has it for GET: a proxy that compressed the answer may have weakened the tag.
    tags = [part.strip().removeprefix(b"W/") for part in sent.split(b",")]
    return tag in tags or b"*" in tags
