"""Stopping: on SIGTERM the shop truncates no response; killed, it leaves nothing that holds the port."""

import asyncio
import json
import os
import shutil
import signal
import socket
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID, uuid4

import asyncpg
import httpx2
import pytest

from shop.db.embedded import Embedded
from shop.migrations.upgrade import LOCK
from tests.cli.command import external
from tests.cluster import with_database
from tests.db.processes import (
    accessible_dir,
    is_event,
    postmaster_pid,
    running_pids,
    serving,
    stop,
    until,
    watch_process,
)
from tests.forkserver import ForkedCommand
from tests.service import Service, clean_environ
from tests.shopper import PREFIX

CART = PREFIX + "/cart"
READY = is_event("worker ready")

Serve = Callable[..., AbstractContextManager[Service]]


@pytest.fixture
def url(own_database: Callable[..., str]) -> str:
    return own_database()


@pytest.fixture
def serve(url: str, tmp_path: Path) -> Serve:
    """Serves a shop with `tmp_path` as its temporary directory, which also identifies its processes."""

    def start(*arguments: str, drain: str) -> AbstractContextManager[Service]:
        return serving(*arguments, **external(url, SHOP_DRAIN_SECONDS=drain, TMPDIR=str(tmp_path)))

    return start


@pytest.fixture
def base_dir() -> Iterator[Path]:
    with accessible_dir() as path:
        yield path


def is_free(service: Service) -> bool:
    """Whether a listener that does not share its port can bind it."""
    address = urlsplit(service.url)
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((address.hostname, address.port))
        probe.listen()
    return True


async def is_unready(http: httpx2.AsyncClient) -> bool:
    return (await http.get("/readyz")).status_code == 503


async def is_closed(service: Service) -> bool:
    """Whether the service has stopped listening."""
    address = urlsplit(service.url)
    try:
        _, writer = await asyncio.open_connection(address.hostname, address.port)
    except ConnectionRefusedError:
        return True
    except ConnectionResetError:  # It closed while the connection was in its backlog.
        return False
    writer.close()
    return False


def exit_status(service: Service) -> Any:
    """Waits for the end of the service."""
    return asyncio.to_thread(service.process.wait, 30)


@pytest.mark.security("X-06")
async def test_a_stopping_shop_is_unready_immediately_and_serves_while_draining(serve: Serve) -> None:
    with serve(drain="2") as service:
        async with service.client() as http:
            before = await http.get("/readyz")
            start = time.monotonic()
            service.process.send_signal(signal.SIGTERM)

            await until(lambda: is_unready(http))
            unready_after = time.monotonic() - start
            answers = [await http.get("/livez"), await http.post(CART), await http.get("/readyz")]

        status = await exit_status(service)
        stopped_after = time.monotonic() - start

    assert (before.status_code, "connection" in before.headers) == (200, False)
    assert unready_after < 1.9
    assert [answer.status_code for answer in answers] == [200, 201, 503]
    assert {answer.headers["connection"] for answer in answers} == {"close"}
    assert (status, 2 < stopped_after < 20) == (0, True)


