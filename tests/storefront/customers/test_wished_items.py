"""Items of a wishlist: adding, changing and removing them, and their prices for each viewer."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from shop.models.customers.inputs import MAX_WISHED_ITEMS
from tests.accounts import Member, sign_in
from tests.builders import Make
from tests.concurrency import run_concurrently
from tests.shopper import Answer, Shopper
from tests.storefront.product_lists import included, related_ids, word
from tests.wishlists import add_items

PAST = (datetime.now(UTC) - timedelta(days=1)).isoformat()


class WishlistOwner:
    """A signed-in shopper with one list."""

    def __init__(self, member: Member, wishlist: Answer) -> None:
        self.member = member
        self.id = wishlist.id
        self.token: str = wishlist["token"]
        self.path = f"/wishlists/{self.token}"

    async def add(self, variant_id: Any, *, headers: dict[str, str] | None = None, **fields: Any) -> Answer:
        return await self.member.post(f"{self.path}/add_item", headers=headers, variant_id=variant_id, **fields)

    async def put(self, *items: Any, headers: dict[str, str] | None = None) -> Answer:
        return await self.member.post(f"{self.path}/add_items", headers=headers, wished_items=list(items))

    async def set(self, item_id: str, *, headers: dict[str, str] | None = None, **body: Any) -> Answer:
        path = f"{self.path}/set_item_quantity/{item_id}"
        return await self.member.ask("PATCH", path, headers=headers, json=body)

    async def remove(self, ids: Any) -> Answer:
        return await self.member.ask("DELETE", f"{self.path}/remove_items", json={"wished_items_ids": ids})

    async def items(self, viewer: Any = None, **params: str) -> list[dict[str, Any]]:
        return items_of(await self.load(viewer, **params))

    async def load(self, viewer: Any = None, include: str = "wished_items", **params: str) -> Answer:
        query = "&".join(f"{name}={value}" for name, value in {"include": include, **params}.items())
        answer: Answer = await (viewer or self.member).get(f"{self.path}?{query}")
        assert answer.status == 200, answer
        return answer

    async def quantities(self) -> dict[str, int]:
        """The quantity of each variant, in the order of the items."""
        return {related_ids(item, "variant"): item["attributes"]["quantity"] for item in await self.items()}


def items_of(answer: Answer) -> list[dict[str, Any]]:
    records = included(answer, "wished_item")
    return [records[item_id] for item_id in related_ids(answer.json["data"], "wished_items")]


@pytest.fixture
async def wishlist_owner(http: httpx2.AsyncClient) -> WishlistOwner:
    member = await sign_in(http)
    return WishlistOwner(member, await member.post("/wishlists", name="Birthday", is_private=False))


async def test_an_item_is_shown_with_its_variant_and_price(make: Make, wishlist_owner: WishlistOwner) -> None:
    mug = await make.product(price="12.50")

    item = await wishlist_owner.add(mug.variant_id, quantity=2)

    assert (item.status, item.json["data"]["type"]) == (200, "wished_item")
    assert item.json["data"]["attributes"] == {
        "quantity": 2,
        "price": "12.5",
        "display_price": "$12.50",
        "total": "25.0",
        "display_total": "$25.00",
        "notify_when_in_stock": False,
    }
    assert item.json["data"]["relationships"] == {"variant": {"data": {"id": mug.variant_id, "type": "variant"}}}
    assert await wishlist_owner.items() == [item.json["data"]]


async def test_the_default_quantity_is_one_and_forms_are_accepted(make: Make, wishlist_owner: WishlistOwner) -> None:
    mug, cup = await make.product(), await make.product()

    await wishlist_owner.add(mug.variant_id)
    response = await wishlist_owner.member.ask(
        "POST", f"{wishlist_owner.path}/add_item", data={"variant_id": cup.variant_id, "quantity": "3"}
    )

    assert response.status == 200
    assert await wishlist_owner.quantities() == {mug.variant_id: 1, cup.variant_id: 3}


async def test_adding_a_variant_again_leaves_the_item_unchanged(make: Make, wishlist_owner: WishlistOwner) -> None:
    mug = await make.product()
    first = await wishlist_owner.add(mug.variant_id, quantity=2)

    again = await wishlist_owner.add(mug.variant_id, quantity=5)

    assert (again.status, again.json) == (200, first.json)
    assert await wishlist_owner.quantities() == {mug.variant_id: 2}


async def test_concurrent_additions_of_one_variant_create_one_item(
    make: Make, wishlist_owner: WishlistOwner, db: Any
) -> None:
    mug = await make.product()
    requests = [wishlist_owner.add(mug.variant_id, quantity=number + 1) for number in range(6)]

    answers = await run_concurrently(db, "wishlists", wishlist_owner.id, *requests)

    assert {answer.status for answer in answers} == {200}
    assert {(answer.id, answer["quantity"]) for answer in answers} == {(answers[0].id, answers[0]["quantity"])}
    assert await wishlist_owner.quantities() == {mug.variant_id: answers[0]["quantity"]}


NO_VARIANT: dict[str, Any] = {
    "none": None,
    "empty": "",
    "a number": 7,
    "a list": [],
    "no id": "x" * 36,
    "unknown": str(uuid4()),
}


@pytest.mark.parametrize("variant_id", NO_VARIANT.values(), ids=NO_VARIANT.keys())
async def test_an_unknown_variant_cannot_be_added(make: Make, wishlist_owner: WishlistOwner, variant_id: Any) -> None:
    mug = await make.product()

    one = await wishlist_owner.add(variant_id)
    several = await wishlist_owner.put({"variant_id": mug.variant_id}, {"variant_id": variant_id})

    assert (one.status, one.code, list(one.json["errors"])) == (422, "validation_failed", ["variant_id"])
    assert (several.status, several.code) == (422, "validation_failed")
    assert list(several.json["errors"]) == ["wished_items.1.variant_id"]
    assert await wishlist_owner.quantities() == {}


async def test_an_unavailable_variant_gets_the_same_422_as_an_unknown_one(
    make: Make, wishlist_owner: WishlistOwner
) -> None:
    draft, old = await make.product(status="draft"), await make.product(discontinue_on=PAST)
    deleted_product, with_options = await make.product(), await make.product(options={word(): ["m"]})
    await make.remove("products", deleted_product.id)

    answers = [
        await wishlist_owner.add(variant_id)
        for variant_id in (
            draft.variant_id,
            old.variant_id,
            deleted_product.variant_id,
            with_options.master,
            str(uuid4()),
        )
    ]

    bodies = [{**answer.json, "request_id": ""} for answer in answers]
    assert [answer.status for answer in answers] == [422] * 5
    assert all(each == bodies[0] for each in bodies)


async def test_variants_out_of_stock_or_without_a_price_can_be_added(make: Make, wishlist_owner: WishlistOwner) -> None:
    out, without_price = await make.product(on_hand=0), await make.product(price=None)

    assert (await wishlist_owner.add(out.variant_id))["price"] == "10.0"
    item = await wishlist_owner.add(without_price.variant_id, quantity=3)

    assert item.status == 200
    assert [item[name] for name in ("price", "display_price", "total", "display_total")] == [None] * 4


QUANTITIES: dict[str, Any] = {
    "zero": 0,
    "negative": -1,
    "too many": 1_000_001,
    "a fraction": 1.5,
    "text": "two",
    "digits of another script": "\u0661",
    "null": None,
    "empty": "",
    "true": True,
    "a list": [1],
    "an object": {"a": 1},
}


@pytest.mark.parametrize("quantity", QUANTITIES.values(), ids=QUANTITIES.keys())
async def test_an_invalid_quantity_is_422_in_every_operation(
    make: Make, wishlist_owner: WishlistOwner, quantity: Any
) -> None:
    mug, cup = await make.product(), await make.product()
    item_id = (await wishlist_owner.add(mug.variant_id, quantity=2)).id

    one = await wishlist_owner.add(cup.variant_id, quantity=quantity)
    several = await wishlist_owner.put(
        {"variant_id": mug.variant_id}, {"variant_id": cup.variant_id, "quantity": quantity}
    )
    update = await wishlist_owner.set(item_id, quantity=quantity)

    fields = ["quantity", "wished_items.1.quantity", "quantity"]
    for answer, field in zip((one, several, update), fields, strict=True):
        assert (answer.status, answer.code, list(answer.json["errors"])) == (422, "quantity_not_positive", [field])
        assert answer.headers["content-type"] == "application/vnd.api+json; charset=utf-8"
    assert await wishlist_owner.quantities() == {mug.variant_id: 2}


async def test_the_quantity_can_be_changed(make: Make, wishlist_owner: WishlistOwner) -> None:
    mug = await make.product(price="2")
    item_id = (await wishlist_owner.add(mug.variant_id)).id

    most, few = [await wishlist_owner.set(item_id, quantity=quantity) for quantity in (1_000_000, "3")]

    assert (most.status, most.id, most["total"]) == (200, item_id, "2000000.0")
    assert (few["quantity"], few["total"]) == (3, "6.0")
    assert await wishlist_owner.quantities() == {mug.variant_id: 3}


async def test_the_maximum_quantity_at_the_maximum_price_has_a_correct_total(
    make: Make, wishlist_owner: WishlistOwner
) -> None:
    jewel = await make.product(price="9999999999999.99")

    item = await wishlist_owner.add(jewel.variant_id, quantity=1_000_000)
    record = await make.machine.get(f"/wished_items/{item.id}")

    assert (item["total"], record["total"]) == ("9999999999999990000.0", "9999999999999990000.0")


async def test_an_item_is_found_only_in_its_own_wishlist(make: Make, wishlist_owner: WishlistOwner) -> None:
    other = WishlistOwner(wishlist_owner.member, await wishlist_owner.member.post("/wishlists", name="Other"))
    mug = await make.product()
    other_item_id = (await other.add(mug.variant_id)).id

    for item_id in (other_item_id, str(uuid4()), "nothing", "%00"):
        answers = [
            await wishlist_owner.set(item_id, quantity=2),
            await wishlist_owner.member.delete(f"{wishlist_owner.path}/remove_item/{item_id}"),
        ]
        assert [(answer.status, answer.code) for answer in answers] == [(404, "not_found")] * 2
    # The quantity is checked before the item is looked up.
    assert (await wishlist_owner.set(str(uuid4()), quantity=0)).status == 422
    assert await other.quantities() == {mug.variant_id: 1}


async def test_removing_an_item_returns_it_as_it_was(make: Make, wishlist_owner: WishlistOwner) -> None:
    mug, cup = await make.product(price="2"), await make.product()
    item = await wishlist_owner.add(mug.variant_id, quantity=3)
    await wishlist_owner.add(cup.variant_id)

    deletion = await wishlist_owner.member.delete(f"{wishlist_owner.path}/remove_item/{item.id}?include=variant")
    again = await wishlist_owner.member.delete(f"{wishlist_owner.path}/remove_item/{item.id}")

    assert (deletion.status, deletion.json["data"]) == (200, item.json["data"])
    assert list(included(deletion, "variant")) == [mug.variant_id]
    assert again.status == 404
    assert await wishlist_owner.quantities() == {cup.variant_id: 1}


async def test_several_items_are_added_in_order_and_existing_ones_get_the_new_quantity(
    make: Make, wishlist_owner: WishlistOwner
) -> None:
    existing, *new = [(await make.product()).variant_id for _ in range(6)]
    item_id = (await wishlist_owner.add(existing, quantity=7)).id
    items = [{"variant_id": variant_id, "quantity": index + 2} for index, variant_id in enumerate(new)]

    put = await wishlist_owner.put(*items, {"variant_id": existing}, {"variant_id": new[0], "quantity": 9})

    assert (put.status, put.json["data"]["type"], put["token"]) == (200, "wishlist", wishlist_owner.token)
    assert related_ids(put.json["data"], "wished_items")[0] == item_id
    assert list((await wishlist_owner.quantities()).items()) == [
        (existing, 1),
        *((variant_id, 9 if index == 0 else index + 2) for index, variant_id in enumerate(new)),
    ]


async def test_if_one_of_several_items_is_invalid_none_is_added(make: Make, wishlist_owner: WishlistOwner) -> None:
    mug, cup = await make.product(), await make.product()
    await wishlist_owner.add(mug.variant_id, quantity=2)

    refusal = await wishlist_owner.put(
        {"variant_id": mug.variant_id, "quantity": 5}, {"variant_id": cup.variant_id}, {"variant_id": str(uuid4())}
    )
    unread = await wishlist_owner.put({"variant_id": cup.variant_id}, 7, {"quantity": 0})

    assert (refusal.status, list(refusal.json["errors"])) == (422, ["wished_items.2.variant_id"])
    assert (unread.status, unread.code) == (422, "validation_failed")
    assert set(unread.json["errors"]) == {"wished_items.1", "wished_items.2.variant_id", "wished_items.2.quantity"}
    assert await wishlist_owner.quantities() == {mug.variant_id: 2}


@pytest.mark.parametrize("body", [{}, {"wished_items": []}, {"wished_items": {}}, {"wished_items": "x"}])
async def test_several_items_must_be_sent_as_a_list(wishlist_owner: WishlistOwner, body: dict[str, Any]) -> None:
    put = await wishlist_owner.member.ask("POST", f"{wishlist_owner.path}/add_items", json=body)

    assert (put.status, list(put.json["errors"])) == (422, ["wished_items"])


async def test_several_items_are_removed_and_those_of_other_wishlists_ignored(
    make: Make, wishlist_owner: WishlistOwner
) -> None:
    other = WishlistOwner(wishlist_owner.member, await wishlist_owner.member.post("/wishlists", name="Other"))
    first_variant, *others = [(await make.product()).variant_id for _ in range(4)]
    ids = [(await wishlist_owner.add(variant_id)).id for variant_id in (first_variant, *others)]
    other_item_id = (await other.add(first_variant)).id

    response = await wishlist_owner.remove([ids[1], other_item_id, str(uuid4()), ids[1]])
    by_query = await wishlist_owner.member.delete(
        f"{wishlist_owner.path}/remove_items?wished_items_ids={ids[2]},{ids[3]}"
    )

    assert (response.status, related_ids(response.json["data"], "wished_items")) == (200, [ids[0], *ids[2:]])
    assert (by_query.status, related_ids(by_query.json["data"], "wished_items")) == (200, [ids[0]])
    assert await other.quantities() == {first_variant: 1}


@pytest.mark.parametrize(
    "ids", [None, [], {}, 7, "", "x", ["x"], [7], [[]], [str(uuid4()), "x"], [str(uuid4())] * (MAX_WISHED_ITEMS + 1)]
)
async def test_an_invalid_list_of_ids_removes_nothing(make: Make, wishlist_owner: WishlistOwner, ids: Any) -> None:
    mug = await make.product()
    await wishlist_owner.add(mug.variant_id)

    refusal = await wishlist_owner.remove(ids)

    assert (refusal.status, list(refusal.json["errors"])) == (422, ["wished_items_ids"])
    assert await wishlist_owner.quantities() == {mug.variant_id: 1}


async def test_a_wishlist_has_a_maximum_number_of_items(make: Make, wishlist_owner: WishlistOwner, db: Any) -> None:
    product, rest = await make.product(), [(await make.product()).variant_id for _ in range(3)]
    await add_items(db, wishlist_owner.id, product.id, MAX_WISHED_ITEMS - 1)

    together = await wishlist_owner.put(*({"variant_id": variant_id} for variant_id in rest[:2]))
    answers = await run_concurrently(
        db, "wishlists", wishlist_owner.id, *(wishlist_owner.add(variant_id) for variant_id in rest)
    )

    assert (together.status, list(together.json["errors"])) == (422, ["base"])
    assert sorted(answer.status for answer in answers) == [200, 422, 422]
    success = next(answer for answer in answers if answer.status == 200)
    assert (await wishlist_owner.add(related_ids(success.json["data"], "variant"))).id == success.id
    assert len(await wishlist_owner.items()) == MAX_WISHED_ITEMS


async def test_an_idempotency_key_adds_once_and_returns_the_same_item(
    make: Make, wishlist_owner: WishlistOwner
) -> None:
    mug, cup = await make.product(), await make.product()
    one, several = {"Idempotency-Key": uuid4().hex}, {"Idempotency-Key": uuid4().hex}

    first = await wishlist_owner.add(mug.variant_id, headers=one)
    put = await wishlist_owner.put(
        {"variant_id": mug.variant_id, "quantity": 4}, {"variant_id": cup.variant_id}, headers=several
    )
    await wishlist_owner.set(first.id, quantity=2)
    again = await wishlist_owner.add(mug.variant_id, headers=one)
    put_again = await wishlist_owner.put(
        {"variant_id": mug.variant_id, "quantity": 4}, {"variant_id": cup.variant_id}, headers=several
    )

    assert (again.status, again.id, again["quantity"]) == (200, first.id, 2)
    assert (put_again.status, put_again.json) == (200, put.json)
    assert await wishlist_owner.quantities() == {mug.variant_id: 2, cup.variant_id: 1}
    key = {"Idempotency-Key": uuid4().hex}
    updates = [
        await wishlist_owner.set(first.id, headers=headers, quantity=9 if headers else 5)
        for headers in (key, None, key)
    ]
    assert [answer["quantity"] for answer in updates] == [9, 5, 5]
    await wishlist_owner.member.delete(f"{wishlist_owner.path}/remove_item/{first.id}")
    assert (await wishlist_owner.add(mug.variant_id, headers=one)).status == 404


async def test_each_viewer_sees_their_own_prices_in_the_requested_currency(
    make: Make, wishlist_owner: WishlistOwner, http: httpx2.AsyncClient, guest: Shopper
) -> None:
    other = await sign_in(http)
    mug = await make.product(price="10", prices={"EUR": "8"})
    mine = await make.price_list(users=[await wishlist_owner.member.id()], percent_off="50")
    await make.entry(mine, mug.variant_id, "3", min_quantity=2)
    await make.price_list(users=[await other.id()], entries={mug.variant_id: "9"})
    item_id = (await wishlist_owner.add(mug.variant_id)).id

    async def prices_for(viewer: Any = None, **params: str) -> tuple[Any, ...]:
        (item,) = await wishlist_owner.items(viewer, **params)
        return tuple(item["attributes"][name] for name in ("price", "total", "display_total"))

    assert await prices_for() == ("5.0", "5.0", "$5.00")
    # From a quantity of two, each item costs less.
    assert (await wishlist_owner.set(item_id, quantity=2))["total"] == "6.0"
    assert await prices_for() == ("3.0", "6.0", "$6.00")
    assert await prices_for(other) == ("9.0", "18.0", "$18.00")
    assert await prices_for(guest) == ("10.0", "20.0", "$20.00")
    assert await prices_for(guest, currency="eur") == ("8.0", "16.0", "€16.00")
    assert await prices_for(other, currency="JPY") == (None, None, None)
    assert await prices_for(guest, currency="nonsense") == ("10.0", "20.0", "$20.00")


async def test_one_variant_in_two_wishlists_is_priced_by_each_quantity(
    make: Make, wishlist_owner: WishlistOwner
) -> None:
    other = WishlistOwner(wishlist_owner.member, await wishlist_owner.member.post("/wishlists", name="Other"))
    mug = await make.product(price="10")
    mine = await make.price_list(users=[await wishlist_owner.member.id()])
    await make.entry(mine, mug.variant_id, "6", min_quantity=5)
    one, five = (await wishlist_owner.add(mug.variant_id)).id, (await other.add(mug.variant_id, quantity=5)).id

    answer = await wishlist_owner.member.get("/wishlists?include=wished_items")

    totals = {item_id: item["attributes"]["total"] for item_id, item in included(answer, "wished_item").items()}
    assert totals == {one: "10.0", five: "30.0"}


async def test_variants_and_their_relations_can_be_included_in_a_wishlist(
    make: Make, wishlist_owner: WishlistOwner, guest: Shopper
) -> None:
    mug = await make.product(price="2", options={word(): ["m"]})
    await wishlist_owner.add(mug.variant_id)

    for viewer in (wishlist_owner.member, guest):
        wishlist = await wishlist_owner.load(viewer, "wished_items.variant.product,wished_items.variant.option_values")
        assert included(wishlist, "variant")[mug.variant_id]["attributes"]["price"] == "2.0"
        assert list(included(wishlist, "product")) == [mug.id]
        assert len(included(wishlist, "option_value")) == 1
    refusal = await wishlist_owner.member.get(f"{wishlist_owner.path}?include=wished_items.wishlist")
    assert (refusal.status, refusal.code) == (400, "unknown_include")


async def test_unavailable_items_remain_in_the_wishlist_without_a_price(
    make: Make, wishlist_owner: WishlistOwner
) -> None:
    active_product, archived_product, old, deleted_product = [await make.product() for _ in range(4)]
    for each in (active_product, archived_product, old, deleted_product):
        await wishlist_owner.add(each.variant_id, quantity=2)
    await make.change("products", archived_product.id, "product", status="archived")
    await make.change("products", old.id, "product", discontinue_on=PAST)
    await make.remove("products", deleted_product.id)

    plain, whole = await wishlist_owner.load(), await wishlist_owner.load(include="wished_items.variant.product")

    for answer in (plain, whole):
        prices = [(item["attributes"]["price"], item["attributes"]["total"]) for item in items_of(answer)]
        assert prices == [("10.0", "20.0"), (None, None), (None, None), (None, None)]
        # A deleted product has no variant to show.
        assert [related_ids(item, "variant") for item in items_of(answer)] == [
            active_product.variant_id,
            archived_product.variant_id,
            old.variant_id,
            None,
        ]
    variants = included(whole, "variant")
    assert [variants[each.variant_id]["attributes"]["purchasable"] for each in (archived_product, old)] == [
        False,
        False,
    ]
    assert archived_product.id not in included(whole, "product")
    # Such items can still be changed and removed.
    item_ids = related_ids(plain.json["data"], "wished_items")
    assert (await wishlist_owner.set(item_ids[3], quantity=1)).status == 200
    put = await wishlist_owner.put({"variant_id": archived_product.variant_id, "quantity": 5})
    assert (put.status, (await wishlist_owner.add(archived_product.variant_id))["quantity"]) == (200, 5)
    response = await wishlist_owner.remove(item_ids[1:])
    assert related_ids(response.json["data"], "wished_items") == item_ids[:1]
