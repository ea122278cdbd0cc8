"""How the program is put together: settings, then database, then doors."""

import asyncio
import contextlib
import gc
import os
import shutil
import signal
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import structlog
from starlette.types import ASGIApp, Receive, Scope, Send

from shop.actions.access import server_keys
from shop.actions.context import Context, Shared
from shop.admin.routes import admin_routes
from shop.base.errors import CannotStart, Unavailable
from shop.base.key_file import KEY_FILE, KeyFileWatch, read_key_file
from shop.base.keys import Keys
from shop.base.settings import Settings
from shop.db.embedded import database_url
from shop.db.pool import open_database
from shop.models.setup.shop import Shop
from shop.platform.resources.known import RESOURCES as PLATFORM_RESOURCES
from shop.platform.routes import ROUTES as PLATFORM_ROUTES
from shop.queries.setup import shop as setup
from shop.site import docs, health, reference
from shop.site.routes import site_routes
from shop.storefront.resources.known import DESCRIBED as STOREFRONT_RESOURCES
from shop.storefront.routes import ROUTES as STOREFRONT_ROUTES
from shop.web.endpoint import Frame, Route
from shop.web.log import configure_logging, flush_log
from shop.web.metrics import save_snapshot
from shop.web.reply import Reply
from shop.web.request import Request
from shop.web.router import Router
from shop.worker import postman_for, work

WATCH_SECONDS = 0.2
OPEN_SECONDS = 1.0
SHOP_SECONDS = 1.0
_NO_SHOP = Shop(currencies=[])
"""Stands for the shop until it is read; no handler is let near it before."""

T = TypeVar("T")


class Serving(msgspec.Struct, frozen=True):
    """What the serving process tells its workers."""

    settings: Settings
    host: str
    parent: int
    """The process whose end is the workers' end."""
    run_dir: Path
    """Shared by the workers: `draining` appears in it before a stop, and each leaves its numbers there."""
    outdated: frozenset[str]
    """Migrations that are not the newest one this program has."""

    @property
    def stopping(self) -> Path:
        """Is there when a stop is near."""
        return self.run_dir / "draining"


def make_run_dir(run_dir: Path) -> None:
    """Makes the run directory again after a cleaner of temporary files took it away. Its name is known by then, so that
    another account may have been faster: what is not ours is not written to.
    """
    run_dir.mkdir(mode=0o700, exist_ok=True)
    if run_dir.lstat().st_uid != os.geteuid():
        raise PermissionError(f"{run_dir} belongs to somebody else")


def settled_url(settings: Settings) -> str:
    return settings.database_url or database_url(settings.data_dir)


def read_keys(settings: Settings) -> Keys:
    """The configured keys, or those generated into the data directory."""
    return settings.secret_keys or read_key_file(settings.data_dir / KEY_FILE)


def adopt_changed_keys(watch: KeyFileWatch, shared: Shared) -> None:
    """Uses the keys of a changed file from now on; a file that cannot be read changes nothing."""
    log = structlog.get_logger("shop")
    try:
        keys = watch.changed_keys()
    except (CannotStart, OSError) as reason:
        log.error("the secret keys cannot be read", reason=str(reason))
        return
    if keys:
        shared.keys = keys.voiding(shared.keys.void)
        log.info("secret keys changed", keys=repr(keys))


def is_mailbox_on(settings: Settings, host: str) -> bool:
    """By itself only in a local try-out; otherwise it must be asked for, because it shows everybody's codes."""
    return settings.mailbox == "on" or (settings.mailbox is None and settings.is_try_out(host))


DOORS = (
    reference.Door("Storefront", STOREFRONT_ROUTES, STOREFRONT_RESOURCES),
    reference.Door("Platform", PLATFORM_ROUTES, PLATFORM_RESOURCES),
)
"""The APIs that are described to the world."""


def all_routes(site: tuple[Route, ...], *, has_mailbox: bool = False) -> tuple[Route, ...]:
    return (*STOREFRONT_ROUTES, *PLATFORM_ROUTES, *admin_routes(has_mailbox=has_mailbox), *site)


def load(serving: Serving, beats: Any) -> ASGIApp:
    """A worker's application; called once in each worker process. `beats` is the number by which its parent sees that
    its event loop runs.
    """
    # Ctrl-C at a terminal goes to the whole group: it is for the parent, which stops its workers once they drained.
    os.setpgrp()
    # As its parent's fork it has the parent's handlers. Until it serves, it can be ended without a word.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    configure_logging(serving.settings.log_level, serving.settings.log_format)
    return Application(serving, beats)


async def _patiently(work: Callable[[], Awaitable[T]]) -> T:
    """A worker that is started again while the database recovers waits for it, or the parent would give up on both."""
    is_told = False
    while True:
        try:
            return await work()
        except Unavailable:
            if not is_told:
                structlog.get_logger("shop").warning("worker waits for the database", pid=os.getpid())
                is_told = True
            await asyncio.sleep(WATCH_SECONDS)


async def _unavailable(_request: Request, _ctx: Context) -> Reply:
    raise Unavailable()


def _closed(route: Route) -> Route:
    """A route while the worker waits: alive, and otherwise not ready for anyone."""
    if route.path == "/livez":
        return route
    return msgspec.structs.replace(route, handler=_unavailable, who="anyone", reads_claim=False)


