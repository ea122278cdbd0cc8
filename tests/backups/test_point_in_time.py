"""Point-in-time recovery with the commands of docs/backup.md, and standbys. Uses the bundled PostgreSQL."""

import asyncio
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

import asyncpg
import pytest

from shop.db.embedded_account import reachable_binaries, server_account
from tests.cli.command import Command, external
from tests.db.processes import accessible_dir, kill, postmaster_pid, watch_process
from tests.service import KEYS

PAGE = Path(__file__).parents[2] / "docs" / "backup.md"
TICKS = 300

pytestmark = pytest.mark.torture


def commands_of(words: str) -> str:
    """The commands below the paragraph that begins with these words."""
    match = re.search(rf"\*\*{words}\*\*.*?```sh\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert match
    return match[1]


@pytest.fixture
def directory() -> Iterator[Path]:
    """A directory of the account that runs PostgreSQL."""
    account = server_account()
    with accessible_dir() as path:
        if account:
            os.chown(path, account.pw_uid, account.pw_gid)
        yield path


def run(script: str, directory: Path, **environ: str) -> "subprocess.Popen[bytes]":
    account = server_account()
    binaries = reachable_binaries(directory, account)
    variables = {"PATH": f"{binaries}:/usr/bin:/bin", "HOME": str(directory), "LC_ALL": "C", **environ}
    return subprocess.Popen(
        ["bash", "-euo", "pipefail", "-c", script],
        env=variables,
        cwd=directory,
        stdout=subprocess.DEVNULL,
        user=account.pw_uid if account else None,
        group=account.pw_gid if account else None,
        extra_groups=[] if account else None,
    )


def run_to_end(script: str, directory: Path, **environ: str) -> None:
    assert run(script, directory, **environ).wait(120) == 0


def url_of(socket_dir: Path) -> str:
    return f"postgresql:///shop?host={quote(str(socket_dir))}&user=shop"


def set_socket_directory(cluster: Path, socket_dir: Path) -> None:
    """An embedded server takes its socket directory as an argument; `pg_ctl` alone needs it in the configuration."""
    with (cluster / "postgresql.auto.conf").open("a") as file:
        file.write(f"unix_socket_directories = '{socket_dir}'\n")


@contextmanager
def stopped_at_end(cluster: Path, directory: Path) -> Iterator[None]:
    try:
        yield
    finally:
        run(f"pg_ctl stop --pgdata={cluster} --mode=immediate", directory).wait(60)


async def write_ticks(url: str) -> datetime:
    """Commits rows one after another; returns the time of the last one that was acknowledged."""
    connection = await asyncpg.connect(url)
    try:
        for _ in range(TICKS):
            last = await connection.fetchval("insert into ticks values (clock_timestamp()) returning at")
    finally:
        connection.terminate()
    assert isinstance(last, datetime)
    return last


async def execute(url: str, statement: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(statement)
    finally:
        connection.terminate()


async def fetch(url: str, query: str) -> object:
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(query)
    finally:
        connection.terminate()


def test_a_lost_server_is_recovered_with_the_commands_of_the_page(
    own_data_dir: Callable[[], tuple[Path, str]], directory: Path, shop: Command, tmp_path: Path
) -> None:
    data_dir, url = own_data_dir()
    copy, archive = directory / "copy", directory / "archive"
    archive.mkdir(mode=0o777)
    archive.chmod(0o777)
    places = {"PRIMARY": url, "NEW": url_of(directory), "COPY": str(copy), "ARCHIVE": str(archive)}
    create_slot, receive = commands_of("Receive the WAL").splitlines()
    run_to_end(create_slot, directory, **places)
    receiver = run(receive, directory, **places)
    run_to_end(commands_of("Copy the server"), directory, **places)
    set_socket_directory(copy, directory)
    asyncio.run(execute(url, "create table ticks (at timestamptz)"))
    asyncio.run(write_ticks(url))
    before_mistake = str(asyncio.run(fetch(url, "select clock_timestamp()")))
    asyncio.run(execute(url, "update shops set name = 'Mistake'"))
    last = asyncio.run(write_ticks(url))
    pid = postmaster_pid(data_dir)
    lost_at = time.monotonic()
    with watch_process(receiver.pid) as wait_for_end:
        kill(pid)
        shutil.rmtree(data_dir / "postgres", ignore_errors=True)
        receiver.terminate()
        assert wait_for_end(10)
    receiver.wait()
    recover = commands_of("Recover")
    whole, earlier = directory / "whole", directory / "earlier"
    without_target = re.sub("recovery_target_time.*\n", "", recover)

    with stopped_at_end(whole, directory):
        run_to_end(without_target, directory, RECOVERED=str(whole), **places)
        asyncio.run(execute(url_of(directory), "insert into ticks values (now())"))
        seconds = time.monotonic() - lost_at
        recovered = asyncio.run(fetch(url_of(directory), f"select max(at) from ticks where at <= '{last}'"))
        count = asyncio.run(fetch(url_of(directory), "select count(*) from ticks"))
        checks = shop("verify", **external(url_of(directory), SHOP_DATA_DIR=str(tmp_path), SHOP_SECRET_KEYS=KEYS))
    with stopped_at_end(earlier, directory):
        run_to_end(recover, directory, RECOVERED=str(earlier), TARGET=before_mistake, **places)
        name = asyncio.run(fetch(url_of(directory), "select name from shops"))
        early_count = asyncio.run(fetch(url_of(directory), "select count(*) from ticks"))

    assert isinstance(recovered, datetime)
    loss = (last - recovered).total_seconds()
    print(f"RPO {loss:.3f} s, RTO {seconds:.1f} s, {count} rows at {datetime.now(UTC):%Y-%m-%d}")
    assert loss < 1
    assert seconds < 120
    assert checks.returncode == 0, checks.stdout
    assert (name, early_count) == ("Shop", TICKS)


def test_the_doctor_names_standbys(
    own_data_dir: Callable[[], tuple[Path, str]], directory: Path, shop: Command, tmp_path: Path
) -> None:
    data_dir, url = own_data_dir()
    standby = directory / "standby"
    run_to_end(f"pg_basebackup --dbname='{url}' --pgdata={standby} --checkpoint=fast --write-recovery-conf", directory)
    set_socket_directory(standby, directory)
    with stopped_at_end(standby, directory):
        run_to_end(f"pg_ctl start --pgdata={standby} --wait --log={directory}/log", directory)
        alone = shop("doctor", **external(url_of(directory), SHOP_DATA_DIR=str(tmp_path)))
        hosts = f"postgresql:///shop?host={data_dir}/run,{directory}&user=shop"
        both = shop("doctor", **external(hosts, SHOP_DATA_DIR=str(tmp_path)))

    assert "FAIL  database: The database is read-only; name the primary in SHOP_DATABASE_URL." in alone.stdout
    assert "no primary answers: all are standbys, which accept no writes" in alone.stdout
    assert both.returncode == 0, both.stdout
    assert "ok    servers: the primary answers; server 2 is a standby, 0.0 s behind" in both.stdout
