"""A worker whose event loop hangs is replaced; a worker that was stopped together with its parent is not."""

import ctypes
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial

import pytest

from shop.cli.server.heartbeat import MAX_SILENT_POLLS, MAX_START_POLLS, POLL_SECONDS, Heartbeat
from tests.cli.command import external
from tests.db.processes import is_event, serving, watch_process
from tests.service import Service

READY = is_event("worker ready")
WORKER_REPLACED = is_event("unresponsive worker is replaced")
LONG_ENOUGH = POLL_SECONDS * MAX_SILENT_POLLS + 20
PTRACE_SEIZE, PTRACE_INTERRUPT = 0x4206, 0x4207
WAIT_FOR_ALL = 0x40000000  # __WALL: also processes that are not children.


def checks_until_lost(heartbeat: Heartbeat) -> int:
    return next(number for number in range(1, 1000) if heartbeat.is_lost())


@pytest.mark.security("X-18")
def test_a_worker_is_lost_after_ten_checks_without_a_heartbeat() -> None:
    heartbeat = Heartbeat()
    for _ in range(3 * MAX_SILENT_POLLS):
        heartbeat.beats.value += 1
        assert not heartbeat.is_lost()

    assert checks_until_lost(heartbeat) == MAX_SILENT_POLLS == 10


def test_a_starting_worker_has_a_minute_before_its_first_heartbeat() -> None:
    assert checks_until_lost(Heartbeat()) == MAX_START_POLLS == 60


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
def test_a_hanging_worker_is_killed_and_replaced(
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
def test_workers_that_were_paused_together_with_their_parent_are_not_replaced(
    serve: Callable[[], AbstractContextManager[Service]],
) -> None:
    with serve() as service:
        (worker,) = service.worker_pids()
        processes = (service.process.pid, worker)
        with watch_process(worker) as has_ended:
            for pid in processes:
                os.kill(pid, signal.SIGSTOP)
            # Waits longer than a worker may be silent: nothing must happen.
            assert not has_ended(POLL_SECONDS * MAX_SILENT_POLLS + 3)
            # The parent first: for a moment it runs and the worker does not.
            for pid in processes:
                os.kill(pid, signal.SIGCONT)

            assert not has_ended(3)
        response = service.get("/readyz")

    assert (response.status_code, service.worker_pids()) == (200, [worker])
