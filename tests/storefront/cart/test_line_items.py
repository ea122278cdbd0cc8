"""Line items of a cart: adding, changing and removing them, warnings about them, and who can reach them."""

import asyncio
from typing import Any
from uuid import UUID, uuid4

import httpx2
import pytest

from tests.accounts import Member, sign_in
from tests.builders import Make
from tests.promotion_builders import TENTH, create_promotion, for_products
from tests.service import Service
from tests.shopper import Answer, Shopper
from tests.storefront.product_lists import included, related_ids


@pytest.fixture
async def shopper(guest: Shopper) -> Shopper:
    await guest.post("/cart")
    return guest


async def add(shopper: Shopper | Member, variant_id: str, quantity: Any = 1, **more: Any) -> Answer:
    return await shopper.post("/cart/add_item", variant_id=variant_id, quantity=quantity, **more)


def line_item_id(cart: Answer, index: int = 0) -> str:
    line_id: str = related_ids(cart.json["data"], "line_items")[index]
    return line_id


async def list_line_items(shopper: Shopper) -> list[dict[str, Any]]:
    cart = await shopper.get("/cart", include="line_items")
    return [included(cart, "line_item")[line_id] for line_id in related_ids(cart.json["data"], "line_items")]


def warnings(cart: Answer) -> list[tuple[str, str]]:
    return [(warning["code"], warning["line_item_id"]) for warning in cart.json.get("meta", {}).get("warnings", [])]


def cart_totals(cart: Answer) -> tuple[Any, ...]:
    return cart["item_count"], cart["item_total"], cart["total"]


async def test_adding_an_item_creates_a_line_item_and_updates_the_totals(make: Make, shopper: Shopper) -> None:
    mug = await make.product("Mug", price="12.50", on_hand=10, sku="M-" + uuid4().hex[:6])

    cart = await add(shopper, mug.variant_id, 3)

    assert (cart.status, cart_totals(cart), cart["display_total"], cart["state"]) == (
        200,
        (3, "37.5", "37.5"),
        "$37.50",
        "cart",
    )
    (line,) = await list_line_items(shopper)
    attributes = {name: line["attributes"][name] for name in ("name", "quantity", "price", "total", "slug", "currency")}
    assert attributes == {
        "name": "Mug",
        "quantity": 3,
        "price": "12.5",
        "total": "37.5",
        "slug": mug.slug,
        "currency": "USD",
    }
    assert related_ids(line, "variant") == mug.variant_id
    assert related_ids(cart.json["data"], "variants") == [mug.variant_id]
    assert "meta" not in cart.json


async def test_adding_a_variant_twice_creates_one_line_item(make: Make, shopper: Shopper) -> None:
    mug, cup = await make.product(price="2", on_hand=9), await make.product(price="3", on_hand=9)

    first = await add(shopper, mug.variant_id, 2)
    await add(shopper, cup.variant_id)
    cart = await add(shopper, mug.variant_id, 3)

    assert line_item_id(cart) == line_item_id(first)
    assert cart_totals(cart) == (6, "13.0", "13.0")
    assert [line["attributes"]["quantity"] for line in await list_line_items(shopper)] == [5, 1]


async def test_variants_and_products_can_be_included_in_the_cart(make: Make, shopper: Shopper) -> None:
    mug = await make.product(price="2", on_hand=9, options={f"size{uuid4().hex[:6]}": ["m"]})
    await add(shopper, mug.variant_id)

    cart = await shopper.get("/cart", include="line_items.variant.product,variants")

    assert included(cart, "variant")[mug.variant_id]["attributes"]["price"] == "2.0"
    assert list(included(cart, "product")) == [mug.id]
    assert included(cart, "line_item")[line_item_id(cart)]["attributes"]["options_text"].endswith(": M")


