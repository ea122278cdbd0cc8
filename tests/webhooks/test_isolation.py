"""A dead endpoint delays nobody else, and an endpoint belongs to one process at a time."""

import asyncio
from typing import Any

import pytest
from aiohttp import web

from tests.builders import Make
from tests.platform.client import Machine
from tests.webhooks.receiver import Receiver, new_category, new_endpoint, open_receiver, wait_until


async def _hang(_request: web.Request) -> web.StreamResponse:
    await asyncio.Event().wait()
    raise AssertionError


async def _fail(_request: web.Request) -> web.StreamResponse:
    return web.Response(status=500)


async def _drip(request: web.Request) -> web.StreamResponse:
    """Sends a byte a second."""
    response = web.StreamResponse()
    await response.prepare(request)
    while True:
        await response.write(b".")
        await asyncio.sleep(1)


async def _flood(_request: web.Request) -> web.StreamResponse:
    return web.Response(body=b"x" * 10_000_000)


async def test_bad_endpoints_do_not_delay_a_healthy_one(
    receiver: Receiver, writer: Machine, make: Make, db: Any
) -> None:
    bad_paths = {"hang": _hang, "fail": _fail, "drip": _drip, "flood": _flood}

    async def respond(request: web.Request) -> web.StreamResponse:
        return await bad_paths[request.path.strip("/")](request)

    async with open_receiver() as bad_receiver:
        bad_receiver.respond = respond
        base_url = bad_receiver.url.removesuffix("/hook")
        bad = {name: await new_endpoint(writer, f"{base_url}/{name}") for name in bad_paths}
        endpoint = await new_endpoint(writer, receiver.url)
        categories = [await new_category(make) for _ in range(10)]

        await receiver.wait_for(len(categories))

        # The healthy one has them all while the hanging one still has its first request open.
        await endpoint.wait_for_state(db, "succeeded", len(categories))
        hung = "select count(*) from webhook_attempts a join webhook_deliveries d on d.id = delivery_id"
        assert await db.fetchval(f"{hung} where endpoint_id = $1", bad["hang"].id) == 0
        # Ten megabytes are read up to a limit, and count as received.
        await bad["flood"].wait_for_state(db, "succeeded", len(categories))
        size = "select max(length(response)) from webhook_attempts a join webhook_deliveries d on d.id = delivery_id"
        assert await db.fetchval(f"{size} where endpoint_id = $1", bad["flood"].id) == 4096
        for each in (endpoint, *bad.values()):
            await writer.delete(f"/webhook_endpoints/{each.id}")


@pytest.mark.torture
async def test_an_endpoint_is_taken_over_only_when_its_lease_ends(
    receiver: Receiver, writer: Machine, make: Make, db: Any
) -> None:
    endpoint = await new_endpoint(writer, receiver.url)
    await db.execute(
        "update webhook_endpoints set leased_by = gen_random_uuid(), leased_until = now() + interval '1 hour'"
        " where id = $1",
        endpoint.id,
    )
    category = await new_category(make)
    await wait_until(db, "exists (select from events where subject_id = $1 and position is not null)", category)
    witness = await new_endpoint(writer, receiver.url)
    second = await new_category(make)
    await receiver.wait_for(1, second)
    await witness.wait_for_state(db, "succeeded")
    # The service has leased the endpoint that was created later, but not this one.
    assert not any(each.is_signed_with(endpoint.secret) for each in receiver.deliveries)
    lease = "select leased_until > now() + interval '10 minutes' from webhook_endpoints where id = $1"
    assert await db.fetchval(lease, endpoint.id)

    await db.execute("update webhook_endpoints set leased_until = now() where id = $1", endpoint.id)

    (late,) = await receiver.wait_for(1, category)
    assert late.is_signed_with(endpoint.secret)
    for each in (endpoint, witness):
        await writer.delete(f"/webhook_endpoints/{each.id}")


@pytest.mark.torture
async def test_a_hanging_request_fails_after_15_seconds_and_a_dripping_one_too(
    receiver: Receiver, writer: Machine, make: Make, db: Any
) -> None:
    receiver.respond = _drip
    endpoint = await new_endpoint(writer, receiver.url)
    await new_category(make)
    async with asyncio.timeout(60):
        query = (
            "select a.* from webhook_attempts a join webhook_deliveries d on d.id = delivery_id where endpoint_id = $1"
        )
        while not (attempt := await db.fetchrow(query, endpoint.id)):
            await db.execute("select pg_sleep(0.2)")

    assert "15 s" in attempt["error"]
    assert 14_000 < attempt["milliseconds"] < 20_000
    await writer.delete(f"/webhook_endpoints/{endpoint.id}")
