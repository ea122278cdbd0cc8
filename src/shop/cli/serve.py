"""`shop serve`: everything that must be right before a worker starts, and the stop that cuts no answer."""

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
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Literal

import click
import structlog
from granian.constants import HTTPModes, Interfaces, Loops
from granian.http import HTTP1Settings
from granian.log import LogLevels
from granian.server.mp import MPServer

from shop.app import Serving, is_mailbox_on, load, make_run_dir
from shop.base.errors import CannotStart
from shop.base.settings import Settings
from shop.cli.admin import first_operator
from shop.cli.banner import banner, base_url
from shop.cli.fill import fill
from shop.cli.heartbeat import Heartbeat, LookingEvent
from shop.cli.listening import announced
from shop.cli.prepare import database, ensure_keys, ensure_mail, ensure_migrated, settings_here
from shop.db.embedded import Embedded
from shop.migrations.upgrade import outdated_revisions
from shop.web.log import configure_logging

REVIVE_SECONDS = 1.0
STOP_SECONDS = 20
ASK_SECONDS = 2.0
IDLE_SECONDS = 10
"""For a request's head, and so for an idle connection: the server counts from the end of the previous response."""
_START: Literal["fork", "spawn"] = "fork" if sys.platform == "linux" else "spawn"
"""A worker that is forked need not load again what we have loaded: it is ready in a tenth of the time."""


@click.command(epilog="Example: shop serve --port 8080 --workers 2")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen at.")
@click.option(
    "--port", default=8000, show_default=True, type=click.IntRange(0, 65535), help="The port; 0 takes a free one."
)
@click.option("--workers", default=1, show_default=True, type=click.IntRange(1, 64), help="Processes that answer.")
@click.option("--demo", is_flag=True, help="Fill an empty database with the demo shop.")
def serve(host: str, port: int, workers: int, demo: bool) -> None:
    """Serve the shop until SIGTERM or Ctrl-C."""
    multiprocessing.set_start_method(_START, force=True)
    settings = settings_here()
    configure_logging(settings.log_level, settings.log_format)
    address, port = free_port(host, port)
    with _held(address, port), database(settings) as (url, embedded):
        ensure_migrated(url, may_upgrade=embedded is not None)
        ensure_keys(settings, url)
        ensure_mail(settings, host)
        is_try_out = settings.is_try_out(host)
        has_demo = demo and _fill_apart(url, settings, is_try_out=is_try_out)
        run_dir = Path(tempfile.mkdtemp(prefix="shop-"))
        try:
            serving = Serving(settings, host, os.getpid(), run_dir, outdated_revisions())
            operator = _first_operator(settings, url, base_url(host, port)) if is_try_out else None
            said = _banner(serving, port, operator, has_demo=has_demo)
            with announced(settings.data_dir, base_url(host, port)):
                _serve(serving, make_server(serving, address, port, workers), embedded, said)
        finally:
            shutil.rmtree(run_dir, ignore_errors=True)


