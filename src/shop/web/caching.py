"""How an answer that anybody may see is kept by caches, and one that is somebody's own by none."""

from hashlib import blake2b

from shop.web.reply import JSON_API, Reply
from shop.web.request import Request

_VARY = (b"vary", b"Authorization")
_ANYBODYS = (b"cache-control", b"public, no-cache")
_ONES_OWN = (b"cache-control", b"private, no-store")
_TYPE = (b"content-type", JSON_API)


def catalog_reply(request: Request, body: bytes) -> Reply:
    """Without a credential the document is everybody's: kept, and asked for anew by its ETag. With one it may show the
    prices of that one customer.
    """
    if request.claim.bearer is not None:
        return Reply(200, body, (_TYPE, _ONES_OWN, _VARY))
    tag = b'"' + blake2b(body, digest_size=16).hexdigest().encode() + b'"'
    headers = (_ANYBODYS, _VARY, (b"etag", tag))
    if _matches(request.headers.get(b"if-none-match"), tag):
        return Reply(304, b"", headers)
    return Reply(200, body, (_TYPE, *headers))


def _matches(sent: bytes | None, tag: bytes) -> bool:
    if not sent:
        return False
    # Compared weakly, as RFC 9110 has it for GET: a proxy that compressed the answer may have weakened the tag.
    tags = [part.strip().removeprefix(b"W/") for part in sent.split(b",")]
    return tag in tags or b"*" in tags
