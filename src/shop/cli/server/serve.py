"""`shop serve`: checks all preconditions, runs the workers and stops gracefully."""

import contextlib
import errno
import gc
import multiprocessing
import os
import select
import shutil
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any, Literal

import click
import structlog
from granian.constants import HTTPModes, Interfaces, Loops
from granian.http import HTTP1Settings
from granian.log import LogLevels
from granian.server.mp import MPServer

from shop.app.application import load
from shop.app.configuration import ServerConfiguration, is_mailbox_on, make_run_dir
from shop.app.extensions import load_extensions
from shop.base.config.settings import Settings
from shop.base.errors import CannotStart
from shop.cli.access.admin import first_operator
from shop.cli.extensions.prepare import ensure_extensions
from shop.cli.prepare import database, ensure_keys, ensure_mail, ensure_migrated, ensure_pooler, load_settings
from shop.cli.server.address import record_url
from shop.cli.server.banner import banner, base_url
from shop.cli.server.demo_filler import demo_filler
from shop.cli.server.heartbeat import Heartbeat, PollingEvent
from shop.db.embedded import Embedded
from shop.migrations.upgrade import outdated_revisions
from shop.web.log import configure_logging
from shop.website.themes import check_theme

REVIVE_SECONDS = 1.0
STOP_SECONDS = 20
ASK_SECONDS = 2.0
IDLE_SECONDS = 10
"""Limit for a request's head, and so for an idle connection: the server counts from the previous response."""
_START: Literal["fork", "spawn"] = "fork" if sys.platform == "linux" else "spawn"
"""A forked worker shares the loaded modules and is ready in a tenth of the time."""


@click.command(epilog="Example: shop serve --port 8080 --workers 2")
@click.option("--host", default=None, help="The address to listen on.  [default: SHOP_HOST, or 127.0.0.1]")
@click.option(
    "--port",
    default=None,
    type=click.IntRange(0, 65535),
    help="The port; 0 picks a free one.  [default: SHOP_PORT, or 8000]",
)
@click.option("--workers", default=1, show_default=True, type=click.IntRange(1, 64), help="Number of worker processes.")
@click.option("--demo", is_flag=True, help="Fill an empty database with the demo shop.")
def serve(host: str | None, port: int | None, workers: int, demo: bool) -> None:
    """Serve the shop until SIGTERM or Ctrl-C."""
    multiprocessing.set_start_method(_START, force=True)
    settings = load_settings()
    configure_logging(settings.log_level, settings.log_format)
    load_extensions(settings)
    check_theme(settings.theme_dir)
    host = host or settings.host
    address, port = free_port(host, settings.port if port is None else port)
    with (
        _reserve_address(address, port),
        demo_filler(settings, host, is_wanted=demo) as fill,
        database(settings) as (url, embedded),
    ):
        ensure_migrated(url, may_upgrade=embedded is not None)
        ensure_pooler(settings)
        ensure_extensions(settings, url, may_upgrade=embedded is not None)
        ensure_keys(settings, url)
        ensure_mail(settings, host)
        is_try_out = settings.is_try_out(host)
        has_demo = fill(url)
        run_dir = Path(tempfile.mkdtemp(prefix="shop-"))
        try:
            configuration = ServerConfiguration(settings, host, os.getpid(), run_dir, outdated_revisions())
            operator = _first_operator(settings, url, base_url(host, port)) if is_try_out else None
            banner_text = _banner(configuration, port, operator, has_demo=has_demo)
            with record_url(settings.data_dir, base_url(host, port)):
                _serve(configuration, make_server(configuration, address, port, workers), embedded, banner_text)
        finally:
            shutil.rmtree(run_dir, ignore_errors=True)


def make_server(configuration: ServerConfiguration, address: str, port: int, workers: int) -> "DrainingServer":
    return DrainingServer(
        configuration.settings.drain_seconds,
        configuration.stopping,
        target="shop",
        address=address,
        port=port,
        interface=Interfaces.ASGI,
        workers=workers,
        loop=Loops.uvloop,
        http=HTTPModes.http1,
        http1_settings=HTTP1Settings(header_read_timeout=IDLE_SECONDS * 1000, max_buffer_size=64 * 1024),
        websockets=False,
        respawn_failed_workers=True,
        workers_kill_timeout=STOP_SECONDS,
        log_level=LogLevels.warning,
    )


def _first_operator(settings: Settings, url: str, base: str) -> str | None:
    # Print the link only on a terminal: in a log, anyone who reads the log could use it.
    return first_operator(settings, url, base, may_show_link=sys.stderr.isatty())


def _banner(configuration: ServerConfiguration, port: int, operator: str | None, *, has_demo: bool) -> str:
    has_mailbox = is_mailbox_on(configuration.settings, configuration.host)
    return banner(
        configuration.host,
        port,
        cors_origins=configuration.settings.cors_origins,
        has_mailbox=has_mailbox,
        first_operator=operator,
        has_demo=has_demo,
    )


