"""`shop worker`: runs the background loops without serving."""

import asyncio
import contextlib
import signal

import click

import shop.platform.resources.registry  # noqa: F401  Links the records, whose relations the event log stores.
from shop.actions.context import Shared
from shop.app.configuration import read_keys
from shop.app.extensions import load_extensions
from shop.app.heartbeat import WATCH_SECONDS
from shop.app.shop_settings import adopt_changed_keys
from shop.base.config.settings import Settings
from shop.base.crypto.key_file import KEY_FILE, KeyFileWatch
from shop.base.errors import CannotStart
from shop.cli.extensions.prepare import ensure_extensions
from shop.cli.prepare import database, ensure_mail, ensure_migrated, ensure_pooler, load_settings
from shop.db.pool import open_database
from shop.queries.setup import shop as shop_queries
from shop.web.log import configure_logging
from shop.worker import build_mailer, work


@click.command(epilog="Example: SHOP_SMTP_URL=smtp://mail.example:587 shop worker")
def worker() -> None:
    """Run the background tasks without serving, until SIGTERM or Ctrl-C: e-mail delivery, payments and housekeeping.

    Every `shop serve` runs them too.
    """
    settings = load_settings()
    ensure_mail(settings, "127.0.0.1")
    configure_logging(settings.log_level, settings.log_format)
    with database(settings) as (url, embedded):
        ensure_migrated(url, may_upgrade=embedded is not None)
        ensure_pooler(settings)
        ensure_extensions(settings, url, may_upgrade=embedded is not None)
        asyncio.run(_work(settings, url))


async def _work(settings: Settings, url: str) -> None:
    db = open_database(url, size=2, is_prepared=settings.is_prepared)
    try:
        shop = await shop_queries.find_shop(db.session())
        if shop is None:
            raise CannotStart("The database contains no shop; run `shop migrate`.")
        # Watch before reading the keys, so that no change is missed.
        key_file = KeyFileWatch(settings.data_dir / KEY_FILE)
        # The worker does not listen, so only the settings decide whether this is a try-out.
        is_try_out = settings.is_try_out("127.0.0.1")
        shared = Shared(
            db,
            read_keys(settings),
            shop,
            settings,
            asyncio.Event(),
            extensions=load_extensions(settings).installed_extensions,
            is_try_out=is_try_out,
        )
        watching = None if settings.secret_keys else asyncio.create_task(_watch_keys(key_file, shared))
        task = asyncio.create_task(work(shared, build_mailer(settings)))
        for name in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(name, task.cancel)
        click.echo("The worker is running.", err=True)
        with contextlib.suppress(asyncio.CancelledError):
            await task
        if watching:
            watching.cancel()
    finally:
        await db.close()


async def _watch_keys(key_file: KeyFileWatch, shared: Shared) -> None:
    while True:
        await asyncio.sleep(WATCH_SECONDS)
        adopt_changed_keys(key_file, shared)
