"""Stock: found, moved in the operator's own words, and every movement kept with who and why."""

import re
from typing import Any
from uuid import UUID

import pytest

from tests.admin.catalog_forms import STOCK, done, field, id_of, mark, new_location, new_product, place, said
from tests.admin.dashboard import NOBODY, Desk, events


async def new_item(desk: Desk, db: Any, count: int = 10, **fields: str) -> tuple[str, str]:
    """Something at a place of its own: the item's address, and its SKU."""
    sku = mark()
    await new_product(desk, sku=sku)
    location = await new_location(desk, db)
    form = {"sku": sku, "location": location, "reason": "received", "quantity": str(count), **fields}
    return place(await desk.post(f"{STOCK}/new", **form)), sku


async def count_of(db: Any, item: str) -> int:
    return int(await db.fetchval("select count_on_hand from stock_items where id = $1", id_of(item)))


@pytest.mark.parametrize(
    ("reason", "typed", "moved"),
    [("received", "5", 5), ("returned", "1", 1), ("damaged", "3", -3), ("recounted", "7", -3), ("recounted", "0", -10)],
)
async def test_a_movement_means_what_the_operator_says(
    desk: Desk, db: Any, reason: str, typed: str, moved: int
) -> None:
    item, _ = await new_item(desk, db)

    assert done(await desk.post(item, reason=reason, quantity=typed, note="because")) == "moved"

    row = await db.fetchrow(
        "select * from stock_movements where stock_item_id = $1 order by id desc limit 1", id_of(item)
    )
    assert (row["quantity"], row["reason"], row["note"], row["actor_id"]) == (moved, reason, "because", desk.id)
    assert await count_of(db, item) == 10 + moved
    assert ("stock_movement_created", "done") in await events(db, actor=desk.id, subject=row["id"])


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"quantity": ""}, "How many must be given."),
        ({"quantity": "0"}, "How many must be 1 or more."),
        ({"quantity": "-1"}, "How many must be 0 or more."),
        ({"quantity": "1.5"}, "How many must be a whole number."),
        ({"quantity": "1" * 10}, "How many must be a whole number."),
        ({"reason": "stolen"}, "What happened is not a valid choice."),
        ({"reason": "sold"}, "What happened is not a valid choice."),
        (
            {"reason": "damaged", "quantity": "11"},
            "How many exceeds the count on hand, and the item is not backorderable.",
        ),
        ({"reason": "recounted", "quantity": "10"}, "How many is the current count; there is nothing to record."),
        ({"note": "n" * 251}, "Note must be one line of at most 250 characters."),
    ],
)
async def test_a_movement_that_cannot_be_is_told_and_kept(
    desk: Desk, db: Any, fields: dict[str, str], told: str
) -> None:
    item, _ = await new_item(desk, db)

    answer = await desk.post(item, **{"reason": "received", "quantity": "1", "note": "typed", **fields})

    assert (answer.status_code, said(answer)) == (422, [told])
    assert field(answer.text, "note") == fields.get("note", "typed")
    assert field(answer.text, "quantity") == fields.get("quantity", "1")
    assert await count_of(db, item) == 10


async def test_the_ledger_runs_from_the_newest_and_names_who(desk: Desk, another_desk: Desk, db: Any) -> None:
    item, _ = await new_item(desk, db)
    await another_desk.post(item, reason="damaged", quantity="2", note="Fell down")
    for _ in range(26):
        await desk.post(item, reason="received", quantity="1")

    page = (await desk.get(item)).text
    older = re.search(r'href="([^"]+)" rel="next"', page)
    assert older
    second = (await desk.get(older[1])).text

    counts = re.findall(r'data-label="Count" class="number"><b>(-?\d+)</b>', page)
    assert counts == [str(count) for count in range(34, 9, -1)]
    assert re.findall(r'data-label="Count" class="number"><b>(-?\d+)</b>', second) == ["9", "8", "10"]
    assert re.findall(r'data-label="Change" class="number">([^<]+)<', second) == ["+1", "\u22122", "+10"]
    assert another_desk.email in second
    assert "Fell down" in second


