"""Several orders are changed at once; one that cannot be changed does not stop the others."""

import csv
import html
import re
from io import StringIO
from typing import Any
from uuid import UUID

import httpx2
import pytest

from shop.rules.access.permissions import BUILT_IN
from tests.admin.catalog_forms import unique_word
from tests.admin.dashboard import Dashboard, events, new_dashboard
from tests.admin.order_builders import buy, states, text_of
from tests.admin.orders.order_lists import ORDERS, list_numbers, wait_for_index
from tests.checkout_builders import Buyer

BULK, SELECTED = f"{ORDERS}/bulk", f"{ORDERS}/selected"


async def new_buyer(buyer: Buyer) -> Buyer:
    return Buyer(buyer.http, buyer.checkout_setup)


async def test_orders_are_shipped_after_a_confirmation(dashboard: Dashboard, buyer: Buyer, db: Any) -> None:
    paid, _ = await buy(buyer)
    unpaid, _ = await buy(await new_buyer(buyer), pays="check")
    numbers = {"numbers[]": [paid["number"], unpaid["number"], "R0"]}

    question = await dashboard.post(BULK, do="ship", query="tab=to_ship", **numbers)
    before = await states(db, paid)
    answer = await dashboard.post(BULK, do="ship", is_confirmed="true", query="tab=to_ship", **numbers)

    assert "Ship 3 orders?" in question.text
    assert before[2] == "ready"
    assert (await states(db, paid))[2] == "shipped"
    assert (await states(db, unpaid))[2] == "pending"
    text = text_of(answer.text)
    assert "1 order shipped." in text
    assert f"1 had no shipment that is ready: {unpaid['number']} ." in text
    assert "1 order was not changed R0 :" in text
    assert f'href="{ORDERS}?tab=to_ship"' in answer.text
    again = await dashboard.post(BULK, do="ship", is_confirmed="true", **numbers)
    assert "2 had no shipment that is ready" in text_of(again.text)


async def test_a_refused_order_is_named_with_the_reason(dashboard: Dashboard, buyer: Buyer, db: Any) -> None:
    unpaid, _ = await buy(buyer, pays="check")
    paid, _ = await buy(await new_buyer(buyer))
    await db.execute("update shipments set state = 'pending' where order_id = $1", UUID(paid.id))

    answer = await dashboard.post(BULK, do="ready", **{"numbers[]": [unpaid["number"], paid["number"]]})

    text = text_of(answer.text)
    assert "1 order marked as ready." in text
    assert f"{unpaid['number']} : The shipment is not ready: the order is unpaid or has backordered items." in text


async def test_tags_are_added_found_and_removed(dashboard: Dashboard, buyer: Buyer, db: Any) -> None:
    order, _ = await buy(buyer)
    tag, number = f"Gift {unique_word()}", order["number"]

    await dashboard.post(BULK, do="tag", tag=tag, **{"numbers[]": [number]})
    again = await dashboard.post(BULK, do="tag", tag=tag.upper(), **{"numbers[]": [number]})
    await wait_for_index(db)
    found = await list_numbers(dashboard, tag=tag)
    removed = await dashboard.post(BULK, do="untag", tag=tag, **{"numbers[]": [number]})
    await wait_for_index(db)

    assert "1 had the tag already" in text_of(again.text)
    assert "data-feedback" in again.text
    assert found == [number]
    assert "1 order changed." in text_of(removed.text)
    assert await list_numbers(dashboard, tag=tag) == []
    entries = await db.fetch(
        "select changes from audit_events where subject_id = $1 and action = 'order_tags'", UUID(order.id)
    )
    assert len(entries) == 2


async def test_ticked_orders_are_exported(dashboard: Dashboard, buyer: Buyer, db: Any) -> None:
    order, _ = await buy(buyer)
    await wait_for_index(db)

    answer = await dashboard.post(SELECTED, do="export", **{"numbers[]": [order["number"], "R0"]})
    reply = await dashboard.get(answer.headers["location"])

    assert answer.status_code == 303
    assert [row[0] for row in csv.reader(StringIO(reply.text))] == ["Number", order["number"]]


