"""Loads a shop and measures the CPU of its PostgreSQL servers too."""

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

import psutil

from bench.load_test import Sample, Server, load
from bench.rounds import Bench
from shop.db.embedded import Embedded
from shop.db.embedded_account import own_directory


class Database(Embedded):
    """A PostgreSQL server of the benchmark, which can follow another one."""

    def __init__(self, data_dir: Path) -> None:
        data_dir.mkdir(exist_ok=True)
        data_dir.chmod(0o755)
        super().__init__(data_dir)

    def follow(self, primary: "Database") -> str:
        """Copies a running server and starts as its standby; returns the URL of the copy."""
        self._check_reachable()
        own_directory(self._cluster, self._account)
        socket_dir = str(primary._dir / "run")
        self._run("pg_basebackup", "-D", str(self._cluster), "-h", socket_dir, "-U", "shop", "-R", "-c", "fast")
        return self.start()

    @property
    def cpu_seconds(self) -> float:
        """The CPU time of all processes; connections that have ended count with the postmaster."""
        postmaster = psutil.Process(int((self._cluster / "postmaster.pid").read_text().split()[0]))
        times = [process.cpu_times() for process in (postmaster, *postmaster.children())]
        return float(sum(each.user + each.system for each in times) + times[0].children_user + times[0].children_system)


def load_job(
    bench: Bench,
    server: Server,
    script: Path | None,
    path: str,
    databases: Sequence[tuple[list[float], list[Database]]],
) -> Callable[[], Sample]:
    """Returns a job that loads a shop, and adds the CPU microseconds per request of each group of servers to the list of
    the group.
    """

    def run() -> Sample:
        before = [sum(database.cpu_seconds for database in group) for _, group in databases]
        sample = load(bench.wrk, server, bench.seconds, script, path)
        for (costs, group), start in zip(databases, before, strict=True):
            seconds = sum(database.cpu_seconds for database in group) - start
            costs.append(seconds * 1e6 / (sample.per_second * bench.seconds))
        return sample

    return run


def median_cost(costs: list[float]) -> str:
    return f"{median(costs):,.0f}" if costs else ""
