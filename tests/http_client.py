"""HTTP connections that stay open from test to test."""

import asyncio
import select
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress

import httpx2

# Tests use plain HTTP. By default a client loads every certificate of the machine, which takes 50 ms.
NO_CERTIFICATES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

# A burst of a test arrives at once, however large it is.
ANY_NUMBER = httpx2.Limits(max_connections=None, max_keepalive_connections=100)

_MOST_IDLE = 4
_LONGEST_HEAD = 1 << 20
Address = tuple[str, int]


class Connection:
    """One connection to a shop, which sends requests one after another."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self._writer = writer
        self._poll = select.poll()
        self._poll.register(writer.get_extra_info("socket").fileno(), select.POLLIN)

    @property
    def is_idle(self) -> bool:
        """Whether the next request can be sent: nothing arrives between two requests but the end of the connection."""
        return not self.reader.at_eof() and not self._writer.is_closing() and not self._poll.poll(0)

    def close(self) -> None:
        self._writer.close()

    async def disconnect(self) -> None:
        """Closes the connection before it returns, so that a test may block its event loop to wait for the shop."""
        self._writer.close()
        with suppress(OSError):
            await self._writer.wait_closed()

    async def send_request(self, request: httpx2.Request) -> None:
        lines = [b"%s %s HTTP/1.1" % (request.method.encode(), request.url.raw_path)]
        lines += [b"%s: %s" % field for field in request.headers.raw]
        self._writer.write(b"\r\n".join([*lines, b"", b""]))
        is_chunked = "transfer-encoding" in request.headers
        assert isinstance(request.stream, httpx2.AsyncByteStream)
        async for part in request.stream:
            if part:
                self._writer.write(b"%x\r\n%s\r\n" % (len(part), part) if is_chunked else part)
        if is_chunked:
            self._writer.write(b"0\r\n\r\n")
        await self._writer.drain()

    async def read_head(self) -> tuple[int, bytes, list[tuple[bytes, bytes]]]:
        """The status, its name and the headers; skips an interim response."""
        while True:
            first, *lines = (await self.reader.readuntil(b"\r\n\r\n"))[:-4].split(b"\r\n")
            _, status, *name = first.split(b" ", 2)
            if status != b"100":
                fields = (line.split(b":", 1) for line in lines)
                return int(status), b"".join(name), [(field, value.strip()) for field, value in fields]


@contextmanager
def _transport_errors() -> Iterator[None]:
    """Raises the errors of a connection as those of the HTTP client."""
    try:
        yield
    except TimeoutError as error:
        raise httpx2.ReadTimeout("the response takes too long") from error
    except (OSError, asyncio.IncompleteReadError) as error:
        raise httpx2.RemoteProtocolError(f"the connection ends before the response: {error!r}") from error


class Body(httpx2.AsyncByteStream):
    """The body of a response, read as it arrives. Read to its end, it gives the connection back."""

    def __init__(
        self, transport: "SharedTransport", address: Address, connection: Connection, seconds: float | None
    ) -> None:
        self._transport = transport
        self._address = address
        self._connection = connection
        self._seconds = seconds
        self._is_complete = False
        self.is_last = False
        """Whether the shop closes the connection after it."""
        self.length: int | None = 0
        """None: it is sent in chunks."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while not self._is_complete:
            with _transport_errors():
                async with asyncio.timeout(self._seconds):
                    part = await self._read_part()
            yield part

    async def _read_part(self) -> bytes:
        reader = self._connection.reader
        if self.length is not None:
            self._is_complete = True
            return await reader.readexactly(self.length)
        size = int(await reader.readuntil(b"\r\n"), 16)
        part = (await reader.readexactly(size + 2))[:-2]
        self._is_complete = size == 0
        return part

    async def aclose(self) -> None:
        if self._is_complete and not self.is_last:
            self._transport.give_back(self._address, self._connection)
        else:
            await self._connection.disconnect()


class SharedTransport(httpx2.AsyncBaseTransport):
    """A connection pool that the end of a client does not close. A request takes it a third of the time of the pool of
    the library, which checks and locks for many more cases; the suite sends more than a hundred thousand.
    """

    def __init__(self) -> None:
        self._idle: dict[Address, list[Connection]] = {}

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        address = (request.url.host, request.url.port or 80)
        seconds = request.extensions.get("timeout", {}).get("read")
        connection = await self._connect(address)
        try:
            with _transport_errors():
                async with asyncio.timeout(seconds):
                    await connection.send_request(request)
                    status, name, headers = await connection.read_head()
        except BaseException:
            connection.close()
            raise
        body = Body(self, address, connection, seconds)
        fields = {field.lower(): value for field, value in headers}
        body.is_last = fields.get(b"connection", b"").lower() == b"close"
        if request.method != "HEAD" and status not in {204, 304}:
            body.length = None if b"transfer-encoding" in fields else int(fields[b"content-length"])
        extensions = {"http_version": b"HTTP/1.1", "reason_phrase": name}
        return httpx2.Response(status, headers=headers, stream=body, extensions=extensions)

    async def _connect(self, address: Address) -> Connection:
        idle = self._idle.get(address, [])
        while idle:
            connection = idle.pop()
            if connection.is_idle:
                return connection
            connection.close()
        try:
            return Connection(*await asyncio.open_connection(*address, limit=_LONGEST_HEAD))
        except OSError as error:
            raise httpx2.ConnectError(str(error)) from error

    def give_back(self, address: Address, connection: Connection) -> None:
        idle = self._idle.setdefault(address, [])
        if connection.is_idle and len(idle) < _MOST_IDLE:
            idle.append(connection)
        else:
            connection.close()

    async def close(self) -> None:
        for connections in self._idle.values():
            for connection in connections:
                connection.close()
