"""PostgreSQL for tests: a shared server with new databases, and data directories with an embedded database. Both are
copied from migrated templates.
"""

import asyncio
import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import asyncpg

from shop.db.embedded import DATABASE, Embedded
from shop.migrations.upgrade import upgrade

TEMPLATE = "shop_template"
OTHER_BINARIES = "TEST_POSTGRES_BINARIES"
"""The environment variable with the directory of another PostgreSQL than the embedded one."""
NEEDED_BYTES = 4 << 30
_MEMORY_DIR = Path("/dev/shm")


def make_run_dir() -> Path:
    """A directory that other accounts can enter: started by root, the server runs under another account."""
    path = Path(tempfile.mkdtemp(prefix="shop-test-", dir=_MEMORY_DIR if _has_space(_MEMORY_DIR) else None))
    path.chmod(0o755)
    return path


def _has_space(directory: Path) -> bool:
    """Whether memory has space for a cluster: a disk takes seconds to create and delete its thousands of files."""
    return os.access(directory, os.W_OK) and shutil.disk_usage(directory).free > NEEDED_BYTES


def with_database(url: str, name: str) -> str:
    address, separator, options = url.partition("?")
    return f"{address.rpartition('/')[0]}/{name}{separator}{options}"


def execute(url: str, *statements: str) -> None:
    async def run() -> None:
        connection = await asyncpg.connect(url)
        try:
            for statement in statements:
                await connection.execute(statement)
        finally:
            await connection.close()

    # In another thread: the calling test may have a running event loop.
    with ThreadPoolExecutor(1) as thread:
        thread.submit(lambda: asyncio.run(run())).result()


class Server(Embedded):
    """The server of a data directory. A shop with the same directory uses it, whatever its version."""

    def __init__(self, data_dir: Path) -> None:
        super().__init__(data_dir)
        self._other = os.environ.get(OTHER_BINARIES)
        if self._other:
            # The builtin locale provider came with PostgreSQL 17.
            self.LOCALE = ("--locale=C.UTF-8", "--encoding=UTF8")

    def _check_reachable(self) -> None:
        super()._check_reachable()
        if self._other:
            self._binaries = Path(self._other)


class Cluster:
    """The shared server, as one process uses it."""

    def __init__(self, run_dir: Path) -> None:
        self.run_dir = run_dir
        self._server = Server(run_dir)
        self._url = ""

    def start(self) -> None:
        with self._lock():
            self._url = self._server.start()
            if not (self.run_dir / "template.ready").exists():
                self._make_templates()
                (self.run_dir / "template.ready").touch()

    def stop(self) -> None:
        self._server.stop()

    def _make_templates(self) -> None:
        """Makes the files of a stopped server, for data directories, and a database, for the shared server."""
        # Test data need not survive a crash; tests of durability start another server.
        settings = [f"alter system set {name} = off" for name in ("fsync", "full_page_writes")]
        self._execute(*settings, "select pg_reload_conf()")
        upgrade(self._url)
        self._server.stop()
        _copy(self.run_dir / "postgres", self.run_dir / "template")
        self._server.start()
        self._execute(f"create database {TEMPLATE} template {DATABASE} strategy file_copy")

    @contextmanager
    def data_dir(self, name: str) -> Iterator[tuple[Path, str]]:
        """A data directory with a running, migrated embedded database, and the URL of the database."""
        path = self.run_dir / name
        path.mkdir(mode=0o711)
        _copy(self.run_dir / "template", path / "postgres")
        server = Server(path)
        try:
            yield path, server.start()
        finally:
            server.stop()
            shutil.rmtree(path, ignore_errors=True)

    def new_database(self, name: str, template: str = TEMPLATE) -> str:
        # `file_copy` does not write every page to the log as well.
        copy = f"create database {name} template {template} strategy file_copy"
        with self._lock():
            self._execute(f"drop database if exists {name} with (force)", copy)
        return with_database(self._url, name)

    def drop_database(self, name: str) -> None:
        with self._lock():
            self._execute(f"drop database if exists {name} with (force)")

    @contextmanager
    def database(self, name: str) -> Iterator[str]:
        """A copy of the template, dropped at the end."""
        yield self.new_database(name)
        self.drop_database(name)

    def _execute(self, *statements: str) -> None:
        execute(with_database(self._url, "postgres"), *statements)

    @contextmanager
    def _lock(self) -> Iterator[None]:
        """Only one session at a time can copy a template."""
        with (self.run_dir / "template.lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


def _copy(source: Path, target: Path) -> None:
    """Copies with owners and modes: started by root, the server runs under another account."""
    subprocess.run(["cp", "-a", source, target], check=True)


def remove_run_dir(path: Path) -> None:
    shutil.rmtree(path, ignore_errors=True)
