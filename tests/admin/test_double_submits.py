"""A form that is sent twice does its work once, and the second submit shows the result of the first."""

import asyncio
from typing import Any

from tests.admin.catalog_bulk.test_batches import BULK, RAISE
from tests.admin.catalog_forms import STOCK, id_of, new_location, new_product, redirect_path, saved_message, unique_word
from tests.admin.dashboard import Dashboard, events
from tests.admin.order_builders import text_of
from tests.admin.page_forms import read_page
from tests.admin.stock.test_deliveries import DELIVERIES, new_delivery, receive_stock

_NOTHING_ELSE = "This form was sent before"


async def test_a_bulk_operation_starts_once(dashboard: Dashboard, db: Any) -> None:
    product = await new_product(dashboard, price="24.00")
    preview = await dashboard.post(BULK, scope="ticked", **{"ids[]": [str(id_of(product))]}, **RAISE)
    (form,) = read_page(preview.text)[1]
    fields = {**form.fields, "ids[]": [str(id_of(product))], "step": "apply"}

    answers = await asyncio.gather(dashboard.post(BULK, **fields), dashboard.post(BULK, **fields))
    again = await dashboard.post(BULK, **fields)

    (path,) = {redirect_path(answer) for answer in (*answers, again)}
    assert await db.fetchval("select count(*) from product_batches where $1 = any(product_ids)", id_of(product)) == 1
    created_events = [each for each in await events(db, actor=dashboard.id) if each[0] == "product_batch_created"]
    assert (len(created_events), id_of(path).version) == (1, 7)


async def test_a_movement_is_recorded_once(dashboard: Dashboard, db: Any) -> None:
    sku, location = unique_word(), await new_location(dashboard, db)
    await new_product(dashboard, sku=sku)
    (form,) = [
        each for each in read_page((await dashboard.get(f"{STOCK}/new")).text)[1] if each.action == f"{STOCK}/new"
    ]
    fields = {**form.fields, "sku": sku, "location": location, "reason": "received", "quantity": "5"}

    answers = await asyncio.gather(dashboard.post(form.action, **fields), dashboard.post(form.action, **fields))

    (item,) = {redirect_path(answer) for answer in answers}
    assert sorted(saved_message(answer) for answer in answers) == ["moved", "moved-before"]
    count = "select count_on_hand from stock_items where id = $1"
    assert await db.fetchval(count, id_of(item)) == 5
    (form,) = [each for each in read_page((await dashboard.get(item)).text)[1] if each.action == item]
    fields = {**form.fields, "reason": "damaged", "quantity": "2"}
    answers = await asyncio.gather(dashboard.post(item, **fields), dashboard.post(item, **fields))
    assert sorted(saved_message(answer) for answer in answers) == ["moved", "moved-before"]
    assert await db.fetchval(count, id_of(item)) == 3
    assert _NOTHING_ELSE in text_of((await dashboard.get(f"{item}?done=moved-before")).text)


async def test_a_delivery_and_a_transfer_are_created_once(dashboard: Dashboard, db: Any) -> None:
    sku, places = unique_word(), [await new_location(dashboard, db) for _ in range(2)]
    await new_product(dashboard, sku=sku)
    await receive_stock(dashboard, sku, places[0], 9)
    for kind in ("delivery", "transfer"):
        page = (await dashboard.get(f"{DELIVERIES}/new?kind={kind}")).text
        (form,) = read_page(page)[1]
        goods = {"reference": f"PO {unique_word()}", "source": places[0], "location": places[1], "lines": f"{sku},4"}

        answers = await asyncio.gather(*(dashboard.post(form.action, **{**form.fields, **goods}) for _ in range(2)))

        (path,) = {redirect_path(answer) for answer in answers}
        assert sorted(saved_message(answer) for answer in answers) == ["created", "created-before"]
        count = "select count(*) from stock_deliveries where reference = $1"
        assert await db.fetchval(count, goods["reference"]) == 1
        assert (
            await db.fetchval("select sum(quantity) from stock_delivery_lines where delivery_id = $1", id_of(path)) == 4
        )


async def test_lines_are_added_once(dashboard: Dashboard, db: Any) -> None:
    sku, location = unique_word(), await new_location(dashboard, db)
    await new_product(dashboard, sku=sku)
    delivery = await new_delivery(dashboard, location, f"{sku},4")
    page = (await dashboard.get(delivery)).text
    (form,) = [each for each in read_page(page)[1] if each.action == f"{delivery}/lines" and "lines" in each.fields]
    fields = {**form.fields, "lines": f"{sku},3"}

    answers = [await dashboard.post(form.action, **fields) for _ in range(2)]

    assert [answer.status_code for answer in answers] == [303, 422]
    assert "Someone else changed this in the meantime" in answers[1].text
    assert (
        await db.fetchval("select sum(quantity) from stock_delivery_lines where delivery_id = $1", id_of(delivery)) == 7
    )