async def test_a_users_price_list_applies_by_quantity(make: Make, http: httpx2.AsyncClient) -> None:
    member = await sign_in(http)
    mug = await make.product(price="10", on_hand=99)
    price_list = await make.price_list(users=[await member.id()], percent_off="10")
    await make.entry(price_list, mug.master, "5", min_quantity=10)
    await member.post("/cart")

    few, many = await add(member, mug.variant_id, 2), await add(member, mug.variant_id, 8)

    assert (few["item_total"], many["item_total"]) == ("18.0", "50.0")


async def test_a_line_items_price_changes_only_when_its_quantity_is_set(make: Make, shopper: Shopper) -> None:
    mug, cup = await make.product(price="10", on_hand=9), await make.product(price="1", on_hand=9)
    line_id = line_item_id(await add(shopper, mug.variant_id))
    await make.change("variants", mug.variant_id, "variant", price="12")

    cart, other = await shopper.get("/cart"), await add(shopper, cup.variant_id)

    assert (cart["total"], other["total"]) == ("10.0", "11.0")
    assert warnings(cart) == warnings(other) == [("price_changed", line_id)]
    warning = cart.json["meta"]["warnings"][0]
    assert (warning["quoted"], warning["now"]) == ("10.0", "12.0")
    update = await shopper.ask("PATCH", "/cart/set_quantity", json={"line_item_id": line_id, "quantity": 2})
    assert (update["total"], warnings(update)) == ("25.0", [])


async def test_an_unavailable_line_item_remains_in_the_cart_with_a_warning(make: Make, shopper: Shopper) -> None:
    mug, low = await make.product(price="10", on_hand=9), await make.product(price="1", on_hand=5)
    await add(shopper, mug.variant_id)
    cart = await add(shopper, low.variant_id, 5)
    await make.change("products", mug.id, "product", status="archived")
    await make.new(
        "stock_movements",
        "stock_movement",
        variant_id=low.variant_id,
        stock_location_id=await make.stock_location(),
        quantity=-3,
    )

    response = await shopper.get("/cart")

    assert warnings(response) == [("not_sold", line_item_id(cart, 0)), ("stock_low", line_item_id(cart, 1))]
    assert response.json["meta"]["warnings"][1]["available"] == 2
    assert cart_totals(response) == (6, "15.0", "15.0")


@pytest.mark.parametrize(
    ("quantity", "code"),
    [
        *((wrong, "quantity_not_positive") for wrong in (0, -1, "two", 1.5, True, None, 10**9, [1])),
        (11, "out_of_stock"),
    ],
)
async def test_an_invalid_quantity_is_422_and_changes_nothing(
    make: Make, shopper: Shopper, quantity: Any, code: str
) -> None:
    mug = await make.product(price="10", on_hand=10)
    cart = await add(shopper, mug.variant_id, 10)
    body = {"line_item_id": line_item_id(cart), "quantity": quantity}

    refusal = await shopper.ask("PATCH", "/cart/set_quantity", json=body)

    assert (refusal.status, refusal.code, list(refusal.json["errors"])) == (422, code, ["quantity"])
    assert cart_totals(await shopper.get("/cart")) == (10, "100.0", "100.0")


async def test_only_purchasable_variants_can_be_added(make: Make, shopper: Shopper) -> None:
    draft = await make.product(status="draft", on_hand=1)
    with_variants = await make.product(options={f"size{uuid4().hex[:6]}": ["m"]}, on_hand=1)
    yen = await make.product(price=None, prices={"JPY": "100"}, on_hand=1)
    none_left, later = await make.product(on_hand=0), await make.product(on_hand=0)
    await make.stock(
        later.master,
        location_id=(await make.new("stock_locations", "stock_location", name=uuid4().hex)).id,
        backorderable=True,
    )

    answers = {
        name: await add(shopper, variant_id)
        for name, variant_id in {
            "draft": draft.variant_id,
            "master of others": with_variants.master,
            "no dollars": yen.variant_id,
            "none left": none_left.variant_id,
            "unknown": str(uuid4()),
            "no id": "mug",
        }.items()
    }

    assert {name: (answer.status, answer.code) for name, answer in answers.items()} == {
        "draft": (422, "not_purchasable"),
        "master of others": (422, "not_purchasable"),
        "no dollars": (422, "no_price_in_currency"),
        "none left": (422, "out_of_stock"),
        "unknown": (404, "not_found"),
        "no id": (404, "not_found"),
    }
    assert (await add(shopper, later.variant_id, 7)).status == 200
    assert cart_totals(await shopper.get("/cart"))[0] == 7


