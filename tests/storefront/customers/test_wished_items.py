"""What stands on a wishlist: put there, changed, taken away; and what it costs whoever looks."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import httpx
import pytest

from shop.rules.customers.wishlists import MOST_ITEMS
from tests.accounts import Member, sign_in
from tests.builders import Make
from tests.concurrency import at_once
from tests.shopper import Answer, Shopper
from tests.storefront.product_lists import included, linked, word
from tests.wishlists import add_items

PAST = (datetime.now(UTC) - timedelta(days=1)).isoformat()


class Wisher:
    """A signed-in shopper with one list."""

    def __init__(self, member: Member, wishlist: Answer) -> None:
        self.member = member
        self.id = wishlist.id
        self.token: str = wishlist["token"]
        self.path = f"/wishlists/{self.token}"

    async def add(self, variant_id: Any, *, headers: dict[str, str] | None = None, **fields: Any) -> Answer:
        return await self.member.post(f"{self.path}/add_item", headers=headers, variant_id=variant_id, **fields)

    async def put(self, *wishes: Any, headers: dict[str, str] | None = None) -> Answer:
        return await self.member.post(f"{self.path}/add_items", headers=headers, wished_items=list(wishes))

    async def set(self, item_id: str, *, headers: dict[str, str] | None = None, **body: Any) -> Answer:
        path = f"{self.path}/set_item_quantity/{item_id}"
        return await self.member.ask("PATCH", path, headers=headers, json=body)

    async def remove(self, ids: Any) -> Answer:
        return await self.member.ask("DELETE", f"{self.path}/remove_items", json={"wished_items_ids": ids})

    async def items(self, viewer: Any = None, **params: str) -> list[dict[str, Any]]:
        return items_of(await self.seen(viewer, **params))

    async def seen(self, viewer: Any = None, include: str = "wished_items", **params: str) -> Answer:
        query = "&".join(f"{name}={value}" for name, value in {"include": include, **params}.items())
        answer: Answer = await (viewer or self.member).get(f"{self.path}?{query}")
        assert answer.status == 200, answer
        return answer

    async def pieces(self) -> dict[str, int]:
        """How many of each variant are wished for, in their order."""
        return {linked(item, "variant"): item["attributes"]["quantity"] for item in await self.items()}


def items_of(answer: Answer) -> list[dict[str, Any]]:
    records = included(answer, "wished_item")
    return [records[item_id] for item_id in linked(answer.json["data"], "wished_items")]


@pytest.fixture
async def wisher(http: httpx.AsyncClient) -> Wisher:
    member = await sign_in(http)
    return Wisher(member, await member.post("/wishlists", name="Birthday", is_private=False))


async def test_a_wish_is_shown_with_its_variant_and_what_it_costs(make: Make, wisher: Wisher) -> None:
    mug = await make.product(price="12.50")

    item = await wisher.add(mug.sold, quantity=2)

    assert (item.status, item.json["data"]["type"]) == (200, "wished_item")
    assert item.json["data"]["attributes"] == {
        "quantity": 2,
        "price": "12.5",
        "display_price": "$12.50",
        "total": "25.0",
        "display_total": "$25.00",
    }
    assert item.json["data"]["relationships"] == {"variant": {"data": {"id": mug.sold, "type": "variant"}}}
    assert await wisher.items() == [item.json["data"]]


async def test_without_a_quantity_one_is_wished_for_and_a_form_is_read_too(make: Make, wisher: Wisher) -> None:
    mug, cup = await make.product(), await make.product()

    await wisher.add(mug.sold)
    response = await wisher.member.ask(
        "POST", f"{wisher.path}/add_item", data={"variant_id": cup.sold, "quantity": "3"}
    )

    assert response.status == 200
    assert await wisher.pieces() == {mug.sold: 1, cup.sold: 3}


async def test_the_same_variant_again_is_the_same_item_as_it_was(make: Make, wisher: Wisher) -> None:
    mug = await make.product()
    first = await wisher.add(mug.sold, quantity=2)

    again = await wisher.add(mug.sold, quantity=5)

    assert (again.status, again.json) == (200, first.json)
    assert await wisher.pieces() == {mug.sold: 2}


async def test_of_many_who_add_one_variant_at_once_the_first_makes_the_item(
    make: Make, wisher: Wisher, db: Any
) -> None:
    mug = await make.product()
    requests = [wisher.add(mug.sold, quantity=number + 1) for number in range(6)]

    answers = await at_once(db, "wishlists", wisher.id, *requests)

    assert {answer.status for answer in answers} == {200}
    assert {(answer.id, answer["quantity"]) for answer in answers} == {(answers[0].id, answers[0]["quantity"])}
    assert await wisher.pieces() == {mug.sold: answers[0]["quantity"]}


NO_VARIANT: dict[str, Any] = {
    "none": None,
    "empty": "",
    "a number": 7,
    "a list": [],
    "no id": "x" * 36,
    "nobody's": str(uuid4()),
}


@pytest.mark.parametrize("variant_id", NO_VARIANT.values(), ids=NO_VARIANT.keys())
async def test_what_is_no_variant_cannot_be_wished_for(make: Make, wisher: Wisher, variant_id: Any) -> None:
    mug = await make.product()

    one = await wisher.add(variant_id)
    several = await wisher.put({"variant_id": mug.sold}, {"variant_id": variant_id})

    assert (one.status, one.code, list(one.json["errors"])) == (422, "validation_failed", ["variant_id"])
    assert (several.status, several.code) == (422, "validation_failed")
    assert list(several.json["errors"]) == ["wished_items.1.variant_id"]
    assert await wisher.pieces() == {}


async def test_what_is_not_sold_cannot_be_wished_for_and_is_told_like_what_never_was(
    make: Make, wisher: Wisher
) -> None:
    draft, old = await make.product(status="draft"), await make.product(discontinue_on=PAST)
    deleted_product, with_options = await make.product(), await make.product(options={word(): ["m"]})
    await make.remove("products", deleted_product.id)

    answers = [
        await wisher.add(variant_id)
        for variant_id in (draft.sold, old.sold, deleted_product.sold, with_options.master, str(uuid4()))
    ]

    bodies = [{**answer.json, "request_id": ""} for answer in answers]
    assert [answer.status for answer in answers] == [422] * 5
    assert all(each == bodies[0] for each in bodies)


async def test_what_is_out_of_stock_or_has_no_price_can_be_wished_for(make: Make, wisher: Wisher) -> None:
    out, without_price = await make.product(on_hand=0), await make.product(price=None)

    assert (await wisher.add(out.sold))["price"] == "10.0"
    item = await wisher.add(without_price.sold, quantity=3)

    assert item.status == 200
    assert [item[name] for name in ("price", "display_price", "total", "display_total")] == [None] * 4


QUANTITIES: dict[str, Any] = {
    "zero": 0,
    "less": -1,
    "too many": 1_000_001,
    "a part": 1.5,
    "text": "two",
    "digits of another script": "\u0661",
    "nothing": None,
    "empty": "",
    "true": True,
    "a list": [1],
    "an object": {"a": 1},
}


@pytest.mark.parametrize("quantity", QUANTITIES.values(), ids=QUANTITIES.keys())
async def test_a_quantity_must_be_positive_wherever_it_is_said(make: Make, wisher: Wisher, quantity: Any) -> None:
    mug, cup = await make.product(), await make.product()
    item_id = (await wisher.add(mug.sold, quantity=2)).id

    one = await wisher.add(cup.sold, quantity=quantity)
    several = await wisher.put({"variant_id": mug.sold}, {"variant_id": cup.sold, "quantity": quantity})
    update = await wisher.set(item_id, quantity=quantity)

    fields = ["quantity", "wished_items.1.quantity", "quantity"]
    for answer, field in zip((one, several, update), fields, strict=True):
        assert (answer.status, answer.code, list(answer.json["errors"])) == (422, "quantity_not_positive", [field])
        assert answer.headers["content-type"] == "application/vnd.api+json; charset=utf-8"
    assert await wisher.pieces() == {mug.sold: 2}


async def test_how_many_are_wished_for_can_be_changed(make: Make, wisher: Wisher) -> None:
    mug = await make.product(price="2")
    item_id = (await wisher.add(mug.sold)).id

    most, few = [await wisher.set(item_id, quantity=quantity) for quantity in (1_000_000, "3")]

    assert (most.status, most.id, most["total"]) == (200, item_id, "2000000.0")
    assert (few["quantity"], few["total"]) == (3, "6.0")
    assert await wisher.pieces() == {mug.sold: 3}


async def test_the_most_of_the_dearest_can_be_wished_for(make: Make, wisher: Wisher) -> None:
    jewel = await make.product(price="9999999999999.99")

    item = await wisher.add(jewel.sold, quantity=1_000_000)
    record = await make.machine.get(f"/wished_items/{item.id}")

    assert (item["total"], record["total"]) == ("9999999999999990000.0", "9999999999999990000.0")


async def test_an_item_is_found_on_its_own_list_alone(make: Make, wisher: Wisher) -> None:
    other = Wisher(wisher.member, await wisher.member.post("/wishlists", name="Other"))
    mug = await make.product()
    other_item_id = (await other.add(mug.sold)).id

    for item_id in (other_item_id, str(uuid4()), "nothing", "%00"):
        answers = [
            await wisher.set(item_id, quantity=2),
            await wisher.member.delete(f"{wisher.path}/remove_item/{item_id}"),
        ]
        assert [(answer.status, answer.code) for answer in answers] == [(404, "not_found")] * 2
    # The quantity is looked at first, whether or not there is such an item.
    assert (await wisher.set(str(uuid4()), quantity=0)).status == 422
    assert await other.pieces() == {mug.sold: 1}


async def test_a_removed_item_is_shown_as_it_was_and_is_gone(make: Make, wisher: Wisher) -> None:
    mug, cup = await make.product(price="2"), await make.product()
    item = await wisher.add(mug.sold, quantity=3)
    await wisher.add(cup.sold)

    deletion = await wisher.member.delete(f"{wisher.path}/remove_item/{item.id}?include=variant")
    again = await wisher.member.delete(f"{wisher.path}/remove_item/{item.id}")

    assert (deletion.status, deletion.json["data"]) == (200, item.json["data"])
    assert list(included(deletion, "variant")) == [mug.sold]
    assert again.status == 404
    assert await wisher.pieces() == {cup.sold: 1}


async def test_several_are_put_on_the_list_in_their_order_and_those_there_get_their_new_quantity(
    make: Make, wisher: Wisher
) -> None:
    there, *new = [(await make.product()).sold for _ in range(6)]
    item_id = (await wisher.add(there, quantity=7)).id
    wishes = [{"variant_id": variant_id, "quantity": place + 2} for place, variant_id in enumerate(new)]

    put = await wisher.put(*wishes, {"variant_id": there}, {"variant_id": new[0], "quantity": 9})

    assert (put.status, put.json["data"]["type"], put["token"]) == (200, "wishlist", wisher.token)
    assert linked(put.json["data"], "wished_items")[0] == item_id
    assert list((await wisher.pieces()).items()) == [
        (there, 1),
        *((variant_id, 9 if place == 0 else place + 2) for place, variant_id in enumerate(new)),
    ]


async def test_when_one_of_several_will_not_do_none_is_put_on_the_list(make: Make, wisher: Wisher) -> None:
    mug, cup = await make.product(), await make.product()
    await wisher.add(mug.sold, quantity=2)

    refusal = await wisher.put(
        {"variant_id": mug.sold, "quantity": 5}, {"variant_id": cup.sold}, {"variant_id": str(uuid4())}
    )
    unread = await wisher.put({"variant_id": cup.sold}, 7, {"quantity": 0})

    assert (refusal.status, list(refusal.json["errors"])) == (422, ["wished_items.2.variant_id"])
    assert (unread.status, unread.code) == (422, "validation_failed")
    assert set(unread.json["errors"]) == {"wished_items.1", "wished_items.2.variant_id", "wished_items.2.quantity"}
    assert await wisher.pieces() == {mug.sold: 2}


@pytest.mark.parametrize("body", [{}, {"wished_items": []}, {"wished_items": {}}, {"wished_items": "x"}])
async def test_several_are_sent_as_a_list(wisher: Wisher, body: dict[str, Any]) -> None:
    put = await wisher.member.ask("POST", f"{wisher.path}/add_items", json=body)

    assert (put.status, list(put.json["errors"])) == (422, ["wished_items"])


async def test_several_are_removed_and_those_of_other_lists_are_passed_over(make: Make, wisher: Wisher) -> None:
    other = Wisher(wisher.member, await wisher.member.post("/wishlists", name="Other"))
    first_variant, *others = [(await make.product()).sold for _ in range(4)]
    ids = [(await wisher.add(variant_id)).id for variant_id in (first_variant, *others)]
    other_item_id = (await other.add(first_variant)).id

    response = await wisher.remove([ids[1], other_item_id, str(uuid4()), ids[1]])
    by_query = await wisher.member.delete(f"{wisher.path}/remove_items?wished_items_ids={ids[2]},{ids[3]}")

    assert (response.status, linked(response.json["data"], "wished_items")) == (200, [ids[0], *ids[2:]])
    assert (by_query.status, linked(by_query.json["data"], "wished_items")) == (200, [ids[0]])
    assert await other.pieces() == {first_variant: 1}


@pytest.mark.parametrize(
    "ids", [None, [], {}, 7, "", "x", ["x"], [7], [[]], [str(uuid4()), "x"], [str(uuid4())] * (MOST_ITEMS + 1)]
)
async def test_what_is_no_list_of_ids_removes_nothing(make: Make, wisher: Wisher, ids: Any) -> None:
    mug = await make.product()
    await wisher.add(mug.sold)

    refusal = await wisher.remove(ids)

    assert (refusal.status, list(refusal.json["errors"])) == (422, ["wished_items_ids"])
    assert await wisher.pieces() == {mug.sold: 1}


async def test_a_list_holds_so_many_items_and_no_more(make: Make, wisher: Wisher, db: Any) -> None:
    product, rest = await make.product(), [(await make.product()).sold for _ in range(3)]
    await add_items(db, wisher.id, product.id, MOST_ITEMS - 1)

    together = await wisher.put(*({"variant_id": variant_id} for variant_id in rest[:2]))
    answers = await at_once(db, "wishlists", wisher.id, *(wisher.add(variant_id) for variant_id in rest))

    assert (together.status, list(together.json["errors"])) == (422, ["base"])
    assert sorted(answer.status for answer in answers) == [200, 422, 422]
    there = next(answer for answer in answers if answer.status == 200)
    assert (await wisher.add(linked(there.json["data"], "variant"))).id == there.id
    assert len(await wisher.items()) == MOST_ITEMS


async def test_a_key_adds_once_and_tells_of_the_same_item(make: Make, wisher: Wisher) -> None:
    mug, cup = await make.product(), await make.product()
    one, several = {"Idempotency-Key": uuid4().hex}, {"Idempotency-Key": uuid4().hex}

    first = await wisher.add(mug.sold, headers=one)
    put = await wisher.put({"variant_id": mug.sold, "quantity": 4}, {"variant_id": cup.sold}, headers=several)
    await wisher.set(first.id, quantity=2)
    again = await wisher.add(mug.sold, headers=one)
    put_again = await wisher.put({"variant_id": mug.sold, "quantity": 4}, {"variant_id": cup.sold}, headers=several)

    assert (again.status, again.id, again["quantity"]) == (200, first.id, 2)
    assert (put_again.status, put_again.json) == (200, put.json)
    assert await wisher.pieces() == {mug.sold: 2, cup.sold: 1}
    key = {"Idempotency-Key": uuid4().hex}
    updates = [
        await wisher.set(first.id, headers=headers, quantity=9 if headers else 5) for headers in (key, None, key)
    ]
    assert [answer["quantity"] for answer in updates] == [9, 5, 5]
    await wisher.member.delete(f"{wisher.path}/remove_item/{first.id}")
    assert (await wisher.add(mug.sold, headers=one)).status == 404


async def test_everybody_sees_a_list_at_their_own_prices_in_the_currency_they_ask_for(
    make: Make, wisher: Wisher, http: httpx.AsyncClient, guest: Shopper
) -> None:
    other = await sign_in(http)
    mug = await make.product(price="10", prices={"EUR": "8"})
    mine = await make.price_list(users=[await wisher.member.id()], percent_off="50")
    await make.entry(mine, mug.sold, "3", min_quantity=2)
    await make.price_list(users=[await other.id()], entries={mug.sold: "9"})
    item_id = (await wisher.add(mug.sold)).id

    async def prices_for(viewer: Any = None, **params: str) -> tuple[Any, ...]:
        (item,) = await wisher.items(viewer, **params)
        return tuple(item["attributes"][name] for name in ("price", "total", "display_total"))

    assert await prices_for() == ("5.0", "5.0", "$5.00")
    # So many cost less each.
    assert (await wisher.set(item_id, quantity=2))["total"] == "6.0"
    assert await prices_for() == ("3.0", "6.0", "$6.00")
    assert await prices_for(other) == ("9.0", "18.0", "$18.00")
    assert await prices_for(guest) == ("10.0", "20.0", "$20.00")
    assert await prices_for(guest, currency="eur") == ("8.0", "16.0", "€16.00")
    assert await prices_for(other, currency="JPY") == (None, None, None)
    assert await prices_for(guest, currency="nonsense") == ("10.0", "20.0", "$20.00")


async def test_one_variant_on_two_lists_costs_what_each_quantity_costs(make: Make, wisher: Wisher) -> None:
    other = Wisher(wisher.member, await wisher.member.post("/wishlists", name="Other"))
    mug = await make.product(price="10")
    mine = await make.price_list(users=[await wisher.member.id()])
    await make.entry(mine, mug.sold, "6", min_quantity=5)
    one, five = (await wisher.add(mug.sold)).id, (await other.add(mug.sold, quantity=5)).id

    answer = await wisher.member.get("/wishlists?include=wished_items")

    totals = {item_id: item["attributes"]["total"] for item_id, item in included(answer, "wished_item").items()}
    assert totals == {one: "10.0", five: "30.0"}


async def test_a_variant_and_what_belongs_to_it_can_be_asked_for_with_the_list(
    make: Make, wisher: Wisher, guest: Shopper
) -> None:
    mug = await make.product(price="2", options={word(): ["m"]})
    await wisher.add(mug.sold)

    for viewer in (wisher.member, guest):
        wishlist = await wisher.seen(viewer, "wished_items.variant.product,wished_items.variant.option_values")
        assert included(wishlist, "variant")[mug.sold]["attributes"]["price"] == "2.0"
        assert list(included(wishlist, "product")) == [mug.id]
        assert len(included(wishlist, "option_value")) == 1
    refusal = await wisher.member.get(f"{wisher.path}?include=wished_items.wishlist")
    assert (refusal.status, refusal.code) == (400, "unknown_include")


async def test_what_is_not_sold_any_more_stays_on_the_list_without_a_price(make: Make, wisher: Wisher) -> None:
    active_product, archived_product, old, deleted_product = [await make.product() for _ in range(4)]
    for each in (active_product, archived_product, old, deleted_product):
        await wisher.add(each.sold, quantity=2)
    await make.change("products", archived_product.id, "product", status="archived")
    await make.change("products", old.id, "product", discontinue_on=PAST)
    await make.remove("products", deleted_product.id)

    plain, whole = await wisher.seen(), await wisher.seen(include="wished_items.variant.product")

    for answer in (plain, whole):
        prices = [(item["attributes"]["price"], item["attributes"]["total"]) for item in items_of(answer)]
        assert prices == [("10.0", "20.0"), (None, None), (None, None), (None, None)]
        # Of one that was taken away for good there is nothing left to show.
        assert [linked(item, "variant") for item in items_of(answer)] == [
            active_product.sold,
            archived_product.sold,
            old.sold,
            None,
        ]
    variants = included(whole, "variant")
    assert [variants[each.sold]["attributes"]["purchasable"] for each in (archived_product, old)] == [False, False]
    assert archived_product.id not in included(whole, "product")
    # It can still be changed, and taken off.
    item_ids = linked(plain.json["data"], "wished_items")
    assert (await wisher.set(item_ids[3], quantity=1)).status == 200
    put = await wisher.put({"variant_id": archived_product.sold, "quantity": 5})
    assert (put.status, (await wisher.add(archived_product.sold))["quantity"]) == (200, 5)
    response = await wisher.remove(item_ids[1:])
    assert linked(response.json["data"], "wished_items") == item_ids[:1]
