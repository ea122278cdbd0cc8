"""Assembles the application: settings, database, routes and background tasks of a worker process."""

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
from shop.platform.resources.registry import RESOURCES as PLATFORM_RESOURCES
from shop.platform.routes import ROUTES as PLATFORM_ROUTES
from shop.queries.setup import shop as setup
from shop.site import docs, health, reference
from shop.site.routes import site_routes
from shop.storefront.resources.registry import DOCUMENTED_RESOURCES as STOREFRONT_RESOURCES
from shop.storefront.routes import ROUTES as STOREFRONT_ROUTES
from shop.web.endpoint import EndpointContext, Route
from shop.web.log import configure_logging, flush_log
from shop.web.metrics import save_snapshot
from shop.web.reply import Reply
from shop.web.request import Request
from shop.web.router import Router
from shop.worker import build_mailer, work

WATCH_SECONDS = 0.2
OPEN_SECONDS = 1.0
SHOP_SECONDS = 1.0
_NO_SHOP = Shop(currencies=[])
"""Placeholder until the shop is read; no handler runs before that."""

T = TypeVar("T")


class Serving(msgspec.Struct, frozen=True):
    """Configuration that the parent process passes to its workers."""

    settings: Settings
    host: str
    parent: int
    """Id of the parent process; workers exit when it ends."""
    run_dir: Path
    """Shared by the workers: holds the `draining` flag before a stop and the metrics snapshot of each worker."""
    outdated: frozenset[str]
    """Known migrations except the newest."""

    @property
    def stopping(self) -> Path:
        """The flag file that exists while the server drains before a stop."""
        return self.run_dir / "draining"


def make_run_dir(run_dir: Path) -> None:
    """Recreates the run directory if a cleaner of temporary files removed it. Its name is known by then, so another
    account may have created it first; raises PermissionError in that case.
    """
    run_dir.mkdir(mode=0o700, exist_ok=True)
    if run_dir.lstat().st_uid != os.geteuid():
        raise PermissionError(f"{run_dir} belongs to somebody else")


def get_database_url(settings: Settings) -> str:
    return settings.database_url or database_url(settings.data_dir)


def read_keys(settings: Settings) -> Keys:
    """Returns the configured keys, or those generated into the data directory."""
    return settings.secret_keys or read_key_file(settings.data_dir / KEY_FILE)


def adopt_changed_keys(watch: KeyFileWatch, shared: Shared) -> None:
    """Switches to the keys of a changed file; an unreadable file changes nothing."""
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
    """Whether /mailbox is served: by default only in a local try-out, because it exposes everyone's login codes."""
    return settings.mailbox == "on" or (settings.mailbox is None and settings.is_try_out(host))


DOCUMENTED_APIS = (
    reference.ApiDefinition("Storefront", STOREFRONT_ROUTES, STOREFRONT_RESOURCES),
    reference.ApiDefinition("Platform", PLATFORM_ROUTES, PLATFORM_RESOURCES),
)
"""The APIs with a public OpenAPI description."""


def all_routes(site: tuple[Route, ...], *, has_mailbox: bool = False) -> tuple[Route, ...]:
    return (*STOREFRONT_ROUTES, *PLATFORM_ROUTES, *admin_routes(has_mailbox=has_mailbox), *site)


def load(serving: Serving, beats: Any) -> ASGIApp:
    """Builds a worker's application; called once in each worker process. `beats` is the heartbeat counter that the
    parent watches.
    """
    # Ctrl-C at a terminal reaches the whole group, but is for the parent, which drains and then stops its workers.
    os.setpgrp()
    # A fork inherits the parent's signal handlers. Until it serves, the worker can be killed silently.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    configure_logging(serving.settings.log_level, serving.settings.log_format)
    return ServerApplication(serving, beats)


async def _retry_until_available(work: Callable[[], Awaitable[T]]) -> T:
    """Retries until the database answers; a worker that exits during a database recovery makes the parent give up."""
    is_logged = False
    while True:
        try:
            return await work()
        except Unavailable:
            if not is_logged:
                structlog.get_logger("shop").warning("worker waits for the database", pid=os.getpid())
                is_logged = True
            await asyncio.sleep(WATCH_SECONDS)


async def _unavailable(_request: Request, _ctx: Context) -> Reply:
    raise Unavailable()