class Application:
    """Starts with the server's lifespan, then hands every request to the router: closed at first, then open."""

    def __init__(self, serving: Serving, beats: Any) -> None:
        self._serving = serving
        self._beats = beats
        self._router: Router | None = None
        self._opened: tuple[Route, ...] = ()
        self._close: Callable[[], Any] | None = None
        self._saved = b""
        self._key_file: KeyFileWatch | None = None

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["type"] == "http" and self._router:
            return self._router(scope, receive, send)
        if scope["type"] == "lifespan":
            return self._live(receive, send)
        raise AssertionError("only requests come here, and none before the start")

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        try:
            frame = self._frame()
        except Exception as error:
            structlog.get_logger("shop").exception("start failed")
            await send({"type": "lifespan.startup.failed", "message": str(error)})
            return
        opening = asyncio.create_task(self._open(frame))
        others = (self._watch(frame), self._work(frame, opening), self._look_at_shop(frame, opening))
        tasks = [opening, *map(asyncio.create_task, others)]
        # The server listens after this. Mostly we are open by then, and take no caller from workers that can serve; one
        # that waits for the database must still say that it lives.
        await asyncio.wait([opening], timeout=OPEN_SECONDS)
        await send({"type": "lifespan.startup.complete"})
        await receive()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        flush_log()
        if self._close:
            await self._close()
        await send({"type": "lifespan.shutdown.complete"})

    def _frame(self) -> Frame:
        settings = self._serving.settings
        database = open_database(settled_url(settings), size=settings.database_pool)
        self._close = database.close
        is_try_out = settings.is_try_out(self._serving.host)
        # Before the keys are read, so that no change is missed.
        self._key_file = KeyFileWatch(settings.data_dir / KEY_FILE) if settings.secret_keys is None else None
        frame = Frame(
            Shared(database, read_keys(settings), _NO_SHOP, settings, asyncio.Event(), is_try_out=is_try_out),
            trusted=settings.trusted_proxies,
            cors_origins=settings.cors_origins,
        )
        self._opened = self._routes(frame)
        self._router = Router(frame, map(_closed, self._opened))
        return frame

    async def _open(self, frame: Frame) -> None:
        """Lets requests in, once the database has told how the shop is set up."""
        shop = await _patiently(lambda: setup.find_shop(frame.shared.database.session()))
        if shop is None:
            raise CannotStart("The database has no shop in it; run `shop migrate`.")
        frame.shared = msgspec.structs.replace(frame.shared, shop=shop)
        await _patiently(lambda: server_keys.load_void_keys(frame.shared))
        self._router = Router(frame, self._opened)
        # What lives from here to the end need not be looked at by every collection.
        gc.collect()
        gc.freeze()
        gc.set_threshold(20_000, 20, 50)
        structlog.get_logger("shop").info("worker ready", pid=os.getpid())

    async def _work(self, frame: Frame, opening: asyncio.Task[None]) -> None:
        try:
            await opening
        except Exception:
            structlog.get_logger("shop").exception("start failed")
            flush_log()
            os._exit(1)  # The parent starts another, and gives up when that fails at once too.
        await work(frame.shared, postman_for(self._serving.settings))

    async def _look_at_shop(self, frame: Frame, opening: asyncio.Task[None]) -> None:
        """An operator may have changed the settings in another process."""
        await asyncio.wait([opening])
        while True:
            await asyncio.sleep(SHOP_SECONDS)
            try:
                shop = await setup.find_shop(frame.shared.database.session())
                if shop and shop.version != frame.shared.shop.version:
                    await server_keys.load_void_keys(frame.shared)
            except Unavailable:
                continue
            except Exception:
                structlog.get_logger("shop").exception("the settings cannot be read")
                continue
            if shop and shop.version != frame.shared.shop.version:
                frame.shared.shop = shop

    def _routes(self, frame: Frame) -> tuple[Route, ...]:
        serving = self._serving
        has_mailbox = is_mailbox_on(serving.settings, serving.host)
        return all_routes(
            site_routes(
                ready=health.ready(lambda: self._is_stopping(frame), serving.outdated),
                metrics=health.metrics(self._others_snapshots),
                description=reference.description(DOORS),
                docs=docs.pages(DOORS),
            ),
            has_mailbox=has_mailbox,
        )

    def _save_snapshot(self, frame: Frame) -> None:
        make_run_dir(self._serving.run_dir)
        file = self._serving.run_dir / f"{os.getpid()}.metrics"
        self._saved = save_snapshot(file, frame.shared.database.connections.waits, self._saved)

    def _others_snapshots(self) -> Iterable[Path]:
        ours = f"{os.getpid()}.metrics"
        return [file for file in self._serving.run_dir.glob("*.metrics") if file.name != ours]

    def _is_stopping(self, frame: Frame) -> bool:
        frame.draining = self._serving.stopping.exists()
        return frame.draining

    async def _watch(self, frame: Frame) -> None:
        """Workers would outlive a killed parent and keep the port; and they must know when a stop is near."""
        # A supervisor may send SIGTERM to every process at once; it is for the parent, which stops us by SIGINT.
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, lambda: None)
        while True:
            self._beats.value += 1
            flush_log()
            # A full disk is no reason to stop watching.
            with contextlib.suppress(OSError):
                self._save_snapshot(frame)
            if os.getppid() != self._serving.parent:
                shutil.rmtree(self._serving.run_dir, ignore_errors=True)
                os._exit(1)
            self._is_stopping(frame)
            if self._key_file:
                adopt_changed_keys(self._key_file, frame.shared)
            await asyncio.sleep(WATCH_SECONDS)
