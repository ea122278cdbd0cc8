"""Runs actions from the command line, with or without a running shop on the same database."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import shop.platform.resources.registry  # noqa: F401  Links the records, whose relations the event log stores.
from shop.actions.context import Context, Shared
from shop.app.configuration import read_keys
from shop.base.actor import Actor
from shop.base.config.settings import Settings
from shop.base.errors import CannotStart, Invalid, ShopError
from shop.cli.prepare import database, ensure_keys, ensure_migrated
from shop.db.pool import open_database
from shop.queries.setup import shop as shop_queries

T = TypeVar("T")


def run_action(settings: Settings, work: Callable[[Context], Awaitable[T]]) -> T:
    """Runs one action with the command line as its actor."""
    with ready_database(settings) as url:
        return run_action_on(url, settings, work)


@contextmanager
def ready_database(settings: Settings) -> Iterator[str]:
    """Yields the URL of a running, migrated database, for several actions."""
    with database(settings) as (url, embedded):
        ensure_migrated(url, may_upgrade=embedded is not None)
        ensure_keys(settings, url)
        yield url


def run_action_on(
    url: str, settings: Settings, work: Callable[[Context], Awaitable[T]], *, is_try_out: bool = False
) -> T:
    """Runs an action, like `run_action`, on a database that already runs and is migrated."""
    return asyncio.run(_act(settings, url, work, is_try_out=is_try_out))


async def _act(settings: Settings, url: str, work: Callable[[Context], Awaitable[T]], *, is_try_out: bool) -> T:
    db = open_database(url, size=2, is_prepared=settings.is_prepared)
    try:
        shop = await shop_queries.find_shop(db.session())
        if shop is None:
            raise CannotStart("The database contains no shop; run `shop migrate`.")
        shared = Shared(db, read_keys(settings), shop, settings, asyncio.Event(), is_try_out=is_try_out)
        ctx = Context(shared)
        ctx.actor = Actor("command line")
        return await work(ctx)
    except Invalid as error:
        raise CannotStart(" ".join(sentence for sentences in error.errors.values() for sentence in sentences)) from None
    except ShopError as error:
        raise CannotStart(error.sentence) from None
    finally:
        await db.close()
