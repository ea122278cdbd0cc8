"""Stock: a count changes only by movements, which are permanent, and is negative only where backorders are allowed."""

import asyncio
from typing import Any
from uuid import uuid4

import asyncpg
import pytest

from tests.platform.catalog_builders import (
    change_record,
    delete_record,
    get_record,
    links,
    master_of,
    new,
    new_stock_item,
    patch_record,
    post_record,
)
from tests.platform.client import Machine
from tests.platform.invalid_values import assert_refused


async def movements_of(machine: Machine, item_id: str) -> list[tuple[int, str]]:
    response = await machine.get("/stock_movements", {"filter[stock_item_id_eq]": item_id, "sort": "id"})
    return [(item["attributes"]["quantity"], item["attributes"]["reason"]) for item in response.json["data"]]


async def count_on_hand_of(machine: Machine, item_id: str) -> Any:
    return (await get_record(machine, "stock_item", item_id))["count_on_hand"]


async def test_the_initial_count_of_a_stock_item_is_its_first_movement(writer: Machine) -> None:
    item_id = await new_stock_item(writer, 5)

    assert (await count_on_hand_of(writer, item_id), await movements_of(writer, item_id)) == (5, [(5, "received")])


async def test_changing_a_count_creates_a_movement_of_the_difference(writer: Machine) -> None:
    item_id = await new_stock_item(writer, 5)

    await change_record(writer, "stock_item", item_id, count_on_hand=3)
    await change_record(writer, "stock_item", item_id, count_on_hand=3, backorderable=True)
    await change_record(writer, "stock_item", item_id, count_on_hand=-2)

    assert await count_on_hand_of(writer, item_id) == -2
    assert await movements_of(writer, item_id) == [(5, "received"), (-2, "recounted"), (-5, "recounted")]


async def test_a_movement_has_an_actor_a_reason_and_a_note(writer: Machine) -> None:
    item_id = await new_stock_item(writer, 5)

    movement = await new(writer, "stock_movement", stock_item_id=item_id, quantity=-2, reason="damaged", note="fell")

    values = (movement["quantity"], movement["reason"], movement["note"], movement["actor_kind"])
    assert values == (-2, "damaged", "fell", "application")
    assert await count_on_hand_of(writer, item_id) == 3


async def test_a_movement_of_a_variant_creates_a_missing_stock_item(writer: Machine) -> None:
    variant_id, location = (
        await master_of(writer, (await new(writer, "product")).id),
        await new(writer, "stock_location"),
    )

    fields: dict[str, Any] = {"variant_id": variant_id, "stock_location_id": location.id, "quantity": 4}
    answers = await asyncio.gather(*(post_record(writer, "stock_movement", **fields) for _ in range(4)))
    default = await new(writer, "stock_movement", variant_id=variant_id, quantity=1)

    assert [answer.status for answer in answers] == [201] * 4
    (item_id,) = {links(answer, "stock_item")[0] for answer in answers}
    assert await count_on_hand_of(writer, item_id) == 16
    assert links(default, "stock_item") != [item_id]


async def test_a_count_below_zero_is_refused_unless_backorderable(writer: Machine) -> None:
    item_id = await new_stock_item(writer, 2)

    assert_refused(await post_record(writer, "stock_movement", stock_item_id=item_id, quantity=-3), "quantity")
    assert_refused(await patch_record(writer, "stock_item", item_id, count_on_hand=-1), "count_on_hand")
    assert (await count_on_hand_of(writer, item_id), len(await movements_of(writer, item_id))) == (2, 1)

    await change_record(writer, "stock_item", item_id, backorderable=True)
    await new(writer, "stock_movement", stock_item_id=item_id, quantity=-3)
    assert await count_on_hand_of(writer, item_id) == -1
    assert_refused(await patch_record(writer, "stock_item", item_id, backorderable=False), "backorderable")
    assert (await change_record(writer, "stock_item", item_id, backorderable=False, count_on_hand=0))[
        "count_on_hand"
    ] == 0


