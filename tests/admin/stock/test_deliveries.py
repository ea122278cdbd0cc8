"""Deliveries and transfers: expected goods arrive once, wholly or in part, with their reference in the ledger."""

import asyncio
import html
import re
from typing import Any
from uuid import UUID

import httpx2
import pytest

from tests.admin.catalog_forms import (
    STOCK,
    error_messages,
    id_of,
    new_location,
    new_product,
    redirect_path,
    saved_message,
    unique_word,
)
from tests.admin.dashboard import UNKNOWN_ID, Dashboard, events, new_dashboard

DELIVERIES = f"{STOCK}/deliveries"


async def new_skus(dashboard: Dashboard, count: int = 1) -> list[str]:
    skus = [unique_word() for _ in range(count)]
    for sku in skus:
        await new_product(dashboard, sku=sku)
    return skus


async def new_delivery(dashboard: Dashboard, location: str, lines: str, **fields: str) -> str:
    form = {"kind": "delivery", "reference": f"PO {unique_word()}", "location": location, "lines": lines, **fields}
    return redirect_path(await dashboard.post(f"{DELIVERIES}/new", **form))


async def new_transfer(dashboard: Dashboard, source: str, location: str, lines: str) -> str:
    return await new_delivery(dashboard, location, lines, kind="transfer", source=source)


async def receive_stock(dashboard: Dashboard, sku: str, location: str, count: int) -> str:
    fields = {"sku": sku, "location": location, "reason": "received", "quantity": str(count)}
    return redirect_path(await dashboard.post(f"{STOCK}/new", **fields))


async def line_ids(db: Any, delivery: str) -> list[UUID]:
    rows = await db.fetch(
        """select stock_delivery_lines.id from stock_delivery_lines join variants on variants.id = variant_id
        where delivery_id = $1 order by quantity desc""",
        id_of(delivery),
    )
    return [row["id"] for row in rows]


async def receipt(db: Any, delivery: str, *quantities: int) -> dict[str, str]:
    """The fields of a form that receives these quantities, of the largest line first."""
    version = await db.fetchval("select version from stock_deliveries where id = $1", id_of(delivery))
    ids = await line_ids(db, delivery)
    lines = {f"quantity[{line}]": str(quantity) for line, quantity in zip(ids, quantities, strict=False)}
    return {"version": str(version), **lines}


async def version_of(db: Any, delivery: str) -> str:
    return (await receipt(db, delivery))["version"]


async def state_of(db: Any, delivery: str) -> str:
    return str(await db.fetchval("select state from stock_deliveries where id = $1", id_of(delivery)))


async def count_at(db: Any, sku: str, location: str) -> int:
    query = """select coalesce(sum(count_on_hand), 0) from stock_items join variants on variants.id = variant_id
        where sku = $1 and stock_location_id = $2"""
    return int(await db.fetchval(query, sku, UUID(location)))


async def notes_of(db: Any, sku: str) -> list[tuple[int, str, str]]:
    rows = await db.fetch(
        """select quantity, reason, note from stock_movements join stock_items on stock_items.id = stock_item_id
        join variants on variants.id = variant_id where sku = $1 order by stock_movements.id""",
        sku,
    )
    return [(row["quantity"], row["reason"], row["note"]) for row in rows]


def refusal_of(answer: httpx2.Response) -> str:
    match = re.search(r'<div class="summary"[^>]*><p>(.*?)</p>', answer.text)
    return html.unescape(match[1]) if match else ""


async def test_a_delivery_arrives_in_parts_and_each_part_is_in_the_ledger(dashboard: Dashboard, db: Any) -> None:
    (first, second), location = await new_skus(dashboard, 2), await new_location(dashboard, db)
    delivery = await new_delivery(dashboard, location, f"{first},10\n{second}; 4", reference="PO 4711")
    assert await count_at(db, first, location) == 0

    assert saved_message(await dashboard.post(f"{delivery}/receive", **await receipt(db, delivery, 6))) == "received"
    assert (await count_at(db, first, location), await state_of(db, delivery)) == (6, "open")
    assert saved_message(await dashboard.post(f"{delivery}/receive", **await receipt(db, delivery, 4, 5))) == "received"

    # More may arrive than was expected.
    assert [await count_at(db, sku, location) for sku in (first, second)] == [10, 5]
    assert await state_of(db, delivery) == "received"
    assert await notes_of(db, first) == [(6, "received", "Delivery PO 4711"), (4, "received", "Delivery PO 4711")]
    actions = await events(db, actor=dashboard.id, subject=id_of(delivery))
    assert actions == [("stock_delivery_created", "done"), *[("stock_delivery_received", "done")] * 2]


