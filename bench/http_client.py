"""A small HTTP client for load: keep-alive connections; reads only the status and body of a response."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

CONNECTIONS = 8


class Connection:
    """One connection to a server."""

    def __init__(self, url: str) -> None:
        address = urlsplit(url)
        self._address = (address.hostname or "", address.port or 0)

    async def __aenter__(self) -> "Connection":
        self._reader, self._writer = await asyncio.open_connection(*self._address)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self._writer.close()

    async def send(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """Sends a request; returns the body of a successful response, parsed if it is JSON."""
        head, response = await self.fetch(method, path, body, **headers)
        return json.loads(response) if response and b"json" in head else response or None

    async def fetch(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[bytes, bytes]:
        """Sends a request; returns the head and body of a successful response. Underscores in header names become hyphens."""
        content = b"" if body is None else json.dumps(body).encode()
        lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", f"Content-Length: {len(content)}"]
        lines += ["Content-Type: application/json"] if content else []
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        self._writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + content)
        head = await self._reader.readuntil(b"\r\n\r\n")
        length = next((line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), b":0")
        response = await self._reader.readexactly(int(length.partition(b":")[2]))
        status = int(head.split(b" ", 2)[1])
        if not 200 <= status < 300:
            raise SystemExit(f"bench: {method} {path} was answered {status}: {response.decode()[:500]}")
        return head, response


async def send_all(url: str, work: Iterable[Any], send: Callable[[Connection, Any], Awaitable[Any]]) -> list[Any]:
    """Performs all work over several connections; returns the results in order."""
    pieces = list(work)
    results: list[Any] = [None] * len(pieces)
    waiting = iter(enumerate(pieces))

    async def run() -> None:
        async with Connection(url) as connection:
            for number, piece in waiting:
                results[number] = await send(connection, piece)

    await asyncio.gather(*(run() for _ in range(min(CONNECTIONS, len(pieces)))))
    return results