@pytest.mark.security("C-04")
async def test_of_twenty_concurrent_sales_of_the_last_seven_items_seven_succeed(writer: Machine) -> None:
    item_id = await new_stock_item(writer, 7)

    answers = await asyncio.gather(
        *(post_record(writer, "stock_movement", stock_item_id=item_id, quantity=-1, reason="sold") for _ in range(20))
    )

    assert sorted(answer.status for answer in answers) == [201] * 7 + [422] * 13
    assert (await count_on_hand_of(writer, item_id), len(await movements_of(writer, item_id))) == (0, 8)


@pytest.mark.parametrize(
    "statement",
    [
        "update stock_movements set quantity = 9 where id = $1",
        "delete from stock_movements where id = $1",
        "delete from stock_items where id = (select stock_item_id from stock_movements where id = $1)",
    ],
)
async def test_a_movement_can_be_neither_updated_nor_deleted_in_the_database(
    writer: Machine, db: Any, statement: str
) -> None:
    movement = await new(writer, "stock_movement", stock_item_id=await new_stock_item(writer, 1), quantity=1)

    with pytest.raises((asyncpg.InsufficientPrivilegeError, asyncpg.ForeignKeyViolationError)):
        await db.execute(statement, movement.id)
    with pytest.raises(asyncpg.PostgresError):
        await db.execute("truncate stock_movements cascade")
    for method in ("PATCH", "PUT", "DELETE"):
        assert (await writer.ask(method, f"/stock_movements/{movement.id}", json={})).status == 405


@pytest.mark.security("C-04")
async def test_a_count_below_zero_is_refused_by_the_database_too(writer: Machine, db: Any) -> None:
    item_id = await new_stock_item(writer, 1)

    with pytest.raises(asyncpg.CheckViolationError):
        await db.execute("update stock_items set count_on_hand = -1 where id = $1", item_id)


@pytest.mark.parametrize("quantity", [0, 10**9 + 1, -(10**15), "x", 1.5, None, [1]])
async def test_an_invalid_quantity_is_refused(writer: Machine, quantity: Any) -> None:
    item_id = await new_stock_item(writer, 1)

    assert_refused(await post_record(writer, "stock_movement", stock_item_id=item_id, quantity=quantity), "quantity")


async def test_a_movement_needs_an_existing_stock_item_or_variant_and_a_known_reason(writer: Machine) -> None:
    item_id, unknown_id = await new_stock_item(writer, 1), str(uuid4())

    assert_refused(await post_record(writer, "stock_movement", quantity=1), "stock_item_id")
    assert_refused(await post_record(writer, "stock_movement", stock_item_id=unknown_id, quantity=1), "stock_item_id")
    assert_refused(await post_record(writer, "stock_movement", variant_id=unknown_id, quantity=1), "variant_id")
    assert_refused(
        await post_record(writer, "stock_movement", stock_item_id=item_id, quantity=1, reason="lost"), "reason"
    )


async def test_a_variant_has_one_stock_item_per_stock_location(writer: Machine) -> None:
    variant_id, location = (
        await master_of(writer, (await new(writer, "product")).id),
        await new(writer, "stock_location"),
    )
    fields = {"variant_id": variant_id, "stock_location_id": location.id}
    await new(writer, "stock_item", **fields)

    assert_refused(await post_record(writer, "stock_item", **fields), "stock_location_id")
    assert_refused(await post_record(writer, "stock_item", **{**fields, "variant_id": str(uuid4())}), "variant_id")
    assert_refused(
        await post_record(writer, "stock_item", **{**fields, "stock_location_id": str(uuid4())}), "stock_location_id"
    )


