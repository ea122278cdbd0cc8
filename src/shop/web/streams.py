"""How an answer is sent while it is made: chunk by chunk, no faster than the caller reads, and only while one does."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from starlette.types import Send

from shop.web.request import Request

SEND_SECONDS = 30


class HungUp(Exception):
    """The caller went away or stopped reading. `status` is what such a request is logged with."""

    status = 499


async def pour(chunks: AsyncGenerator[bytes], request: Request, send: Send) -> None:
    """The server says nothing of a chunk that it sends to nobody, so the caller's end is listened for."""
    gone = asyncio.ensure_future(request.wait_for_end())
    try:
        async with aclosing(chunks):
            async for chunk in chunks:
                if gone.done():
                    raise HungUp()
                await _send(send, chunk)
        await send({"type": "http.response.body", "body": b"", "more_body": False})
    finally:
        gone.cancel()


async def _send(send: Send, chunk: bytes) -> None:
    try:
        async with asyncio.timeout(SEND_SECONDS):
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
    except TimeoutError:
        raise HungUp() from None