async def test_several_items_are_added_together_or_not_at_all(make: Make, shopper: Shopper) -> None:
    mug, cup = await make.product(price="10", on_hand=9), await make.product(price="1", on_hand=2)
    items = [
        {"variant_id": mug.variant_id, "quantity": 2},
        {"variant_id": cup.variant_id},
        {"variant_id": mug.variant_id},
    ]

    cart = await shopper.post("/cart/add_items", items=items)
    refusal = await shopper.post(
        "/cart/add_items",
        items=[
            {"variant_id": cup.variant_id, "quantity": 2},
            {"variant_id": mug.variant_id},
            {"variant_id": str(uuid4())},
        ],
    )
    unread = await shopper.post("/cart/add_items", items=[{"quantity": 0}, "mug"])

    assert cart_totals(cart) == (4, "31.0", "31.0")
    assert (refusal.status, sorted(refusal.json["errors"])) == (422, ["items.0.quantity", "items.2.variant_id"])
    assert (unread.status, sorted(unread.json["errors"])) == (
        422,
        ["items.0.quantity", "items.0.variant_id", "items.1"],
    )
    assert cart_totals(await shopper.get("/cart")) == (4, "31.0", "31.0")


async def test_line_items_can_be_removed_and_the_cart_emptied(make: Make, shopper: Shopper) -> None:
    mug, cup = await make.product(price="10", on_hand=9), await make.product(price="1", on_hand=9)
    line_id = line_item_id(await add(shopper, mug.variant_id))
    await add(shopper, cup.variant_id, 2)

    cart = await shopper.delete(f"/cart/remove_line_item/{line_id}")
    again = await shopper.delete(f"/cart/remove_line_item/{line_id}")
    empty_cart = await shopper.ask("PATCH", "/cart/empty")

    assert (cart.status, cart_totals(cart), again.status) == (200, (2, "2.0", "2.0"), 404)
    assert (empty_cart.status, cart_totals(empty_cart), empty_cart["number"]) == (
        200,
        (0, "0.0", "0.0"),
        cart["number"],
    )
    assert await list_line_items(shopper) == []


async def test_changing_the_currency_updates_the_price_of_every_line_item(make: Make, shopper: Shopper) -> None:
    both = await make.product(price="10", prices={"JPY": "1500"}, on_hand=9)
    dollars = await make.product(price="1", on_hand=9)
    await add(shopper, both.variant_id, 2)
    cart = await add(shopper, dollars.variant_id)

    yen_cart = await shopper.ask("PATCH", "/cart/change_currency", json={"new_currency": "jpy"})
    unknown = await shopper.ask("PATCH", "/cart/change_currency", json={"new_currency": "CHF"})

    assert (yen_cart.status, yen_cart["currency"], yen_cart["total"], yen_cart["display_total"]) == (
        200,
        "JPY",
        "3000.0",
        "¥3,000",
    )
    assert warnings(yen_cart) == [("no_price", line_item_id(cart, 1))]
    assert [line["attributes"]["price"] for line in await list_line_items(shopper)] == ["1500.0", None]
    assert (unknown.status, unknown.code) == (422, "currency_not_supported")


async def test_a_guest_cannot_change_line_items_of_another_cart(
    make: Make, shopper: Shopper, another_guest: Shopper
) -> None:
    mug = await make.product(price="10", on_hand=9)
    line_id = line_item_id(await add(shopper, mug.variant_id))
    await another_guest.post("/cart")

    answers = [
        await another_guest.ask("PATCH", "/cart/set_quantity", json={"line_item_id": line_id, "quantity": 2}),
        await another_guest.delete(f"/cart/remove_line_item/{line_id}"),
    ]
    another_guest.order_token = None
    answers.append(await add(another_guest, mug.variant_id))

    assert [answer.status for answer in answers] == [404, 404, 401]
    assert cart_totals(await shopper.get("/cart"))[0] == 1


