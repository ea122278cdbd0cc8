"""One PostgreSQL for the whole run, and a fresh database for whoever asks, copied from a migrated template."""

import asyncio
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import asyncpg

from shop.db.embedded import Embedded
from shop.migrations.upgrade import upgrade

TEMPLATE = "shop_template"


def make_run_dir() -> Path:
    """A directory that another account can walk through: as root the server runs under one."""
    path = Path(tempfile.mkdtemp(prefix="shop-test-"))
    path.chmod(0o755)
    return path


def with_database(url: str, name: str) -> str:
    address, mark, options = url.partition("?")
    return f"{address.rpartition('/')[0]}/{name}{mark}{options}"


class Cluster:
    """This process's hold on the shared server; `TEST_POSTGRES_URL` names another one than the embedded."""

    def __init__(self, run_dir: Path) -> None:
        self.run_dir = run_dir
        self._given = os.environ.get("TEST_POSTGRES_URL")
        self._embedded = None if self._given else Embedded(run_dir)
        self._url = ""

    def start(self) -> None:
        self._url = self._given or self._embedded.start()  # type: ignore[union-attr]
        with self._lock():
            if not (self.run_dir / "template.ready").exists():
                if self._embedded:
                    # Nothing here is to outlive the run; what is, has a server of its own in the tests that look.
                    self._execute("alter system set fsync = off", "select pg_reload_conf()")
                self._execute(f"drop database if exists {TEMPLATE}", f"create database {TEMPLATE}")
                upgrade(with_database(self._url, TEMPLATE))
                (self.run_dir / "template.ready").touch()

    def stop(self) -> None:
        if self._embedded:
            self._embedded.stop()

    def new_database(self, name: str, template: str = TEMPLATE) -> str:
        with self._lock():
            self._execute(f"drop database if exists {name} with (force)", f"create database {name} template {template}")
        return with_database(self._url, name)

    def drop_database(self, name: str) -> None:
        with self._lock():
            self._execute(f"drop database if exists {name} with (force)")

    @contextmanager
    def database(self, name: str) -> Iterator[str]:
        """A copy of the template from here to there."""
        yield self.new_database(name)
        self.drop_database(name)

    def execute_in(self, name: str, statement: str) -> None:
        self._execute(statement, name=name)

    def _execute(self, *statements: str, name: str = "postgres") -> None:
        async def run() -> None:
            connection = await asyncpg.connect(with_database(self._url, name))
            try:
                for statement in statements:
                    await connection.execute(statement)
            finally:
                await connection.close()

        # A thread of its own: the asking test may have a running loop.
        with ThreadPoolExecutor(1) as thread:
            thread.submit(lambda: asyncio.run(run())).result()

    @contextmanager
    def _lock(self) -> Iterator[None]:
        """A template can be copied by one session at a time."""
        with (self.run_dir / "template.lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


def remove_run_dir(path: Path) -> None:
    shutil.rmtree(path, ignore_errors=True)