async def test_two_operators_receive_the_same_delivery_once(
    dashboard: Dashboard, other_dashboard: Dashboard, db: Any
) -> None:
    (sku,), location = await new_skus(dashboard), await new_location(dashboard, db)
    delivery = await new_delivery(dashboard, location, f"{sku} 10")
    form = await receipt(db, delivery, 5)
    await other_dashboard.csrf()
    await dashboard.csrf()

    answers = await asyncio.gather(*(each.post(f"{delivery}/receive", **form) for each in (dashboard, other_dashboard)))

    assert sorted(answer.status_code for answer in answers) == [303, 422]
    refused = next(answer for answer in answers if answer.status_code == 422)
    assert refusal_of(refused).startswith("Someone else changed this")
    assert await count_at(db, sku, location) == 5


async def test_lines_are_found_by_product_name_added_and_removed(dashboard: Dashboard, db: Any) -> None:
    word, (sku,), location = unique_word(), await new_skus(dashboard), await new_location(dashboard, db)
    product = await new_product(dashboard, name=f"Teapot {word}")
    variant = await db.fetchval("select id from variants where product_id = $1", id_of(product))
    delivery = await new_delivery(dashboard, location, f"{sku},1")

    assert f'name="add[{variant}]"' in (await dashboard.get(f"{delivery}?q={word}")).text
    assert saved_message(await dashboard.post(f"{delivery}/lines", **{f"add[{variant}]": "7"})) == "lines"
    assert saved_message(await dashboard.post(f"{delivery}/lines", lines=f"{sku}\t2")) == "lines"
    query = "select quantity from stock_delivery_lines where delivery_id = $1 order by quantity"
    assert [row["quantity"] for row in await db.fetch(query, id_of(delivery))] == [3, 7]

    largest, _ = await line_ids(db, delivery)
    assert saved_message(await dashboard.post(f"{delivery}/lines/{largest}/remove")) == "lines"
    assert len(await line_ids(db, delivery)) == 1
    assert (await dashboard.post(f"{delivery}/lines/{UNKNOWN_ID}/remove")).status_code == 404


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"reference": ""}, "Reference is required."),
        ({"reference": "r" * 61}, "Reference must be one line of at most 60 characters."),
        ({"location": UNKNOWN_ID}, "To is not a stock location."),
        ({"expected_on": "tomorrow"}, "Expected on must be a day, like 2026-11-15."),
        ({"expected_on": "9999-01-01"}, "Expected on must be a day, like 2026-11-15."),
        ({"lines": "no-such-sku,1"}, "Line 1 (no-such-sku) has a SKU that does not exist."),
        ({"lines": "mug"}, "Line 1 (mug) needs a SKU and a quantity, for example MUG-RED,12."),
        ({"lines": "mug,0"}, "Line 1 (mug,0) must be 1 or more."),
        ({"lines": "mug,9999999"}, "Line 1 (mug,9999999) must be 1,000,000 or fewer."),
        ({"lines": "mug,1\n" * 201}, "Enter at most 200 lines at once, not 201."),
        ({"kind": "transfer"}, "From must be chosen."),
    ],
)
async def test_an_invalid_delivery_is_refused(
    dashboard: Dashboard, db: Any, fields: dict[str, str], message: str
) -> None:
    form = {"kind": "delivery", "reference": "PO 1", "location": await new_location(dashboard, db), **fields}

    answer = await dashboard.post(f"{DELIVERIES}/new", **form)

    assert (answer.status_code, error_messages(answer)) == (422, [message])


async def test_a_transfer_leaves_one_location_and_arrives_at_the_other(dashboard: Dashboard, db: Any) -> None:
    (sku,), source, location = (
        await new_skus(dashboard),
        await new_location(dashboard, db),
        await new_location(dashboard, db),
    )
    await receive_stock(dashboard, sku, source, 10)
    transfer = await new_transfer(dashboard, source, location, f"{sku},8")
    assert await count_at(db, sku, source) == 10

    form = {"version": await version_of(db, transfer), "do": "send"}
    assert saved_message(await dashboard.post(f"{transfer}/send", **form)) == "sent"
    assert [await count_at(db, sku, place) for place in (source, location)] == [2, 0]
    too_many = await dashboard.post(f"{transfer}/receive", **await receipt(db, transfer, 9))
    assert error_messages(too_many) == [f"Quantity of {sku} must be 8 or fewer: no more was sent."]
    saved_message(await dashboard.post(f"{transfer}/receive", **await receipt(db, transfer, 5)))
    assert [await count_at(db, sku, place) for place in (source, location)] == [2, 5]

    # The rest returns.
    assert saved_message(await dashboard.post(f"{transfer}/close", version=await version_of(db, transfer))) == "closed"
    assert [await count_at(db, sku, place) for place in (source, location)] == [5, 5]
    assert await state_of(db, transfer) == "received"
    assert [(quantity, reason) for quantity, reason, _ in await notes_of(db, sku)][1:] == [
        (-8, "moved"),
        (5, "moved"),
        (3, "moved"),
    ]


