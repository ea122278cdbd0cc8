"""The pages of the event log: filters, pages by position, one event with its changes and deliveries."""

import re
from typing import Any
from urllib.parse import urlencode
from uuid import UUID, uuid4

import httpx2
import pytest

from tests.admin.dashboard import UNKNOWN_ID, Dashboard
from tests.admin.order_builders import text_of
from tests.builders import Make
from tests.events.feed import FeedReader, new_reader
from tests.platform.client import Machine, new_machine

EVENTS = "/admin/events"
DELIVERY = """insert into webhook_deliveries
    (id, endpoint_id, event_id, event_type, occurred_at, position, subject_id, state, attempt_count, created_at)
    values ($1, $2, $3, 'tax_category.updated', now(), 1, $4, 'failed', 3, now())"""
ENDPOINT = "insert into webhook_endpoints (id, url, created_at, updated_at) values ($1, $2, now(), now())"


@pytest.fixture
async def feed(http: httpx2.AsyncClient, db: Any) -> FeedReader:
    return await new_reader(await new_machine(http, db, "read"))


async def new_category(make: Make, feed: FeedReader, *names: str) -> str:
    """Creates a tax category and renames it; returns its id once its events have their positions."""
    category = await make.new("tax_categories", "tax_category", name=f"0 {uuid4().hex}")
    for name in names:
        await make.change("tax_categories", category.id, "tax_category", name=name)
    await make.remove("tax_categories", category.id)
    await feed.read_about(category.id, until="tax_category.deleted")
    return str(category.id)


async def list_types(dashboard: Dashboard, **params: str) -> list[str]:
    page = (await dashboard.get(f"{EVENTS}?{urlencode(params)}")).text
    return re.findall(
        r'stack long"><a href="/admin/events/[^"]+">[^<]+</a><div class="small quiet"><code>([^<]+)</code>',
        page,
    )


async def test_events_are_found_by_type_subject_actor_and_time(
    dashboard: Dashboard, make: Make, writer: Machine, feed: FeedReader, db: Any
) -> None:
    category = await new_category(make, feed, f"1 {uuid4().hex}")
    created, updated, deleted = (f"tax_category.{verb}" for verb in ("created", "updated", "deleted"))
    actor = str(await db.fetchval("select actor_id from events where subject_id = $1 limit 1", UUID(category)))

    async def find(**params: str) -> list[str]:
        return await list_types(dashboard, subject=category, **params)

    assert await find() == [deleted, updated, created]
    assert await find(type=updated) == [updated]
    assert await find(type="tax_category.*") == [deleted, updated, created]
    assert await find(type="tax%") == []
    assert await find(actor="application") == await find(actor=actor) == [deleted, updated, created]
    assert await find(actor="operator") == await find(actor=UNKNOWN_ID) == await find(since="2999-01-01") == []
    assert await find(until="2001-01-01") == []
    assert len(await find(since="2001-01-01", until="2999-01-01")) == 3
    assert updated in await list_types(dashboard, subject="tax category", type=updated)
    assert await list_types(dashboard, subject="nobody@customers.example") == []


async def test_pages_are_linked_by_position_and_keep_the_filters(
    dashboard: Dashboard, make: Make, feed: FeedReader
) -> None:
    category = await new_category(make, feed, *(f"{number} {uuid4().hex}" for number in range(1, 27)))
    path, types, links = f"{EVENTS}?{urlencode({'subject': category, 'type': 'tax_category.*'})}", [], []

    while path:
        page = (await dashboard.get(path)).text
        types.append(re.findall(r"<code>(tax_category\.\w+)</code></div>", page))
        older = re.search(r'href="([^"]+)" rel="next"', page)
        path = older[1].replace("&amp;", "&") if older else ""
        links.append(path)
    newer = re.search(r'href="([^"]+)" rel="prev"', page)

    assert [len(each) for each in types] == [25, 3]
    assert newer
    first_page = (await dashboard.get(newer[1].replace("&amp;", "&"))).text
    assert re.findall(r"<code>(tax_category\.\w+)</code></div>", first_page) == types[0]
    assert 'rel="prev"' not in first_page
    assert "subject=" in links[0]
    assert "type=" in links[0]


async def test_an_event_shows_its_changes_side_by_side_and_its_deliveries(
    dashboard: Dashboard, make: Make, feed: FeedReader, db: Any
) -> None:
    name = f"<b>{uuid4().hex}</b>"
    category = await new_category(make, feed, name)
    query = "select id, row from events where subject_id = $1 and type = 'tax_category.updated'"
    event = await db.fetchrow(query, UUID(category))
    endpoint_id, delivery_id = uuid4(), uuid4()
    await db.execute(ENDPOINT, endpoint_id, "https://erp.example/hook")
    await db.execute(DELIVERY, delivery_id, endpoint_id, event["id"], UUID(category))

    page = (await dashboard.get(f"{EVENTS}/{event['id']}")).text

    text = text_of(page)
    assert re.search(rf"name 0 \w+ {re.escape(name)}", text)
    assert name not in page
    assert f'href="/admin/integrations/webhooks/{endpoint_id}/deliveries/{delivery_id}"' in page
    assert "https://erp.example/hook failed 3" in text
    assert '"type": "tax_category"' in text
    await db.execute("delete from webhook_endpoints where id = $1", endpoint_id)


@pytest.mark.parametrize("key", [UNKNOWN_ID, "x"])
async def test_an_unknown_event_is_404(dashboard: Dashboard, key: str) -> None:
    assert (await dashboard.get(f"{EVENTS}/{key}")).status_code == 404


@pytest.mark.parametrize("params", ["before=x", "after=-1", "before=99999999999999999999999", "actor=x", "since=x"])
async def test_invalid_parameters_are_ignored(dashboard: Dashboard, params: str) -> None:
    assert (await dashboard.get(f"{EVENTS}?{params}")).status_code == 200
