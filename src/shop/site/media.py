"""Public image files, cacheable without limit."""

import re
from uuid import UUID

from shop.actions.context import Context
from shop.base.errors import NotFound
from shop.rules.catalog.images import MEDIA_TYPE
from shop.web.input.request import Request
from shop.web.reply import Reply

# Other keys never reach the media store.
_KEY = re.compile(r"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})/([1-9][0-9]{0,3}\.webp)", re.ASCII)
# A file cannot run scripts, whatever type a browser takes it for.
_POLICY = b"sandbox; default-src 'none'; frame-ancestors 'none'"


async def show(request: Request, ctx: Context) -> Reply:
    key = _KEY.fullmatch(request.path_params["key"])
    data = await ctx.shared.media.find(UUID(key[1]), key[2]) if key else None
    if key is None or data is None:
        raise NotFound("Not found.")
    # The content of a key never changes, so the key is the ETag.
    tag = f'"{key[0]}"'.encode()
    headers = ((b"etag", tag), (b"cache-control", b"public, max-age=31536000, immutable"))
    if tag in [etag.strip().removeprefix(b"W/") for etag in request.headers.get(b"if-none-match", b"").split(b",")]:
        return Reply(304, headers=headers, policy=_POLICY)
    return Reply(200, data, (*headers, (b"content-type", MEDIA_TYPE.encode())), _POLICY)
