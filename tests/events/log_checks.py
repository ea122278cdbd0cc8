"""Checks of a whole event log: its positions, its events beside the changes they describe, and what receivers got."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

import asyncpg

from tests import unlogged_changes
from tests.events.feed import FeedReader
from tests.platform.client import Machine
from tests.webhooks.receiver import Delivery

_INVENTED = """
select e.fields[1] as type, count(*) as count from noted.changes e
where e.operation = 'EVENT' and e.name = any($1) and not exists (
    select from noted.changes c where c.tx = e.tx and c.operation <> 'EVENT'
        and (c.record_id = e.record_id or e.name = any($2) and c.name = 'order')
)
group by 1
"""
_REPEATED = """
select fields[1] as type from noted.changes where operation = 'EVENT' group by tx, record_id, fields having count(*) > 1
"""
_WATCHED = ("order", "shipment", "refund", "product")
_PARTS = ("shipment",)
"""Created while the order is open; their events belong to its completion."""


async def watch_changes(url: str) -> None:
    """Notes each change and each event with its transaction, also across crashes of the database."""
    unlogged_changes.watch(url)
    db = await asyncpg.connect(url)
    await db.execute("alter table noted.changes set logged")
    await db.execute("create index on noted.changes (tx)")
    await db.close()


async def find_differences(url: str) -> list[str]:
    """Returns a line for each kind of committed change without an event, and of event without a committed change."""
    lost = await unlogged_changes.find_unlogged(url)
    db = await asyncpg.connect(url)
    invented = [f"{row['count']} {row['type']} without a change" for row in await db.fetch(_INVENTED, _WATCHED, _PARTS)]
    repeated = [f"{row['type']} twice in one transaction" for row in await db.fetch(_REPEATED)]
    await db.close()
    return lost + invented + repeated


async def read_whole_log(machine: Machine) -> list[dict[str, Any]]:
    """Reads the feed from its first event to its end."""
    reader, events = FeedReader(machine, ""), list[dict[str, Any]]()
    while page := await reader.read(wait=0):
        events += page
    return events


def assert_complete(positions: list[int]) -> None:
    """Asserts that positions have neither gaps nor repeats."""
    assert positions
    assert positions == list(range(positions[0], positions[0] + len(positions)))


def assert_in_order(deliveries: Iterable[Delivery]) -> None:
    """Asserts that the events of each record arrived in the order of the log; the last one may have come again."""
    last_positions: dict[str, int] = {}
    for body in (each.json for each in deliveries):
        subject_id = body["data"]["id"]
        assert body["position"] >= last_positions.get(subject_id, 0), body
        last_positions[subject_id] = body["position"]


def count_types(events: Iterable[dict[str, Any]]) -> Counter[str]:
    return Counter(event["type"] for event in events)
