"""Stock counts become movements of the difference; low stock follows the thresholds."""

import re
from typing import Any

import pytest

from tests.admin.catalog_forms import STOCK, error_messages, id_of, new_location, saved_message, unique_word
from tests.admin.dashboard import Dashboard, events
from tests.admin.stock.test_deliveries import new_skus, notes_of, receive_stock, refusal_of

COUNTS = f"{STOCK}/counts"


async def count_of(db: Any, item: str) -> int:
    return int(await db.fetchval("select count_on_hand from stock_items where id = $1", id_of(item)))


async def test_a_count_records_the_difference_and_confirms_what_is_right(dashboard: Dashboard, db: Any) -> None:
    skus, location = await new_skus(dashboard, 3), await new_location(dashboard, db)
    items = [await receive_stock(dashboard, sku, location, 10) for sku in skus]
    ids = [str(id_of(item)) for item in items]
    page = (await dashboard.get(f"{COUNTS}?location={location}")).text
    assert all(f'name="shown[{item_id}]" value="10"' in page for item_id in ids)

    shown = {f"shown[{item_id}]": "10" for item_id in ids}
    entered = {f"counted[{item_id}]": count for item_id, count in zip(ids, ("7", "10", ""), strict=True)}
    answer = await dashboard.post(COUNTS, location=location, **shown, **entered)

    assert "Count saved: 1 corrected, 1 as expected." in answer.text
    assert [await count_of(db, item) for item in items] == [7, 10, 10]
    assert await notes_of(db, skus[0]) == [(10, "received", None), (-3, "recounted", "Stock count")]
    assert ("stock_counted", "done") in await events(db, actor=dashboard.id, subject=id_of(f"/{location}"))


async def test_an_item_that_changed_since_the_page_was_loaded_is_reported_and_not_saved(
    dashboard: Dashboard, other_dashboard: Dashboard, db: Any
) -> None:
    (first, second), location = await new_skus(dashboard, 2), await new_location(dashboard, db)
    items = [await receive_stock(dashboard, sku, location, 10) for sku in (first, second)]
    ids = [str(id_of(item)) for item in items]
    form = {"location": location}
    form |= {f"shown[{item_id}]": "10" for item_id in ids} | {f"counted[{item_id}]": "8" for item_id in ids}
    saved_message(await other_dashboard.post(items[0], reason="damaged", quantity="2"))

    answer = await dashboard.post(COUNTS, **form)

    sentence = f"Count of {first} was 10 when the page was loaded and is 8 now; count again."
    assert (answer.status_code, error_messages(answer)) == (422, [sentence])
    assert "1 corrected" in answer.text
    assert [await count_of(db, item) for item in items] == [8, 8]
    assert f'name="counted[{ids[0]}]" value="8"' in answer.text


@pytest.mark.parametrize(("entered", "message"), [("x", "must be a whole number"), ("-1", "must be 0 or more")])
async def test_an_invalid_count_is_refused(dashboard: Dashboard, db: Any, entered: str, message: str) -> None:
    (sku,), location = await new_skus(dashboard), await new_location(dashboard, db)
    item_id = id_of(await receive_stock(dashboard, sku, location, 10))

    form = {"location": location, f"shown[{item_id}]": "10", f"counted[{item_id}]": entered}
    answer = await dashboard.post(COUNTS, **form)

    assert (answer.status_code, error_messages(answer)) == (422, [f"Count of {sku} {message}."])
    empty = await dashboard.post(COUNTS, location=location)
    assert (empty.status_code, refusal_of(empty)) == (422, "Enter the count of at least one item.")


async def test_an_item_of_another_location_is_not_counted(dashboard: Dashboard, db: Any) -> None:
    (sku,), location = await new_skus(dashboard), await new_location(dashboard, db)
    item = await receive_stock(dashboard, sku, location, 10)
    other, key = await new_location(dashboard, db), id_of(item)

    answer = await dashboard.post(COUNTS, **{"location": other, f"shown[{key}]": "10", f"counted[{key}]": "1"})

    assert answer.status_code == 422
    assert await count_of(db, item) == 10


async def test_counts_are_paged_and_searched(dashboard: Dashboard, db: Any) -> None:
    location, skus = await new_location(dashboard, db), await new_skus(dashboard, 2)
    for sku in skus:
        await receive_stock(dashboard, sku, location, 1)

    found_page = (await dashboard.get(f"{COUNTS}?location={location}&q={skus[0]}")).text
    assert "1 item at" in found_page
    assert skus[1] not in found_page
    assert "Nothing to count" in (await dashboard.get(f"{COUNTS}?location={location}&q={unique_word()}")).text
    assert "Nothing to count" in (await dashboard.get(f"{COUNTS}?location={location}&page=99999")).text


async def test_a_stock_item_is_low_at_its_own_threshold(dashboard: Dashboard, db: Any) -> None:
    (sku,), location = await new_skus(dashboard), await new_location(dashboard, db)
    item = await receive_stock(dashboard, sku, location, 20)

    async def is_low() -> bool:
        return item in (await dashboard.get(f"{STOCK}?level=low&q={sku}")).text

    assert not await is_low()
    assert saved_message(await dashboard.post(f"{item}/threshold", threshold="20")) == "threshold"
    assert await is_low()
    assert ("low_stock_threshold_changed", "done") in await events(db, actor=dashboard.id, subject=id_of(item))
    assert saved_message(await dashboard.post(f"{item}/threshold", threshold="19")) == "threshold"
    assert not await is_low()
    # Below the shop's threshold, but not below its own.
    saved_message(await dashboard.post(item, reason="recounted", quantity="2"))
    saved_message(await dashboard.post(f"{item}/threshold", threshold="1"))
    assert not await is_low()
    saved_message(await dashboard.post(f"{item}/threshold", threshold=""))
    assert await is_low()


async def test_the_shop_has_a_threshold_for_all_other_items(dashboard: Dashboard, db: Any) -> None:
    (sku,), location = await new_skus(dashboard), await new_location(dashboard, db)
    item = await receive_stock(dashboard, sku, location, 7)
    answer = await dashboard.post(f"{STOCK}/threshold", threshold="7")
    try:
        assert re.search(r"level=low&done=threshold$", answer.headers["location"])
        assert item in (await dashboard.get(f"{STOCK}?level=low&q={sku}")).text
    finally:
        saved_message(await dashboard.post(f"{STOCK}/threshold", threshold="5"))
    assert item not in (await dashboard.get(f"{STOCK}?level=low&q={sku}")).text


@pytest.mark.parametrize("threshold", ["x", "-1", "1000001"])
async def test_an_invalid_threshold_is_refused(dashboard: Dashboard, db: Any, threshold: str) -> None:
    (sku,), location = await new_skus(dashboard), await new_location(dashboard, db)
    item = await receive_stock(dashboard, sku, location, 7)

    for path in (f"{STOCK}/threshold", f"{item}/threshold"):
        answer = await dashboard.post(path, threshold=threshold)
        assert (answer.status_code, len(error_messages(answer))) == (422, 1)