async def test_an_idempotency_key_adds_once_and_concurrent_additions_add_up(make: Make, shopper: Shopper) -> None:
    mug = await make.product(price="1", on_hand=99)
    key = {"Idempotency-Key": uuid4().hex}

    for _ in range(2):
        assert (await add(shopper, mug.variant_id, 2, headers=key)).status == 200
    answers = await asyncio.gather(*(add(shopper, mug.variant_id) for _ in range(20)))

    assert {answer.status for answer in answers} == {200}
    assert sorted(answer["item_count"] for answer in answers) == list(range(3, 23))
    assert cart_totals(await shopper.get("/cart")) == (22, "22.0", "22.0")


async def test_the_number_of_statements_does_not_depend_on_the_number_of_line_items(
    make: Make, shopper: Shopper, service: Service
) -> None:
    products = [await make.product(price="1", on_hand=99) for _ in range(8)]

    counts = []
    for product in products:
        answer = await add(shopper, product.variant_id)
        counts.append(service.request_line(answer.request_id)["statements"])

    assert len(set(counts[1:])) == 1, counts
    # One statement more if a promotion depends on taxons.
    assert counts[-1] <= 4
    cart = await shopper.get("/cart")
    assert service.request_line(cart.request_id)["statements"] == 2


async def test_adding_an_item_recalculates_other_lines_and_warns_about_them(
    make: Make, shopper: Shopper, db: Any
) -> None:
    mug, pot = [await make.product(name, price="10", on_hand=9) for name in ("Mug", "Pot")]
    large_order = "item_total", {"amounts": {"USD": "25.0"}}
    await create_promotion(make, TENTH, conditions=[for_products(mug), large_order])
    await add(shopper, mug.variant_id, 2)
    await db.execute("update stock_items set count_on_hand = 1 where variant_id = $1", UUID(mug.variant_id))

    first = await add(shopper, pot.variant_id)
    second = await add(shopper, pot.variant_id, include="line_items")

    line_ids = related_ids(first.json["data"], "line_items")
    assert [warnings(cart) for cart in (first, second)] == [[("stock_low", line_ids[0])]] * 2
    # The first addition changes the discount of the other line, whose details it must read; the second one does not.
    assert [(cart["item_total"], cart["promo_total"]) for cart in (first, second)] == [
        ("30.0", "-2.0"),
        ("40.0", "-2.0"),
    ]
    assert [line["attributes"]["name"] for line in await list_line_items(shopper)] == ["Mug", "Pot"]
    lines = {line_id: line["attributes"] for line_id, line in included(second, "line_item").items()}
    assert [(lines[each]["name"], lines[each]["promo_total"]) for each in line_ids] == [("Mug", "-2.0"), ("Pot", "0.0")]


async def test_associate_merges_the_line_items_of_both_carts(
    make: Make, shopper: Shopper, http: httpx2.AsyncClient, db: Any
) -> None:
    member = await sign_in(http)
    both, only_users = await make.product(price="10", on_hand=5), await make.product(price="1", on_hand=9)
    await make.price_list(users=[await member.id()], percent_off="50")
    await member.post("/cart")
    await add(member, both.variant_id, 3)
    await add(member, only_users.variant_id, 2)
    guests = await add(shopper, both.variant_id, 4)

    async def associate(**more: Any) -> Answer:
        return await member.patch("/cart/associate", guest_order_token=shopper.order_token, **more)

    preview = await associate(dry_run=True)
    before = await shopper.get("/cart")
    cart = await associate()

    for answer in (preview, cart):
        assert (answer["number"], cart_totals(answer)) == (guests["number"], (7, "26.0", "26.0"))
        merge = answer.json["meta"]["merge"]
        assert merge["moved"] == [
            {"variant_id": both.variant_id, "quantity": 1},
            {"variant_id": only_users.variant_id, "quantity": 2},
        ]
        assert merge["capped"] == [{"variant_id": both.variant_id, "quantity": 2}]
    assert cart_totals(before) == (4, "40.0", "40.0")
    assert await db.fetchval("select count(*) from orders where user_id = $1", await member.id()) == 1


