"""Operators divide shipments that were not sent, and merge them again."""

import re
from typing import Any
from uuid import UUID

from tests.admin.catalog_forms import error_messages, saved_message
from tests.admin.dashboard import Dashboard, events
from tests.admin.order_builders import buy, shipment_of, text_of
from tests.admin.order_edits.forms import amounts, find_problems
from tests.checkout_builders import Buyer, on_hand
from tests.concurrency import run_concurrently
from tests.shopper import Answer

SHIPMENTS = """select s.id, i.id as item_id, s.state, s.cost, i.quantity from shipments s
    join shipment_items i on i.shipment_id = s.id where s.order_id = $1 order by s.created_at, s.id"""


async def shipments_of(db: Any, order: Answer) -> list[tuple[Any, ...]]:
    """State, cost and quantity of each shipment, oldest first."""
    return [tuple(row)[2:] for row in await db.fetch(SHIPMENTS, UUID(order.id))]


async def test_a_shipment_is_split_and_merged_again(
    dashboard: Dashboard, buyer: Buyer, db: Any, database_url: str
) -> None:
    order, variant = await buy(buyer, quantity=3)
    shipment = await shipment_of(db, order)
    row = await db.fetchrow(SHIPMENTS, UUID(order.id))
    path = f"{shipment}/divide"
    assert "Totals and stock do not change." in text_of((await dashboard.get(path)).text)

    answer = await dashboard.post(path, **{f"quantity[{row['item_id']}]": "2", "target": "", "do": "move"})

    assert saved_message(answer) == "divided"
    assert await shipments_of(db, order) == [("ready", 500, 1), ("ready", 0, 2)]
    assert (await amounts(db, order), await on_hand(db, variant)) == ((3000, 0, 500, 3500, "paid"), 7)
    assert ("shipment_divide", "done") in await events(db, actor=dashboard.id, subject=UUID(order.id))
    assert await find_problems(database_url, db, order) == {}

    new_id = (await db.fetch(SHIPMENTS, UUID(order.id)))[1]["id"]
    saved_message(await dashboard.post(path, target=str(new_id), do="merge"))
    assert await shipments_of(db, order) == [("ready", 500, 3)]
    assert await find_problems(database_url, db, order) == {}


async def test_invalid_divisions_are_refused(dashboard: Dashboard, buyer: Buyer, db: Any) -> None:
    order, _ = await buy(buyer)
    other, _ = await buy(Buyer(buyer.http, buyer.checkout_setup))
    path = f"{await shipment_of(db, order)}/divide"
    item = f"quantity[{(await db.fetchrow(SHIPMENTS, UUID(order.id)))['item_id']}]"
    other_id = str((await db.fetchrow(SHIPMENTS, UUID(other.id)))["id"])

    for fields, message in (
        ({item: "2"}, "Leave at least one unit in the shipment, or move everything to an existing one."),
        ({item: "3"}, "The shipment has fewer units than you want to move; it may have changed meanwhile."),
        ({item: "0"}, "Enter how many units to move."),
        ({item: "-1"}, "Quantity must be 0 or more."),
        ({item: "1", "target": other_id}, "Target is not another shipment of this stock location that was not sent."),
        ({"do": "merge"}, "Target must be an existing shipment."),
    ):
        answer = await dashboard.post(path, **fields)
        assert (answer.status_code, error_messages(answer)) == (422, [message])
    wrong = path.replace(order["number"], other["number"])
    assert (await dashboard.post(wrong, **{item: "1"})).status_code == 404
    assert await shipments_of(db, order) == [("ready", 500, 2)]


async def test_a_shipment_is_either_shipped_or_divided(
    dashboard: Dashboard, other_dashboard: Dashboard, buyer: Buyer, db: Any, database_url: str
) -> None:
    order, _ = await buy(buyer)
    shipment = await shipment_of(db, order)
    item = f"quantity[{(await db.fetchrow(SHIPMENTS, UUID(order.id)))['item_id']}]"
    await dashboard.csrf()
    await other_dashboard.csrf()

    ship_answer, divide_answer = await run_concurrently(
        db,
        "orders",
        UUID(order.id),
        dashboard.post(f"{shipment}/ship"),
        other_dashboard.post(f"{shipment}/divide", **{item: "1"}),
    )

    assert ship_answer.status_code == 303
    rows = await shipments_of(db, order)
    if divide_answer.status_code == 303:
        assert rows == [("shipped", 500, 1), ("ready", 0, 1)]
    else:
        assert error_messages(divide_answer) == ["The shipment is shipped and cannot be changed any more."]
        assert rows == [("shipped", 500, 2)]
    assert await find_problems(database_url, db, order) == {}


async def test_of_two_operators_who_ship_at_once_one_sees_that_it_was_shipped(
    dashboard: Dashboard, other_dashboard: Dashboard, buyer: Buyer, db: Any
) -> None:
    order, _ = await buy(buyer)
    shipment = await shipment_of(db, order)
    await dashboard.csrf()
    await other_dashboard.csrf()

    answers = await run_concurrently(
        db, "orders", UUID(order.id), *(each.post(f"{shipment}/ship") for each in (dashboard, other_dashboard))
    )

    assert sorted(answer.status_code for answer in answers) == [303, 422]
    loser = next(answer for answer in answers if answer.status_code == 422)
    (message,) = error_messages(loser)
    winner = (dashboard, other_dashboard)[answers[0].status_code == 422]
    assert re.fullmatch(rf"The shipment is shipped already\. {winner.email} shipped H\d+ \(.* UTC\)\.", message)
