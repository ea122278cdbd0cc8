"""What a receiver answers, and which URL it has, cannot harm the shop."""

from typing import Any

import pytest
from aiohttp import web

from tests.builders import Make
from tests.platform.client import Machine
from tests.sampling import first
from tests.webhooks.receiver import Endpoint, Receiver, new_category, wait_until


async def last_attempt(endpoint: Endpoint) -> Any:
    """Sends a test event, and returns its attempt."""
    answer = await endpoint.machine.post(f"/webhook_endpoints/{endpoint.id}/test?include=attempts", {})
    assert answer.status == 201, answer
    return answer.json["included"][0]["attributes"]


async def send_endlessly(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    while True:
        await response.write(b"x" * 65536)


@pytest.mark.security("E-06")
async def test_an_endless_response_is_read_up_to_a_limit_and_stored_up_to_4_kib(
    receiver: Receiver, endpoint: Endpoint
) -> None:
    receiver.respond = send_endlessly

    attempt = await last_attempt(endpoint)

    assert (attempt["status"], attempt["error"]) == (200, None)
    assert attempt["response"] == "x" * 4096


@pytest.mark.security("E-06")
async def test_a_response_that_is_no_text_is_stored_as_text(receiver: Receiver, endpoint: Endpoint) -> None:
    receiver.responses = [web.Response(body=b"a\x00b\xff<script>")]

    attempt = await last_attempt(endpoint)

    assert attempt["response"] == "a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}<script>"


@pytest.mark.security("E-06")
@pytest.mark.parametrize("location", ["http://169.254.169.254/latest/meta-data/", "/other"])
async def test_a_redirect_is_a_failure_and_not_followed(receiver: Receiver, endpoint: Endpoint, location: str) -> None:
    receiver.responses = [web.Response(status=307, headers={"Location": location})]

    attempt = await last_attempt(endpoint)

    assert attempt["status"] == 307
    assert len(receiver.deliveries) == 1
    delivery = (await endpoint.list_deliveries())[0]
    assert delivery["attributes"]["state"] == "failed"


@pytest.mark.security("E-06")
@pytest.mark.parametrize(
    ("value", "is_paused"),
    first(
        2,
        [
            ("999999999999", True),
            ("Fri, 31 Dec 9999 23:59:59 GMT", True),
            ("9" * 40, False),
            ("-1", False),
            ("1e9", False),
            ("Fri, 31 Feb 2027 08:00:00 GMT", False),
        ],
    ),
)
async def test_no_retry_after_pauses_an_endpoint_for_more_than_a_day(
    receiver: Receiver, endpoint: Endpoint, make: Make, db: Any, value: str, is_paused: bool
) -> None:
    receiver.responses = [web.Response(status=500, headers={"Retry-After": value})]

    await new_category(make)

    await wait_until(db, "(select failing_since from webhook_endpoints where id = $1) is not null", endpoint.id)
    paused = "select coalesce(paused_until > now(), false) from webhook_endpoints where id = $1"
    too_long = "select coalesce(paused_until > now() + interval '1 day', false) from webhook_endpoints where id = $1"
    assert await db.fetchval(paused, endpoint.id) is is_paused
    assert await db.fetchval(too_long, endpoint.id) is False


@pytest.mark.security("E-05")
@pytest.mark.parametrize(
    "url",
    [
        "https://example.com/\r\nHost: internal",
        "https://example.com/\nX: 1",
        "https://example.com/\thook",
        "https://example.com\\@10.0.0.1/",
        "https://example.com:22/hook",
        "https://example.com:99999/hook",
        "https://[fe80::1%25eth0]/hook",
        "https://[2606:4700::1111%25eth0]/hook",
        "https://metadata.google.internal./hook",
        "https://10.0.0.1./hook",
        "https://2852039166/latest",
        "https://[::ffff:169.254.169.254]/latest",
        "https://\uff11\uff16\uff19.254.169.254/latest",
        "https://" + "a" * 2048 + ".example/",
    ],
)
async def test_no_form_of_an_internal_address_becomes_an_endpoint(writer: Machine, url: str) -> None:
    answer = await writer.post("/webhook_endpoints", {"webhook_endpoint": {"url": url}})

    assert (answer.status, list(answer.json["errors"])) == (422, ["url"])
