"""A real PgBouncer with the shipped configuration, on loopback."""

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest

from shop.db.embedded_account import SERVER_USER
from shop.db.pool import SESSION_SETTINGS
from shop.db.poolers import FORWARDED_SETTINGS
from tests.cluster import execute
from tests.db.processes import accessible_dir
from tests.programs import find_program

EXAMPLE = Path(__file__).parents[1] / "docs" / "pgbouncer.ini"
POOL_SIZE = 4
OTHER_PROGRAM = "TEST_PGBOUNCER"
"""The environment variable with the path of another PgBouncer than the installed one."""
FIRST_WITH_PREPARED = (1, 21)
PREPARED_COUNT = 300
"""`max_prepared_statements` of the shipped file."""


def find_pgbouncer() -> str:
    return os.environ.get(OTHER_PROGRAM) or find_program("pgbouncer")


@cache
def can_prepare() -> bool:
    """Returns whether this PgBouncer knows `max_prepared_statements`."""
    output = subprocess.run([find_pgbouncer(), "--version"], capture_output=True, text=True, check=True).stdout
    version = tuple(int(part) for part in output.split()[1].split(".")[:2])
    return version >= FIRST_WITH_PREPARED


class PgBouncer(msgspec.Struct):
    """A running PgBouncer."""

    config: Path
    port: int
    database: str
    is_prepared: bool
    process: "subprocess.Popen[bytes] | None" = None

    @property
    def url(self) -> str:
        return f"postgresql://shop@127.0.0.1:{self.port}/{self.database}?sslmode=disable"

    def start(self) -> None:
        self.process = subprocess.Popen([find_pgbouncer(), "-q", str(self.config)], stderr=subprocess.DEVNULL)
        end = time.monotonic() + 20
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 10).close()
            except ConnectionRefusedError:
                assert self.process.poll() is None, "PgBouncer ended"
                assert time.monotonic() < end, "PgBouncer does not listen"
            else:
                return

    def kill(self) -> None:
        """Ends it at once, as a crash does."""
        assert self.process
        self.process.kill()
        self.process.wait(10)


def write_config(directory: Path, url: str, port: int, prepared_count: int, **changes: str) -> Path:
    """Writes the shipped file with other addresses and paths, and a small pool."""
    text = EXAMPLE.read_text()
    prepared = f"max_prepared_statements = {prepared_count}" if can_prepare() else ""
    (socket_dir,) = parse_qs(urlsplit(url).query)["host"]
    for default, replacement in {
        "shop = host=127.0.0.1 port=5432": f"* = host={socket_dir} port=5432",
        "listen_port = 6432": f"listen_port = {port}",
        "auth_type = scram-sha-256": "auth_type = trust",
        "/etc/pgbouncer/userlist.txt": f"{directory}/userlist.txt",
        "/var/log/postgresql/": f"{directory}/",
        "/run/postgresql/": f"{directory}/",
        "default_pool_size = 20": f"default_pool_size = {POOL_SIZE}",
        f";max_prepared_statements = {PREPARED_COUNT}": prepared,
        **changes,
    }.items():
        assert default in text
        text = text.replace(default, replacement)
    # PgBouncer does not run as root.
    account = f"user = {SERVER_USER}\n" if os.geteuid() == 0 else ""
    file = directory / "pgbouncer.ini"
    file.write_text(text + account)
    (directory / "userlist.txt").write_text('"shop" ""\n')
    return file


def set_role_settings(url: str) -> None:
    """Runs the statements in the comment of the shipped file."""
    lines = [line.removeprefix(";").strip() for line in EXAMPLE.read_text().splitlines()]
    statements = [line for line in lines if line.startswith("alter role")]
    assert len(statements) == len(set(SESSION_SETTINGS) - {*FORWARDED_SETTINGS})
    execute(url, *statements)


@contextmanager
def run_pgbouncer(
    url: str, *, prepared_count: int = 0, has_role_settings: bool = True, **changes: str
) -> Iterator[PgBouncer]:
    """Runs PgBouncer in front of the embedded server with this URL; by default it keeps no prepared statements."""
    if prepared_count and not can_prepare():
        pytest.skip(f"prepared statements need PgBouncer 1.21 or newer; name one in {OTHER_PROGRAM}")
    if has_role_settings:
        set_role_settings(url)
    with accessible_dir() as directory, socket.socket() as probe:
        directory.chmod(0o777)
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
        probe.close()
        config = write_config(directory, url, port, prepared_count, **changes)
        pooler = PgBouncer(config, port, urlsplit(url).path[1:], is_prepared=prepared_count > 0)
        pooler.start()
        try:
            yield pooler
        finally:
            pooler.kill()