class Load:
    """Shoppers who open carts as fast as they can, each over one connection, until the shop stops listening."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.answers: Counter[int] = Counter()
        self.truncations: list[str] = []
        self.unanswered: list[float] = []
        self.busy = asyncio.Event()

    async def shop(self) -> None:
        async with self.service.client() as http:
            while await self._open_cart(http):
                if self.answers.total() >= 50:
                    self.busy.set()

    async def _open_cart(self, http: httpx2.AsyncClient) -> bool:
        try:
            self.answers[(await http.post(CART)).status_code] += 1
        except httpx2.ConnectError:
            return False
        except (httpx2.ReadError, httpx2.RemoteProtocolError) as error:
            # The connection was closed before the first byte of a response: the client may retry.
            if isinstance(error, httpx2.RemoteProtocolError) and "without sending a response" not in str(error):
                self.truncations.append(str(error))
            self.unanswered.append(time.monotonic())
        return True


@pytest.mark.security("X-06")
async def test_a_stop_under_load_truncates_no_response_and_refuses_no_connection(serve: Serve, url: str) -> None:
    with serve(drain="1") as service:
        load = Load(service)
        shoppers = [asyncio.create_task(load.shop()) for _ in range(8)]
        await load.busy.wait()
        start = time.monotonic()
        service.process.send_signal(signal.SIGTERM)

        await asyncio.gather(*shoppers)
        closed_after = time.monotonic() - start
        status = await exit_status(service)

    assert load.truncations == []
    assert set(load.answers) == {201}
    assert all(moment - start >= 1 for moment in load.unanswered)
    assert (status, closed_after >= 1) == (0, True)
    connection = await asyncpg.connect(url)
    order_count = await connection.fetchval("select count(*) from orders")
    await connection.close()
    assert load.answers[201] <= order_count <= load.answers[201] + len(load.unanswered)


@pytest.mark.security("X-06")
async def test_a_request_in_progress_is_completed_during_a_stop(serve: Serve, url: str) -> None:
    key = {"Idempotency-Key": str(uuid4())}
    with serve(drain="0") as service:
        other_connection = await asyncpg.connect(url)
        async with service.client() as http:
            first = await http.post(CART, headers=key)
            # Another transaction holds the same key: the second request waits for its end, at most two seconds.
            row = await other_connection.fetchrow(
                "delete from idempotency_keys where record_id = $1 returning *", UUID(first.json()["data"]["id"])
            )
            transaction = other_connection.transaction()
            await transaction.start()
            await other_connection.execute(
                "insert into idempotency_keys values ($1, $2, $3, $4, $5, $6)", *row.values()
            )
            request = asyncio.create_task(http.post(CART, headers=key))
            await until(lambda: other_connection.fetchval("select exists (select from pg_locks where not granted)"))

            service.process.send_signal(signal.SIGTERM)
            await until(lambda: is_closed(service))
            await transaction.rollback()
            answer = await request
        status = await exit_status(service)
        await other_connection.close()

    assert (answer.status_code, answer.json()["data"]["type"], status) == (201, "cart", 0)


@pytest.mark.torture
async def test_ctrl_c_drains_and_a_second_signal_shortens_the_draining(serve: Serve) -> None:
    with serve(drain="25") as service:
        async with service.client() as http:
            group = os.getpgid(service.process.pid)
            # A terminal sends SIGINT to a whole process group.
            for pid in (service.process.pid, *service.worker_pids()):
                if os.getpgid(pid) == group:
                    os.kill(pid, signal.SIGINT)
            await until(lambda: is_unready(http))
            cart = await http.post(CART)

        start = time.monotonic()
        service.process.send_signal(signal.SIGTERM)
        status = await exit_status(service)

    assert (cart.status_code, status) == (201, 0)
    assert time.monotonic() - start < 8


@pytest.mark.torture
async def test_sigterm_to_every_process_drains_as_usual(serve: Serve) -> None:
    with serve(drain="1") as service:
        async with service.client() as http:
            for pid in (service.process.pid, *service.worker_pids()):
                os.kill(pid, signal.SIGTERM)

            await until(lambda: is_unready(http))
            cart = await http.post(CART)
        status = await exit_status(service)

    assert (cart.status_code, status) == (201, 0)


@pytest.mark.torture
def test_a_stopped_shop_leaves_no_files_or_processes(base_dir: Path) -> None:
    data_dir, temp = base_dir / "var", base_dir / "tmp"
    temp.mkdir()
    with serving("--workers", "2", SHOP_DATA_DIR=str(data_dir), SHOP_DRAIN_SECONDS="0", TMPDIR=str(temp)) as service:
        service.wait_for(READY, count=2)
        with watch_process(*service.worker_pids(), postmaster_pid(data_dir)) as all_ended:
            status = stop(service)

            assert all_ended(0)

    assert status == 0
    assert running_pids(base_dir) == []
    assert list(temp.iterdir()) == []
    assert is_free(service)


@pytest.mark.torture
async def test_a_stop_during_the_start_leaves_no_database_running(base_dir: Path) -> None:
    server = Embedded(base_dir)
    connection = await asyncpg.connect(await asyncio.to_thread(server.start))
    await connection.execute(f"select pg_advisory_lock({LOCK})")
    # The shop waits for this lock before it migrates; after `server.stop` it is the only user of the database.
    process = ForkedCommand(["serve", "--port", "0"], clean_environ(SHOP_DATA_DIR=str(base_dir)))
    waits_for_lock = (
        "select exists (select from pg_stat_activity where query like '%pg_try_advisory_lock%' and pid <> $1)"
    )
    own_pid = connection.get_server_pid()
    await until(lambda: connection.fetchval(waits_for_lock, own_pid))
    await asyncio.to_thread(server.stop)

    process.terminate()
    await asyncio.to_thread(process.wait, 20)
    process.stderr.close()

    connection.terminate()
    assert running_pids(base_dir) == []


def test_the_workers_of_a_killed_shop_end_and_free_the_port(serve: Serve, tmp_path: Path) -> None:
    with serve("--workers", "2", drain="0") as service:
        service.wait_for(READY, count=2)
        with watch_process(*service.worker_pids()) as all_ended:
            service.process.kill()

            assert all_ended(3)
        status = service.process.wait(10)

    assert status == -signal.SIGKILL
    assert is_free(service)
    assert running_pids(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.torture
def test_a_worker_without_temporary_files_and_log_serves_until_its_parent_ends(serve: Serve, tmp_path: Path) -> None:
    with serve(drain="0") as service, watch_process(*service.worker_pids()) as all_ended:
        empty_directory(tmp_path)
        stop_reading(service)

        carts = [service.post(CART).status_code for _ in range(3)]
        service.process.kill()

        assert carts == [201] * 3
        assert all_ended(3)


@pytest.mark.torture
def test_a_stop_works_after_the_temporary_files_were_deleted(serve: Serve, tmp_path: Path) -> None:
    with serve(drain="0") as service:
        empty_directory(tmp_path)

        assert stop(service) == 0

    assert list(tmp_path.iterdir()) == []


@pytest.mark.torture
async def test_metrics_and_draining_work_after_the_temporary_files_were_deleted(url: str, tmp_path: Path) -> None:
    settings = external(url, SHOP_DRAIN_SECONDS="25", SHOP_METRICS="public", TMPDIR=str(tmp_path))
    with serving(**settings) as service:
        async with service.client() as http:
            await http.post(CART)
            empty_directory(tmp_path)
            response = await http.get("/metrics")
            empty_directory(tmp_path)
            service.process.send_signal(signal.SIGTERM)

            await until(lambda: is_unready(http))
            modes_while_draining = modes(tmp_path)
        service.process.send_signal(signal.SIGTERM)
        status = await exit_status(service)

    assert (response.status_code, f'route="{CART}",status="201"' in response.text) == (200, True)
    assert (modes_while_draining, status, modes(tmp_path)) == (["0o700"], 0, [])


def modes(directory: Path) -> list[str]:
    return [oct(path.stat().st_mode & 0o777) for path in directory.iterdir()]


def empty_directory(directory: Path) -> None:
    """Empties a directory, as systemd-tmpfiles does with old temporary files."""
    for run_dir in directory.iterdir():
        shutil.rmtree(run_dir, ignore_errors=True)  # A worker may be writing there.


def stop_reading(service: Service) -> None:
    """Leaves the pipe of the service's log without a reader."""
    assert service.process.stderr
    with Path(os.devnull).open() as devnull:
        os.dup2(devnull.fileno(), service.process.stderr.fileno())
    # A read that is under way keeps the pipe open until it gets a line.
    service.get("/livez")
    service._reader.join(10)


