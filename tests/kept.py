"""Connections of one client after another, and the short way over them: what a test sends and is answered is plain, and
the general way of a client takes most of its time.
"""

import asyncio
import ssl

import httpx

# Shops are served in plain HTTP here. A client of its own accord reads every certificate of the machine, for 50 ms.
NO_CERTIFICATES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
_LONGEST = 1 << 26
_Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Kept(httpx.AsyncBaseTransport):
    """Connections that the end of a client does not close."""

    def __init__(self) -> None:
        self._general = httpx.AsyncHTTPTransport(verify=NO_CERTIFICATES)
        self._idle: dict[bytes, list[_Streams]] = {}

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if not hasattr(request, "_content"):
            return await self._general.handle_async_request(request)
        idle = self._idle.setdefault(request.url.netloc, [])
        reader, writer = await _open(request.url, idle)
        is_kept = False
        try:
            async with asyncio.timeout(request.extensions["timeout"]["read"]):
                writer.write(_as_sent(request))
                response = await _answer(reader, request.method)
            is_kept = response.headers.get("connection") != "close"
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            raise httpx.RemoteProtocolError(f"no whole answer: {error}", request=request) from error
        except TimeoutError as error:
            raise httpx.ReadTimeout("no answer in time", request=request) from error
        finally:
            if is_kept:
                idle.append((reader, writer))
            else:
                writer.close()
        return response

    async def close(self) -> None:
        writers = [writer for idle in self._idle.values() for _, writer in idle]
        for writer in writers:
            writer.close()
        await asyncio.gather(*(writer.wait_closed() for writer in writers))
        await self._general.aclose()


async def _open(url: httpx.URL, idle: list[_Streams]) -> _Streams:
    while idle:
        reader, writer = idle.pop()
        if not reader.at_eof() and not writer.is_closing():
            return reader, writer
        writer.close()
    return await asyncio.open_connection(url.host, url.port, limit=_LONGEST)


def _as_sent(request: httpx.Request) -> bytes:
    lines = [b"%s %s HTTP/1.1" % (request.method.encode(), request.url.raw_path)]
    lines += [b"%s: %s" % field for field in request.headers.raw]
    return b"\r\n".join([*lines, b"", request.content])


async def _answer(reader: asyncio.StreamReader, method: str) -> httpx.Response:
    first, *lines = (await reader.readuntil(b"\r\n\r\n"))[:-4].split(b"\r\n")
    status = int(first.split(b" ", 2)[1])
    fields = [line.split(b": ", 1) for line in lines]
    headers = httpx.Headers([(name, value) for name, value in fields])
    if method == "HEAD" or status in {204, 304}:
        content = b""
    elif headers.get("transfer-encoding") == "chunked":
        content = await _chunks(reader)
    else:
        content = await reader.readexactly(int(headers["content-length"]))
    return httpx.Response(status, headers=headers, stream=httpx.ByteStream(content))


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    parts = []
    while size := int(await reader.readuntil(b"\r\n"), 16):
        parts.append((await reader.readexactly(size + 2))[:-2])
    await reader.readuntil(b"\r\n")
    return b"".join(parts)
