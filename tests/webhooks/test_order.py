"""The events of each record arrive in the order of the log, however often the receiver fails."""

import asyncio
import random
from typing import Any

import pytest
from aiohttp import web

from tests.builders import Make
from tests.events.log_checks import assert_in_order
from tests.webhooks.receiver import Endpoint, Receiver, new_category, rename_category

RECORDS, RENAMES = 20, 10


@pytest.mark.torture
async def test_events_of_a_record_arrive_in_order_at_a_receiver_that_fails_at_random(
    receiver: Receiver, endpoint: Endpoint, make: Make, db: Any
) -> None:
    chance = random.Random(RECORDS)

    async def respond(_request: web.Request) -> web.StreamResponse:
        return web.Response(status=chance.choice((200, 200, 500)))

    receiver.respond = respond
    categories = [await new_category(make) for _ in range(RECORDS)]
    for _ in range(RENAMES):
        await asyncio.gather(*(rename_category(make, each) for each in categories))

    count = RECORDS * (1 + RENAMES)
    async with asyncio.timeout(120):
        while len(await _list_ended(db, endpoint)) < count:
            # Otherwise, the second retry comes after 5 minutes.
            await endpoint.retry_now(db)
            await db.execute("select pg_sleep(0.05)")

    positions = await db.fetch("select position from events where subject_id = any($1)", categories)
    assert {each.json["position"] for each in receiver.deliveries} == {row["position"] for row in positions}
    assert len(receiver.deliveries) > count
    assert_in_order(receiver.deliveries)


async def _list_ended(db: Any, endpoint: Endpoint) -> list[Any]:
    query = "select id from webhook_deliveries where endpoint_id = $1 and state = 'succeeded'"
    deliveries: list[Any] = await db.fetch(query, endpoint.id)
    return deliveries