@pytest.mark.torture
@pytest.mark.parametrize("form", ["json", pytest.param("console", marks=pytest.mark.torture)])
async def test_a_shop_with_a_closed_log_pipe_responds_and_sends_e_mail(url: str, form: str) -> None:
    db = await asyncpg.connect(url)
    with serving(**external(url, SHOP_DRAIN_SECONDS="0", SHOP_LOG_FORMAT=form)) as service:
        await asyncio.to_thread(stop_reading, service)
        async with service.client() as http:
            await db.execute("alter table orders add constraint full_up check (false) not valid")
            failures = [await http.post(CART) for _ in range(2)]
            await db.execute("alter table orders drop constraint full_up")
            carts = [await http.post(CART) for _ in range(2)]
            for name in ("ada", "bob"):
                await http.post(f"{PREFIX}/auth", json={"user": {"email": f"{name}@shoppers.example"}})
                await until(lambda: db.fetchval("select bool_and(sent_at is not null) from outbox_mails"))
    await db.close()

    assert [(answer.status_code, answer.json()["code"]) for answer in failures] == [(500, "internal_error")] * 2
    assert [answer.status_code for answer in carts] == [201, 201]


@pytest.mark.torture
async def test_a_killed_worker_is_replaced(serve: Serve) -> None:
    with serve(drain="0") as service:
        (worker_pid,) = service.worker_pids()
        os.kill(worker_pid, signal.SIGKILL)

        await asyncio.to_thread(service.wait_for, READY, count=2)
        async with service.client() as http:
            await until(lambda: is_ready(http))
            cart = await http.post(CART)
        status = await asyncio.to_thread(stop, service)

    assert service.worker_pids()[1] != worker_pid
    assert (cart.status_code, status) == (201, 0)