async def test_documents_of_ticked_orders_are_shown(dashboard: Dashboard, buyer: Buyer) -> None:
    order, _ = await buy(buyer, name="Teapot")

    for action, title in (("packing_slips", "Packing slip"), ("pick_list", "Pick list")):
        answer = await dashboard.post(SELECTED, do=action, **{"numbers[]": [order["number"]]})
        page = (await dashboard.get(answer.headers["location"])).text
        assert title in page
        assert "Teapot" in page


@pytest.mark.security("D-15")
async def test_a_role_that_only_reads_prints_and_exports_ticked_orders(
    http: httpx2.AsyncClient, dashboard: Dashboard, buyer: Buyer, db: Any
) -> None:
    accountant = await new_dashboard(http, db, role_id=BUILT_IN["accountant"].id)
    order, _ = await buy(buyer, name="Teapot")
    await wait_for_index(db)

    pages = [(await each.get(f"{ORDERS}?q={order['number']}")).text for each in (dashboard, accountant)]
    actions = [set(re.findall(r'name="do" value="(\w+)"', page)) for page in pages]
    for action in sorted(actions[1]):
        answer = await accountant.post(SELECTED, do=action, **{"numbers[]": [order["number"]]})
        assert answer.status_code == 303
        assert order["number"] in (await accountant.get(answer.headers["location"])).text

    assert actions[1] == {"packing_slips", "pick_list", "export"}
    assert actions[0] - actions[1] == {"ready", "ship", "tag", "untag"}
    assert ['name="tag"' in page.partition("bulk-tag")[2] for page in pages] == [True, False]
    assert f'<form method="post" action="{SELECTED}">' in pages[1]
    for action in ("ready", "ship", "export"):
        answer = await accountant.post(BULK, do=action, **{"numbers[]": [order["number"]]})
        assert answer.status_code == 403
    assert (await dashboard.post(SELECTED, do="ship", **{"numbers[]": [order["number"]]})).status_code == 422
    assert "Tick at least one order." in (await accountant.post(SELECTED, do="export")).text


async def test_an_export_of_orders_is_audited(dashboard: Dashboard, db: Any) -> None:
    await dashboard.get(f"{ORDERS}/export.csv?q=R0")

    assert await events(db, actor=dashboard.id) == [("orders_exported", "done")]


async def test_invalid_forms_say_what_is_missing(dashboard: Dashboard) -> None:
    for fields, sentence in (
        ({"do": "ship"}, "Tick at least one order."),
        ({"do": "ship", "numbers[]": [f"R{n}" for n in range(101)]}, "Tick at most 100 orders."),
        ({"do": "tag", "numbers[]": ["R1"]}, "is required"),
        ({"do": "tag", "numbers[]": ["R1"], "tag": "x" * 41}, "at most 40 characters"),
        ({"do": "explode", "numbers[]": ["R1"]}, "is not a valid choice"),
    ):
        answer = await dashboard.post(BULK, **fields)
        assert answer.status_code == 422, fields
        assert sentence in html.unescape(answer.text), fields


async def test_the_way_back_stays_in_the_list(dashboard: Dashboard) -> None:
    for query in ('"><script>', "x y", "\\\\evil.example", "a" * 3000, "ü"):
        answer = await dashboard.post(BULK, do="ship", query=query)
        assert re.findall(r'class="crumb" href="([^"]*)"', answer.text) == [ORDERS], query


async def test_an_order_has_at_most_20_tags(dashboard: Dashboard, buyer: Buyer, db: Any) -> None:
    order, _ = await buy(buyer)
    await db.execute("update orders set tags = $2 where id = $1", UUID(order.id), [f"t{n}" for n in range(20)])

    answer = await dashboard.post(BULK, do="tag", tag="one more", **{"numbers[]": [order["number"]]})

    assert "1 order was not changed" in text_of(answer.text)
    assert len(await db.fetchval("select tags from orders where id = $1", UUID(order.id))) == 20
