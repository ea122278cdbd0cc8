"""Webhook endpoints: their URLs, secrets, filters, and how they are disabled and enabled again."""

import asyncio
import base64
import json
from datetime import timedelta
from typing import Any

import pytest
from aiohttp import web

from tests.builders import Make
from tests.events.feed import new_reader
from tests.platform.client import Machine
from tests.secret_leaks import is_recorded, record_secret
from tests.webhooks.receiver import Endpoint, Receiver, new_category, new_endpoint, rename_category, wait_until

REFUSED_URLS = [
    "http://example.com/hook",
    "ftp://example.com/hook",
    "https://user:password@example.com/hook",
    "https://10.0.0.1/hook",
    "https://192.168.1.1/hook",
    "https://169.254.169.254/latest/meta-data/",
    "https://100.64.0.1/hook",
    "https://[::ffff:10.0.0.1]/hook",
    "https://[fd00::1]/hook",
    "https://2130706433/hook",
    "https://0x7f.1/hook",
    "https://db.internal/hook",
    "https://example.com/hook#part",
]


@pytest.mark.security("E-05")
@pytest.mark.parametrize("url", REFUSED_URLS)
async def test_an_endpoint_with_an_unsafe_url_is_refused(writer: Machine, url: str) -> None:
    answer = await writer.post("/webhook_endpoints", {"webhook_endpoint": {"url": url, "types": ["*"]}})

    assert (answer.status, list(answer.json["errors"])) == (422, ["url"])


@pytest.mark.security("E-05")
async def test_loopback_is_refused_for_a_proxied_request(writer: Machine, receiver: Receiver) -> None:
    body = {"webhook_endpoint": {"url": receiver.url, "types": ["*"]}}

    answer = await writer.post("/webhook_endpoints", body, headers={"X-Forwarded-For": "203.0.113.9"})

    assert (answer.status, list(answer.json["errors"])) == (422, ["url"])


@pytest.mark.security("E-05")
async def test_a_url_that_became_unsafe_is_not_sent_to(endpoint: Endpoint, make: Make, db: Any) -> None:
    await db.execute("update webhook_endpoints set url = 'https://169.254.169.254/' where id = $1", endpoint.id)
    await new_category(make)

    await wait_until(
        db,
        "exists (select from webhook_attempts a join webhook_deliveries d on d.id = a.delivery_id"
        " where d.endpoint_id = $1 and a.status is null and a.error like '%not public%')",
        endpoint.id,
    )


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("types", []),
        ("types", ["order.complete"]),
        ("types", ["Order.*"]),
        ("types", ["*.created"]),
        ("fields", ["not a name"]),
        ("description", "x" * 1001),
    ],
)
async def test_an_endpoint_with_an_invalid_field_is_refused(writer: Machine, field: str, value: Any) -> None:
    body = {"url": "https://example.com/hook", "types": ["*"], field: value}

    answer = await writer.post("/webhook_endpoints", {"webhook_endpoint": body})

    assert (answer.status, list(answer.json["errors"])) == (422, [field])


@pytest.mark.security("E-01")
async def test_reading_needs_read_access_and_writing_write_access(
    reader: Machine, endpoint: Endpoint, receiver: Receiver
) -> None:
    body = {"webhook_endpoint": {"url": receiver.url}}
    path = f"/webhook_endpoints/{endpoint.id}"

    assert (await reader.get(path)).status == 200
    assert (await reader.get("/webhook_deliveries")).status == 200
    assert (await reader.post("/webhook_endpoints", body)).status == 403
    assert (await reader.patch(path, body)).status == 403
    assert (await reader.delete(path)).status == 403
    assert [(await reader.post(f"{path}/{name}", {})).status for name in ("test", "replay", "rotate_secret")] == [
        403
    ] * 3


@pytest.mark.security("E-04")
async def test_a_secret_is_shown_once_and_encrypted_at_rest(endpoint: Endpoint, db: Any) -> None:
    assert endpoint.secret.startswith("whsec_")
    assert is_recorded(endpoint.secret)
    listed = await endpoint.machine.get("/webhook_endpoints", {"filter[id_eq]": endpoint.id})

    assert (await endpoint.show())["secret"] is None
    assert listed.json["data"][0]["attributes"]["secret"] is None
    assert (await endpoint.change(description="Ours"))["secret"] is None
    row = await db.fetchrow("select sealed, hint from webhook_secrets where endpoint_id = $1", endpoint.id)
    assert row["hint"] == endpoint.secret[-4:]
    encoded_key = endpoint.secret.removeprefix("whsec_")
    assert encoded_key.encode() not in row["sealed"]
    assert base64.b64decode(encoded_key) not in row["sealed"]