async def test_stock_is_received_by_sku_or_for_a_variant_of_a_product(desk: Desk, db: Any) -> None:
    product, location = await new_product(desk, sku=""), await new_location(desk, db)
    variant = str(await db.fetchval("select id from variants where product_id = $1", id_of(product)))
    link = f"/admin/stock/new?variant_id={variant}&amp;location_id={location}"
    assert link in (await desk.get(f"{product}/variants")).text
    page = (await desk.get(link.replace("&amp;", "&"))).text
    assert field(page, "variant_id") == variant
    assert f'<option value="{location}" selected>' in page

    fields = {"variant_id": variant, "location": location, "reason": "received", "quantity": "4"}
    item = place(await desk.post(f"{STOCK}/new", **fields))

    assert await count_of(db, item) == 4
    assert await db.fetchval("select in_stock from listings where product_id = $1", id_of(product)) is True


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"sku": ""}, "SKU must be given."),
        ({"sku": "no-such-sku"}, "SKU is no variant's."),
        ({"location": ""}, "Location must be chosen."),
        ({"location": NOBODY}, "Location is not a stock location."),
        ({"quantity": "x"}, "How many must be a whole number."),
    ],
)
async def test_what_cannot_be_received_is_told_and_kept(desk: Desk, db: Any, fields: dict[str, str], told: str) -> None:
    sku = mark()
    await new_product(desk, sku=sku)
    form = {"sku": sku, "location": await new_location(desk, db), "reason": "received", "quantity": "3"}

    answer = await desk.post(f"{STOCK}/new", **{**form, **fields})

    assert (answer.status_code, said(answer)) == (422, [told])
    assert field(answer.text, "sku") == fields.get("sku", sku)
    assert field(answer.text, "quantity") == fields.get("quantity", "3")


async def test_items_are_found_by_product_location_and_count_the_scarce_first(desk: Desk, db: Any) -> None:
    word, location = mark(), await new_location(desk, db)
    items_by_count = {}
    for count in (7, 3, 1):
        sku = mark()
        await new_product(desk, name=f"{word} {count}", sku=sku)
        fields = {"sku": sku, "location": location, "reason": "received", "quantity": str(count)}
        items_by_count[count] = place(await desk.post(f"{STOCK}/new", **fields))
    await desk.post(items_by_count[1], reason="damaged", quantity="1")

    async def find_items(**params: str) -> list[str]:
        page = await desk.http.get(STOCK, params=params, headers=desk.cookie)
        return re.findall(r'class="through" href="([^"]+)"', page.text)

    assert await find_items(q=word) == [items_by_count[1], items_by_count[3], items_by_count[7]]
    assert await find_items(location=location, level="low") == [items_by_count[1], items_by_count[3]]
    assert await find_items(location=location, level="out") == [items_by_count[1]]
    assert await find_items(q=f"{word} 7", location=location) == [items_by_count[7]]
    assert await find_items(q=word, location=NOBODY) == []
    assert await find_items(q=word, level="nonsense", location="nonsense", next="x_y") == [
        items_by_count[1],
        items_by_count[3],
        items_by_count[7],
    ]


