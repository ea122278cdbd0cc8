"""Streams a response chunk by chunk, with backpressure, and stops when the client disconnects."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from shop.web.asgi import Send
from shop.web.input.request import Request

SEND_SECONDS = 30


class ClientDisconnected(Exception):
    """The client disconnected or stopped reading. `status` is used in the log."""

    status = 499


async def stream_body(chunks: AsyncGenerator[bytes], request: Request, send: Send) -> None:
    """Sends the chunks. The server accepts chunks after a disconnect without an error, so the disconnect is awaited."""
    disconnect = asyncio.ensure_future(request.wait_for_end())
    try:
        async with aclosing(chunks):
            while (chunk := await _next_chunk(chunks, disconnect)) is not None:
                await _send(send, chunk)
        await send({"type": "http.response.body", "body": b"", "more_body": False})
    finally:
        disconnect.cancel()


async def _next_chunk(chunks: AsyncGenerator[bytes], disconnect: asyncio.Future[None]) -> bytes | None:
    """Returns the next chunk, None at the end. A client that disconnects meanwhile is noticed at once: the next event
    of a stream may come late.
    """
    chunk = asyncio.ensure_future(anext(chunks, None))
    try:
        await asyncio.wait((chunk, disconnect), return_when=asyncio.FIRST_COMPLETED)
        if disconnect.done():
            raise ClientDisconnected()
        return chunk.result()
    finally:
        if not chunk.done():
            chunk.cancel()
            await asyncio.gather(chunk, return_exceptions=True)


async def _send(send: Send, chunk: bytes) -> None:
    try:
        async with asyncio.timeout(SEND_SECONDS):
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
    except TimeoutError:
        raise ClientDisconnected() from None
