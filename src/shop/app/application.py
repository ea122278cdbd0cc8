"""The ASGI application of a worker: starts and stops with the server's lifespan."""

import asyncio
import gc
import os
import signal
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import structlog

import shop.platform.resources.registry  # noqa: F401  Links the records, whose relations the event log stores.
from shop.actions.access import server_keys
from shop.actions.context import Shared
from shop.app.configuration import ServerConfiguration, get_database_url, open_configured_replicas, read_keys
from shop.app.extensions import load_extensions
from shop.app.heartbeat import WorkerHeartbeat
from shop.app.routes import unavailable_route, worker_routes
from shop.app.shop_settings import follow_shop_changes, load_shop, retry_until_available
from shop.base.crypto.key_file import KEY_FILE, KeyFileWatch
from shop.db.pool import open_database
from shop.models.setup.shop import Shop
from shop.web.asgi import ASGIApp, Receive, Scope, Send
from shop.web.endpoint import EndpointContext, Route
from shop.web.log import configure_logging, flush_log
from shop.web.router import LateRoutes, Router
from shop.worker import build_mailer, work

OPEN_SECONDS = 1.0
_NO_SHOP = Shop(currencies=[])
"""Placeholder until the shop is read; no handler runs before that."""


def load(configuration: ServerConfiguration, beats: Any) -> ASGIApp:
    """Builds a worker's application; called once in each worker process. `beats` is the heartbeat counter that the
    parent watches.
    """
    # Ctrl-C at a terminal reaches the whole group, but is for the parent, which drains and then stops its workers.
    os.setpgrp()
    # A fork inherits the parent's signal handlers. Until it serves, the worker can be killed silently.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    configure_logging(configuration.settings.log_level, configuration.settings.log_format)
    return ServerApplication(configuration, beats)


class ServerApplication:
    """The ASGI application: starts with the lifespan; every route but /livez answers 503 until the shop is loaded."""

    def __init__(self, configuration: ServerConfiguration, beats: Any, extra_routes: tuple[Route, ...] = ()) -> None:
        self._configuration = configuration
        self._extra_routes = extra_routes
        self._heartbeat = WorkerHeartbeat(configuration, beats)
        self._router: Router | None = None
        self._routes: tuple[Route, ...] = ()
        self._late_routes: tuple[LateRoutes, ...] = ()
        self._close: Callable[[], Any] | None = None
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
            endpoint_context = self._prepare()
        except Exception as error:
            structlog.get_logger("shop").exception("start failed")
            await send({"type": "lifespan.startup.failed", "message": str(error)})
            return
        opening = asyncio.create_task(self._open(endpoint_context))
        heartbeat = self._heartbeat.run(endpoint_context, self._key_file)
        tasks = [opening, *map(asyncio.create_task, (heartbeat, self._work(endpoint_context, opening)))]
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

    def _prepare(self) -> EndpointContext:
        """Builds everything that does not need the database to answer."""
        settings = self._configuration.settings
        database = open_database(
            get_database_url(settings),
            size=settings.database_pool,
            is_prepared=settings.is_prepared,
            replicas=open_configured_replicas(settings),
        )
        self._close = database.close
        is_try_out = settings.is_try_out(self._configuration.host)
        # Watch before reading the keys, so that no change is missed.
        self._key_file = KeyFileWatch(settings.data_dir / KEY_FILE) if settings.secret_keys is None else None
        endpoint_context = EndpointContext(
            Shared(
                database,
                read_keys(settings),
                _NO_SHOP,
                settings,
                asyncio.Event(),
                extensions=load_extensions(settings).installed_extensions,
                is_try_out=is_try_out,
            ),
            trusted=settings.trusted_proxies,
            cors_origins=settings.cors_origins,
        )
        heartbeat = self._heartbeat
        routes, self._late_routes = worker_routes(
            self._configuration,
            lambda: heartbeat.is_stopping(endpoint_context),
            heartbeat.other_snapshots,
            lambda: endpoint_context.shared,
        )
        self._routes = (*self._extra_routes, *routes)
        unavailable_late_routes = [
            LateRoutes(each.paths, lambda each=each: map(unavailable_route, each.load()))  # type: ignore[misc]
            for each in self._late_routes
        ]
        self._router = Router(endpoint_context, map(unavailable_route, self._routes), unavailable_late_routes)
        return endpoint_context

    async def _open(self, endpoint_context: EndpointContext) -> None:
        """Opens all routes once the shop is read from the database."""
        endpoint_context.shared = msgspec.structs.replace(
            endpoint_context.shared, shop=await load_shop(endpoint_context.shared)
        )
        await retry_until_available(lambda: server_keys.load_void_keys(endpoint_context.shared))
        self._router = Router(endpoint_context, self._routes, self._late_routes)
        # Objects that exist now live until exit; exclude them from garbage collection.
        gc.collect()
        gc.freeze()
        gc.set_threshold(20_000, 20, 50)
        structlog.get_logger("shop").info("worker ready", pid=os.getpid())

    async def _work(self, endpoint_context: EndpointContext, opening: asyncio.Task[None]) -> None:
        """Runs the background tasks once the routes are open."""
        try:
            await opening
        except Exception:
            structlog.get_logger("shop").exception("start failed")
            flush_log()
            os._exit(1)  # The parent starts another worker, and gives up if that fails at once too.
        await asyncio.gather(
            follow_shop_changes(endpoint_context),
            endpoint_context.shared.database.watch_replicas(),
            work(endpoint_context.shared, build_mailer(self._configuration.settings)),
        )
