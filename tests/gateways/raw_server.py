"""A server on loopback that answers byte by byte as a test wants, and counts its connections."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

Handler = Callable[["Exchange"], Awaitable[None]]


class Exchange:
    """One connection: its requests, and the means to answer them."""

    def __init__(self, server: "RawServer", reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._server = server
        self.reader = reader
        self.writer = writer

    async def read_request(self) -> bytes:
        """Returns the head and body of the next request; empty if the client has closed the connection."""
        try:
            head = await self.reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:
            return b""
        lengths = [
            line.partition(b":")[2] for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")
        ]
        request = head + (await self.reader.readexactly(int(lengths[0])) if lengths else b"")
        self._server.requests.append(request)
        return request

    async def write(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()
        self._server.bytes_sent += len(data)

    async def wait_for_close(self) -> None:
        """Reads until the client closes the connection."""
        with suppress(ConnectionError, ssl.SSLError):
            while await self.reader.read(65536):
                pass

    def reset(self) -> None:
        self.writer.transport.abort()


class RawServer:
    """Runs a handler for each connection."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self.port = 0
        self.connections = 0
        self.open = 0
        self.most_open = 0
        self.bytes_sent = 0
        self.requests: list[bytes] = []
        self._changes = asyncio.Condition()

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._count(1)
        try:
            await self._handler(Exchange(self, reader, writer))
        except (ConnectionError, RuntimeError):
            # The client has closed the connection; uvloop reports the next write as a RuntimeError.
            pass
        finally:
            writer.close()
            with suppress(ConnectionError, ssl.SSLError):
                await writer.wait_closed()
            await self._count(-1)

    async def _count(self, change: int) -> None:
        async with self._changes:
            self.connections += change > 0
            self.open += change
            self.most_open = max(self.most_open, self.open)
            self._changes.notify_all()

    async def wait_for_connections(self, number: int) -> None:
        """Waits until this number of connections is open."""
        async with asyncio.timeout(20), self._changes:
            await self._changes.wait_for(lambda: self.open == number)

    async def wait_for_total(self, number: int) -> None:
        """Waits until this number of connections has been opened in all."""
        async with asyncio.timeout(20), self._changes:
            await self._changes.wait_for(lambda: self.connections >= number)

    def url(self, host: str = "hooks.example", scheme: str = "http", path: str = "/hooks?a=1") -> str:
        return f"{scheme}://{host}:{self.port}{path}"


@asynccontextmanager
async def raw_server(
    handler: Handler, tls: ssl.SSLContext | None = None, address: str = "127.0.0.1", port: int = 0
) -> AsyncIterator[RawServer]:
    server = RawServer(handler)
    listener = await asyncio.start_server(server, address, port, ssl=tls, backlog=256)
    server.port = listener.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listener.close()
        await server.wait_for_connections(0)
        await listener.wait_closed()


def response(status: str = "200 OK", body: bytes = b"ok", **headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


def answer(data: bytes) -> Handler:
    """Answers every request with these bytes, and keeps the connection open."""

    async def handle(exchange: Exchange) -> None:
        while await exchange.read_request():
            await exchange.write(data)

    return handle


async def hang(exchange: Exchange) -> None:
    """Reads, and never answers."""
    await exchange.wait_for_close()