@pytest.mark.parametrize(("strategy", "item_count"), [("keep_guest", 4), ("keep_user", 3)])
async def test_a_keep_strategy_leaves_one_of_two_carts_unchanged(
    make: Make, shopper: Shopper, http: httpx2.AsyncClient, strategy: str, item_count: int
) -> None:
    member = await sign_in(http)
    mug = await make.product(price="10", on_hand=5)
    await member.post("/cart")
    await add(member, mug.variant_id, 3)
    await add(shopper, mug.variant_id, 4)

    cart = await member.patch("/cart/associate", guest_order_token=shopper.order_token, strategy=strategy)

    assert cart_totals(cart)[0] == item_count


async def test_taxes_of_the_default_zone_apply_until_an_address_is_known(make: Make, shopper: Shopper, db: Any) -> None:
    category = (await make.new("tax_categories", "tax_category", name=uuid4().hex)).id
    mug = await make.product(price="10.05", on_hand=9, tax_category_id=category)
    zone_id = uuid4()
    await db.execute(
        "insert into zones (id, name, default_tax, created_at, updated_at) values ($1, $2, true, now(), now())",
        zone_id,
        zone_id.hex,
    )
    try:
        await db.execute(
            "insert into tax_rates (id, name, amount, zone_id, tax_category_id, created_at, updated_at) "
            "values ($1, 'Sales tax', 0.1, $2, $3, now(), now())",
            uuid4(),
            zone_id,
            UUID(category),
        )
        cart = await add(shopper, mug.variant_id, 3)
    finally:
        await db.execute("delete from tax_rates where zone_id = $1", zone_id)
        await db.execute("delete from zones where id = $1", zone_id)

    assert (cart["item_total"], cart["additional_tax_total"], cart["adjustment_total"], cart["total"]) == (
        "30.15",
        "3.02",
        "3.02",
        "33.17",
    )


async def test_deleted_variants_are_omitted_from_the_included_records(make: Make, shopper: Shopper) -> None:
    product = await make.product(price="1", on_hand=9)
    await add(shopper, product.variant_id)
    await make.remove("products", product.id)

    carts = [await shopper.get("/cart", include=include) for include in ("line_items.variant", "variants")]

    assert [answer.status for answer in carts] == [200, 200]
    assert [each["type"] for answer in carts for each in answer.json["included"]] == ["line_item"]
    assert carts[0].json["included"][0]["relationships"]["variant"] == {"data": None}


async def test_a_cart_total_that_is_too_large_is_422(make: Make, shopper: Shopper) -> None:
    product = await make.product(price="9999999999999.98")
    await make.stock(product.variant_id, backorderable=True)

    too_much, enough = await add(shopper, product.variant_id, 1_000_000), await add(shopper, product.variant_id, 10)

    assert (too_much.status, list(too_much.json["errors"])) == (422, ["base"])
    assert (enough.status, enough["total"]) == (200, "99999999999999.8")


@pytest.mark.security("C-06")
async def test_a_repeated_empty_keeps_items_that_were_added_since(shopper: Shopper, make: Make) -> None:
    product = await make.product(price="1", on_hand=9)
    key = {"Idempotency-Key": uuid4().hex}
    await add(shopper, product.variant_id)
    await shopper.ask("PATCH", "/cart/empty", headers=key)
    await add(shopper, product.variant_id)

    again = await shopper.ask("PATCH", "/cart/empty", headers=key)

    assert (again.status, again["item_count"], (await shopper.get("/cart"))["item_count"]) == (200, 1, 1)
