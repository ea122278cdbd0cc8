"""`python -m bench.receiver PORT`: receives webhooks, and measures the time from their events to their arrival.

    POST /healthy       is answered at once
    POST /hang, /fail, /drip, /flood    never, with 500, with a byte a second, with 10 MB
    GET /figures        shows count, p50 and p99 in milliseconds, and starts to count again
    GET /count          shows the count

Uses plain sockets: a server library would occupy a core and distort the measurement.
"""

import asyncio
import sys
import time
from datetime import datetime

import msgspec

FLOOD_BYTES = 10_000_000
_PART = b"x" * 100_000


class _Event(msgspec.Struct):
    timestamp: datetime


class Receiver:
    """Counts the requests to the healthy path."""

    def __init__(self) -> None:
        self._milliseconds: list[float] = []
        self._decode = msgspec.json.Decoder(_Event).decode

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                path = head.split(b" ", 2)[1].decode()
                length = next((line for line in head.lower().split(b"\r\n") if line[:15] == b"content-length:"), b":0")
                body = await reader.readexactly(int(length.partition(b":")[2]))
                await self._answer(path, body, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _answer(self, path: str, body: bytes, writer: asyncio.StreamWriter) -> None:
        if path == "/healthy":
            self._milliseconds.append(1000 * (time.time() - self._decode(body).timestamp.timestamp()))
            writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
        elif path in {"/figures", "/count"}:
            content = msgspec.json.encode(self._figures() if path == "/figures" else len(self._milliseconds))
            writer.write(
                b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
                % (len(content), content)
            )
        elif path == "/fail":
            writer.write(b"HTTP/1.1 500 Failed\r\nContent-Length: 0\r\n\r\n")
        elif path == "/flood":
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % FLOOD_BYTES)
            for _ in range(FLOOD_BYTES // len(_PART)):
                writer.write(_PART)
                await writer.drain()
        else:
            await self._hold(path, writer)
        await writer.drain()

    async def _hold(self, path: str, writer: asyncio.StreamWriter) -> None:
        if path == "/drip":
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        while not writer.is_closing():
            writer.write(b"." if path == "/drip" else b"")
            await writer.drain()
            await asyncio.sleep(1)

    def _figures(self) -> dict[str, float]:
        values, self._milliseconds = sorted(self._milliseconds), []
        return {
            "count": len(values),
            "p50": values[len(values) // 2] if values else 0,
            "p99": values[len(values) * 99 // 100] if values else 0,
        }


async def main(port: int) -> None:
    receiver = Receiver()
    async with await asyncio.start_server(receiver.serve, "127.0.0.1", port, limit=1 << 20) as server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
