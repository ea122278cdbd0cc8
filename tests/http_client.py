"""HTTP connections that stay open from test to test."""

import asyncio
import select
import ssl
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2

# Tests use plain HTTP. By default a client loads every certificate of the machine, which takes 50 ms.
NO_CERTIFICATES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

# A burst of a test arrives at once, however large it is.
ANY_NUMBER = httpx2.Limits(max_connections=None, max_keepalive_connections=100)

_Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class SharedTransport(httpx2.AsyncBaseTransport):
    """Connections that the end of a client does not close. A request takes half of the CPU time of the default
    transport, which handles a chunked request body and everything that tests do without this one.
    """

    def __init__(self) -> None:
        self._default = httpx2.AsyncHTTPTransport(verify=NO_CERTIFICATES, limits=ANY_NUMBER)
        self._idle: dict[tuple[str, int | None], list[_Connection]] = defaultdict(list)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if "transfer-encoding" in request.headers:
            return await self._default.handle_async_request(request)
        try:
            async with (
                asyncio.timeout(request.extensions["timeout"]["read"]),
                self._borrow_connection(request.url) as (reader, writer),
            ):
                await _send(writer, request)
                return await _receive(reader, request.method)
        except TimeoutError as error:
            raise httpx2.ReadTimeout(str(error), request=request) from error
        except (OSError, EOFError) as error:
            raise httpx2.ReadError(str(error), request=request) from error

    @asynccontextmanager
    async def _borrow_connection(self, url: httpx2.URL) -> AsyncIterator[_Connection]:
        """An open connection, or a new one; it is closed after an error."""
        idle = self._idle[url.host, url.port]
        while idle and not _is_open(*idle[-1]):
            idle.pop()[1].close()
        connection = idle.pop() if idle else await asyncio.open_connection(url.host, url.port)
        try:
            yield connection
        except BaseException:
            connection[1].close()
            raise
        idle.append(connection)

    async def close(self) -> None:
        await self._default.aclose()
        for _, writer in (connection for idle in self._idle.values() for connection in idle):
            writer.close()


def _is_open(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    """Whether an idle connection can be used. The event loop may not have run since the server closed it; its socket is
    readable then.
    """
    if reader.at_eof() or writer.is_closing():
        return False
    poll = select.poll()
    poll.register(writer.get_extra_info("socket").fileno(), select.POLLIN)
    return not poll.poll(0)


async def _send(writer: asyncio.StreamWriter, request: httpx2.Request) -> None:
    assert isinstance(request.stream, httpx2.AsyncByteStream)
    lines = [b"%s %s HTTP/1.1" % (request.method.encode(), request.url.raw_path)]
    lines += [b"%s: %s" % header for header in request.headers.raw]
    writer.write(b"\r\n".join([*lines, b"", b""]) + b"".join([part async for part in request.stream]))


async def _receive(reader: asyncio.StreamReader, method: str) -> httpx2.Response:
    first, *lines = (await reader.readuntil(b"\r\n\r\n"))[:-4].split(b"\r\n")
    headers = httpx2.Headers([(name, value.strip()) for name, _, value in (line.partition(b":") for line in lines)])
    status = int(first.split(b" ", 2)[1])
    if method == "HEAD" or status in (204, 304):
        body = b""
    elif headers.get("transfer-encoding") == "chunked":
        body = b"".join([part async for part in _read_chunks(reader)])
    else:
        body = await reader.readexactly(int(headers["content-length"]))
    if headers.get("connection") == "close":
        reader.feed_eof()
    return httpx2.Response(status, headers=headers, stream=httpx2.ByteStream(body))


async def _read_chunks(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    while size := int(await reader.readuntil(b"\r\n"), 16):
        yield (await reader.readexactly(size + 2))[:-2]
    await reader.readexactly(2)
