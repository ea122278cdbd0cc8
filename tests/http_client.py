"""Connections of one client after another, and the short way over them: what a test sends and is answered is plain, and
the general way of a client takes most of its time.
"""

import asyncio
import json as plain_json
import re
import ssl
from time import monotonic
from typing import Any
from urllib.parse import urlencode

import httpx

from tests.contract import check_response
from tests.secrets_seen import NotingAsyncClient, note_exchange

# Shops are served in plain HTTP here. A client of its own accord reads every certificate of the machine, for 50 ms.
NO_CERTIFICATES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
_LONGEST = 1 << 26
_IDLE_SECONDS = 5
"""How long a connection is kept that nobody uses: a shop closes it some seconds later."""
# What no client would write in another way.
_PLAIN_PATH = re.compile(r"/(?:[\w/.~=&?,:+-]|%[0-9A-F]{2})*", re.ASCII)
_Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Kept(httpx.AsyncBaseTransport):
    """Connections that the end of a client does not close."""

    def __init__(self) -> None:
        self._general = httpx.AsyncHTTPTransport(verify=NO_CERTIFICATES)
        self._idle: dict[bytes, list[tuple[float, _Streams]]] = {}

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if not hasattr(request, "_content"):
            return await self._general.handle_async_request(request)
        sent = _as_sent(request.method, request.url.raw_path, request.headers.raw, request.content)
        return await self.exchange(request.url, request.method, sent, request.extensions["timeout"]["read"])

    async def exchange(self, url: httpx.URL, method: str, sent: bytes, seconds: float) -> httpx.Response:
        """What the server at this address answers to these bytes."""
        idle = self._idle.setdefault(url.netloc, [])
        reader, writer = await _open(url, idle)
        is_kept = False
        try:
            async with asyncio.timeout(seconds):
                writer.write(sent)
                response, is_kept = await _answer(reader, method)
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            raise httpx.RemoteProtocolError(f"no whole answer: {error}") from error
        except TimeoutError as error:
            raise httpx.ReadTimeout("no answer in time") from error
        finally:
            if is_kept:
                idle.append((monotonic(), (reader, writer)))
            else:
                writer.close()
        return response

    async def close(self) -> None:
        writers = [writer for idle in self._idle.values() for _, (_, writer) in idle]
        for writer in writers:
            writer.close()
        await asyncio.gather(*(writer.wait_closed() for writer in writers))
        await self._general.aclose()


class KeptClient(NotingAsyncClient):
    """Sends what a test says in a path, headers and JSON as any client would; whatever else it says, goes the general
    way.
    """

    def __init__(self, kept: Kept, base_url: str, timeout: float) -> None:
        super().__init__(base_url=base_url, verify=NO_CERTIFICATES, timeout=timeout, transport=kept)
        self._kept, self._seconds = kept, timeout
        self._host = {"host": self.base_url.netloc.decode()}

    async def request(
        self,
        method: str,
        url: Any,
        *,
        headers: Any = None,
        params: Any = None,
        json: Any = None,
        data: Any = None,
        **more: Any,
    ) -> httpx.Response:
        is_named = isinstance(headers, dict) and all(isinstance(name, str) for name in headers)
        own = {name.lower(): value for name, value in headers.items()} if is_named else {}
        path = f"{url}?{httpx.QueryParams(params)}" if params and "?" not in str(url) else url
        is_plain = (
            not any(value is not None and value is not httpx.USE_CLIENT_DEFAULT for value in more.values())
            and (headers is None or len(own) == len(headers))
            and (params is None or path is not url)
            and (data is None or _is_text(data))
            and not self.cookies.jar
            and isinstance(url, str)
            and _PLAIN_PATH.fullmatch(path)
        )
        if not is_plain:
            return await super().request(method, url, headers=headers, params=params, json=json, data=data, **more)
        kind, body = _as_body(json, data)
        if body is not None:
            own = {"content-length": str(len(body)), "content-type": kind, **own}
        elif method in {"POST", "PUT", "PATCH"}:
            own = {"content-length": "0", **own}
        fields = [(name.encode(), _bytes(value)) for name, value in {**self._host, **self.headers, **own}.items()]
        sent = _as_sent(method, path.encode(), fields, body or b"")
        response = await self._kept.exchange(self.base_url, method, sent, self._seconds)
        note_exchange(path, sent, response)
        check_response(method, path, response)
        if "set-cookie" in response.headers:
            response.request = self.build_request(method, url)
            self.cookies.extract_cookies(response)
        return response


def _is_text(data: Any) -> bool:
    return isinstance(data, dict) and all(isinstance(value, str) for value in data.values())


def _as_body(json: Any, data: dict[str, Any] | None) -> tuple[str, bytes | None]:
    if json is not None:
        text = plain_json.dumps(json, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        return "application/json", text.encode()
    return "application/x-www-form-urlencoded", urlencode(data).encode() if data else None


def _bytes(value: str | bytes) -> bytes:
    return value if isinstance(value, bytes) else value.encode()


async def _open(url: httpx.URL, idle: list[tuple[float, _Streams]]) -> _Streams:
    while idle:
        since, (reader, writer) = idle.pop()
        if monotonic() - since < _IDLE_SECONDS and not reader.at_eof() and not writer.is_closing():
            return reader, writer
        writer.close()
    return await asyncio.open_connection(url.host, url.port, limit=_LONGEST)


def _as_sent(method: str, path: bytes, fields: list[tuple[bytes, bytes]], body: bytes) -> bytes:
    lines = [b"%s %s HTTP/1.1" % (method.encode(), path), *(b"%s: %s" % field for field in fields)]
    return b"\r\n".join([*lines, b"", body])


async def _answer(reader: asyncio.StreamReader, method: str) -> tuple[httpx.Response, bool]:
    """The answer, and whether another may follow on the same connection."""
    first, *lines = (await reader.readuntil(b"\r\n\r\n"))[:-4].split(b"\r\n")
    status = int(first.split(b" ", 2)[1])
    fields = [(name, value) for name, _, value in (line.partition(b": ") for line in lines)]
    told = dict(fields)
    if method == "HEAD" or status in {204, 304}:
        content = b""
    elif told.get(b"transfer-encoding") == b"chunked":
        content = await _chunks(reader)
    else:
        content = await reader.readexactly(int(told[b"content-length"]))
    response = httpx.Response(status, headers=fields, stream=httpx.ByteStream(content))
    response.read()
    return response, told.get(b"connection") != b"close"


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    parts = []
    while size := int(await reader.readuntil(b"\r\n"), 16):
        parts.append((await reader.readexactly(size + 2))[:-2])
    await reader.readuntil(b"\r\n")
    return b"".join(parts)
