"""Static content: compressed once and revalidated by its ETag."""

import gzip
import re
from hashlib import blake2b

import msgspec

from shop.web.input.request import Request
from shop.web.reply import API_POLICY, Reply

# Browsers store the content and revalidate it each time, so a new version is visible immediately.
_HEADERS = ((b"cache-control", b"no-cache"), (b"vary", b"Accept-Encoding"))
_GZIP = re.compile(rb"(?:^|,)\s*(?:gzip|\*)\s*(?:;\s*q\s*=\s*([0-9.]+)\s*)?(?=,|$)", re.IGNORECASE)
_LEVEL = 6


class StaticContent(msgspec.Struct, frozen=True):
    """A body, plain and compressed, with its ETags."""

    body: bytes
    compressed: bytes
    tag: bytes

    @property
    def compressed_tag(self) -> bytes:
        """The ETag of the compressed body, which has different bytes."""
        return self.tag[:-1] + b'-gzip"'


def static_content(body: bytes) -> StaticContent:
    tag = b'"' + blake2b(body, digest_size=16).hexdigest().encode() + b'"'
    return StaticContent(body, gzip.compress(body, _LEVEL, mtime=0), tag)


def static_reply(request: Request, content: StaticContent, media: bytes, policy: bytes = API_POLICY) -> Reply:
    is_compressed = accepts_gzip(request.headers.get(b"accept-encoding", b""))
    tag = content.compressed_tag if is_compressed else content.tag
    headers = (*_HEADERS, (b"etag", tag))
    if is_match(request.headers.get(b"if-none-match"), tag):
        return Reply(304, b"", headers, policy)
    if not is_compressed:
        return Reply(200, content.body, ((b"content-type", media), *headers), policy)
    encoding = (b"content-encoding", b"gzip")
    return Reply(200, content.compressed, ((b"content-type", media), encoding, *headers), policy)


def accepts_gzip(accept_encoding: bytes) -> bool:
    """Returns whether Accept-Encoding allows gzip; a weight of zero forbids it."""
    match = _GZIP.search(accept_encoding)
    return match is not None and (match[1] is None or match[1].strip(b"0.") != b"")


def is_match(if_none_match: bytes | None, tag: bytes) -> bool:
    if not if_none_match:
        return False
    # Weak comparison, as RFC 9110 requires for GET: a proxy that compressed the response may have weakened the tag.
    tags = [part.strip().removeprefix(b"W/") for part in if_none_match.split(b",")]
    return tag in tags or b"*" in tags
