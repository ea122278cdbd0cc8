"""Webhooks arrive signed, again after a failure, and in order."""

import asyncio
from typing import Any

import pytest
from aiohttp import web

from tests.builders import Make
from tests.events.feed import new_reader
from tests.webhooks.receiver import Endpoint, Receiver, new_category, rename_category, wait_until


async def test_a_webhook_is_a_signed_request_with_the_event(receiver: Receiver, endpoint: Endpoint, make: Make) -> None:
    reader = await new_reader(make.machine)
    created = await new_category(make)

    (delivery,) = await receiver.wait_for(1, created)

    body = delivery.json
    assert body in await reader.read("tax_category.created")
    assert body["type"] == "tax_category.created"
    assert body["data"]["id"] == created
    assert {"type", "timestamp", "data", "changes", "id", "position"} <= body.keys()
    assert b": " not in delivery.body.replace(body["timestamp"].encode(), b"")
    assert delivery.id == body["id"]
    assert delivery.headers["content-type"] == "application/json"
    assert delivery.headers["user-agent"].startswith("shop/")
    assert delivery.is_signed_with(endpoint.secret)
    assert not delivery.is_signed_with("whsec_" + "A" * 43 + "=")


async def test_a_failed_delivery_is_repeated_with_the_same_id(
    receiver: Receiver, endpoint: Endpoint, make: Make, db: Any
) -> None:
    receiver.responses = [
        web.Response(status=500, text="out of order"),
        web.Response(status=302, headers={"Location": "/elsewhere"}),
    ]
    created = await new_category(make)
    for count in (1, 2):
        await receiver.wait_for(count, created)
        await wait_until(
            db,
            "exists (select from webhook_deliveries where endpoint_id = $1 and attempt_count = $2)",
            endpoint.id,
            count,
        )
        assert (await endpoint.show())["failing_since"]
        await endpoint.retry_now(db)

    first, second, third = await receiver.wait_for(3, created)

    await endpoint.wait_for_state(db, "succeeded")
    assert first.id == second.id == third.id
    assert first.body == second.body == third.body
    (delivery,) = await endpoint.list_deliveries()
    shown = (await endpoint.machine.get(f"/webhook_deliveries/{delivery['id']}", {"include": "attempts"})).json
    attempts = [each["attributes"] for each in shown["included"]]
    assert [(each["number"], each["status"]) for each in attempts] == [(1, 500), (2, 302), (3, 200)]
    assert attempts[0]["response"] == "out of order"
    assert (await endpoint.show())["failing_since"] is None


async def test_the_first_retry_comes_after_about_5_seconds(
    receiver: Receiver, endpoint: Endpoint, make: Make, db: Any
) -> None:
    receiver.responses = [web.Response(status=500)]
    await new_category(make)
    await receiver.wait_for(1)
    query = "(select extract(epoch from next_at - created_at) from webhook_deliveries where endpoint_id = $1)"

    await wait_until(db, f"{query} > 1", endpoint.id)

    # With the time of the attempt itself on a busy machine.
    assert 3 < await db.fetchval(f"select {query}", endpoint.id) < 20


async def test_events_of_one_record_wait_for_each_other_and_others_do_not(
    receiver: Receiver, endpoint: Endpoint, make: Make, db: Any
) -> None:
    receiver.responses = [web.Response(status=500)]
    blocked = await new_category(make)
    await receiver.wait_for(1)
    await rename_category(make, blocked)
    await make.machine.delete(f"/tax_categories/{blocked}")
    other = await new_category(make)

    await receiver.wait_for(1, other)

    assert len([each for each in receiver.deliveries if each.json["data"]["id"] == blocked]) == 1
    await endpoint.retry_now(db)
    deliveries = await receiver.wait_for(4, blocked)
    assert [each.json["type"] for each in deliveries] == [
        "tax_category.created",
        "tax_category.created",
        "tax_category.updated",
        "tax_category.deleted",
    ]


@pytest.mark.torture
async def test_a_delivery_is_given_up_after_ten_attempts_and_the_next_one_follows(
    receiver: Receiver, endpoint: Endpoint, make: Make, db: Any
) -> None:
    receiver.responses = [web.Response(status=500), web.Response(status=500)]
    created = await new_category(make)
    await receiver.wait_for(1)
    await rename_category(make, created)
    await wait_until(
        db, "exists (select from webhook_deliveries where endpoint_id = $1 and attempt_count = 1)", endpoint.id
    )
    await db.execute(
        "update webhook_deliveries set attempt_count = 9, next_at = now() where endpoint_id = $1 and attempt_count = 1",
        endpoint.id,
    )

    deliveries = await receiver.wait_for(3, created)

    await endpoint.wait_for_state(db, "succeeded")
    assert deliveries[2].json["type"] == "tax_category.updated"
    states = [each["attributes"]["state"] for each in await endpoint.list_deliveries()]
    assert states == ["failed", "succeeded"]


async def test_retry_after_pauses_the_endpoint(receiver: Receiver, endpoint: Endpoint, make: Make, db: Any) -> None:
    receiver.responses = [web.Response(status=503, headers={"Retry-After": "3600"})]
    await new_category(make)
    await receiver.wait_for(1)
    await wait_until(
        db, "exists (select from webhook_endpoints where id = $1 and paused_until > now() + '50 minutes')", endpoint.id
    )
    second = await new_category(make)
    await wait_until(db, "(select count(*) from webhook_deliveries where endpoint_id = $1) = 2", endpoint.id)
    assert len(receiver.deliveries) == 1

    await db.execute("update webhook_endpoints set paused_until = now() where id = $1", endpoint.id)

    await receiver.wait_for(1, second)
    assert len(await receiver.wait_for(2)) == 2


@pytest.mark.torture
async def test_a_full_queue_is_sent_with_8_requests_at_once(
    receiver: Receiver, endpoint: Endpoint, make: Make, db: Any
) -> None:
    count, is_open = 20, asyncio.Event()

    async def wait_for_opening(_request: web.Request) -> web.StreamResponse:
        await is_open.wait()
        return web.Response()

    first = await new_category(make)
    await endpoint.wait_for_state(db, "succeeded")
    receiver.respond = wait_for_opening
    ids = [first]
    for _ in range(count):
        ids.append(await new_category(make))
        # The queue has then finished the round of the event before.
        await wait_until(
            db, "(select count(*) from webhook_deliveries where endpoint_id = $1) = $2", endpoint.id, len(ids)
        )

    await receiver.wait_for(1 + 8)
    assert receiver.open_count == 8
    is_open.set()
    deliveries = await receiver.wait_for(len(ids))

    await endpoint.wait_for_state(db, "succeeded", len(ids))
    assert {each.json["data"]["id"] for each in deliveries} == set(ids)
    assert receiver.most_open == 8
