"""Is the process alive, may it be sent traffic, and how is it doing."""

import asyncio
from collections.abc import Callable, Iterable
from pathlib import Path

from prometheus_client import CONTENT_TYPE_LATEST

from shop.actions.context import Context
from shop.base.errors import NotFound, Unavailable
from shop.queries import setup
from shop.web.endpoint import Handler
from shop.web.metrics import exposition
from shop.web.reply import NO_STORE, Reply, json_reply
from shop.web.request import Request

READY_SECONDS = 1


async def live(_request: Request, _ctx: Context) -> Reply:
    return json_reply({"status": "alive"})


def ready(is_stopping: Callable[[], bool], outdated: frozenset[str]) -> Handler:
    """Ready: not about to stop, and the database answers and is not behind this program's migrations. Without keys
    there is no process that could be asked.
    """

    async def answer(_request: Request, ctx: Context) -> Reply:
        if is_stopping():
            raise Unavailable()
        try:
            async with asyncio.timeout(READY_SECONDS):
                revision = await setup.find_revision(ctx.db)
        except TimeoutError:
            raise Unavailable() from None
        if revision is None or revision in outdated:
            raise Unavailable()
        return json_reply({"status": "ready"})

    return answer


def metrics(others: Callable[[], Iterable[Path]]) -> Handler:
    """Numbers of all workers together. Open to requests of a try-out, otherwise only with SHOP_METRICS=public."""

    async def answer(_request: Request, ctx: Context) -> Reply:
        if ctx.shared.settings.metrics != "public" and not ctx.is_try_out:
            raise NotFound("There is no such address.")
        return Reply(200, exposition(others()), ((b"content-type", CONTENT_TYPE_LATEST.encode()), NO_STORE))

    return answer