def make_server(serving: Serving, address: str, port: int, workers: int) -> "DrainingServer":
    return DrainingServer(
        serving.settings.drain_seconds,
        serving.stopping,
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
    # A link that is redirected into a log could be used by whoever reads the log.
    return first_operator(settings, url, base, may_show_link=sys.stderr.isatty())


def _banner(serving: Serving, port: int, operator: str | None, *, has_demo: bool) -> str:
    has_mailbox = is_mailbox_on(serving.settings, serving.host)
    return banner(serving.host, port, has_mailbox=has_mailbox, first_operator=operator, has_demo=has_demo)


def _fill_apart(url: str, settings: Settings, *, is_try_out: bool) -> bool:
    """In a process of its own. What threads it starts stay there: a worker would have them by name only, and wait for
    them for ever.
    """
    here, there = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.Process(target=_fill_and_tell, args=(there, url, settings, is_try_out))
    process.start()
    there.close()
    try:
        has_demo, reason = here.recv()
    except EOFError:
        has_demo, reason = False, "The demo shop could not be put up: the process that did it has ended."
    finally:
        process.kill()
        process.join()
        here.close()
    if reason:
        raise CannotStart(reason)
    return bool(has_demo)


def _fill_and_tell(there: Connection, url: str, settings: Settings, is_try_out: bool) -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        # At once, in the midst of its work: nobody is there any more who wants it done.
        threading.Thread(target=lambda: wait([parent.sentinel]) and os._exit(1), daemon=True).start()
    try:
        there.send((fill(url, settings, is_try_out=is_try_out), None))
    except CannotStart as reason:
        there.send((False, str(reason)))
    except KeyboardInterrupt:
        pass  # Our parent was asked to stop too, and says so.


def _serve(serving: Serving, server: "DrainingServer", embedded: Embedded | None, said: str) -> None:
    click.echo(said, err=True)
    # What is loaded is shared with the workers as long as nobody writes to it, and a collection would.
    gc.freeze()
    finished = threading.Event()
    keeper = threading.Thread(target=_keep_alive, args=(embedded, finished), daemon=True)
    if embedded:
        keeper.start()
    try:
        server.serve(target_loader=partial(load, serving), wrap_loader=False)
    finally:
        finished.set()
        # Or it might start the database again after we have stopped it.
        if embedded:
            keeper.join()


class DrainingServer(MPServer):
    """Granian closes its listener at once on SIGTERM; a proxy must first see us unready and stop sending."""

    def __init__(self, drain_seconds: float, flag: Path, **options: Any) -> None:
        super().__init__(**options)
        self._drain_seconds = drain_seconds
        self._flag = flag
        self._hurry = threading.Event()
        self._heartbeats: dict[int, Heartbeat] = {}
        self.main_loop_interrupt = LookingEvent(self._kill_silent_workers)

    def _spawn_worker(self, *args: Any, **kwargs: Any) -> Any:
        heartbeat = self._heartbeats[kwargs["idx"]] = Heartbeat()
        kwargs["callback_loader"] = partial(kwargs["callback_loader"], heartbeat.beats)
        worker = super()._spawn_worker(*args, **kwargs)
        setattr(worker, "terminate", partial(_interrupt, worker))  # noqa: B010  Its own would send SIGTERM.
        return worker

    def _kill_silent_workers(self) -> None:
        """The server starts another in place of each, as for any worker that ends by itself."""
        for worker in self.wrks:
            if self._heartbeats[worker.idx].is_lost() and worker.is_alive():
                if _can_log():
                    structlog.get_logger("shop").error("worker hangs and is replaced", pid=worker.inner.pid)
                worker.inner.kill()

    def signal_handler_interrupt(self, *args: Any, **kwargs: Any) -> None:
        if self.interrupt_signal:
            self._hurry.set()  # Asked twice: the person at the terminal does not want to wait.
        super().signal_handler_interrupt(*args, **kwargs)

    def shutdown(self, exit_code: int = 0) -> None:
        if self.interrupt_signal:
            # When the disk is full, or the directory somebody else's, nobody can be told; the stop is one all the same.
            with contextlib.suppress(OSError):
                make_run_dir(self._flag.parent)
                self._flag.touch()
            self._hurry.wait(self._drain_seconds)
        super().shutdown(exit_code)


def _can_log() -> bool:
    """A log that nobody reads may be why the worker hangs; the parent must not wait for it too."""
    return bool(select.select([], [sys.stderr], [], 0)[1])


def _interrupt(worker: Any) -> None:
    """Workers are deaf to SIGTERM, which a supervisor may send to all processes before the drain is over."""
    worker.interrupt_by_parent = True
    threading.Thread(target=_ask_to_stop, args=(worker.inner,), daemon=True).start()


def _ask_to_stop(process: Any) -> None:
    """Asked again until it goes: what is asked between its readiness and its first request is not always heard."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(process.pid, signal.SIGINT)
        while not wait([process.sentinel], ASK_SECONDS):
            os.kill(process.pid, signal.SIGINT)


def _keep_alive(embedded: Embedded | None, finished: threading.Event) -> None:
    """The embedded server has nobody else to start it again when it is killed."""
    log = structlog.get_logger("shop")
    while embedded and not finished.wait(REVIVE_SECONDS):
        try:
            if embedded.revive():
                log.warning("the embedded database had died and was started again")
        except CannotStart as reason:
            log.error("the embedded database is down", reason=str(reason))
        except OSError as error:
            log.error("the embedded database cannot be looked after right now", reason=error.strerror)


@contextmanager
def _held(address: str, port: int) -> Iterator[None]:
    """Two shops that start at once would both find the port free; a name that only one process can have tells them."""
    if sys.platform != "linux":
        yield
        return
    with socket.socket(socket.AF_UNIX) as name:
        try:
            name.bind(f"\0shop {address} {port}")
        except OSError as error:
            raise CannotStart(_why_not(error, address, port)) from None
        yield


def free_port(host: str, port: int) -> tuple[str, int]:
    """Granian listens with SO_REUSEPORT and would share a taken port without a word, so we try it without first."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except OSError:
        raise CannotStart(f"{host} is not an address of this machine; give another --host.") from None
    with socket.socket(family, kind, protocol) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(address)
        except OSError as error:
            raise CannotStart(_why_not(error, host, port)) from None
        return str(address[0]), int(probe.getsockname()[1])


def _why_not(error: OSError, host: str, port: int) -> str:
    match error.errno:
        case errno.EADDRINUSE:
            return f"Port {port} is taken on {host}; stop what listens there, or give another --port."
        case errno.EACCES:
            return f"Port {port} may only be opened by root; give a --port of 1024 or more."
    return f"{host} is not an address of this machine; give another --host."
