"""The sides of a comparison: a commit's source, a database with its schema, its server, and their costs."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
import psutil

from bench.load_test import Server, run_sql
from shop.db.embedded import Embedded, database_url

ROOT = Path(__file__).parent.parent
SHOP = str(Path(sys.executable).parent / "shop")
SETTINGS = {
    "SHOP_SECRET_KEYS": "k1:" + "5b" * 32,
    "SHOP_MAILBOX": "on",
    "SHOP_DRAIN_SECONDS": "0",
    "SHOP_LOG_FORMAT": "json",
    # Only requests with X-Forwarded-For are counted by the rate limiter.
    "SHOP_TRUSTED_PROXIES": "127.0.0.1",
    "SHOP_LIMIT_MAILS": "0",
    "PYTHONHASHSEED": "0",
}
# Disables background work of PostgreSQL, which would affect the sides at random.
QUIET = {"autovacuum": "off", "checkpoint_timeout": "'1h'", "max_wal_size": "'8GB'", "bgwriter_lru_maxpages": "0"}


class Cost(msgspec.Struct, frozen=True):
    """The average cost of one unit of work."""

    service: float
    """Microseconds of CPU."""
    database: float
    """Microseconds of CPU of all PostgreSQL processes."""
    statements: float

    @property
    def cpu(self) -> float:
        return self.service + self.database


class Cluster:
    """A PostgreSQL server for the benchmark only."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir()
        self._directory = directory
        self._embedded = Embedded(directory)
        self._embedded.start()
        settings = [f"alter system set {name} = {value}" for name, value in QUIET.items()]
        run_sql(self.url("postgres"), *settings, "select pg_reload_conf()")
        pid = int((directory / "postgres" / "postmaster.pid").read_text().split()[0])
        self._postmaster = psutil.Process(pid)

    def url(self, name: str) -> str:
        return database_url(self._directory, name)

    def create(self, name: str) -> str:
        run_sql(self.url("postgres"), f"create database {name}")
        return self.url(name)

    def cpu(self) -> float:
        """Returns the CPU seconds of running and ended processes."""
        own = self._postmaster.cpu_times()
        ended_seconds = float(own.children_user + own.children_system)
        return ended_seconds + _seconds(self._postmaster) + sum(map(_seconds, self._postmaster.children()))

    def stop(self) -> None:
        self._embedded.stop()


class Side:
    """A source tree and a database, with at most one server at a time."""

    def __init__(self, name: str, source: Path, directory: Path) -> None:
        self.name = name
        self.url = ""
        self.prepared: Any = None
        """Tokens and ids for the requests; the same for every server."""
        self._environ = {**SETTINGS, "PYTHONPATH": str(source), "SHOP_DATA_DIR": str(directory / f"data-{name}")}
        self._log = directory / f"{name}.log"
        self._server: Server | None = None
        self._read = 0
        where = self._run([sys.executable, "-c", "import shop; print(shop.__file__)"]).strip()
        if not where.startswith(str(source)):
            sys.exit(f"bench: {where} was loaded instead of {source}")

    def use(self, database: str) -> None:
        self._environ["SHOP_DATABASE_URL"] = database

    def migrate(self) -> None:
        self._run([SHOP, "migrate"])

    def fill(self) -> None:
        """Loads the demo shop, with ample stock and one image per product, so that the sides return documents of equal
        size.
        """
        self._start("--demo")
        self.stop()
        run_sql(
            self._environ["SHOP_DATABASE_URL"],
            "update stock_items set count_on_hand = 1000000",
            "update listings set image_ids = image_ids[1:1]",
            "delete from images where variant_id in (select id from variants where not is_master)",
            "vacuum analyze",
        )

    def new_application(self) -> dict[str, str]:
        application: dict[str, str] = json.loads(
            self._run([SHOP, "app", "create", "Bench", "--access", "write", "--json"])
        )
        return application

    def start(self) -> None:
        self._start()

    def _start(self, *options: str) -> None:
        self._server = Server([SHOP, "serve", "--port", "PORT", *options], self._log, self._environ).wait()
        self.url = self._server.url
        self._read = 0

    def stop(self) -> None:
        if self._server:
            self._server.stop()
        self._server = None

    def cpu(self) -> float:
        assert self._server
        parent = psutil.Process(self._server.process.pid)
        return _seconds(parent) + sum(_seconds(child) for child in parent.children(recursive=True))

    def last_lines(self, most: int = 20) -> str:
        """Returns the end of its log, without successful requests."""
        lines = self._log.read_text(errors="replace").splitlines()
        relevant = [line for line in lines if '"event":"request"' not in line or '"status":5' in line]
        return "\n".join(relevant[-most:])

    def statements(self) -> tuple[int, int]:
        """Returns the number of requests and statements logged since the last call."""
        requests = statements = 0
        with self._log.open("rb") as log:
            log.seek(self._read)
            # The last line may be incomplete.
            lines, end, _ = log.read().rpartition(b"\n")
        for line in lines.split(b"\n"):
            if b'"event":"request"' in line:
                requests += 1
                statements += int(json.loads(line)["statements"])
        self._read += len(lines + end)
        return requests, statements

    def statements_of(self, count: int) -> int:
        """Returns the statements of `count` requests; waits until all are logged."""
        requests = statements = 0
        end = time.monotonic() + 10
        while requests < count and time.monotonic() < end:
            more, of_those = self.statements()
            requests, statements = requests + more, statements + of_those
        if requests != count:
            sys.exit(f"bench: {count} requests were sent to {self.name}, and its log tells of {requests}")
        return statements

    def _run(self, command: list[str]) -> str:
        base_environ = {name: value for name, value in os.environ.items() if not name.startswith("SHOP_")}
        process = subprocess.run(
            command, env={**base_environ, **self._environ}, capture_output=True, text=True, check=False
        )
        if process.returncode:
            sys.exit(f"bench: {' '.join(command)} failed for {self.name}:\n{process.stderr}")
        return process.stdout


def check_out(commit: str, directory: Path) -> Path:
    """Extracts the source of a commit."""
    tree = directory / "base"
    tree.mkdir()
    archive = subprocess.Popen(["git", "-C", str(ROOT), "archive", commit, "src"], stdout=subprocess.PIPE)
    subprocess.run([shutil.which("tar") or "tar", "-x", "-C", str(tree)], stdin=archive.stdout, check=True)
    if archive.wait():
        sys.exit(f"bench: {commit} is no commit of this repository")
    return tree / "src"


def _seconds(process: psutil.Process) -> float:
    try:
        times = process.cpu_times()
    except psutil.NoSuchProcess:
        return 0.0
    return float(times.user + times.system)
