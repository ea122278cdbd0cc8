"""Webhook deliveries in the dashboard: list, request and responses, resend, replay, test."""

import html
import re
from typing import Any

import pytest
from aiohttp import web

from shop.admin.listing import SIZE
from tests.admin.dashboard import Dashboard, events
from tests.admin.webhooks.forms import FormEndpoint, create_endpoint, newest_delivery, text_of, visible_text
from tests.builders import Make
from tests.sampling import first
from tests.webhooks.receiver import Receiver, new_category, rename_category

HOSTILE = '<script>alert("x")</script><img src=x onerror=alert(1)>\0</pre>'


async def test_a_delivery_shows_the_request_as_it_is_sent_and_escapes_the_response(
    endpoint: FormEndpoint, dashboard: Dashboard, receiver: Receiver, make: Make, db: Any
) -> None:
    receiver.responses = [web.Response(status=200, text=HOSTILE)]
    await new_category(make, description="<b>bold</b>")
    (delivery,) = await receiver.wait_for(1)

    page = await dashboard.get(await newest_delivery(db, endpoint, "succeeded"))

    blocks = [html.unescape(each) for each in re.findall(r'<pre class="payload"[^>]*>(.*?)</pre>', page.text, re.S)]
    response, headers, body, _formatted = blocks
    assert body.encode() == delivery.body
    assert response == HOSTILE.replace("\0", "\N{REPLACEMENT CHARACTER}")
    assert "<script>alert" not in page.text
    assert "<img" not in page.text.partition("<main")[2]
    assert f"webhook-id: {delivery.id}" in headers
    assert f"User-Agent: {delivery.headers['user-agent']}" in headers
    assert delivery.signatures[0] not in page.text
    assert endpoint.secret not in page.text
    assert re.search(r"Attempt 1 HTTP 200 .* UTC , [\d,]+ ms", visible_text(page))


async def test_only_the_first_4_kib_of_a_response_are_shown(
    endpoint: FormEndpoint, dashboard: Dashboard, receiver: Receiver, make: Make, db: Any
) -> None:
    receiver.responses = [web.Response(status=500, text="x" * 6000)]
    await new_category(make)
    await receiver.wait_for(1)
    await endpoint_has_attempt(db, endpoint)

    page = await dashboard.get(await newest_delivery(db, endpoint, "pending"))

    assert len(max(re.findall("x+", page.text), key=len)) == 4096
    assert "retries" in visible_text(page)


async def endpoint_has_attempt(db: Any, endpoint: FormEndpoint) -> None:
    query = "exists (select from webhook_deliveries where endpoint_id = $1 and attempt_count > 0)"
    while not await db.fetchval(f"select {query}", endpoint.id):
        await db.execute("select pg_sleep(0.02)")


async def test_deliveries_are_filtered_by_state_and_type(
    endpoint: FormEndpoint, dashboard: Dashboard, receiver: Receiver, make: Make, db: Any
) -> None:
    category = await new_category(make)
    await rename_category(make, category)
    await receiver.wait_for(2, category)
    path = f"{endpoint.path}/deliveries"

    async def types(query: str) -> list[str]:
        page = await dashboard.get(f"{path}?{query}")
        assert page.status_code == 200
        return re.findall(r'class="through" href="[^"]+">([^<]+)<', page.text)

    created, updated = "tax_category.created", "tax_category.updated"
    assert await types("") == [updated, created]
    assert await types(f"type={created}") == [created]
    assert await types("type=tax_category.*") == [updated, created]
    assert await types("type=order.*") == []
    assert await types("state=failed") == []
    await newest_delivery(db, endpoint, "succeeded")
    assert created in await types(f"state=succeeded&type={created}")
    refused = await dashboard.get(f"{path}?type=<b>")
    assert (refused.status_code, "does not look like" in text_of(refused, "error-type")) == (422, True)


async def test_the_list_of_deliveries_has_pages(endpoint: FormEndpoint, dashboard: Dashboard, db: Any) -> None:
    await db.execute(
        """insert into webhook_deliveries
        (id, endpoint_id, event_id, event_type, occurred_at, position, subject_id, state, created_at, ended_at)
        select ('01890000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, $1, gen_random_uuid(), 'zone.t' || n,
            now(), n, gen_random_uuid(), 'succeeded', now(), now() from generate_series(1, $2) n""",
        endpoint.id,
        SIZE + 5,
    )

    def numbers(text: str) -> list[int]:
        return [int(each) for each in re.findall(r">zone\.t(\d+)<", text)]

    first = (await dashboard.get(f"{endpoint.path}/deliveries?state=succeeded")).text
    older = re.search(r'href="([^"]+)" rel="next"', first)
    assert older
    second = (await dashboard.get(html.unescape(older[1]))).text
    newer = re.search(r'href="([^"]+)" rel="prev"', second)
    assert newer

    assert numbers(first) == list(range(SIZE + 5, 5, -1))
    assert numbers(second) == [5, 4, 3, 2, 1]
    assert 'rel="next"' not in second
    assert numbers((await dashboard.get(html.unescape(newer[1]))).text) == numbers(first)


