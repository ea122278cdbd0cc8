"""Resends, replays and test events."""

from typing import Any

from aiohttp import web

from tests.builders import Make
from tests.webhooks.receiver import Endpoint, Receiver, new_category, wait_until


async def test_a_delivery_is_resent_as_a_new_one(receiver: Receiver, endpoint: Endpoint, make: Make, db: Any) -> None:
    category = await new_category(make)
    await endpoint.wait_for_state(db, "succeeded")
    (delivery,) = await endpoint.list_deliveries()

    answer = await endpoint.machine.post(f"/webhook_deliveries/{delivery['id']}/resend", {})

    assert answer.status == 201, answer
    assert answer.json["data"]["id"] != delivery["id"]
    first, second = await receiver.wait_for(2, category)
    assert (first.id, first.body) == (second.id, second.body)


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
