"""Quotes are cached in memory, and every process sees every change of the catalog with its next request."""

from typing import Any
from uuid import UUID, uuid4

import httpx2

from tests.builders import Make
from tests.service import Service
from tests.shopper import Shopper

CHANGES = {
    "a price": ("update prices set amount = amount + 100 where variant_id = $1", {"price_changed"}),
    "the price before": ("update prices set amount = amount - 100 where variant_id = $1", set()),
    "a sale that leaves stock": ("update stock_items set count_on_hand = 1 where variant_id = $1", {"stock_low"}),
    "a delivery": ("update stock_items set count_on_hand = 9 where variant_id = $1", set()),
    "a closed stock location": (
        "update stock_locations set active = false where id in (select stock_location_id from stock_items where "
        "variant_id = $1)",
        {"stock_low"},
    ),
    "an open stock location": (
        "update stock_locations set active = true where id in (select stock_location_id from stock_items where "
        "variant_id = $1)",
        set(),
    ),
    "an archived product": (
        "update products set status = 'archived' where id = (select product_id from variants where id = $1)",
        {"not_sold"},
    ),
    "an active product": (
        "update products set status = 'active' where id = (select product_id from variants where id = $1)",
        set(),
    ),
    "a deleted price": ("delete from prices where variant_id = $1", {"no_price"}),
}


async def test_every_change_of_a_variant_is_in_the_next_cart_of_every_process(
    make: Make, guest: Shopper, other_service: Service, db: Any
) -> None:
    mug = await make.product("Mug", price="12.00", on_hand=9)
    await guest.post("/cart")
    await guest.post("/cart/add_item", variant_id=mug.variant_id, quantity=2)
    async with other_service.client() as http:
        shoppers = [guest, visit(http, guest)]
        assert [await warnings(shopper) for shopper in shoppers] == [set(), set()]

        for name, (change, expected) in CHANGES.items():
            await db.execute(change, UUID(mug.variant_id))
            assert [await warnings(shopper) for shopper in shoppers] == [expected, expected], name


async def test_included_variants_are_cached_and_current_in_every_process(
    make: Make, guest: Shopper, other_service: Service, service: Service, db: Any
) -> None:
    mug = await make.product("Mug", price="12.00", on_hand=9)
    await guest.post("/cart")
    await guest.post("/cart/add_item", variant_id=mug.variant_id)
    async with other_service.client() as http:
        shoppers = [guest, visit(http, guest)]
        assert [await shown_variant(shopper) for shopper in shoppers] == [("12.0", True)] * 2
        again = await guest.get("/cart", include="line_items.variant")
        assert service.request_line(again.request_id)["statements"] == 2

        await db.execute("update prices set amount = 1300 where variant_id = $1", UUID(mug.variant_id))
        assert [await shown_variant(shopper) for shopper in shoppers] == [("13.0", True)] * 2
        await db.execute("update stock_items set count_on_hand = 0 where variant_id = $1", UUID(mug.variant_id))
        assert [await shown_variant(shopper) for shopper in shoppers] == [("13.0", False)] * 2


async def shown_variant(shopper: Shopper) -> tuple[str, bool]:
    cart = await shopper.get("/cart", include="line_items.variant")
    (variant,) = [each["attributes"] for each in cart.json["included"] if each["type"] == "variant"]
    return variant["price"], variant["in_stock"]


async def test_an_item_is_added_with_the_name_and_the_tax_category_of_now(
    make: Make, guest: Shopper, other_service: Service, db: Any
) -> None:
    mug = await make.product("Mug", price="12.00", on_hand=9)
    await guest.post("/cart")
    async with other_service.client() as http:
        for shopper in (guest, visit(http, guest)):
            await shopper.post("/cart/add_item", variant_id=mug.variant_id)
        defaults = await db.fetch("update tax_categories set is_default = false where is_default returning id")
        category = await db.fetchval(
            "insert into tax_categories (id, name, is_default, created_at, updated_at) "
            "values (gen_random_uuid(), $1, true, now(), now()) returning id",
            uuid4().hex,
        )
        try:
            for number, shopper in enumerate((guest, visit(http, guest))):
                await db.execute("update products set name = $2 where id = $1", UUID(mug.id), f"Mug {number}")
                await shopper.post("/cart/add_item", variant_id=mug.variant_id)
                (line,) = await db.fetch(
                    "select name, tax_category_id from line_items where variant_id = $1", UUID(mug.variant_id)
                )
                assert tuple(line) == (f"Mug {number}", category)
        finally:
            await db.execute("update line_items set tax_category_id = null where tax_category_id = $1", category)
            await db.execute("delete from tax_categories where id = $1", category)
            former = [row["id"] for row in defaults]
            await db.execute("update tax_categories set is_default = true where id = any($1)", former)


async def test_a_variant_is_not_sold_any_more_once_its_date_has_passed(make: Make, guest: Shopper, db: Any) -> None:
    mug = await make.product("Mug", price="12.00", on_hand=9)
    await guest.post("/cart")
    await guest.post("/cart/add_item", variant_id=mug.variant_id)
    end = "update variants set discontinue_on = clock_timestamp() + interval '2 seconds' where id = $1"
    await db.execute(end, UUID(mug.variant_id))

    before = await warnings(guest)
    await db.execute("select pg_sleep(2.1)")

    assert (before, await warnings(guest)) == (set(), {"not_sold"})


def visit(http: httpx2.AsyncClient, guest: Shopper) -> Shopper:
    """The same shopper at another process."""
    shopper = Shopper(http)
    shopper.order_token = guest.order_token
    return shopper


async def warnings(shopper: Shopper) -> set[str]:
    cart = await shopper.get("/cart")
    return {warning["code"] for warning in cart.json.get("meta", {}).get("warnings", [])}