def _serve(
    configuration: ServerConfiguration, server: "DrainingServer", embedded: Embedded | None, banner_text: str
) -> None:
    click.echo(banner_text, err=True)
    # Forked workers share loaded objects until a write; garbage collection would write to them.
    gc.freeze()
    stop_event = threading.Event()
    watchdog = threading.Thread(target=_keep_alive, args=(embedded, stop_event), daemon=True)
    if embedded:
        watchdog.start()
    try:
        server.serve(target_loader=partial(load, configuration), wrap_loader=False)
    finally:
        stop_event.set()
        # Otherwise it might restart the database after it is stopped.
        if embedded:
            watchdog.join()


class DrainingServer(MPServer):
    """Drains before a stop: Granian closes its listener at once, but a proxy must first see that we are unready."""

    def __init__(self, drain_seconds: float, flag: Path, **options: Any) -> None:
        super().__init__(**options)
        self._drain_seconds = drain_seconds
        self._flag = flag
        self._skip_drain = threading.Event()
        self._heartbeats: dict[int, Heartbeat] = {}
        self.main_loop_interrupt = PollingEvent(self._kill_silent_workers)

    def _spawn_worker(self, *args: Any, **kwargs: Any) -> Any:
        heartbeat = self._heartbeats[kwargs["idx"]] = Heartbeat()
        kwargs["callback_loader"] = partial(kwargs["callback_loader"], heartbeat.beats)
        worker = super()._spawn_worker(*args, **kwargs)
        setattr(worker, "terminate", partial(_interrupt, worker))  # noqa: B010  The original sends SIGTERM.
        return worker

    def _kill_silent_workers(self) -> None:
        """Kills workers without a heartbeat; the server replaces them like any worker that exits."""
        for worker in self.wrks:
            if self._heartbeats[worker.idx].is_lost() and worker.is_alive():
                if _can_log():
                    structlog.get_logger("shop").error("unresponsive worker is replaced", pid=worker.inner.pid)
                worker.inner.kill()

    def signal_handler_interrupt(self, *args: Any, **kwargs: Any) -> None:
        if self.interrupt_signal:
            self._skip_drain.set()  # A second signal skips the drain.
        super().signal_handler_interrupt(*args, **kwargs)

    def shutdown(self, exit_code: int = 0) -> None:
        if self.interrupt_signal:
            # Stop even if the flag cannot be written: a full disk, or a directory of another account.
            with contextlib.suppress(OSError):
                make_run_dir(self._flag.parent)
                self._flag.touch()
            self._skip_drain.wait(self._drain_seconds)
        super().shutdown(exit_code)


def _can_log() -> bool:
    """Returns whether stderr accepts output. A full log pipe may be why the worker hangs; the parent must not block
    too.
    """
    return bool(select.select([], [sys.stderr], [], 0)[1])


def _interrupt(worker: Any) -> None:
    """Stops a worker with SIGINT. Workers ignore SIGTERM, which a supervisor may send to all during the drain."""
    worker.interrupt_by_parent = True
    threading.Thread(target=_ask_to_stop, args=(worker.inner,), daemon=True).start()


def _ask_to_stop(process: Any) -> None:
    """Repeats SIGINT until the process exits: one sent between readiness and the first request may be lost."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(process.pid, signal.SIGINT)
        while not wait([process.sentinel], ASK_SECONDS):
            os.kill(process.pid, signal.SIGINT)


def _keep_alive(embedded: Embedded | None, stop_event: threading.Event) -> None:
    """Restarts the embedded database when it dies; nothing else supervises it."""
    log = structlog.get_logger("shop")
    while embedded and not stop_event.wait(REVIVE_SECONDS):
        try:
            if embedded.revive():
                log.warning("the embedded database crashed and was restarted")
        except CannotStart as reason:
            log.error("the embedded database is down", reason=str(reason))
        except OSError as error:
            log.error("the embedded database could not be checked", reason=error.strerror)


@contextmanager
def _reserve_address(address: str, port: int) -> Iterator[None]:
    """Reserves the address with an abstract socket, because two concurrent starts would both find the port free."""
    if sys.platform != "linux":
        yield
        return
    with socket.socket(socket.AF_UNIX) as name:
        try:
            name.bind(f"\0shop {address} {port}")
        except OSError as error:
            raise CannotStart(_bind_error(error, address, port)) from None
        yield


def free_port(host: str, port: int) -> tuple[str, int]:
    """Resolves the address and checks that the port is free; Granian (SO_REUSEPORT) would silently share it."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except OSError:
        raise CannotStart(f"{host} is not an address of this machine; give another --host or SHOP_HOST.") from None
    with socket.socket(family, kind, protocol) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(address)
        except OSError as error:
            raise CannotStart(_bind_error(error, host, port)) from None
        return str(address[0]), int(probe.getsockname()[1])


def _bind_error(error: OSError, host: str, port: int) -> str:
    match error.errno:
        case errno.EADDRINUSE:
            return f"Port {port} is in use on {host}; stop the other process, or choose another --port or SHOP_PORT."
        case errno.EACCES:
            return f"Port {port} requires root; choose a --port or SHOP_PORT of 1024 or more."
    return f"{host} is not an address of this machine; give another --host or SHOP_HOST."