async def test_a_transfer_can_arrive_at_once_and_never_takes_what_is_not_there(dashboard: Dashboard, db: Any) -> None:
    (sku,), source, location = (
        await new_skus(dashboard),
        await new_location(dashboard, db),
        await new_location(dashboard, db),
    )
    await receive_stock(dashboard, sku, source, 3)
    large, small = [await new_transfer(dashboard, source, location, f"{sku},{count}") for count in (4, 3)]
    pages = [(await dashboard.get(transfer)).text for transfer in (large, small)]
    assert ["Only 3 available" in page for page in pages] == [True, False]
    assert ["The transfer cannot be sent until" in page for page in pages] == [True, False]

    refused = await dashboard.post(f"{large}/send", version="0", do="arrived")
    assert error_messages(refused) == [
        f"Quantity of {sku} exceeds the count on hand, and the item is not backorderable."
    ]
    assert saved_message(await dashboard.post(f"{small}/send", version="0", do="arrived")) == "received"

    assert [await count_at(db, sku, place) for place in (source, location)] == [0, 3]
    assert [await state_of(db, each) for each in (large, small)] == ["draft", "received"]
    assert saved_message(await dashboard.post(f"{large}/close", version="0")) == "closed"
    assert await state_of(db, large) == "canceled"
    assert refusal_of(await dashboard.post(f"{large}/close", version="1")).startswith("This has ended")


async def test_lines_of_goods_that_are_on_their_way_cannot_change(dashboard: Dashboard, db: Any) -> None:
    (sku,), source, location = (
        await new_skus(dashboard),
        await new_location(dashboard, db),
        await new_location(dashboard, db),
    )
    await receive_stock(dashboard, sku, source, 3)
    transfer = await new_transfer(dashboard, source, location, f"{sku},3")
    saved_message(await dashboard.post(f"{transfer}/send", version="0", do="send"))

    assert "on their way" in refusal_of(await dashboard.post(f"{transfer}/lines", lines=f"{sku},1"))
    assert 'name="lines"' not in (await dashboard.get(transfer)).text


async def test_the_stock_page_shows_what_is_expected_and_when(dashboard: Dashboard, db: Any) -> None:
    (sku,), location = await new_skus(dashboard), await new_location(dashboard, db)
    item = await receive_stock(dashboard, sku, location, 1)
    delivery = await new_delivery(dashboard, location, f"{sku},12", expected_on="2027-03-09")

    listed, shown = (await dashboard.get(f"{STOCK}?q={sku}")).text, (await dashboard.get(item)).text

    expected = '12 on <time datetime="2027-03-09">9 Mar 2027</time>'
    assert expected in listed
    assert expected in shown
    assert delivery in (await dashboard.get(f"{DELIVERIES}?state=open&page=1")).text
    form = {"version": "0", "reference": "PO 2", "expected_on": ""}
    assert saved_message(await dashboard.post(delivery, **form)) == "saved"
    assert refusal_of(await dashboard.post(delivery, **form)).startswith("Someone else changed this")
    assert "12, no date" in (await dashboard.get(item)).text


async def test_unknown_deliveries_are_not_found(dashboard: Dashboard) -> None:
    assert (await dashboard.get(f"{DELIVERIES}/{UNKNOWN_ID}")).status_code == 404
    assert (await dashboard.post(f"{DELIVERIES}/{UNKNOWN_ID}/receive", version="0")).status_code == 404


async def test_a_transfer_of_backorderable_goods_is_not_short(dashboard: Dashboard, db: Any) -> None:
    (sku,) = await new_skus(dashboard)
    source, location = await new_location(dashboard, db), await new_location(dashboard, db)
    item = await receive_stock(dashboard, sku, source, 3)
    saved_message(await dashboard.post(f"{item}/backorder", backorderable="1"))
    transfer = await new_transfer(dashboard, source, location, f"{sku},4")

    page = (await dashboard.get(transfer)).text

    assert "Backorder" in page
    assert "The transfer cannot be sent until" not in page
    assert saved_message(await dashboard.post(f"{transfer}/send", version="0", do="send")) == "sent"
    assert await count_at(db, sku, source) == -1


async def test_a_line_is_removed_by_the_button_beside_it(dashboard: Dashboard, db: Any) -> None:
    skus, location = await new_skus(dashboard, 2), await new_location(dashboard, db)
    delivery = await new_delivery(dashboard, location, "\n".join(f"{sku},2" for sku in skus))
    received, other = await line_ids(db, delivery)
    version = await version_of(db, delivery)
    saved_message(await dashboard.post(f"{delivery}/receive", version=version, **{f"quantity[{received}]": "1"}))

    page = (await dashboard.get(delivery)).text

    assert [f'form="remove-{line}"' in page for line in (received, other)] == [False, True]
    assert f'action="{delivery}/lines/{other}/remove" id="remove-{other}"' in page


@pytest.mark.parametrize(
    ("state", "title"),
    [
        ("draft", "No drafts"),
        ("received", "No received deliveries or transfers"),
        ("canceled", "No canceled deliveries or transfers"),
    ],
)
async def test_an_empty_state_says_what_there_is_none_of(
    empty_client: httpx2.AsyncClient, empty_db: Any, state: str, title: str
) -> None:
    dashboard = await new_dashboard(empty_client, empty_db)

    assert f"<h2>{title}</h2>" in (await dashboard.get(f"{DELIVERIES}?state={state}")).text
