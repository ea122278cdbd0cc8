"""The embedded database: one server for all its users, which stops with the last of them and loses no data."""

import asyncio
import fcntl
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import pbkdf2_hmac
from pathlib import Path
from urllib.parse import unquote

import asyncpg
import pytest

from shop.base.errors import CannotStart
from shop.db import embedded
from shop.db.embedded import Embedded, database_url
from tests.db.processes import HOLDER, accessible_dir, fetch_value, kill, postmaster_pid, running_pids, watch_process

NewServer = Callable[[Path], Embedded]

FORKING = """
import os, sys
from pathlib import Path
from shop.db.embedded import Embedded

url = Embedded(Path(sys.argv[1])).start()
if not os.fork():
    print(url, flush=True)
sys.stdin.read()
"""
"""A program that forks while it uses the embedded database; both processes run until their standard input ends."""


@pytest.fixture
def data_dir() -> Iterator[Path]:
    """An empty directory: the first start creates a cluster in it."""
    with accessible_dir() as path:
        yield path


@pytest.fixture(scope="module")
def cluster_dir() -> Iterator[Path]:
    """A directory with a cluster whose server is stopped."""
    with accessible_dir() as path:
        server = Embedded(path)
        server.start()
        server.stop()
        yield path


@pytest.fixture
def new_server() -> Iterator[NewServer]:
    """Creates users of a database server; all of them stop at the end."""
    servers: list[Embedded] = []

    def create(data_dir: Path) -> Embedded:
        servers.append(Embedded(data_dir))
        return servers[-1]

    yield create
    for server in servers:
        server.stop()


@contextmanager
def holder(data_dir: Path, program: str = HOLDER, **environ: str) -> Iterator["subprocess.Popen[str]"]:
    """Another process that uses the embedded database, or is about to."""
    with subprocess.Popen(
        [sys.executable, "-c", program, str(data_dir)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **environ},
    ) as process:
        try:
            yield process
        finally:
            process.communicate(timeout=30)


def read_line(process: "subprocess.Popen[str]") -> str:
    """Reads a line of a holder: the URL, once the server runs."""
    assert process.stdout
    return process.stdout.readline().strip()


def mode(path: Path) -> str:
    return oct(path.stat().st_mode & 0o777)


def test_a_second_user_joins_the_running_server(cluster_dir: Path, new_server: NewServer) -> None:
    new_server(cluster_dir).start()
    pid = postmaster_pid(cluster_dir)

    url = new_server(cluster_dir).start()

    assert url == database_url(cluster_dir)
    assert postmaster_pid(cluster_dir) == pid
    assert fetch_value(url, "select 1") == 1


def test_the_server_runs_until_its_last_user_stops(cluster_dir: Path, new_server: NewServer) -> None:
    first, second = new_server(cluster_dir), new_server(cluster_dir)
    url = first.start()
    second.start()

    with watch_process(postmaster_pid(cluster_dir)) as wait_for_end:
        first.stop()
        assert fetch_value(url, "select 1") == 1
        second.stop()
        assert wait_for_end(5)

    assert running_pids(cluster_dir) == []


def test_the_server_keeps_running_for_another_process(cluster_dir: Path, new_server: NewServer) -> None:
    server = new_server(cluster_dir)
    server.start()
    with holder(cluster_dir) as other:
        url = read_line(other)

        server.stop()

        assert fetch_value(url, "select 1") == 1
    assert running_pids(cluster_dir) == []


@pytest.mark.parametrize("program", [HOLDER, FORKING], ids=["alone", "with a running fork"])
def test_the_last_stop_stops_the_server_after_another_user_was_killed(
    cluster_dir: Path, new_server: NewServer, program: str
) -> None:
    server = new_server(cluster_dir)
    with holder(cluster_dir, program) as other:
        read_line(other)
        server.start()
        kill(other.pid)

        with watch_process(postmaster_pid(cluster_dir)) as wait_for_end:
            server.stop()
            assert wait_for_end(5)

    assert running_pids(cluster_dir) == []


def test_a_forked_process_does_not_hold_the_control_lock(cluster_dir: Path, new_server: NewServer) -> None:
    parent_end, child_end = socket.socketpair()
    with new_server(cluster_dir)._control():
        fork = os.fork()
        if fork == 0:
            parent_end.close()
            child_end.send(b"here")
            child_end.recv(1)
            os._exit(0)
    child_end.close()
    lock = os.open(cluster_dir / "postgres.control", os.O_RDWR)
    try:
        assert parent_end.recv(4) == b"here"
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.close(lock)
        parent_end.close()
        os.waitpid(fork, 0)