async def test_a_repeated_creation_with_one_idempotency_key_shows_the_same_secret(
    writer: Machine, receiver: Receiver
) -> None:
    body, headers = {"webhook_endpoint": {"url": receiver.url}}, {"Idempotency-Key": f"webhook-{receiver.url}"}

    first = await writer.post("/webhook_endpoints", body, headers=headers)
    second = await writer.post("/webhook_endpoints", body, headers=headers)

    assert record_secret(first.json["data"]["attributes"]["secret"])
    assert first.json["data"] == second.json["data"]
    await writer.delete(f"/webhook_endpoints/{first.json['data']['id']}")


@pytest.mark.security("E-04")
async def test_a_rotated_secret_signs_beside_the_old_one(
    receiver: Receiver, endpoint: Endpoint, make: Make, db: Any
) -> None:
    new_secret = record_secret((await endpoint.post("rotate_secret"))["attributes"]["secret"])

    (during,) = await receiver.wait_for(1, await new_category(make))
    await db.execute(
        "update webhook_secrets set expires_at = now() where endpoint_id = $1 and expires_at is not null", endpoint.id
    )
    (after,) = await receiver.wait_for(1, await new_category(make))

    assert new_secret != endpoint.secret
    assert len(during.signatures) == 2
    assert during.is_signed_with(endpoint.secret)
    assert during.is_signed_with(new_secret)
    assert len(after.signatures) == 1
    assert after.is_signed_with(new_secret)


@pytest.mark.security("E-04")
@pytest.mark.parametrize(("body", "hours"), [({}, 24), ({"overlap_hours": 2}, 2), ({"overlap_hours": 0}, 0)])
async def test_a_rotation_is_audited_and_ends_the_old_secret_after_the_overlap(
    endpoint: Endpoint, db: Any, body: dict[str, int], hours: int
) -> None:
    before = await db.fetchval("select now()")

    record_secret((await endpoint.post("rotate_secret", body))["attributes"]["secret"])

    end = "select expires_at from webhook_secrets where endpoint_id = $1 and expires_at is not null"
    left = await db.fetchval(end, endpoint.id) - before
    assert timedelta(hours=hours) <= left < timedelta(hours=hours, minutes=10)
    audit = "select detail from audit_events where action = 'webhook_secret_rotated' and subject_id = $1"
    assert json.loads(await db.fetchval(audit, endpoint.id)) == {"overlap_hours": hours}


@pytest.mark.security("E-04")
async def test_a_secret_does_not_work_for_another_endpoint(
    receiver: Receiver, endpoint: Endpoint, make: Make, db: Any
) -> None:
    other = await new_endpoint(endpoint.machine, receiver.url, "zone.*")
    await db.execute("delete from webhook_secrets where endpoint_id = $1", endpoint.id)
    await db.execute("update webhook_secrets set endpoint_id = $1 where endpoint_id = $2", endpoint.id, other.id)

    data = await endpoint.post("test")

    assert data["attributes"]["state"] == "failed"
    assert receiver.deliveries == []
    await other.machine.delete(f"/webhook_endpoints/{other.id}")


async def test_410_disables_the_endpoint_and_enabling_starts_at_the_end(
    receiver: Receiver, endpoint: Endpoint, make: Make, db: Any
) -> None:
    reader = await new_reader(endpoint.machine)
    receiver.responses = [web.Response(status=410)]
    await new_category(make)
    await wait_until(db, "not (select enabled from webhook_endpoints where id = $1)", endpoint.id)
    missed = await new_category(make)

    event = (await reader.read_about(endpoint.id, until="webhook_endpoint.disabled"))[-1]
    shown = await endpoint.show()
    assert event["actor"]["type"] == "shop"
    assert "410" in shown["disabled_reason"]
    assert shown["disabled_at"]
    audit = "select count(*) from audit_events where action = 'webhook_endpoint_disabled' and subject_id = $1"
    assert await db.fetchval(audit, endpoint.id) == 1
    await endpoint.wait_for_state(db, "canceled")

    enabled = await endpoint.change(enabled=True)
    assert (enabled["disabled_reason"], enabled["failing_since"]) == (None, None)
    later = await new_category(make)
    await receiver.wait_for(1, later)
    assert missed not in {each.json["data"]["id"] for each in receiver.deliveries}


@pytest.mark.torture
async def test_an_enabled_endpoint_that_is_enabled_again_keeps_its_queue(
    receiver: Receiver, endpoint: Endpoint, make: Make, db: Any
) -> None:
    receiver.responses = [web.Response(status=500)]
    category = await new_category(make)
    await wait_until(
        db, "exists (select from webhook_deliveries where endpoint_id = $1 and attempt_count = 1)", endpoint.id
    )

    await endpoint.change(enabled=True, description="Ours")
    (delivery,) = await endpoint.list_deliveries()
    await endpoint.retry_now(db)

    assert delivery["attributes"]["state"] == "pending"
    assert len(await receiver.wait_for(2, category)) == 2