async def test_items_at_an_inactive_stock_location_are_not_in_stock(writer: Machine) -> None:
    product, location = await new(writer, "product"), await new(writer, "stock_location", backorderable_default=True)
    master_id = await master_of(writer, product.id)
    item = await new(writer, "stock_item", variant_id=master_id, stock_location_id=location.id, count_on_hand=5)

    states = []
    for active in (True, False, True):
        await change_record(writer, "stock_location", location.id, active=active)
        product, variant = (
            await get_record(writer, "product", product.id),
            await get_record(writer, "variant", master_id),
        )
        assert (product["in_stock"], product["backorderable"]) == (variant["in_stock"], variant["backorderable"])
        states.append((product["in_stock"], product["backorderable"], variant["total_on_hand"]))

    assert item["backorderable"] is True
    assert states == [(True, True, 5), (False, False, 0), (True, True, 5)]


async def test_a_product_without_inventory_tracking_is_always_in_stock(writer: Machine) -> None:
    product = await new(writer, "product", track_inventory=False)

    response = await change_record(writer, "product", product.id, track_inventory=True)

    assert (product["in_stock"], response["in_stock"]) == (True, False)


async def test_only_one_stock_location_is_the_default(writer: Machine, db: Any) -> None:
    first = "00000000-0000-7000-8000-000000000001"
    location = await new(writer, "stock_location", default=True)
    default = 'select id::text from stock_locations where "default"'
    rows = await db.fetch(default)

    await change_record(writer, "stock_location", first, default=True)

    assert [row["id"] for row in rows] == [location.id]
    assert [row["id"] for row in await db.fetch(default)] == [first]


async def test_a_stock_item_without_movements_can_be_deleted(writer: Machine) -> None:
    product = await new(writer, "product")
    location = (await new(writer, "stock_location", backorderable_default=True)).id
    master_id = await master_of(writer, product.id)
    item = await new(writer, "stock_item", variant_id=master_id, stock_location_id=location)
    before = await get_record(writer, "product", product.id)

    assert (await delete_record(writer, "stock_item", item.id)).status == 204

    after = await get_record(writer, "product", product.id)
    assert (await get_record(writer, "stock_item", item.id)).status == 404
    assert (before["backorderable"], after["backorderable"]) == (True, False)


async def test_deleting_a_stock_item_with_movements_is_refused_with_advice(writer: Machine) -> None:
    item_id = await new_stock_item(writer, 5)
    await change_record(writer, "stock_item", item_id, count_on_hand=0)

    refusal = await delete_record(writer, "stock_item", item_id)

    assert_refused(refusal, "base")
    assert "set count_on_hand to 0" in refusal.json["errors"]["base"][0]
    assert len(await movements_of(writer, item_id)) == 2


async def test_a_stock_location_without_movements_is_deleted_with_its_empty_items(writer: Machine) -> None:
    location = (await new(writer, "stock_location")).id
    item_id = await new_stock_item(writer, 0, stock_location_id=location)

    assert (await delete_record(writer, "stock_location", location)).status == 204

    assert (await get_record(writer, "stock_location", location)).status == 404
    assert (await get_record(writer, "stock_item", item_id)).status == 404


async def test_deleting_a_stock_location_with_movements_is_refused_with_advice(writer: Machine) -> None:
    location = (await new(writer, "stock_location")).id
    empty_id = await new_stock_item(writer, 0, stock_location_id=location)
    await new_stock_item(writer, 1, stock_location_id=location)

    refusal = await delete_record(writer, "stock_location", location)

    assert_refused(refusal, "base")
    assert "set active to false" in refusal.json["errors"]["base"][0]
    assert (await get_record(writer, "stock_item", empty_id)).status == 200


async def test_the_default_stock_location_cannot_be_deleted(writer: Machine) -> None:
    refusal = await delete_record(writer, "stock_location", "00000000-0000-7000-8000-000000000001")

    assert_refused(refusal, "base")
    assert "make another location the default first" in refusal.json["errors"]["base"][0]
