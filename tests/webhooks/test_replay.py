"""Resends, replays and test events."""

import asyncio
from typing import Any

import pytest
from aiohttp import web

from tests.builders import Make
from tests.events.feed import new_reader
from tests.webhooks.receiver import Endpoint, Receiver, new_category, rename_category, wait_until


async def test_a_delivery_is_resent_as_a_new_one(receiver: Receiver, endpoint: Endpoint, make: Make, db: Any) -> None:
    category = await new_category(make)
    await endpoint.wait_for_state(db, "succeeded")
    (delivery,) = await endpoint.list_deliveries()

    answer = await endpoint.machine.post(f"/webhook_deliveries/{delivery['id']}/resend", {})

    assert answer.status == 201, answer
    assert answer.json["data"]["id"] != delivery["id"]
    first, second = await receiver.wait_for(2, category)
    assert (first.id, first.body) == (second.id, second.body)


async def test_a_delivery_to_a_disabled_endpoint_is_not_resent(endpoint: Endpoint, make: Make, db: Any) -> None:
    await new_category(make)
    await endpoint.wait_for_state(db, "succeeded")
    (delivery,) = await endpoint.list_deliveries()
    await endpoint.change(enabled=False)

    answer = await endpoint.machine.post(f"/webhook_deliveries/{delivery['id']}/resend", {})

    assert (answer.status, len(await endpoint.list_deliveries())) == (409, 1)


@pytest.mark.torture
async def test_a_pending_delivery_is_resent_at_once(
    receiver: Receiver, endpoint: Endpoint, make: Make, db: Any
) -> None:
    receiver.responses = [web.Response(status=500)]
    category = await new_category(make)
    await wait_until(
        db, "exists (select from webhook_deliveries where endpoint_id = $1 and attempt_count = 1)", endpoint.id
    )
    await db.execute(
        "update webhook_deliveries set next_at = now() + interval '1 day' where endpoint_id = $1", endpoint.id
    )
    (delivery,) = await endpoint.list_deliveries()

    answer = await endpoint.machine.post(f"/webhook_deliveries/{delivery['id']}/resend", {})

    assert answer.json["data"]["id"] == delivery["id"]
    await receiver.wait_for(2, category)


async def test_a_delivery_is_not_resent_while_another_one_about_the_record_is_in_progress(
    receiver: Receiver, endpoint: Endpoint, make: Make, db: Any
) -> None:
    is_open = asyncio.Event()

    async def wait_for_opening(_request: web.Request) -> web.StreamResponse:
        await is_open.wait()
        return web.Response()

    category = await new_category(make)
    await endpoint.wait_for_state(db, "succeeded")
    (delivery,) = await endpoint.list_deliveries()
    receiver.responses = [wait_for_opening]
    await rename_category(make, category)
    await receiver.wait_for(2, category)

    assert (await endpoint.machine.post(f"/webhook_deliveries/{delivery['id']}/resend", {})).status == 201
    # Its delivery is due after that of the resend.
    await receiver.wait_for(1, await new_category(make))

    assert len(await receiver.wait_for(2, category)) == 2
    is_open.set()
    types = [each.json["type"] for each in await receiver.wait_for(3, category)]
    assert types == ["tax_category.created", "tax_category.updated", "tax_category.created"]


async def test_a_range_of_positions_is_replayed(receiver: Receiver, endpoint: Endpoint, make: Make, db: Any) -> None:
    categories = [await new_category(make) for _ in range(3)]
    first, second, third = [(await receiver.wait_for(1, each))[0] for each in categories]

    await endpoint.post("replay", {"from_position": first.json["position"], "to_position": second.json["position"]})

    await receiver.wait_for(2, categories[0])
    repeated = (await receiver.wait_for(2, categories[1]))[1]
    assert (repeated.id, repeated.body) == (second.id, second.body)
    await endpoint.wait_for_state(db, "succeeded", 5)
    assert [each.id for each in receiver.deliveries].count(third.id) == 1


async def test_a_range_of_time_is_replayed_to_a_new_endpoint(
    receiver: Receiver, endpoint: Endpoint, make: Make, db: Any
) -> None:
    await endpoint.change(enabled=False)
    category = await new_category(make)
    query = "select occurred_at from events where subject_id = $1 and position is not null"
    await wait_until(db, f"exists ({query})", category)
    moment = await db.fetchval(query, category)
    await endpoint.change(enabled=True)

    await endpoint.post("replay", {"since": moment.isoformat(), "until": moment.isoformat()})

    (delivery,) = await receiver.wait_for(1, category)
    assert delivery.is_signed_with(endpoint.secret)


async def test_a_replay_needs_one_start_and_an_enabled_endpoint(endpoint: Endpoint) -> None:
    path = f"/webhook_endpoints/{endpoint.id}/replay"

    assert (await endpoint.machine.post(path, {})).status == 422
    assert (await endpoint.machine.post(path, {"from_position": 1, "since": "2026-01-01T00:00:00Z"})).status == 422
    await endpoint.change(enabled=False)
    assert (await endpoint.machine.post(path, {"from_position": 1})).status == 409


async def test_a_second_replay_is_refused_until_the_first_has_ended(endpoint: Endpoint, db: Any) -> None:
    # Another process has the endpoint, and does not work.
    await db.execute(
        "update webhook_endpoints set leased_by = gen_random_uuid(), leased_until = now() + interval '1 hour'"
        " where id = $1",
        endpoint.id,
    )
    path = f"/webhook_endpoints/{endpoint.id}/replay"

    assert (await endpoint.machine.post(path, {"from_position": 1})).status == 200
    assert (await endpoint.machine.post(path, {"from_position": 1})).status == 409
    await db.execute("update webhook_endpoints set leased_until = now() where id = $1", endpoint.id)
    await wait_until(db, "(select replay_position from webhook_endpoints where id = $1) is null", endpoint.id)
    assert (await endpoint.machine.post(path, {"from_position": 1})).status == 200


async def test_a_replay_leaves_out_updates_of_other_fields(receiver: Receiver, endpoint: Endpoint, make: Make) -> None:
    await endpoint.change(enabled=False, fields=["description"])
    log = await new_reader(endpoint.machine)
    start = int(log.cursor) + 1
    category = await new_category(make)
    await rename_category(make, category)
    await make.change("tax_categories", category, "tax_category", description="Printed")
    await make.machine.delete(f"/tax_categories/{category}")
    await log.read_about(category, until="tax_category.deleted")
    await endpoint.change(enabled=True)

    await endpoint.post("replay", {"from_position": start})

    (delivery,) = await receiver.wait_for(1)
    assert delivery.json["changes"] == {"description": [None, "Printed"]}


async def test_a_test_event_is_sent_at_once_and_recorded(receiver: Receiver, endpoint: Endpoint) -> None:
    receiver.responses = [web.Response(status=418, text="teapot")]

    data = (await endpoint.machine.post(f"/webhook_endpoints/{endpoint.id}/test?include=attempts", {})).json

    (delivery,) = receiver.deliveries
    assert delivery.is_signed_with(endpoint.secret)
    assert delivery.json["type"] == "webhook_endpoint.test"
    assert delivery.json["data"]["id"] == endpoint.id
    assert (data["data"]["attributes"]["state"], data["data"]["attributes"]["event_id"]) == ("failed", delivery.id)
    attempt = data["included"][0]["attributes"]
    assert (attempt["status"], attempt["response"]) == (418, "teapot")
    resent = await endpoint.machine.post(f"/webhook_deliveries/{data['data']['id']}/resend", {})
    assert resent.status == 409
