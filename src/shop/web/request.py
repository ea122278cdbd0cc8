"""What a handler sees of a request: path and query parameters, and the body, read once within its limits."""

import asyncio
import contextlib
import re
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from itertools import chain, pairwise
from typing import Any, cast
from urllib.parse import parse_qsl, quote

from starlette.types import Message, Receive, Scope

from shop.base.actor import GUEST, Claim
from shop.base.errors import HeadersTooLarge, Malformed, TooLarge, UnsupportedMedia, UriTooLong
from shop.jsonapi.deprecation import Deprecation
from shop.web.strict_json import load_json
from shop.web.uploads import MULTIPART, Parts, read_parts

MAX_PATH = 2048
MAX_QUERY = 8192
MAX_HEADERS = 16_384
MAX_PARAMS = 200
MAX_STEPS = 8
BODY_SECONDS = 30
SLOWEST = 256 * 1024
"""Bytes a second: a body that may be large is waited for longer."""
MAX_DISCARDED = 32 * 1024 * 1024
_FORM = "application/x-www-form-urlencoded"
PARAMETERS = ("application/json", "application/vnd.api+json", "text/x-json", _FORM)
"""The media types of a body that is read as parameters."""
UPLOAD = (MULTIPART,)
"""Of one that carries a file beside them."""
LINES = ("application/x-ndjson", "application/jsonl")
"""Of one that is lines, each an object."""
_CHARSET = re.compile(r"charset=\"?utf-?8\"?", re.IGNORECASE | re.ASCII)
_HOST = re.compile(r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?", re.ASCII)
_BRACKET = re.compile(r"\[([^\[\]]*)\]")


class Request:
    """One request. `headers` has each name once; those that may not be repeated are checked where they are read."""

    __slots__ = (
        "_body_params",
        "_is_read",
        "_params",
        "_parts",
        "_receive",
        "body",
        "claim",
        "deprecations",
        "headers",
        "id",
        "most_params",
        "path_params",
        "scope",
    )

    def __init__(self, scope: Scope, receive: Receive, request_id: str, headers: dict[bytes, bytes]) -> None:
        self.scope = scope
        self._receive = receive
        self.id = request_id
        self.headers = headers
        self.claim: Claim = GUEST
        self.deprecations: tuple[Deprecation, ...] = ()
        """Of what it uses that will be removed."""
        self.path_params: Mapping[str, str] = {}
        self.most_params = MAX_PARAMS
        """How many fields a form may have; a page with a large table says more."""
        self.body = b""
        self._is_read = False
        self._params: Mapping[str, Any] | None = None
        self._body_params: Mapping[str, Any] | None = None
        self._parts: Parts | None = None

    @property
    def query_string(self) -> bytes:
        query: bytes = self.scope["query_string"]
        return query

    def origin(self, public_url: str | None) -> str:
        """Scheme and host under which its caller reaches the shop; a host that cannot be one is not repeated."""
        host = self.headers.get(b"host", b"").decode("latin-1")
        return public_url or f"{self.scope.get('scheme', 'http')}://{host if _HOST.fullmatch(host) else 'localhost'}"

    def url(self, public_url: str | None) -> str:
        """This request's own address with its query, as its caller can reach it."""
        query = f"?{self.query_string.decode('latin-1')}" if self.query_string else ""
        return self.origin(public_url) + quote(str(self.scope["path"])) + query

    @property
    def params(self) -> Mapping[str, Any]:
        """The query's and the body's parameters as one nested mapping; the query's word counts where both speak."""
        if self._params is None:
            self._params = (
                {**self.body_params(), **read_form(self.query_string)} if self.query_string or self.body else {}
            )
        return self._params

    @property
    def query(self) -> Mapping[str, Any]:
        """The query's parameters alone, where the body is not one."""
        return read_form(self.query_string)

    def body_params(self) -> Mapping[str, Any]:
        """The body's parameters alone, for what must not stand in an address."""
        if self._body_params is None:
            self._body_params = self._read_params() if self.body else {}
        return self._body_params

    def _read_params(self) -> Mapping[str, Any]:
        if self.is_form:
            return read_form(self.body, self.most_params)
        if self._media_type() == MULTIPART:
            return _planted(self._upload().fields)
        value = load_json(self.body)
        if not isinstance(value, dict):
            raise Malformed("The body must be a JSON object.")
        return value

    def file(self, *names: str) -> bytes | None:
        """What was uploaded under the first of these names that there is; of two files of one name the last."""
        return next((found[-1] for name in names if (found := self.files(name))), None)

    def files(self, name: str) -> list[bytes]:
        """All that was uploaded under this name."""
        files = self._upload().files if self._media_type() == MULTIPART else ()
        return [data for field, data in files if field == name]

    def _upload(self) -> Parts:
        if self._parts is None:
            self._parts = read_parts(self.headers.get(b"content-type", b""), self.body)
        return self._parts

    @property
    def is_form(self) -> bool:
        return self._media_type() == _FORM

    def _media_type(self) -> str:
        return self.headers.get(b"content-type", b"").decode("latin-1").partition(";")[0].strip().lower()

    def check_head(self) -> None:
        """What the application checks by itself, whatever stands in front of it."""
        if len(self.scope.get("raw_path") or self.scope["path"]) > MAX_PATH or len(self.query_string) > MAX_QUERY:
            raise UriTooLong()
        if sum(map(len, chain.from_iterable(self.scope["headers"]))) > MAX_HEADERS:
            raise HeadersTooLarge()
        # The server has taken the chunks apart, and nothing else.
        if self.headers.get(b"transfer-encoding", b"chunked").strip().lower() != b"chunked":
            raise Malformed("The only Transfer-Encoding that is read here is chunked.")

    async def read_body(self, limit: int, media: Sequence[str] = PARAMETERS) -> None:
        """Reads the body by the bytes that come, not by what Content-Length says of them."""
        self._is_read = True
        if not self.has_body:
            return
        try:
            async with asyncio.timeout(BODY_SECONDS + limit // SLOWEST):
                self.body = await self._gather(limit)
        except TimeoutError:
            raise Malformed("The body did not arrive in time.") from None
        if self.body:
            self._check_media(media)

    async def chunks(self) -> AsyncGenerator[bytes]:
        """The body of lines as it comes, for a handler that reads it by itself: no bound on the whole, and a time for
        each piece.
        """
        if not self.has_body:
            return
        self._check_media(LINES)
        while not self._is_read:
            message = await self._next()
            self._is_read = not message.get("more_body", False)
            yield message.get("body", b"")

    async def _next(self) -> Message:
        try:
            async with asyncio.timeout(BODY_SECONDS):
                message = await self._receive()
        except TimeoutError:
            self._is_read = True
            raise Malformed("The body did not arrive in time.") from None
        if message["type"] == "http.disconnect":
            self._is_read = True
            raise Malformed("The body broke off.")
        return message

    async def wait_for_end(self) -> None:
        """Until the caller has gone; for whoever has read the body or does not want it."""
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def discard_body(self) -> None:
        """Takes in what nobody wants to read: a proxy that is still sending would miss our answer for a broken line."""
        if self._is_read or not self.has_body:
            return
        self._is_read = True
        with contextlib.suppress(TimeoutError, Malformed, TooLarge):
            async with asyncio.timeout(BODY_SECONDS):
                await self._gather(0)

    @property
    def has_body(self) -> bool:
        declared = self.headers.get(b"content-length")
        return declared != b"0" and (declared is not None or b"transfer-encoding" in self.headers)

    async def _gather(self, limit: int) -> bytes:
        chunks, size = [], 0
        while True:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise Malformed("The body broke off.")
            chunk = message.get("body", b"")
            size += len(chunk)
            if size > limit + MAX_DISCARDED:
                raise TooLarge(limit)
            # A client that is still sending would miss our answer, so a little too much is read and thrown away.
            if size <= limit:
                chunks.append(chunk)
            else:
                chunks.clear()
            if not message.get("more_body", False):
                break
        if size > limit:
            raise TooLarge(limit)
        return b"".join(chunks)

    def _check_media(self, media: Sequence[str]) -> None:
        if self.headers.get(b"content-encoding", b"identity").strip().lower() != b"identity":
            raise UnsupportedMedia()
        if self._media_type() not in media:
            raise UnsupportedMedia(None if media is PARAMETERS else f"Send the body as {' or '.join(media)}.")
        parameters = self.headers.get(b"content-type", b"").decode("latin-1").partition(";")[2]
        if "charset" in parameters.lower() and not _CHARSET.search(parameters):
            raise UnsupportedMedia()


def read_form(encoded: bytes, most: int = MAX_PARAMS) -> dict[str, Any]:
    """`a=1&b[c]=2&d[]=3` as `{"a": "1", "b": {"c": "2"}, "d": ["3"]}`, and `e[][f]=4` as `{"e": [{"f": "4"}]}`; the
    last of two plain values counts.
    """
    try:
        pairs = parse_qsl(encoded.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=most)
    except ValueError:
        raise Malformed(f"The parameters cannot be read: percent-encoded UTF-8, at most {most} of them.") from None
    return _planted(pairs)


def _planted(pairs: Iterable[tuple[str, str]]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for name, value in pairs:
        if "\x00" in name or "\x00" in value:
            raise Malformed("The parameters have a NUL character.")
        _plant(tree, name, value)
    return tree


def _plant(tree: dict[str, Any], name: str, value: str) -> None:
    head, bracket, _ = name.partition("[")
    steps = _BRACKET.findall(name) if bracket else []
    # `a[][]` would be a list of lists, which nothing here reads.
    fits = head and len(steps) <= MAX_STEPS and ("", "") not in pairwise(steps)
    if bracket and (not fits or head + "".join(f"[{step}]" for step in steps) != name):
        raise Malformed(f"The parameter {name[:100]!r} has brackets that cannot be read.")
    _put(tree, [head, *steps], name, value)


def _put(here: dict[str, Any], steps: list[str], name: str, value: str) -> None:
    step, *rest = steps
    if not rest:
        if isinstance(here.get(step), dict | list):
            raise _clash(name)
        here[step] = value
    elif rest == [""]:
        values = _list(here, step, name)
        if isinstance((values or [""])[-1], dict):
            raise _clash(name)
        values.append(value)
    elif rest[0]:
        _put(_group(here, step, name), rest, name, value)
    else:
        _put(_last_group(_list(here, step, name), rest[1:], name), rest[1:], name, value)


def _last_group(groups: list[Any], steps: list[str], name: str) -> dict[str, Any]:
    """Of `a[][b]=1&a[][c]=2&a[][b]=3` as Rails reads it: a name that the last group has already begins the next."""
    if not all(isinstance(group, dict) for group in groups[-1:]):
        raise _clash(name)
    if not groups or _has(groups[-1], steps):
        groups.append({})
    return cast(dict[str, Any], groups[-1])


def _has(group: Mapping[str, Any], steps: list[str]) -> bool:
    step, *rest = steps
    found = group.get(step)
    if not rest or not isinstance(found, dict):
        return found is not None and (not rest or rest[0] != "")
    return _has(found, rest)


def _group(here: dict[str, Any], step: str, name: str) -> dict[str, Any]:
    group = here.setdefault(step, {})
    if not isinstance(group, dict):
        raise _clash(name)
    return group


def _list(here: dict[str, Any], step: str, name: str) -> list[Any]:
    values = here.setdefault(step, [])
    if not isinstance(values, list):
        raise _clash(name)
    return values


def _clash(name: str) -> Malformed:
    return Malformed(f"The parameter {name[:100]!r} is given once as a value and once as a group or list.")
