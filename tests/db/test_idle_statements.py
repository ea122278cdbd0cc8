"""An idle shop: at most one statement a second and process asks for all background work."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import pytest

from shop.actions.context import Shared
from shop.base.config.settings import read_settings
from shop.base.crypto.keys import parse_keys
from shop.db.pool import Database, DatabaseSession, open_database
from shop.queries.setup.shop import find_shop
from shop.worker import POLL_SECONDS, Mailbox, work
from tests.db.processes import until
from tests.service import KEYS

SECONDS = 5


class CountingDatabase(Database):
    """Counts the statements of all sessions."""

    def __init__(self, database: Database) -> None:
        super().__init__(database.connections)
        self.sessions: list[DatabaseSession] = []

    def session(self) -> DatabaseSession:
        self.sessions.append(super().session())
        return self.sessions[-1]

    @property
    def statement_count(self) -> int:
        return sum(session.count for session in self.sessions)


@pytest.fixture
async def shop_url(own_database: Callable[..., str]) -> str:
    return own_database()


@asynccontextmanager
async def run_work(url: str) -> AsyncIterator[tuple[CountingDatabase, Any]]:
    """Runs the background loops until they have nothing to do."""
    db, database = await asyncpg.connect(url), CountingDatabase(open_database(url, size=4))
    shop = await find_shop(database.session())
    assert shop
    shared = Shared(database, parse_keys(KEYS), shop, read_settings({}), asyncio.Event())
    task = asyncio.create_task(work(shared, Mailbox()))
    try:
        await wait_until_idle(database)
        yield database, db
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await database.close()
        await db.close()


async def wait_until_idle(database: CountingDatabase) -> None:
    """Waits for the first rounds: housekeeping, reports and the historical orders of a demo shop."""
    for _ in range(15):
        before = database.statement_count
        await asyncio.sleep(2 * POLL_SECONDS)
        if database.statement_count - before <= 3:
            return
    pytest.fail("the background loops have no end")


async def test_an_idle_process_makes_one_statement_a_second(shop_url: str) -> None:
    async with run_work(shop_url) as (database, _):
        before = database.statement_count
        await asyncio.sleep(SECONDS)
        count = database.statement_count - before

    assert 1 <= count <= SECONDS / POLL_SECONDS + 1


async def test_work_that_another_process_queues_is_done_at_the_next_poll(shop_url: str) -> None:
    async with run_work(shop_url) as (_, db):
        await db.execute(
            """insert into outbox_mails (id, kind, recipient, ref_id, not_after, next_at, created_at)
            values (gen_random_uuid(), 'sign_in_code', 'a@example.com', gen_random_uuid(), now() + interval '1 hour',
                now(), now())"""
        )
        await db.execute(
            """insert into products (id, name, slug, status, make_active_at, created_at, updated_at)
            values (gen_random_uuid(), 'Mug', 'mug', 'draft', now(), now(), now())"""
        )
        await until(lambda: db.fetchval("select attempts > 0 from outbox_mails"))
        await until(lambda: db.fetchval("select status = 'active' from products where slug = 'mug'"))
        await until(lambda: db.fetchval("select max(position) > 0 from events where type = 'product.updated'"))
