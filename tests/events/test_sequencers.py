"""One process at a time numbers events; another one takes over if it is killed, also behind PgBouncer."""

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from time import monotonic
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import asyncpg
import pytest

from shop.actions import records
from shop.actions.operations.event_log import number_events
from shop.actions.setup.resources import TAX_CATEGORY
from shop.db import connections
from shop.db.embedded_account import server_account
from shop.queries.events import _LOCK_KEY
from tests.db.processes import accessible_dir, kill, serving, session_pids, stop
from tests.events.feed import new_reader
from tests.events.log_checks import assert_complete
from tests.pgbouncer import OTHER_PROGRAM
from tests.platform.client import Machine, new_machine, operator_context
from tests.service import KEYS, Service
from tests.webhooks.receiver import new_endpoint, open_receiver

PGBOUNCER = os.environ.get(OTHER_PROGRAM) or shutil.which(
    "pgbouncer", path="/usr/sbin:/usr/bin:/usr/local/bin:/opt/homebrew/bin"
)
TAKEOVER_SECONDS = 2
EVENT = """insert into events (id, type, occurred_at, actor_kind, subject_type, subject_id, row)
    values (gen_random_uuid(), 'tax_category.created', clock_timestamp(), 'shop', 'tax_category', $1, '{}')"""


@pytest.fixture
async def database(own_database: Callable[..., str]) -> AsyncIterator[tuple[str, Any]]:
    """The URL of a database without a shop, and a connection to it."""
    url = own_database()
    db = await asyncpg.connect(url)
    yield url, db
    await db.close()


async def test_a_process_leaves_numbering_to_the_one_that_is_doing_it(database: tuple[str, Any]) -> None:
    url, db = database
    async with operator_context(url) as ctx:
        await records.create(ctx, TAX_CATEGORY, {"name": "Books"})
        async with db.transaction():
            await db.execute("select pg_advisory_xact_lock($1)", _LOCK_KEY)
            during = await number_events(ctx.shared)

        assert (during, await number_events(ctx.shared)) == (None, 1)


@pytest.mark.torture
async def test_another_service_numbers_the_events_of_one_that_is_killed(
    database: tuple[str, Any], tmp_path: Path
) -> None:
    url, db = database
    environ = {"SHOP_DATABASE_URL": url, "SHOP_SECRET_KEYS": KEYS, "SHOP_MAILBOX": "on", "SHOP_DRAIN_SECONDS": "0"}
    directories = {"SHOP_DATA_DIR": str(tmp_path), "TMPDIR": str(tmp_path)}
    with serving(**environ, **directories) as first, serving(**environ, **directories):
        async with first.client() as http:
            machine = await new_machine(http, db)
            writers = [asyncio.create_task(write_until_killed(machine)) for _ in range(8)]
            while await db.fetchval("select count(*) from events") < 40:
                await db.execute("select pg_sleep(0.01)")
            await asyncio.to_thread(kill, *session_pids(first.process.pid))
            killed_at = monotonic()
            # An event that the killed process committed but did not number.
            await db.execute(EVENT, uuid4())
            while await db.fetchval("select exists (select from events where position is null)"):
                await db.execute("select pg_sleep(0.01)")
            seconds = monotonic() - killed_at
            await asyncio.gather(*writers, return_exceptions=True)

    rows = await db.fetch("select position from events order by position")
    assert seconds < TAKEOVER_SECONDS
    assert_complete([row["position"] for row in rows])


async def write_until_killed(machine: Machine) -> None:
    while True:
        await machine.post("/tax_categories", {"tax_category": {"name": uuid4().hex}})


