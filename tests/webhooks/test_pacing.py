"""An endpoint that fails again and again is called less and less often, and gets everything when it works again."""

import itertools
from time import monotonic
from typing import Any

import pytest
from aiohttp import web

from shop.actions.webhooks.queue import FAILING_SECONDS, PATIENCE
from tests.builders import Make
from tests.events.feed import new_reader
from tests.events.log_checks import assert_in_order
from tests.webhooks.receiver import Endpoint, Receiver, new_category, rename_category, wait_until

PAUSES = [0.05, 0.1, 0.2, 0.4]
"""After the failures that follow the first ones, in seconds."""


async def _fail(_request: web.Request) -> web.StreamResponse:
    return web.Response(status=500)


@pytest.mark.torture
async def test_a_failing_endpoint_is_called_less_and_less_often_and_later_gets_everything_in_order(
    receiver: Receiver, endpoint: Endpoint, make: Make, db: Any
) -> None:
    arrivals: list[float] = []

    async def fail(request: web.Request) -> web.StreamResponse:
        arrivals.append(monotonic())
        return await _fail(request)

    receiver.respond = fail
    await endpoint.change(enabled=False)
    log = await new_reader(endpoint.machine)
    first_position = int(log.cursor) + 1
    categories = [await new_category(make) for _ in range(PATIENCE + len(PAUSES))]
    for category in categories:
        await rename_category(make, category)
    await log.read_about(categories[-1], until="tax_category.updated")
    await endpoint.change(enabled=True)
    # All are queued at once: when an attempt has failed, an event about another record is due.
    await endpoint.post("replay", {"from_position": first_position})

    await receiver.wait_for(PATIENCE + len(PAUSES))

    gaps = [later - earlier for earlier, later in itertools.pairwise(arrivals)]
    assert [gap >= pause for gap, pause in zip(gaps[PATIENCE - 1 :], PAUSES, strict=False)] == [True] * len(PAUSES)
    receiver.respond = None
    # Otherwise the last failure would be recorded later, with a retry after 5 seconds.
    await wait_until(
        db,
        "(select count(*) from webhook_deliveries where endpoint_id = $1 and attempt_count = 1) = $2",
        endpoint.id,
        len(categories),
    )
    await endpoint.retry_now(db)
    await endpoint.wait_for_state(db, "succeeded", 2 * len(categories))
    assert_in_order(receiver.deliveries)
    positions = await db.fetch("select position from events where subject_id = any($1)", categories)
    assert {each.json["position"] for each in receiver.deliveries} == {row["position"] for row in positions}


@pytest.mark.torture
async def test_a_failing_endpoint_is_given_new_events_once_a_second(
    receiver: Receiver, endpoint: Endpoint, make: Make, db: Any
) -> None:
    receiver.respond = _fail
    start = monotonic()
    categories = [await new_category(make)]
    await receiver.wait_for(1)
    categories += [await _new_numbered_category(make, db) for _ in range(20)]
    query = "select count(distinct created_at) from webhook_deliveries where endpoint_id = $1"

    batches, seconds = await db.fetchval(query, endpoint.id), monotonic() - start

    # The first batch comes at once; the database takes some time between the clock and the batch.
    assert batches <= seconds / FAILING_SECONDS + 2
    receiver.respond = None
    await wait_until(
        db, "(select count(*) from webhook_deliveries where endpoint_id = $1) = $2", endpoint.id, len(categories)
    )
    await endpoint.retry_now(db)
    await endpoint.wait_for_state(db, "succeeded", len(categories))


async def _new_numbered_category(make: Make, db: Any) -> str:
    category = await new_category(make)
    await wait_until(db, "exists (select from events where subject_id = $1 and position is not null)", category)
    return category
