"""Starts, kills and finds processes, and makes the directories that they run in."""

import asyncio
import os
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import asyncpg

from tests.cluster import make_run_dir
from tests.forkserver import ForkedCommand
from tests.service import InstalledService, Service

HOLDER = """
import sys
from pathlib import Path
from shop.db.embedded import Embedded

server = Embedded(Path(sys.argv[1]))
print(server.start(), flush=True)
sys.stdin.read()
server.stop()
"""
"""A program that uses the embedded database until its standard input ends."""


@contextmanager
def watch_process(*pids: int) -> Iterator[Callable[[float], bool]]:
    """Yields a function that waits for the end of these running processes, and returns whether they ended in time.

    A pidfd becomes readable when its process ends, even before a parent has reaped the process.
    """
    handles = [os.pidfd_open(pid) for pid in pids]
    try:
        yield lambda seconds: _all_ended(handles, seconds)
    finally:
        for handle in handles:
            os.close(handle)


def _all_ended(handles: list[int], seconds: float) -> bool:
    end = time.monotonic() + seconds
    return all(select.select([handle], [], [], max(0, end - time.monotonic()))[0] for handle in handles)


def wait_for_first_exit(*processes: "subprocess.Popen[str] | ForkedCommand", seconds: float) -> int | None:
    """The index of the process that ended first; None if all still run."""
    handles = [os.pidfd_open(process.pid) for process in processes]
    try:
        readable, _, _ = select.select(handles, [], [], seconds)
        return handles.index(readable[0]) if readable else None
    finally:
        for handle in handles:
            os.close(handle)


def kill(*pids: int) -> None:
    """SIGKILL to all of them; returns when they have ended."""
    handles = []
    for pid in pids:
        with suppress(ProcessLookupError):  # The end of one process may end another.
            handles.append(os.pidfd_open(pid))
            os.kill(pid, signal.SIGKILL)
    assert _all_ended(handles, 10)
    for handle in handles:
        os.close(handle)


def running_pids(text: object) -> list[int]:
    """The processes with `text`, a path that no other test uses, in their command line."""
    return [pid for pid, content in _read_all("cmdline") if str(text).encode() in content]


def session_pids(leader: int) -> list[int]:
    """The processes of the session of a command: itself, its workers, and other processes that it started."""
    return [pid for pid, content in _read_all("stat") if content.rpartition(b")")[2].split()[3] == str(leader).encode()]


def _read_all(name: str) -> Iterator[tuple[int, bytes]]:
    """Reads this file in /proc of every other process."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and entry.name != str(os.getpid()):
            with suppress(OSError):  # The process may have ended.
                content = (entry / name).read_bytes()
                yield int(entry.name), content


def postmaster_pid(data_dir: Path) -> int:
    return int((data_dir / "postgres" / "postmaster.pid").read_text().split()[0])


@contextmanager
def accessible_dir() -> Iterator[Path]:
    """A directory that other accounts can enter; at the end it is removed, and processes that use it are killed."""
    path = make_run_dir()
    try:
        yield path
    finally:
        _end_all(path)
        shutil.rmtree(path)


def _end_all(path: Path) -> None:
    # On SIGINT PostgreSQL ends at once and frees its shared memory; processes that ignore it are killed.
    for signal_number in (signal.SIGINT, signal.SIGKILL):
        for pid in running_pids(path):
            try:
                with watch_process(pid) as wait_for_end:
                    os.kill(pid, signal_number)
                    wait_for_end(5)
            except ProcessLookupError:
                pass


@contextmanager
def serving(*arguments: str, **environ: str) -> Iterator[Service]:
    """A running shop; at the end it is stopped, and its remaining processes are killed."""
    with _serve(Service, *arguments, **environ) as service:
        yield service


@contextmanager
def serving_installed(*arguments: str, **environ: str) -> Iterator[Service]:
    """The same, started by the installed script."""
    with _serve(InstalledService, *arguments, **environ) as service:
        yield service


@contextmanager
def _serve(kind: type[Service], /, *arguments: str, **environ: str) -> Iterator[Service]:
    service = kind(*arguments, **environ)
    try:
        yield service
    finally:
        with suppress(subprocess.TimeoutExpired):
            stop(service, 10)
        kill(*session_pids(service.process.pid))
        service.wait()


def stop(service: Service, seconds: float = 30) -> int:
    """Sends SIGTERM and returns the exit status of the parent, without waiting for its workers."""
    service.process.terminate()
    return service.process.wait(seconds)


def is_event(event: str) -> Callable[[str], bool]:
    """Matches the log lines of one event."""
    return lambda line: f'"event":"{event}"' in line


async def until(condition: Callable[[], Any], seconds: float = 30) -> None:
    """Awaits the condition again and again until it holds. The pauses leave the CPU to what the test waits for."""
    end, pause = time.monotonic() + seconds, 0.001
    while not await condition():
        assert time.monotonic() < end, "the condition did not become true in time"
        await asyncio.sleep(pause)
        pause = min(2 * pause, 0.05)


def fetch_value(url: str, *statements: str) -> Any:
    """Runs the statements and returns the value of the last one."""

    async def run() -> Any:
        connection = await asyncpg.connect(url)
        try:
            for statement in statements[:-1]:
                await connection.execute(statement)
            return await connection.fetchval(statements[-1])
        finally:
            await connection.close()

    return asyncio.run(run())
