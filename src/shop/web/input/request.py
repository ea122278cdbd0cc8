"""The request that handlers receive: path and query parameters, and the body, read once within its limits."""

import asyncio
import contextlib
import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from itertools import chain
from typing import Any
from urllib.parse import parse_qsl, quote

from shop.base.actor import GUEST, Claim
from shop.base.errors import HeadersTooLarge, Malformed, TooLarge, UnsupportedMedia, UriTooLong
from shop.jsonapi.deprecation import Deprecation
from shop.web.asgi import Message, Receive, Scope
from shop.web.input.parameters import MAX_PARAMS, build_tree, read_form
from shop.web.input.strict_json import load_json
from shop.web.input.uploads import MAX_PARTS, MULTIPART, FileStream, Parts, read_parts

MAX_PATH = 2048
MAX_QUERY = 8192
MAX_HEADERS = 16_384
BODY_SECONDS = 30
MIN_BODY_RATE = 256 * 1024
"""The minimum upload rate in bytes per second; a larger size limit extends the body timeout accordingly."""
MAX_DISCARDED = 32 * 1024 * 1024
_FORM = "application/x-www-form-urlencoded"
PARAMETERS = ("application/json", "application/vnd.api+json", "text/x-json", _FORM)
"""The media types of a body that is parsed into parameters."""
UPLOAD = (MULTIPART,)
"""The media types of a body with files and parameters."""
FILE = (*PARAMETERS, MULTIPART)
"""The media types of a form whose file the handler reads while it arrives."""
LINES = ("application/x-ndjson", "application/jsonl")
"""The media types of an NDJSON body."""
_CHARSET = re.compile(r"charset=\"?utf-?8\"?", re.IGNORECASE | re.ASCII)
_HOST = re.compile(r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?", re.ASCII)


class Request:
    """One request. `headers` has each name once; repeated credential headers are checked where they are read."""

    __slots__ = (
        "_body_params",
        "_file",
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
        """The deprecated features that the request uses."""
        self.path_params: Mapping[str, str] = {}
        self.most_params = MAX_PARAMS
        """The maximum number of form fields; a page with a large table raises it."""
        self.body = b""
        self._is_read = False
        self._params: Mapping[str, Any] | None = None
        self._body_params: Mapping[str, Any] | None = None
        self._parts: Parts | None = None
        self._file: FileStream | None = None

    @property
    def query_string(self) -> bytes:
        query: bytes = self.scope["query_string"]
        return query

    def origin(self, public_url: str | None) -> str:
        """Returns the scheme and host that the caller used; an invalid Host header is replaced by `localhost`."""
        host = self.headers.get(b"host", b"").decode("latin-1")
        return public_url or f"{self.scope.get('scheme', 'http')}://{host if _HOST.fullmatch(host) else 'localhost'}"

    def url(self, public_url: str | None) -> str:
        """Returns the absolute URL of this request, with its query."""
        query = f"?{self.query_string.decode('latin-1')}" if self.query_string else ""
        return self.origin(public_url) + quote(str(self.scope["path"])) + query

    @property
    def params(self) -> Mapping[str, Any]:
        """The query and body parameters as one nested mapping; the query takes precedence."""
        if self._params is None:
            self._params = (
                {**self.body_params(), **read_form(self.query_string)} if self.query_string or self.body else {}
            )
        return self._params

    @property
    def query(self) -> Mapping[str, Any]:
        """The query parameters only."""
        return read_form(self.query_string)

    def body_params(self) -> Mapping[str, Any]:
        """Returns the body parameters only, for values that must not be sent in a URL."""
        if self._body_params is None:
            self._body_params = self._read_params() if self.body else {}
        return self._body_params

    def _read_params(self) -> Mapping[str, Any]:
        if self.is_form:
            return read_form(self.body, self.most_params)
        if self._media_type() == MULTIPART:
            return build_tree(self._upload().fields)
        value = load_json(self.body)
        if not isinstance(value, dict):
            raise Malformed("The body must be a JSON object.")
        return value

    def form_fields(self) -> list[tuple[str, str]]:
        """Returns the fields of an encoded form in their order, as sent; empty for any other body."""
        return parse_qsl(self.body.decode("ascii"), keep_blank_values=True) if self.is_form else []

    def file(self, *names: str) -> bytes | None:
        """Returns the uploaded file under the first of these names that is present; of several, the last one."""
        return next((files[-1] for name in names if (files := self.files(name))), None)

    def files(self, name: str) -> list[bytes]:
        """Returns all files uploaded under this name."""
        files = self._upload().files if self._media_type() == MULTIPART else ()
        return [data for field, data in files if field == name]

    def _upload(self) -> Parts:
        if self._parts is None:
            most = self.most_params if self.most_params > MAX_PARAMS else MAX_PARTS
            self._parts = read_parts(self.headers.get(b"content-type", b""), self.body, most)
        return self._parts

    @property
    def is_form(self) -> bool:
        return self._media_type() == _FORM

    def _media_type(self) -> str:
        return self.headers.get(b"content-type", b"").decode("latin-1").partition(";")[0].strip().lower()

    def check_head(self) -> None:
        """Checks the URL and header limits, independently of any proxy in front of the application."""
        if len(self.scope.get("raw_path") or self.scope["path"]) > MAX_PATH or len(self.query_string) > MAX_QUERY:
            raise UriTooLong()
        if sum(map(len, chain.from_iterable(self.scope["headers"]))) > MAX_HEADERS:
            raise HeadersTooLarge()
        # The server decodes chunked transfer encoding only.
        if self.headers.get(b"transfer-encoding", b"chunked").strip().lower() != b"chunked":
            raise Malformed("The only supported Transfer-Encoding is chunked.")

    async def read_body(self, limit: int, media: Sequence[str] = PARAMETERS) -> None:
        """Reads the body and enforces the limit on the received bytes, not on the Content-Length header."""
        self._is_read = True
        if not self.has_body:
            return
        try:
            async with asyncio.timeout(BODY_SECONDS + limit // MIN_BODY_RATE):
                self.body = await self._gather(limit)
        except TimeoutError:
            raise Malformed("The body did not arrive in time.") from None
        if self.body:
            self._check_media(media)

    async def chunks(self) -> AsyncGenerator[bytes]:
        """Yields the chunks of an NDJSON body: no limit on the total size, and a timeout for each chunk."""
        if not self.has_body:
            return
        self._check_media(LINES)
        while not self._is_read:
            message = await self._next()
            self._is_read = not message.get("more_body", False)
            yield message.get("body", b"")

    async def read_fields(self, limit: int) -> None:
        """Reads the fields of a form up to its file, whose data `file_chunks` yields; other forms as a whole."""
        if self._media_type() != MULTIPART or not self.has_body:
            await self.read_body(limit)
            return
        self._check_media(FILE)
        self._file = FileStream(self.headers.get(b"content-type", b""))
        while not self._is_read and not self._file.has_file:
            await self._feed(self._file)
        self._body_params = build_tree(self._file.fields)

    async def file_chunks(self) -> AsyncGenerator[bytes]:
        """Yields the data of the file of a form: no limit on the total size, and a timeout for each chunk."""
        if self._file is None:
            return
        yield self._file.take()
        while not self._is_read:
            await self._feed(self._file)
            yield self._file.take()

    async def _feed(self, file: FileStream) -> None:
        message = await self._next()
        file.write(message.get("body", b""))
        if not message.get("more_body", False):
            self._is_read = True
            file.end()

    async def _next(self) -> Message:
        try:
            async with asyncio.timeout(BODY_SECONDS):
                message = await self._receive()
        except TimeoutError:
            self._is_read = True
            raise Malformed("The body did not arrive in time.") from None
        if message["type"] == "http.disconnect":
            self._is_read = True
            raise Malformed("The body is incomplete.")
        return message

    async def wait_for_end(self) -> None:
        """Waits until the client disconnects; the body must have been read or not be needed."""
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def discard_body(self) -> None:
        """Reads and drops an unused body: a proxy that is still sending would report a broken connection instead."""
        if self._is_read or not self.has_body:
            return
        self._is_read = True
        with contextlib.suppress(TimeoutError, Malformed, TooLarge):
            async with asyncio.timeout(BODY_SECONDS):
                await self._gather(0)

    @property
    def has_body(self) -> bool:
        content_length = self.headers.get(b"content-length")
        return content_length != b"0" and (content_length is not None or b"transfer-encoding" in self.headers)

    async def _gather(self, limit: int) -> bytes:
        chunks, size = [], 0
        while True:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise Malformed("The body is incomplete.")
            chunk = message.get("body", b"")
            size += len(chunk)
            if size > limit + MAX_DISCARDED:
                raise TooLarge(limit)
            # A client that is still sending would miss the reply, so some excess is read and dropped.
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
