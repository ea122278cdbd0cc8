"""Loads what the shop is from the database and the key file, and follows changes that other processes make."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import TypeVar

import structlog

from shop.actions.access import server_keys
from shop.actions.context import Shared
from shop.base.crypto.key_file import KeyFileWatch
from shop.base.errors import CannotStart, Unavailable
from shop.models.setup.shop import Shop
from shop.queries.setup import shop as shop_queries
from shop.web.endpoint import EndpointContext

RETRY_SECONDS = 0.2
T = TypeVar("T")


async def load_shop(shared: Shared) -> Shop:
    """Returns the shop once the database answers."""
    shop = await retry_until_available(lambda: shop_queries.find_shop(shared.database.session()))
    if shop is None:
        raise CannotStart("The database contains no shop; run `shop migrate`.")
    return shop


async def retry_until_available(work: Callable[[], Awaitable[T]]) -> T:
    """Retries until the database answers; a worker that exits during a database recovery makes the parent give up."""
    is_logged = False
    while True:
        try:
            return await work()
        except Unavailable:
            if not is_logged:
                structlog.get_logger("shop").warning("worker waits for the database", pid=os.getpid())
                is_logged = True
            await asyncio.sleep(RETRY_SECONDS)


async def follow_shop_changes(endpoint_context: EndpointContext) -> None:
    """Reloads the shop's settings when another process changes them."""
    while True:
        await endpoint_context.shared.work_signals.wait("shop")
        try:
            shop = await shop_queries.find_shop(endpoint_context.shared.database.session())
            if shop and shop.version != endpoint_context.shared.shop.version:
                await server_keys.load_void_keys(endpoint_context.shared)
        except Unavailable:
            continue
        except Exception:
            structlog.get_logger("shop").exception("the settings cannot be read")
            continue
        if shop and shop.version != endpoint_context.shared.shop.version:
            endpoint_context.shared.shop = shop


def adopt_changed_keys(watch: KeyFileWatch, shared: Shared) -> None:
    """Switches to the keys of a changed file; an unreadable file changes nothing."""
    log = structlog.get_logger("shop")
    try:
        keys = watch.changed_keys()
    except (CannotStart, OSError) as reason:
        log.error("the secret keys cannot be read", reason=str(reason))
        return
    if keys:
        shared.keys = keys.with_void_keys(shared.keys.void)
        log.info("secret keys changed", keys=repr(keys))
