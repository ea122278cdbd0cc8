"""A worker whose event loop hangs is replaced; a worker that was stopped together with its parent is not."""

import ctypes
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial

import pytest

from shop.cli.server.heartbeat import LOOK_SECONDS, SILENT_LOOKS, START_LOOKS, Heartbeat
from tests.cli.command import external
from tests.db.processes import is_event, serving, watch_process
from tests.service import Service

READY = is_event("worker ready")
WORKER_REPLACED = is_event("unresponsive worker is replaced")
LONG_ENOUGH = LOOK_SECONDS * SILENT_LOOKS + 20
PTRACE_SEIZE, PTRACE_INTERRUPT = 0x4206, 0x4207
WAIT_FOR_ALL = 0x40000000  # __WALL: also processes that are not children.


def looks_until_lost(heartbeat: Heartbeat) -> int:
    return next(look for look in range(1, 1000) if heartbeat.is_lost())


@pytest.mark.security("X-18")
def test_a_worker_is_lost_after_ten_looks_at_a_counter_that_stands_still() -> None:
    heartbeat = Heartbeat()
    for _ in range(3 * SILENT_LOOKS):
        heartbeat.beats.value += 1
        assert not heartbeat.is_lost()

    assert looks_until_lost(heartbeat) == SILENT_LOOKS == 10


def test_a_worker_that_starts_has_a_minute_before_its_first_beat() -> None:
    assert looks_until_lost(Heartbeat()) == START_LOOKS == 60


@contextmanager
def serve_on(url: str, tmp_path: object) -> Iterator[Service]:
    with serving(**external(url, SHOP_DRAIN_SECONDS="0", TMPDIR=str(tmp_path))) as service:
        yield service


@pytest.fixture
def serve(own_database: Callable[..., str], tmp_path: object) -> Callable[[], AbstractContextManager[Service]]:
    return partial(serve_on, own_database(), tmp_path)


@contextmanager
def stop_process(pid: int) -> Iterator[None]:
    os.kill(pid, signal.SIGSTOP)
    yield


@contextmanager
def stop_event_loop(pid: int) -> Iterator[None]:
    """Stops the main thread alone: the other threads of the server still accept connections."""
    ptrace = ctypes.CDLL(None, use_errno=True).ptrace
    ptrace.argtypes = [ctypes.c_long] * 4
    for request in (PTRACE_SEIZE, PTRACE_INTERRUPT):
        assert ptrace(request, pid, 0, 0) == 0, os.strerror(ctypes.get_errno())
    yield
    # The tracer of a process must wait for its end before the parent can.
    status = 0
    while not os.WIFSIGNALED(status):
        _, status = os.waitpid(pid, WAIT_FOR_ALL)


@pytest.mark.torture
@pytest.mark.security("X-18")
@pytest.mark.parametrize("stop_worker", [stop_process, stop_event_loop])
def test_a_worker_that_hangs_is_killed_and_another_serves(
    serve: Callable[[], AbstractContextManager[Service]], stop_worker: Callable[[int], AbstractContextManager[None]]
) -> None:
    with serve() as service:
        (worker,) = service.worker_pids()
        with watch_process(worker) as has_ended, stop_worker(worker):
            assert has_ended(LONG_ENOUGH)
        service.wait_for(READY, count=2)
        service.wait_for(WORKER_REPLACED)
        # A worker says that it is ready just before it listens.
        service.wait_for_listener()
        response = service.get("/readyz")

    assert (response.status_code, service.worker_pids()[0]) == (200, worker)
    assert len(service.worker_pids()) == 2


@pytest.mark.torture
@pytest.mark.security("X-18")
def test_workers_that_were_stopped_together_with_their_parent_live_on(
    serve: Callable[[], AbstractContextManager[Service]],
) -> None:
    with serve() as service:
        (worker,) = service.worker_pids()
        processes = (service.process.pid, worker)
        with watch_process(worker) as has_ended:
            for pid in processes:
                os.kill(pid, signal.SIGSTOP)
            # Waits longer than a worker may be silent: nothing must happen.
            assert not has_ended(LOOK_SECONDS * SILENT_LOOKS + 3)
            # The parent first: for a moment it runs and the worker does not.
            for pid in processes:
                os.kill(pid, signal.SIGCONT)

            assert not has_ended(3)
        response = service.get("/readyz")

    assert (response.status_code, service.worker_pids()) == (200, [worker])
