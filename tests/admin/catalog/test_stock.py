"""Stock: find items and record movements; each movement stores its operator and reason."""

import re
from typing import Any
from uuid import UUID

import pytest

from tests.admin.catalog_forms import (
    STOCK,
    error_messages,
    field,
    id_of,
    new_location,
    new_product,
    redirect_path,
    saved_message,
    unique_word,
)
from tests.admin.dashboard import UNKNOWN_ID, Dashboard, events


async def new_item(dashboard: Dashboard, db: Any, count: int = 10, **fields: str) -> tuple[str, str]:
    """Creates a stock item at a new location; returns its path and SKU."""
    sku = unique_word()
    await new_product(dashboard, sku=sku)
    location = await new_location(dashboard, db)
    form = {"sku": sku, "location": location, "reason": "received", "quantity": str(count), **fields}
    return redirect_path(await dashboard.post(f"{STOCK}/new", **form)), sku


async def count_of(db: Any, item: str) -> int:
    return int(await db.fetchval("select count_on_hand from stock_items where id = $1", id_of(item)))


@pytest.mark.parametrize(
    ("reason", "quantity", "change"),
    [("received", "5", 5), ("returned", "1", 1), ("damaged", "3", -3), ("recounted", "7", -3), ("recounted", "0", -10)],
)
async def test_the_reason_decides_how_a_movement_changes_the_count(
    dashboard: Dashboard, db: Any, reason: str, quantity: str, change: int
) -> None:
    item, _ = await new_item(dashboard, db)

    assert saved_message(await dashboard.post(item, reason=reason, quantity=quantity, note="because")) == "moved"

    row = await db.fetchrow(
        "select * from stock_movements where stock_item_id = $1 order by id desc limit 1", id_of(item)
    )
    assert (row["quantity"], row["reason"], row["note"], row["actor_id"]) == (change, reason, "because", dashboard.id)
    assert await count_of(db, item) == 10 + change
    assert ("stock_movement_created", "done") in await events(db, actor=dashboard.id, subject=row["id"])


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"quantity": ""}, "Quantity is required."),
        ({"quantity": "0"}, "Quantity must be 1 or more."),
        ({"quantity": "-1"}, "Quantity must be 0 or more."),
        ({"quantity": "1.5"}, "Quantity must be a whole number."),
        ({"quantity": "1" * 10}, "Quantity must be a whole number."),
        ({"reason": "stolen"}, "Reason is not a valid choice."),
        ({"reason": "sold"}, "Reason is not a valid choice."),
        (
            {"reason": "damaged", "quantity": "11"},
            "Quantity exceeds the count on hand, and the item is not backorderable.",
        ),
        ({"reason": "recounted", "quantity": "10"}, "Quantity is the current count; there is nothing to record."),
        ({"note": "n" * 251}, "Note must be one line of at most 250 characters."),
    ],
)
async def test_an_invalid_movement_is_refused_and_its_input_is_shown_again(
    dashboard: Dashboard, db: Any, fields: dict[str, str], message: str
) -> None:
    item, _ = await new_item(dashboard, db)

    answer = await dashboard.post(item, **{"reason": "received", "quantity": "1", "note": "typed", **fields})

    assert (answer.status_code, error_messages(answer)) == (422, [message])
    assert field(answer.text, "note") == fields.get("note", "typed")
    assert field(answer.text, "quantity") == fields.get("quantity", "1")
    assert await count_of(db, item) == 10


async def test_the_ledger_lists_movements_newest_first_with_their_operator(
    dashboard: Dashboard, other_dashboard: Dashboard, db: Any
) -> None:
    item, _ = await new_item(dashboard, db)
    await other_dashboard.post(item, reason="damaged", quantity="2", note="Fell down")
    for _ in range(26):
        await dashboard.post(item, reason="received", quantity="1")

    page = (await dashboard.get(item)).text
    next_link = re.search(r'href="([^"]+)" rel="next"', page)
    assert next_link
    second = (await dashboard.get(next_link[1])).text

    counts = re.findall(r'data-label="Count" class="number"><b>(-?\d+)</b>', page)
    assert counts == [str(count) for count in range(34, 9, -1)]
    assert re.findall(r'data-label="Count" class="number"><b>(-?\d+)</b>', second) == ["9", "8", "10"]
    assert re.findall(r'data-label="Change" class="number">([^<]+)<', second) == ["+1", "\u22122", "+10"]
    assert other_dashboard.email in second
    assert "Fell down" in second


