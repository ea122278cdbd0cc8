"""The total of a list: counted, or the estimate of a large table, which is not found out again for each page."""

import asyncio
from collections.abc import AsyncIterator, Callable
from time import monotonic
from typing import Any

import asyncpg
import pytest

from shop.actions import records
from shop.actions.context import Context, Shared
from shop.base.config.settings import read_settings
from shop.base.crypto.keys import parse_keys
from shop.base.listing import Condition, ListQuery, Page, Sort
from shop.db.pool import open_database
from shop.models.setup.shop import Shop
from shop.platform.resources.registry import COLLECTIONS
from shop.queries.record_counts import EXACT
from tests.service import KEYS

ACTIONS = COLLECTIONS["property"].actions
ALL = ListQuery(Sort("id", False), Page())
NAMED = ListQuery(Sort("id", False), Page(), (Condition((("name",),), "start", "even"),))


@pytest.fixture
async def shop_database(own_database: Callable[..., str]) -> AsyncIterator[tuple[Shared, Any]]:
    url = own_database()
    db, database = await asyncpg.connect(url), open_database(url, size=2)
    yield Shared(database, parse_keys(KEYS), Shop(currencies=["USD"]), read_settings({}), asyncio.Event()), db
    await database.close()
    await db.close()


async def fill(db: Any, count: int) -> None:
    await db.execute(
        """insert into properties (id, name, presentation, created_at, updated_at)
        select gen_random_uuid(), case when n % 2 = 0 then 'even' else 'odd' end || n, '', now(), now()
        from generate_series(1, $1) n""",
        count,
    )
    await db.execute("analyze properties")


async def list_all(shared: Shared, query: ListQuery = ALL) -> tuple[int, bool, int]:
    """The total, whether it is an estimate, and the number of statements."""
    ctx = Context(shared)
    page = await records.list_page(ctx, ACTIONS, query, {})
    return page.total, page.is_estimate, ctx.db.count


async def test_the_total_of_a_large_table_is_estimated_once_in_some_seconds(
    shop_database: tuple[Shared, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    shared, db = shop_database
    await fill(db, 3 * EXACT)

    first, second, filtered = await list_all(shared), await list_all(shared), await list_all(shared, NAMED)
    end = monotonic() + records.ESTIMATE_SECONDS
    monkeypatch.setattr(records, "monotonic", lambda: end)
    await db.execute("truncate properties cascade")
    later = await list_all(shared)

    assert first == (3 * EXACT, True, 3)
    assert second == (3 * EXACT, True, 1)
    assert filtered[1:] == (True, 3)
    assert later == (0, False, 2)


async def test_a_total_that_can_become_exact_is_counted_each_time(shop_database: tuple[Shared, Any]) -> None:
    shared, db = shop_database
    await fill(db, EXACT + 1)

    above = await list_all(shared)
    await db.execute("delete from properties where name = 'odd1'")
    exact = await list_all(shared)

    assert above[1:] == (True, 3)
    assert exact == (EXACT, False, 2)