def test_a_fork_waits_until_a_process_is_spawned() -> None:
    events: list[str] = []
    has_lock = threading.Event()

    def spawn() -> None:
        with embedded._spawn_lock:
            has_lock.set()
            pbkdf2_hmac("sha256", b"password", b"salt", 200_000)
            events.append("spawned")

    other = threading.Thread(target=spawn)
    other.start()
    has_lock.wait()
    fork = os.fork()
    if fork == 0:
        os._exit(0 if events and not embedded._spawn_lock.locked() else 1)
    other.join()

    assert os.waitstatus_to_exitcode(os.waitpid(fork, 0)[1]) == 0
    assert not embedded._spawn_lock.locked()


def test_a_stop_without_a_start_does_nothing(cluster_dir: Path, new_server: NewServer) -> None:
    url = new_server(cluster_dir).start()

    new_server(cluster_dir).stop()

    assert fetch_value(url, "select 1") == 1


def test_the_start_after_a_killed_server_recovers_committed_data(cluster_dir: Path, new_server: NewServer) -> None:
    server = new_server(cluster_dir)
    url = server.start()
    fetch_value(
        url, "create table numbers (id int)", "insert into numbers select generate_series(1, 1000) returning id"
    )
    kill(postmaster_pid(cluster_dir))

    server.start()

    assert fetch_value(url, "select count(*) from numbers") == 1000


@pytest.mark.torture
async def test_the_start_after_a_killed_server_waits_for_its_last_statement(
    cluster_dir: Path, new_server: NewServer
) -> None:
    server = new_server(cluster_dir)
    connection = await asyncpg.connect(server.start())
    # A backend at work does not notice that its postmaster is gone, and keeps the shared memory to the statement's end.
    busy = asyncio.create_task(connection.execute("select count(*) from generate_series(1, 10000000)"))
    await asyncio.to_thread(kill, postmaster_pid(cluster_dir))

    url = await asyncio.to_thread(server.start)

    assert await asyncio.to_thread(fetch_value, url, "select 1") == 1
    await asyncio.gather(busy, return_exceptions=True)
    connection.terminate()


def test_only_a_dead_server_is_revived(cluster_dir: Path, new_server: NewServer) -> None:
    server = new_server(cluster_dir)
    url = server.start()
    pid = postmaster_pid(cluster_dir)

    assert server.revive() is False
    kill(pid)
    assert server.revive() is True

    assert postmaster_pid(cluster_dir) != pid
    assert fetch_value(url, "select 1") == 1


CONTAINER_INIT = """
import ctypes, os, signal, sys, time
from pathlib import Path
from shop.db.embedded import Embedded

# PR_SET_CHILD_SUBREAPER: orphans come to this process, as they come to the first process of a container.
ctypes.CDLL(None).prctl(36, 1)
server = Embedded(Path(sys.argv[1]))
server.start()
pid = int((Path(sys.argv[1]) / "postgres" / "postmaster.pid").read_text().split()[0])
os.kill(pid, signal.SIGKILL)
os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
print(server.revive(), flush=True)
sys.stdin.read()
server.stop()
"""


@pytest.mark.torture
def test_the_first_process_of_a_container_revives_a_dead_server(cluster_dir: Path) -> None:
    with holder(cluster_dir, CONTAINER_INIT) as first:
        output = read_line(first)

    assert output == "True"
    assert running_pids(cluster_dir) == []


@pytest.mark.torture
def test_a_server_in_another_container_is_joined(cluster_dir: Path, new_server: NewServer) -> None:
    new_server(cluster_dir).start()
    pid, file = postmaster_pid(cluster_dir), cluster_dir / "postgres" / "postmaster.pid"
    content = file.read_text()
    # Another container on the same volume does not see the server's process. A second server would corrupt the data.
    file.write_text(content.replace(str(pid), "4194305", 1))

    url = new_server(cluster_dir).start()

    assert fetch_value(url, "select 1") == 1
    assert running_pids(cluster_dir) == [pid]
    file.write_text(content)


@pytest.mark.torture
def test_two_concurrent_first_starts_create_one_cluster(data_dir: Path) -> None:
    with holder(data_dir) as first, holder(data_dir) as second:
        urls = [read_line(first), read_line(second)]

        assert urls == [database_url(data_dir)] * 2
        assert fetch_value(urls[0], "select count(*) from pg_database where datname = 'shop'") == 1
        names = {"postgres", "postgres.control", "postgres.users", "postgres.log", "run"}
        assert {path.name for path in data_dir.iterdir()} == names
    assert running_pids(data_dir) == []


@pytest.mark.torture
def test_incomplete_clusters_are_replaced(data_dir: Path, new_server: NewServer) -> None:
    for name in ("postgres", "postgres.making"):
        (data_dir / name / "base").mkdir(parents=True)
        (data_dir / name / "postgresql.conf").write_text("nonsense")

    url = new_server(data_dir).start()

    assert fetch_value(url, "select 1") == 1
    assert not (data_dir / "postgres.making").exists()


