"""A TCP proxy on loopback in front of a PostgreSQL socket, which can fail as a network fails."""

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit


class TcpProxy:
    """Runs in another thread, so that it forwards while a test blocks."""

    def __init__(self, socket: Path) -> None:
        self._socket = socket
        self._loop = asyncio.new_event_loop()
        self._flowing = asyncio.Event()
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.port = 0
        self.accept()

    def url(self, database: str = "shop") -> str:
        return f"postgresql://shop@127.0.0.1:{self.port}/{database}?sslmode=disable"

    def accept(self) -> None:
        """Forwards, or forwards again."""
        self._run(self._accept())

    def hang(self) -> None:
        """Silently forwards nothing more; accepts new connections, and sends nothing over them."""
        self._loop.call_soon_threadsafe(self._flowing.clear)

    def refuse_new(self) -> None:
        """Refuses new connections, and keeps the others."""
        self._run(self._refuse_new())

    def refuse(self) -> None:
        """Ends all connections, and refuses new ones."""
        self._run(self._refuse())

    def close(self) -> None:
        self.refuse()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    async def _accept(self) -> None:
        self._flowing.set()
        if self._server is None:
            self._server = await asyncio.start_server(self._forward, "127.0.0.1", self.port)
            self.port = self._server.sockets[0].getsockname()[1]

    async def _refuse_new(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None

    async def _refuse(self) -> None:
        await self._refuse_new()
        for writer in self._writers:
            writer.transport.abort()
        self._flowing.set()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        with suppress(OSError, asyncio.CancelledError):
            await self._flowing.wait()
            server_reader, server_writer = await asyncio.open_unix_connection(str(self._socket))
            self._writers.add(server_writer)
            await asyncio.gather(self._pump(reader, server_writer), self._pump(server_reader, writer))

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(1 << 16):
                await self._flowing.wait()
                writer.write(data)
                await writer.drain()
        finally:
            writer.close()


@contextmanager
def proxy_to(url: str) -> Iterator[TcpProxy]:
    """A proxy in front of the embedded server with this URL."""
    (directory,) = parse_qs(urlsplit(url).query)["host"]
    proxy = TcpProxy(Path(directory) / ".s.PGSQL.5432")
    try:
        yield proxy
    finally:
        proxy.close()