def _unavailable_route(route: Route) -> Route:
    """Returns the route as served while the worker waits for the database: 503, except /livez."""
    if route.path == "/livez":
        return route
    return msgspec.structs.replace(route, handler=_unavailable, who="anyone", reads_claim=False)


class ServerApplication:
    """The ASGI application: starts with the lifespan; every route but /livez answers 503 until the shop is loaded."""

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
        # The server listens after this. Usually the routes are open by then, so that no request is taken from workers
        # that can serve; a worker that still waits for the database must answer /livez.
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

    def _frame(self) -> EndpointContext:
        settings = self._serving.settings
        database = open_database(get_database_url(settings), size=settings.database_pool)
        self._close = database.close
        is_try_out = settings.is_try_out(self._serving.host)
        # Watch before reading the keys, so that no change is missed.
        self._key_file = KeyFileWatch(settings.data_dir / KEY_FILE) if settings.secret_keys is None else None
        frame = EndpointContext(
            Shared(database, read_keys(settings), _NO_SHOP, settings, asyncio.Event(), is_try_out=is_try_out),
            trusted=settings.trusted_proxies,
            cors_origins=settings.cors_origins,
        )
        self._opened = self._routes(frame)
        self._router = Router(frame, map(_unavailable_route, self._opened))
        return frame

    async def _open(self, frame: EndpointContext) -> None:
        """Opens all routes once the shop is read from the database."""
        shop = await _retry_until_available(lambda: setup.find_shop(frame.shared.database.session()))
        if shop is None:
            raise CannotStart("The database has no shop in it; run `shop migrate`.")
        frame.shared = msgspec.structs.replace(frame.shared, shop=shop)
        await _retry_until_available(lambda: server_keys.load_void_keys(frame.shared))
        self._router = Router(frame, self._opened)
        # Objects that exist now live until exit; exclude them from garbage collection.
        gc.collect()
        gc.freeze()
        gc.set_threshold(20_000, 20, 50)
        structlog.get_logger("shop").info("worker ready", pid=os.getpid())

    async def _work(self, frame: EndpointContext, opening: asyncio.Task[None]) -> None:
        try:
            await opening
        except Exception:
            structlog.get_logger("shop").exception("start failed")
            flush_log()
            os._exit(1)  # The parent starts another worker, and gives up if that fails at once too.
        await work(frame.shared, build_mailer(self._serving.settings))

    async def _look_at_shop(self, frame: EndpointContext, opening: asyncio.Task[None]) -> None:
        """Reloads the shop's settings when another process changes them."""
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

    def _routes(self, frame: EndpointContext) -> tuple[Route, ...]:
        serving = self._serving
        has_mailbox = is_mailbox_on(serving.settings, serving.host)
        return all_routes(
            site_routes(
                ready=health.make_readiness_handler(lambda: self._is_stopping(frame), serving.outdated),
                metrics=health.make_metrics_handler(self._others_snapshots),
                description=reference.make_description_handler(DOCUMENTED_APIS),
                docs=docs.make_docs_handler(DOCUMENTED_APIS),
            ),
            has_mailbox=has_mailbox,
        )

    def _save_snapshot(self, frame: EndpointContext) -> None:
        make_run_dir(self._serving.run_dir)
        file = self._serving.run_dir / f"{os.getpid()}.metrics"
        self._saved = save_snapshot(file, frame.shared.database.connections.waits, self._saved)

    def _others_snapshots(self) -> Iterable[Path]:
        own_name = f"{os.getpid()}.metrics"
        return [file for file in self._serving.run_dir.glob("*.metrics") if file.name != own_name]

    def _is_stopping(self, frame: EndpointContext) -> bool:
        frame.draining = self._serving.stopping.exists()
        return frame.draining

    async def _watch(self, frame: EndpointContext) -> None:
        """Sends heartbeats, notices a stop, and exits if the parent was killed, which frees the port."""
        # A supervisor may send SIGTERM to every process; only the parent handles it, and stops workers with SIGINT.
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, lambda: None)
        while True:
            self._beats.value += 1
            flush_log()
            # Keep watching when the disk is full.
            with contextlib.suppress(OSError):
                self._save_snapshot(frame)
            if os.getppid() != self._serving.parent:
                shutil.rmtree(self._serving.run_dir, ignore_errors=True)
                os._exit(1)
            self._is_stopping(frame)
            if self._key_file:
                adopt_changed_keys(self._key_file, frame.shared)
            await asyncio.sleep(WATCH_SECONDS)