async def test_stock_is_received_by_sku_or_for_a_variant_of_a_product(dashboard: Dashboard, db: Any) -> None:
    product, location = await new_product(dashboard, sku=""), await new_location(dashboard, db)
    variant = str(await db.fetchval("select id from variants where product_id = $1", id_of(product)))
    link = f"/admin/stock/new?variant_id={variant}&amp;location_id={location}"
    assert link in (await dashboard.get(f"{product}/variants")).text
    page = (await dashboard.get(link.replace("&amp;", "&"))).text
    assert field(page, "variant_id") == variant
    assert f'<option value="{location}" selected>' in page

    fields = {"variant_id": variant, "location": location, "reason": "received", "quantity": "4"}
    item = redirect_path(await dashboard.post(f"{STOCK}/new", **fields))

    assert await count_of(db, item) == 4
    assert await db.fetchval("select in_stock from listings where product_id = $1", id_of(product)) is True


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"sku": ""}, "SKU is required."),
        ({"sku": "no-such-sku"}, "SKU does not exist."),
        ({"location": ""}, "Location must be chosen."),
        ({"location": UNKNOWN_ID}, "Location is not a stock location."),
        ({"quantity": "x"}, "Quantity must be a whole number."),
    ],
)
async def test_an_invalid_receipt_is_refused_and_its_input_is_shown_again(
    dashboard: Dashboard, db: Any, fields: dict[str, str], message: str
) -> None:
    sku = unique_word()
    await new_product(dashboard, sku=sku)
    form = {"sku": sku, "location": await new_location(dashboard, db), "reason": "received", "quantity": "3"}

    answer = await dashboard.post(f"{STOCK}/new", **{**form, **fields})

    assert (answer.status_code, error_messages(answer)) == (422, [message])
    assert field(answer.text, "sku") == fields.get("sku", sku)
    assert field(answer.text, "quantity") == fields.get("quantity", "3")


async def test_stock_items_are_found_by_product_location_and_level_lowest_count_first(
    dashboard: Dashboard, db: Any
) -> None:
    word, location = unique_word(), await new_location(dashboard, db)
    items_by_count = {}
    for count in (7, 3, 1):
        sku = unique_word()
        await new_product(dashboard, name=f"{word} {count}", sku=sku)
        fields = {"sku": sku, "location": location, "reason": "received", "quantity": str(count)}
        items_by_count[count] = redirect_path(await dashboard.post(f"{STOCK}/new", **fields))
    await dashboard.post(items_by_count[1], reason="damaged", quantity="1")

    async def find_items(**params: str) -> list[str]:
        page = await dashboard.http.get(STOCK, params=params, headers=dashboard.cookie)
        return re.findall(r'class="through" href="([^"]+)"', page.text)

    assert await find_items(q=word) == [items_by_count[1], items_by_count[3], items_by_count[7]]
    assert await find_items(location=location, level="low") == [items_by_count[1], items_by_count[3]]
    assert await find_items(location=location, level="out") == [items_by_count[1]]
    assert await find_items(q=f"{word} 7", location=location) == [items_by_count[7]]
    assert await find_items(q=word, location=UNKNOWN_ID) == []
    assert await find_items(q=word, level="nonsense", location="nonsense", next="x_y") == [
        items_by_count[1],
        items_by_count[3],
        items_by_count[7],
    ]


async def test_stock_items_are_paged_by_count(dashboard: Dashboard, db: Any) -> None:
    word, location = unique_word(), await new_location(dashboard, db)
    await db.execute(
        """with new_products as (insert into products (id, name, slug, status, created_at, updated_at)
            select gen_random_uuid(), $1 || ' ' || n, $1 || n, 'active', now(), now() from generate_series(1, 60) n
            returning id, slug),
        new_variants as (insert into variants (id, product_id, is_master, sku, created_at, updated_at)
            select gen_random_uuid(), id, true, slug, now(), now() from new_products returning id, sku)
        insert into stock_items (id, stock_location_id, variant_id, count_on_hand, created_at, updated_at)
            select gen_random_uuid(), $2, id, 3, now(), now() from new_variants""",
        word,
        UUID(location),
    )

    async def read(path: str) -> tuple[list[str], dict[str, str]]:
        page = (await dashboard.get(path)).text.replace("&amp;", "&")
        rows = re.findall(r'class="through" href="([^"]+)"', page)
        return rows, {rel: url for url, rel in re.findall(r'href="([^"]+)" rel="(\w+)"', page)}

    try:
        first, first_links = await read(f"{STOCK}?location={location}")
        second, second_links = await read(first_links["next"])
        third, third_links = await read(second_links["next"])
        back, _ = await read(third_links["prev"])
    finally:
        # They were inserted by SQL, without movements and listings.
        await db.execute("delete from stock_items where stock_location_id = $1", UUID(location))
        await db.execute("delete from products where slug like $1 || '%'", word)

    assert [len(first), len(second), len(third)] == [25, 25, 10]
    assert len({*first, *second, *third}) == 60
    assert back == second
    assert ("prev" in first_links, "next" in third_links) == (False, False)