@asynccontextmanager
async def worker_waiting_for_database(serve: Serve, url: str) -> AsyncIterator[tuple[Service, int, Callable[[], Any]]]:
    """A shop whose new worker waits for the database: the shop, that worker, and a function that ends the wait."""
    outside = await asyncpg.connect(with_database(url, "postgres"))
    name = urlsplit(url).path[1:]
    with serve(drain="0") as service:
        await outside.execute(f"alter database {name} with allow_connections false")
        await outside.execute("select pg_terminate_backend(pid) from pg_stat_activity where datname = $1", name)
        os.kill(service.worker_pids()[0], signal.SIGKILL)
        line = await asyncio.to_thread(service.wait_for, is_event("worker waits for the database"))
        try:
            yield (
                service,
                json.loads(line)["pid"],
                lambda: outside.execute(f"alter database {name} with allow_connections true"),
            )
        finally:
            await outside.close()


@pytest.mark.torture
async def test_a_worker_waiting_for_the_database_is_alive_and_serves_once_it_is_back(serve: Serve, url: str) -> None:
    async with worker_waiting_for_database(serve, url) as (service, _, allow_connections), service.client() as http:
        await until(lambda: is_alive(http))
        unready, cart, account = await http.get("/readyz"), await http.post(CART), await http.get(f"{PREFIX}/account")
        response = await http.post("/shop_oauth/revoke", json={"token": "x"})

        await allow_connections()
        await asyncio.to_thread(service.wait_for, READY, count=2)
        after = await http.post(CART)

    for answer in (unready, cart, account, response):
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    assert (cart.json()["code"], response.json()["error"]) == ("temporarily_unavailable", "temporarily_unavailable")
    assert after.status_code == 201


@pytest.mark.torture
async def test_a_worker_waiting_for_the_database_ends_with_its_parent(serve: Serve, url: str) -> None:
    async with worker_waiting_for_database(serve, url) as (service, worker, _):
        with watch_process(worker) as wait_for_exit:
            service.process.kill()

            assert await asyncio.to_thread(wait_for_exit, 3)


async def is_alive(http: httpx2.AsyncClient) -> bool:
    try:
        return (await http.get("/livez")).status_code == 200
    except httpx2.TransportError:  # The worker does not listen yet.
        return False


async def is_ready(http: httpx2.AsyncClient) -> bool:
    try:
        return (await http.get("/readyz")).status_code == 200
    except httpx2.TransportError:  # The new worker says that it is ready just before it listens.
        return False
