"""Real streaming standbys of an embedded server, for tests of replicas."""

import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil

from tests.cluster import execute
from tests.db.processes import accessible_dir, postmaster_pid
from tests.journeys.test_failover import Standby


class RunningStandby:
    """A standby that can pause its replay, hang, or die."""

    def __init__(self, data_dir: Path, url: str) -> None:
        self._data_dir = data_dir
        self.url = url

    def pause_replay(self) -> None:
        execute(self.url, "select pg_wal_replay_pause()")

    def resume_replay(self) -> None:
        execute(self.url, "select pg_wal_replay_resume()")

    @property
    def _pids(self) -> list[int]:
        postmaster = psutil.Process(postmaster_pid(self._data_dir))
        return [postmaster.pid, *(child.pid for child in postmaster.children(recursive=True))]

    @contextmanager
    def hung(self) -> Iterator[None]:
        pids = self._pids
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for pid in pids:
                os.kill(pid, signal.SIGCONT)

    def kill(self) -> None:
        for pid in self._pids:
            os.kill(pid, signal.SIGKILL)


@contextmanager
def standbys_of(primary_url: str, count: int) -> Iterator[list[RunningStandby]]:
    with ExitStack() as stack:
        standbys = []
        for _ in range(count):
            directory = stack.enter_context(accessible_dir())
            standbys.append(RunningStandby(directory, Standby(directory).follow(primary_url)))
        yield standbys