@pytest.fixture
def pooler(database: tuple[str, Any]) -> Iterator[str]:
    """The URL of the database behind PgBouncer in transaction mode, with two server connections."""
    if PGBOUNCER is None:
        pytest.skip("PgBouncer is not installed")
    with accessible_dir() as directory:
        directory.chmod(0o777)
        (directory / "users.txt").write_text('"shop" ""\n')
        (directory / "pgbouncer.ini").write_text(pooler_settings(database[0], directory))
        account = server_account()
        with subprocess.Popen(
            [PGBOUNCER, str(directory / "pgbouncer.ini")],
            stderr=subprocess.PIPE,
            text=True,
            user=account.pw_name if account else None,
        ) as process:
            try:
                assert process.stderr
                while "process up" not in (line := process.stderr.readline()):
                    assert line, "PgBouncer has ended"
                yield f"postgresql:///{urlsplit(database[0]).path[1:]}?host={directory}&port=6432&user=shop"
            finally:
                process.terminate()


def pooler_settings(url: str, directory: Path) -> str:
    socket_dir = parse_qs(urlsplit(url).query)["host"][0]
    return f"""[databases]
* = host={socket_dir} user=shop
[pgbouncer]
listen_addr =
listen_port = 6432
unix_socket_dir = {directory}
auth_type = any
auth_file = {directory}/users.txt
pool_mode = transaction
default_pool_size = 2
ignore_startup_parameters = statement_timeout,lock_timeout,idle_in_transaction_session_timeout,jit,random_page_cost
"""


async def test_sequencers_take_turns_behind_pgbouncer(
    database: tuple[str, Any], pooler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, db = database
    # Before version 1.21, PgBouncer has no prepared statements in this mode.
    monkeypatch.setattr(connections, "_STATEMENTS", 0)
    async with operator_context(pooler) as first, operator_context(pooler) as second:
        for _ in range(10):
            for _ in range(10):
                await db.execute(EVENT, uuid4())
            await asyncio.gather(*(number_events(ctx.shared) for ctx in (first, second) * 2))
        # Whoever comes first finds no lock of the other one, whose server connection it may have now.
        await db.execute(EVENT, uuid4())
        assert None not in [await number_events(ctx.shared) for ctx in (first, second)]

    rows = await db.fetch("select position from events order by position")
    assert_complete([row["position"] for row in rows])
    assert len(rows) == 101
    assert await db.fetchval("select count(*) from pg_locks where locktype = 'advisory'") == 0


class PooledService(Service):
    """A service that can send to loopback although its database is an external one."""

    PROGRAM = """
from shop.base.config.settings import Settings
from shop.cli.main import main

Settings.is_try_out = lambda self, host: True
main()
"""

    def _start(self, command: list[str]) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-c", self.PROGRAM, *command],
            env=self.environ,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )


@pytest.mark.torture
async def test_events_are_numbered_fed_and_delivered_behind_pgbouncer(
    database: tuple[str, Any], pooler: str, tmp_path: Path
) -> None:
    count = 30
    environ = {"SHOP_DATABASE_URL": pooler, "SHOP_SECRET_KEYS": KEYS, "SHOP_MAILBOX": "on", "SHOP_DRAIN_SECONDS": "0"}
    others = {"SHOP_DATA_DIR": str(tmp_path), "SHOP_DATABASE_PREPARED": "off", "TMPDIR": str(tmp_path)}
    service = PooledService(**environ, **others)
    try:
        async with open_receiver() as receiver, service.client() as http:
            machine = await new_machine(http, database[1])
            endpoint, reader = await new_endpoint(machine, receiver.url), await new_reader(machine)
            names = [{"tax_category": {"name": f"Category {number}"}} for number in range(count)]

            answers = await asyncio.gather(*(machine.post("/tax_categories", name) for name in names))

            events: list[dict[str, Any]] = []
            while len(events) < count and (page := await reader.read("tax_category.created")):
                events += page
            deliveries = await receiver.wait_for(count)
            assert {answer.status for answer in answers} == {201}
            assert_complete([event["position"] for event in events])
            assert {each.id for each in deliveries} == {event["id"] for event in events}
            assert all(each.is_signed_with(endpoint.secret) for each in deliveries)
    finally:
        stop(service)
        service.wait()
    assert not [line for line in service.lines if '"level":"error"' in line]
