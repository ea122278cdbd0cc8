"""The ledger of stock: after any sequence of operations every count is the sum of its movements."""

import asyncio
import random
from collections.abc import Awaitable
from typing import Any

import httpx
import pytest

from shop.queries.stock import list_wrong_counts
from tests.platform.catalogue import change, master_of, new, send
from tests.platform.machine import Machine, back_office, new_machine
from tests.shopper import Answer

SUMS = """select count_on_hand, coalesce((select sum(quantity) from stock_movements m where m.stock_item_id = i.id), 0)
    from stock_items i"""


def an_act(chance: random.Random, machine: Machine, items: list[str], variants: list[str]) -> Awaitable[Answer]:
    item_id, variant_id = chance.choice(items), chance.choice(variants)
    match chance.choice(["move", "move", "recount", "switch", "place", "close"]):
        case "move":
            reason = chance.choice(["received", "sold", "moved"])
            return send(machine, "stock_movement", stock_item_id=item_id, quantity=chance.randint(-9, 9), reason=reason)
        case "recount":
            return change(machine, "stock_item", item_id, count_on_hand=chance.randint(-4, 12))
        case "switch":
            fields: dict[str, Any] = {"count_on_hand": chance.randint(-4, 12)} if chance.random() < 0.5 else {}
            return change(machine, "stock_item", item_id, backorderable=chance.random() < 0.5, **fields)
        case "place":
            return send(machine, "stock_movement", variant_id=variant_id, quantity=chance.randint(-2, 9))
        case _:
            return change(machine, "variant", variant_id, track_inventory=chance.random() < 0.5)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.torture) for seed in (1, 2, 3))])
async def test_every_count_is_the_sum_of_its_movements(
    http: httpx.AsyncClient, db: Any, database_url: str, seed: int
) -> None:
    chance, machine = random.Random(seed), await new_machine(http, db)
    variants = [await master_of(machine, (await new(machine, "product")).id) for _ in range(2)]
    place = await new(machine, "stock_location")
    made = [
        await new(
            machine, "stock_item", variant_id=variant_id, stock_location_id=place.id, count_on_hand=chance.randint(0, 5)
        )
        for variant_id in variants
    ]
    items = [item.id for item in made]

    for _ in range(8):
        acts = [an_act(chance, machine, items, variants) for _ in range(chance.choice([1, 4]))]
        answers = await asyncio.gather(*acts)
        assert {answer.status for answer in answers} <= {200, 201, 422}, answers

    rows = await db.fetch(SUMS)
    assert [row for row in rows if row[0] != row[1]] == []
    async with back_office(database_url) as ctx:
        assert await list_wrong_counts(ctx.db) == []


async def test_a_count_that_was_changed_past_the_ledger_is_found(
    http: httpx.AsyncClient, db: Any, database_url: str
) -> None:
    machine = await new_machine(http, db)
    variant_id = await master_of(machine, (await new(machine, "product")).id)
    movement = await new(machine, "stock_movement", variant_id=variant_id, quantity=3)
    item_id = movement.json["data"]["relationships"]["stock_item"]["data"]["id"]

    await db.execute("update stock_items set count_on_hand = 4 where id = $1", item_id)
    async with back_office(database_url) as ctx:
        found = await list_wrong_counts(ctx.db)
    await db.execute("update stock_items set count_on_hand = 3 where id = $1", item_id)

    assert [(str(wrong), count, total) for wrong, count, total in found] == [(item_id, 4, 3)]