@pytest.mark.security("E-04")
async def test_concurrent_rotations_leave_two_valid_secrets(
    receiver: Receiver, endpoint: Endpoint, make: Make, db: Any
) -> None:
    answers = await asyncio.gather(*(endpoint.post("rotate_secret") for _ in range(6)))
    for answer in answers:
        record_secret(answer["attributes"]["secret"])

    (delivery,) = await receiver.wait_for(1, await new_category(make))

    assert len(delivery.signatures) == 2
    query = "select count(*) from webhook_secrets where endpoint_id = $1 and expires_at is null"
    assert await db.fetchval(query, endpoint.id) == 1


async def test_five_days_of_failure_disable_the_endpoint(
    receiver: Receiver, endpoint: Endpoint, make: Make, db: Any
) -> None:
    receiver.responses = [web.Response(status=500)]
    await db.execute(
        "update webhook_endpoints set failing_since = now() - interval '5 days' where id = $1", endpoint.id
    )

    await new_category(make)

    await wait_until(db, "not (select enabled from webhook_endpoints where id = $1)", endpoint.id)
    assert "5 days" in (await endpoint.show())["disabled_reason"]


async def test_only_subscribed_types_and_changes_of_fields_are_sent(
    receiver: Receiver, writer: Machine, make: Make
) -> None:
    endpoint = await new_endpoint(writer, receiver.url, "tax_category.updated", fields=["description"])
    category = await new_category(make)
    await rename_category(make, category)
    await make.change("tax_categories", category, "tax_category", description="Printed")

    (delivery,) = await receiver.wait_for(1, category)

    assert delivery.json["changes"] == {"description": [None, "Printed"]}
    await writer.delete(f"/webhook_endpoints/{endpoint.id}")


@pytest.mark.security("E-04")
async def test_an_endpoint_has_events_and_a_deleted_one_is_hidden(receiver: Receiver, writer: Machine, db: Any) -> None:
    reader = await new_reader(writer)
    endpoint = await new_endpoint(writer, receiver.url)
    await endpoint.change(description="Ours")
    assert (await writer.delete(f"/webhook_endpoints/{endpoint.id}")).status == 204

    events = await reader.read_about(endpoint.id, until="webhook_endpoint.deleted")

    assert [event["type"].partition(".")[2] for event in events] == ["created", "updated", "deleted"]
    assert events[1]["changes"] == {"description": ["", "Ours"]}
    assert [event["data"]["attributes"]["secret"] for event in events] == [None] * 3
    assert (await writer.get(f"/webhook_endpoints/{endpoint.id}")).status == 404
    assert await db.fetchval("select count(*) from webhook_secrets where endpoint_id = $1", endpoint.id) == 0


async def test_a_subscriber_is_an_endpoint_under_its_name_in_spree(
    receiver: Receiver, writer: Machine, make: Make
) -> None:
    body = {"url": receiver.url, "active": False, "subscriptions": ["tax_category.created"]}
    created = await writer.post("/webhooks/subscribers", {"subscriber": body})
    assert created.status == 201, created
    data = created.json["data"]
    secret = record_secret(data["attributes"]["secret_key"])
    assert (data["type"], data["attributes"]["active"]) == ("subscriber", False)
    path = f"/webhooks/subscribers/{data['id']}"

    changed = await writer.patch(path, {"subscriber": {"active": True}})
    category = await new_category(make)

    assert changed.json["data"]["attributes"]["active"] is True
    (delivery,) = await receiver.wait_for(1, category)
    assert delivery.is_signed_with(secret)
    assert (await writer.delete(path)).status == 204
    assert (await writer.get(path)).status == 404


@pytest.mark.torture
async def test_attempts_are_listed_under_their_names_in_spree(
    receiver: Receiver, endpoint: Endpoint, make: Make, db: Any
) -> None:
    receiver.responses = [web.Response(status=500)]
    await new_category(make)
    await receiver.wait_for(1)
    await endpoint.wait_for_state(db, "pending")
    await endpoint.retry_now(db)
    await endpoint.wait_for_state(db, "succeeded")

    answer = await endpoint.machine.get(
        "/webhooks/events", {"filter[subscriber_id_eq]": endpoint.id, "sort": "id", "include": "subscriber"}
    )

    failed, succeeded = [each["attributes"] for each in answer.json["data"]]
    assert {each["type"] for each in answer.json["data"]} == {"event"}
    assert {name: failed[name] for name in ("name", "url", "response_code", "success", "request_errors")} == {
        "name": "tax_category.created",
        "url": receiver.url,
        "response_code": "500",
        "success": False,
        "request_errors": "",
    }
    assert (succeeded["response_code"], succeeded["success"]) == ("200", True)
    assert isinstance(succeeded["execution_time"], int)
    assert [(each["type"], each["id"]) for each in answer.json["included"]] == [("subscriber", endpoint.id)]
    only = await endpoint.machine.get(
        "/webhooks/events", {"filter[subscriber_id_eq]": endpoint.id, "filter[success_eq]": "false"}
    )
    assert [each["attributes"] for each in only.json["data"]] == [failed]