async def test_backorderable_cannot_be_turned_off_while_the_count_is_negative(dashboard: Dashboard, db: Any) -> None:
    item, _ = await new_item(dashboard, db, 1)

    assert saved_message(await dashboard.post(f"{item}/backorder", backorderable="1")) == "saved"
    assert saved_message(await dashboard.post(item, reason="damaged", quantity="3")) == "moved"
    refusal = await dashboard.post(f"{item}/backorder")

    assert await count_of(db, item) == -2
    assert error_messages(refusal) == ["Backorderable cannot be turned off while the count on hand is negative."]
    assert ("stock_item_updated", "done") in await events(db, actor=dashboard.id, subject=id_of(item))


async def test_a_stock_location_is_renamed_deactivated_and_made_the_default(dashboard: Dashboard, db: Any) -> None:
    item, sku = await new_item(dashboard, db)
    location = await db.fetchval("select stock_location_id from stock_items where id = $1", id_of(item))
    path, before = f"{STOCK}/locations/{location}", await db.fetchval('select id from stock_locations where "default"')
    name = f"Place {unique_word()}"

    try:
        assert 'name="active" value="1" checked' in (await dashboard.get(path)).text
        assert saved_message(await dashboard.post(path, name=name, default="1")) == "saved"

        row = await db.fetchrow("select * from stock_locations where id = $1", location)
        assert (row["name"], row["default"], row["active"]) == (name, True, False)
        assert await db.fetchval('select count(*) from stock_locations where "default"') == 1
        in_stock = "select in_stock from listings l join variants v on v.id = l.master_id where v.sku = $1"
        assert await db.fetchval(in_stock, sku) is False
        assert name in (await dashboard.get(f"{STOCK}/locations")).text
        assert ("stock_location_updated", "done") in await events(db, actor=dashboard.id, subject=location)
    finally:
        await db.execute('update stock_locations set "default" = false where id = $1', location)
        await db.execute('update stock_locations set "default" = true where id = $1', before)


async def test_a_stock_location_has_an_address(dashboard: Dashboard, db: Any) -> None:
    location = await new_location(dashboard, db)
    path, page = f"{STOCK}/locations/{location}", (await dashboard.get(f"{STOCK}/locations/{location}")).text
    country = re.search(r'value="([0-9a-f-]{36})">Germany<', page)
    assert country

    address = {"address1": "Am Hafen 3", "zipcode": "20457", "city": "Hamburg", "phone": "+49 40 1234"}
    name = f"Harbor {unique_word()}"
    assert saved_message(await dashboard.post(path, name=name, active="1", country_id=country[1], **address)) == "saved"

    row = await db.fetchrow(
        "select l.*, c.iso from stock_locations l join countries c on c.id = l.country_id where l.id = $1",
        UUID(location),
    )
    assert {key: row[key] for key in address} == address
    assert (row["iso"], row["address2"], row["active"]) == ("DE", None, True)
    page = (await dashboard.get(path)).text
    assert field(page, "city") == "Hamburg"
    assert f'value="{country[1]}" selected>Germany' in page


async def test_the_name_of_a_stock_location_is_unique(dashboard: Dashboard, db: Any) -> None:
    location = await new_location(dashboard, db)
    name = await db.fetchval("select name from stock_locations where id = $1", UUID(location))
    other = await new_location(dashboard, db)

    answers = [
        await dashboard.post(f"{STOCK}/locations", name=""),
        await dashboard.post(f"{STOCK}/locations", name=name),
        await dashboard.post(f"{STOCK}/locations/{other}", name=name, active="1"),
    ]

    assert [error_messages(answer) for answer in answers] == [
        ["Name is required."],
        ["Name is taken."],
        ["Name is taken."],
    ]
    assert field(answers[2].text, "name") == name


async def test_an_unknown_stock_item_or_location_is_404(dashboard: Dashboard) -> None:
    for path in (f"{STOCK}/{UNKNOWN_ID}", f"{STOCK}/nonsense", f"{STOCK}/locations/{UNKNOWN_ID}"):
        assert (await dashboard.get(path)).status_code == 404
        assert (await dashboard.post(path, name="x", reason="received", quantity="1")).status_code == 404
    assert (await dashboard.post(f"{STOCK}/{UNKNOWN_ID}/backorder")).status_code == 404