@pytest.mark.torture
def test_a_killed_first_start_does_not_break_the_next(data_dir: Path, new_server: NewServer) -> None:
    with holder(data_dir) as process:
        # initdb creates this directory early, and continues without the process that started it.
        while not list(data_dir.glob("postgres*/global")) and process.poll() is None:
            os.sched_yield()
        kill(process.pid)

    url = new_server(data_dir).start()

    assert fetch_value(url, "select 1") == 1


def test_cluster_and_socket_are_private_to_the_database_user(cluster_dir: Path, new_server: NewServer) -> None:
    new_server(cluster_dir).start()

    owner = Path(f"/proc/{postmaster_pid(cluster_dir)}").stat().st_uid
    assert owner != 0
    assert {(cluster_dir / name).stat().st_uid for name in ("postgres", "run", "postgres.log")} == {owner}
    assert {mode(cluster_dir / name) for name in ("postgres", "run")} == {"0o700"}
    assert {mode(cluster_dir / name) for name in ("postgres.log", "postgres.control", "postgres.users")} == {"0o600"}


@pytest.mark.torture
def test_a_start_restores_the_mode_of_the_socket_directory(cluster_dir: Path, new_server: NewServer) -> None:
    (cluster_dir / "run").chmod(0o777)

    new_server(cluster_dir).start()

    assert mode(cluster_dir / "run") == "0o700"


@pytest.mark.security("X-01")
def test_the_server_has_no_tcp_port_and_commits_are_durable(cluster_dir: Path, new_server: NewServer) -> None:
    url = new_server(cluster_dir).start()

    assert fetch_value(url, "show listen_addresses") == ""
    assert [fetch_value(url, f"show {name}") for name in ("fsync", "synchronous_commit", "full_page_writes")] == [
        "on"
    ] * 3


def with_cluster(path: Path, cluster_dir: Path) -> Path:
    """Copies the cluster to another directory, which is faster than creating one."""
    path.mkdir(parents=True)
    subprocess.run(["cp", "-a", cluster_dir / "postgres", path], check=True)
    return path


def long_dir(data_dir: Path, cluster_dir: Path) -> Path:
    """A data directory in which a socket would have a longer path than the system allows."""
    path = with_cluster(data_dir / ("l" * 60) / ("m" * 60), cluster_dir)
    assert len(os.fsencode(path / "run" / ".s.PGSQL.5432")) > 107
    return path


@pytest.mark.torture
def test_a_data_directory_with_a_long_path_works(data_dir: Path, cluster_dir: Path) -> None:
    long = long_dir(data_dir, cluster_dir)

    with holder(long) as process:
        url = read_line(process)
        assert fetch_value(url, "select 1") == 1
        socket_dir = Path(unquote(url.partition("host=")[2].partition("&")[0]))
        assert mode(socket_dir) == "0o700"

    assert not socket_dir.exists()


@pytest.mark.torture
def test_a_server_with_a_long_path_is_found_with_another_tmpdir(data_dir: Path, cluster_dir: Path) -> None:
    long, temps = long_dir(data_dir, cluster_dir), [data_dir / "tmp1", data_dir / "tmp2"]
    for temp in temps:
        temp.mkdir()

    with holder(long, TMPDIR=str(temps[0])) as first:
        url = read_line(first)
        with holder(long, TMPDIR=str(temps[1])) as second:
            assert read_line(second) == url


@pytest.mark.torture
def test_a_data_directory_may_have_spaces_percent_signs_and_umlauts(
    data_dir: Path, cluster_dir: Path, new_server: NewServer
) -> None:
    url = new_server(with_cluster(data_dir / "100 % für uns", cluster_dir)).start()

    assert fetch_value(url, "select 1") == 1


@pytest.mark.parametrize("name", ["o'hare", "a,b", "a$HOME"])
def test_an_unusable_data_directory_is_refused_with_a_message(data_dir: Path, new_server: NewServer, name: str) -> None:
    path = data_dir / name
    path.mkdir()

    with pytest.raises(CannotStart, match="SHOP_DATA_DIR"):
        new_server(path).start()

    assert running_pids(path) == []


def test_a_foreign_socket_directory_is_refused_with_a_message(
    data_dir: Path, cluster_dir: Path, new_server: NewServer
) -> None:
    path = with_cluster(data_dir / "shop", cluster_dir)
    (path / "run").symlink_to("/")

    with pytest.raises(CannotStart, match="not a directory of the shop"):
        new_server(path).start()

    assert running_pids(path) == []
