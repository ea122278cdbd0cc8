"""XML documents: escaped text, and streams that are compressed while they are sent."""

import re
import zlib
from collections.abc import AsyncGenerator

from markupsafe import escape

from shop.web.input.request import Request
from shop.web.reply import Reply
from shop.web.static_content import accepts_gzip
from shop.website.assets import PAGE_HEADERS

XML = b"application/xml; charset=utf-8"
DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'
_HEADERS = ((b"content-type", XML), (b"cache-control", b"public, max-age=3600"), (b"vary", b"Accept-Encoding"))
_GZIP_FORMAT = 31
_LEVEL = 6
# Characters that XML 1.0 does not allow, not even escaped.
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def xml_text(text: str) -> str:
    return str(escape(_FORBIDDEN.sub("", text)))


async def stream_xml(request: Request, parts: AsyncGenerator[str]) -> Reply:
    """Replies with a document of several parts. The first is produced before the reply starts, so that a failure
    returns an error status.
    """
    is_compressed = accepts_gzip(request.headers.get(b"accept-encoding", b""))
    chunks = _compress(parts) if is_compressed else _encode(parts)
    headers = (*_HEADERS, (b"content-encoding", b"gzip")) if is_compressed else _HEADERS
    first = await anext(chunks)
    return Reply(200, headers=headers, security=PAGE_HEADERS, chunks=_prepend(first, chunks))


async def _prepend(first: bytes, rest: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    yield first
    async for chunk in rest:
        yield chunk


async def _encode(parts: AsyncGenerator[str]) -> AsyncGenerator[bytes]:
    async for part in parts:
        yield part.encode()


async def _compress(parts: AsyncGenerator[str]) -> AsyncGenerator[bytes]:
    compressor = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP_FORMAT)
    async for part in parts:
        yield compressor.compress(part.encode()) + compressor.flush(zlib.Z_SYNC_FLUSH)
    yield compressor.flush()