async def test_items_are_paged_by_count(desk: Desk, db: Any) -> None:
    word, location = mark(), await new_location(desk, db)
    await db.execute(
        """with made as (insert into products (id, name, slug, status, created_at, updated_at)
            select gen_random_uuid(), $1 || ' ' || n, $1 || n, 'active', now(), now() from generate_series(1, 60) n
            returning id, slug),
        sold as (insert into variants (id, product_id, is_master, sku, created_at, updated_at)
            select gen_random_uuid(), id, true, slug, now(), now() from made returning id, sku)
        insert into stock_items (id, stock_location_id, variant_id, count_on_hand, created_at, updated_at)
            select gen_random_uuid(), $2, id, 3, now(), now() from sold""",
        word,
        UUID(location),
    )

    async def read(path: str) -> tuple[list[str], dict[str, str]]:
        page = (await desk.get(path)).text.replace("&amp;", "&")
        rows = re.findall(r'class="through" href="([^"]+)"', page)
        return rows, {rel: url for url, rel in re.findall(r'href="([^"]+)" rel="(\w+)"', page)}

    try:
        first, one = await read(f"{STOCK}?location={location}")
        second, two = await read(one["next"])
        third, three = await read(two["next"])
        back, _ = await read(three["prev"])
    finally:
        # Made past the shop's own ways: neither a ledger nor a listing knows of them.
        await db.execute("delete from stock_items where stock_location_id = $1", UUID(location))
        await db.execute("delete from products where slug like $1 || '%'", word)

    assert [len(first), len(second), len(third)] == [25, 25, 10]
    assert len({*first, *second, *third}) == 60
    assert back == second
    assert ("prev" in one, "next" in three) == (False, False)


async def test_an_item_may_be_sold_beyond_what_is_there_until_more_is_owed(desk: Desk, db: Any) -> None:
    item, _ = await new_item(desk, db, 1)

    assert done(await desk.post(f"{item}/backorder", backorderable="1")) == "saved"
    assert done(await desk.post(item, reason="damaged", quantity="3")) == "moved"
    refusal = await desk.post(f"{item}/backorder")

    assert await count_of(db, item) == -2
    assert said(refusal) == ["Backorderable cannot be turned off while the count on hand is negative."]
    assert ("stock_item_updated", "done") in await events(db, actor=desk.id, subject=id_of(item))


async def test_locations_are_made_renamed_closed_and_one_is_the_default(desk: Desk, db: Any) -> None:
    item, sku = await new_item(desk, db)
    location = await db.fetchval("select stock_location_id from stock_items where id = $1", id_of(item))
    here, before = f"{STOCK}/locations/{location}", await db.fetchval('select id from stock_locations where "default"')
    name = f"Place {mark()}"

    try:
        assert 'name="active" value="1" checked' in (await desk.get(here)).text
        assert done(await desk.post(here, name=name, default="1")) == "saved"

        row = await db.fetchrow("select * from stock_locations where id = $1", location)
        assert (row["name"], row["default"], row["active"]) == (name, True, False)
        assert await db.fetchval('select count(*) from stock_locations where "default"') == 1
        in_stock = "select in_stock from listings l join variants v on v.id = l.master_id where v.sku = $1"
        assert await db.fetchval(in_stock, sku) is False
        assert name in (await desk.get(f"{STOCK}/locations")).text
        assert ("stock_location_updated", "done") in await events(db, actor=desk.id, subject=location)
    finally:
        await db.execute('update stock_locations set "default" = false where id = $1', location)
        await db.execute('update stock_locations set "default" = true where id = $1', before)


async def test_a_locations_name_must_be_its_own(desk: Desk, db: Any) -> None:
    location = await new_location(desk, db)
    name = await db.fetchval("select name from stock_locations where id = $1", UUID(location))
    other = await new_location(desk, db)

    answers = [
        await desk.post(f"{STOCK}/locations", name=""),
        await desk.post(f"{STOCK}/locations", name=name),
        await desk.post(f"{STOCK}/locations/{other}", name=name, active="1"),
    ]

    assert [said(answer) for answer in answers] == [["Name must be given."], ["Name is taken."], ["Name is taken."]]
    assert field(answers[2].text, "name") == name


async def test_what_is_not_there_is_not_found(desk: Desk) -> None:
    for path in (f"{STOCK}/{NOBODY}", f"{STOCK}/nonsense", f"{STOCK}/locations/{NOBODY}"):
        assert (await desk.get(path)).status_code == 404
        assert (await desk.post(path, name="x", reason="received", quantity="1")).status_code == 404
    assert (await desk.post(f"{STOCK}/{NOBODY}/backorder")).status_code == 404