async def test_a_delivery_is_resent_with_the_same_id(
    endpoint: FormEndpoint, dashboard: Dashboard, receiver: Receiver, make: Make, db: Any
) -> None:
    category = await new_category(make)
    await receiver.wait_for(1, category)

    path = await newest_delivery(db, endpoint, "succeeded")
    answer = await dashboard.post(f"{path}/resend")

    first, second = await receiver.wait_for(2, category)
    assert first.id == second.id
    assert answer.status_code == 303
    assert not answer.headers["location"].startswith(path)
    assert "Queued." in (await dashboard.get(answer.headers["location"])).text
    assert ("webhook_resent", "done") in await events(db, actor=dashboard.id)


async def test_a_delivery_to_a_disabled_endpoint_is_not_resent(
    endpoint: FormEndpoint, dashboard: Dashboard, receiver: Receiver, make: Make, db: Any
) -> None:
    await receiver.wait_for(1, await new_category(make))
    path = await newest_delivery(db, endpoint, "succeeded")
    await dashboard.post(f"{endpoint.path}/disable")

    refused = await dashboard.post(f"{path}/resend")

    assert (refused.status_code, "enable it first" in refused.text) == (409, True)


async def test_a_delivery_to_another_endpoint_is_404(
    endpoint: FormEndpoint, dashboard: Dashboard, receiver: Receiver, make: Make, db: Any
) -> None:
    other = await create_endpoint(dashboard, receiver.url, "zone.*")
    await receiver.wait_for(1, await new_category(make))
    delivery = (await newest_delivery(db, endpoint, "succeeded")).rpartition("/")[2]

    assert (await dashboard.get(f"{other.path}/deliveries/{delivery}")).status_code == 404
    assert (await dashboard.post(f"{other.path}/deliveries/{delivery}/resend")).status_code == 404
    await dashboard.post(f"{other.path}/delete")


@pytest.mark.parametrize("kind", first(1, ["position", "time"]))
async def test_a_range_is_replayed(
    endpoint: FormEndpoint, dashboard: Dashboard, receiver: Receiver, make: Make, db: Any, kind: str
) -> None:
    category = await new_category(make)
    (first,) = await receiver.wait_for(1, category)
    position = str(first.json["position"])
    fields = {"from_position": position, "to_position": position}
    if kind == "time":
        fields = {"since": first.json["timestamp"][:16]}

    answer = await dashboard.post(f"{endpoint.path}/replay", range=kind, **fields)

    _, second = await receiver.wait_for(2, category)
    assert answer.headers["location"] == f"{endpoint.path}/deliveries?done=replayed"
    assert second.id == first.id
    assert ("webhook_replayed", "done") in await events(db, actor=dashboard.id, subject=endpoint.id)


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"range": "time", "since": ""}, "since"),
        ({"range": "time", "since": "yesterday"}, "since"),
        ({"range": "time", "since": "2026-11-01T10:00", "until": "2026-11-01T09:00"}, "until"),
        ({"range": "position", "from_position": ""}, "from_position"),
        ({"range": "position", "from_position": "0"}, "from_position"),
        ({"range": "position", "from_position": "7", "to_position": "6"}, "to_position"),
        ({"range": "everything"}, "range"),
    ],
)
async def test_an_invalid_range_is_refused_at_its_field_and_kept(
    endpoint: FormEndpoint, dashboard: Dashboard, fields: dict[str, str], name: str
) -> None:
    page = await dashboard.post(f"{endpoint.path}/replay", **fields)

    assert page.status_code == 422
    assert text_of(page, f"error-{name}")
    assert name != "since" or fields["since"] or "Enter when the outage began." in page.text
    assert f'href="#field-{name}"' in page.text
    assert all(f'value="{value}"' in page.text for key, value in fields.items() if value and key != "range")


@pytest.mark.parametrize("status", [200, 503])
async def test_a_test_event_shows_the_response_on_the_page(
    endpoint: FormEndpoint, dashboard: Dashboard, receiver: Receiver, db: Any, status: int
) -> None:
    receiver.responses = [web.Response(status=status, text="The receiver says <hello>")]

    answer = await dashboard.post(f"{endpoint.path}/test")
    page = await dashboard.get(answer.headers["location"])

    (delivery,) = receiver.deliveries
    assert delivery.json["type"] == "webhook_endpoint.test"
    assert delivery.is_signed_with(endpoint.secret)
    shown = visible_text(page)
    assert f"Attempt 1 HTTP {status} " in shown
    assert "The receiver says <hello>" in shown
    assert "Test event sent." in shown
    assert ("webhook_tested", "done") in await events(db, actor=dashboard.id, subject=endpoint.id)
