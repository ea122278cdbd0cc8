"""Processes that a test starts, ends by force and looks for afterwards, and the directories they live in."""

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
from uuid import uuid4

import asyncpg

from tests.cluster import make_run_dir
from tests.service import InstalledService, Service
from tests.warm import Forked

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
    """Yields a wait for the end of all these processes, which must live now; it says whether they ended in time.

    The end of a process is an event of its pidfd, also before whoever inherited the process has collected it.
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


def first_to_end(*processes: "subprocess.Popen[str] | Forked", seconds: float) -> int | None:
    """Which of them ended first; None if all live on."""
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
        with suppress(ProcessLookupError):  # One may have ended because of another's end.
            handles.append(os.pidfd_open(pid))
            os.kill(pid, signal.SIGKILL)
    assert _all_ended(handles, 10)
    for handle in handles:
        os.close(handle)


def living(mark: object) -> list[int]:
    """The processes that name `mark` in their command line or environment: a path that no other test uses."""
    pids = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and entry.name != str(os.getpid()):
            try:
                process_text = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
            except OSError:  # It has ended meanwhile.
                continue
            if str(mark).encode() in process_text:
                pids.append(int(entry.name))
    return pids


def postmaster_pid(data_dir: Path) -> int:
    return int((data_dir / "postgres" / "postmaster.pid").read_text().split()[0])


@contextmanager
def roomy_dir() -> Iterator[Path]:
    """A directory that other accounts can walk through, taken away with every process that still lives in it."""
    path = make_run_dir()
    try:
        yield path
    finally:
        _end_all(path)
        shutil.rmtree(path)


def _end_all(path: Path) -> None:
    # SIGINT asks a PostgreSQL to go at once and to clear its shared memory; what does not listen is killed.
    for sign in (signal.SIGINT, signal.SIGKILL):
        for pid in living(path):
            try:
                with watch_process(pid) as wait_for_end:
                    os.kill(pid, sign)
                    wait_for_end(5)
            except ProcessLookupError:
                pass


@contextmanager
def serving(*arguments: str, **environ: str) -> Iterator[Service]:
    """A served shop that is stopped at the end; if the test has ended it by force, with whatever outlived that."""
    with _to_the_end(Service, *arguments, **environ) as service:
        yield service


@contextmanager
def serving_installed(*arguments: str, **environ: str) -> Iterator[Service]:
    """The same by the installed script."""
    with _to_the_end(InstalledService, *arguments, **environ) as service:
        yield service


@contextmanager
def _to_the_end(kind: type[Service], /, *arguments: str, **environ: str) -> Iterator[Service]:
    mark = uuid4().hex
    service = kind(*arguments, TEST_MARK=mark, **environ)
    try:
        yield service
    finally:
        with suppress(subprocess.TimeoutExpired):
            stop(service, 10)
        kill(*living(mark))
        service.wait()


def stop(service: Service, seconds: float = 30) -> int:
    """SIGTERM, then the exit status of the parent, whatever its workers do."""
    service.process.terminate()
    return service.process.wait(seconds)


def is_event(event: str) -> Callable[[str], bool]:
    """Matches the log lines of one event."""
    return lambda line: f'"event":"{event}"' in line


async def until(condition: Callable[[], Any], seconds: float = 10) -> None:
    """Asks again until it is so; for facts that only a question can bring to light, and each question is awaited."""
    end = time.monotonic() + seconds
    while not await condition():
        assert time.monotonic() < end, "it did not come to pass"


def ask(url: str, *statements: str) -> Any:
    """The answer of the last statement."""

    async def run() -> Any:
        connection = await asyncpg.connect(url)
        try:
            for statement in statements[:-1]:
                await connection.execute(statement)
            return await connection.fetchval(statements[-1])
        finally:
            await connection.close()

    return asyncio.run(run())
