"""Wishlists over the Platform API: applications see those of all users, under the rules of their owners."""

from typing import Any
from uuid import uuid4

import httpx2
import pytest

from shop.models.customers.inputs import MAX_WISHED_ITEMS
from shop.rules.customers.wishlists import MAX_LISTS
from tests.accounts import Member, sign_in
from tests.builders import Make
from tests.concurrency import run_concurrently
from tests.platform.invalid_values import INVALID_VALUES, assert_refused
from tests.shopper import Answer
from tests.wishlists import add_items, add_lists


@pytest.fixture
async def member(http: httpx2.AsyncClient) -> Member:
    return await sign_in(http)


async def new_list(make: Make, member: Member, **fields: Any) -> Answer:
    return await make.new("wishlists", "wishlist", **{"user_id": str(await member.id()), "name": "Birthday", **fields})


async def test_the_owner_sees_items_that_an_application_added(make: Make, member: Member) -> None:
    wishlist = await new_list(make, member)
    mug = await make.product(price="10")
    item = await make.new("wished_items", "wished_item", wishlist_id=wishlist.id, variant_id=mug.variant_id, quantity=3)

    response = await member.get(f"/wishlists/{wishlist['token']}?include=wished_items")

    assert (response.id, response["name"], response["is_private"]) == (wishlist.id, "Birthday", True)
    assert (response.json["included"][0]["id"], response.json["included"][0]["attributes"]["total"]) == (
        item.id,
        "30.0",
    )
    assert (item["currency"], item["price"], item["total"]) == ("USD", "10.0", "30.0")


async def test_wishlists_are_filtered_by_name_user_and_token(make: Make, member: Member) -> None:
    name = f"List {uuid4().hex}"
    wishlist = await member.post("/wishlists", name=name)
    user_id = str(await member.id())

    filters = {"name_eq": name, "user_id_eq": user_id, "user_email_eq": member.email, "token_eq": wishlist["token"]}
    for field, value in filters.items():
        response = await make.machine.get("/wishlists", {f"filter[{field}]": value, "include": "user"})
        assert [each["id"] for each in response.json["data"]] == [wishlist.id]
        assert [each["id"] for each in response.json["included"]] == [user_id]


async def test_a_user_has_only_one_default_wishlist(make: Make, member: Member, db: Any) -> None:
    first = await member.get("/wishlists/default")
    second, third = await new_list(make, member, is_default=True), await new_list(make, member)

    async def defaults() -> list[str]:
        response = await make.machine.get(
            "/wishlists", {"filter[user_id_eq]": str(await member.id()), "filter[is_default_true]": "1"}
        )
        return [each["id"] for each in response.json["data"]]

    assert await defaults() == [second.id]
    body = {"wishlist": {"is_default": True}}
    answers = await run_concurrently(
        db,
        "users",
        await member.id(),
        *(make.machine.patch(f"/wishlists/{each.id}", body) for each in (first, third)),
        member.patch(f"/wishlists/{second['token']}", is_default=True),
    )
    assert [answer.status for answer in answers] == [200] * 3
    assert len(await defaults()) == 1


@pytest.mark.parametrize("name", [*INVALID_VALUES["text"], " ", "", None, "x" * 256, "a\nb"], ids=repr)
async def test_an_invalid_name_is_refused_with_a_field_error(make: Make, member: Member, name: Any) -> None:
    wishlist = await new_list(make, member)

    fields = {"user_id": str(await member.id()), "name": name}
    assert_refused(await make.machine.post("/wishlists", {"wishlist": fields}), "name")
    assert_refused(await make.machine.patch(f"/wishlists/{wishlist.id}", {"wishlist": {"name": name}}), "name")


@pytest.mark.parametrize("quantity", [0, -1, 1_000_001, "", None, "x", 1.5, 2**52])
async def test_an_invalid_quantity_is_refused_with_a_field_error(make: Make, member: Member, quantity: Any) -> None:
    fields = {"wishlist_id": (await new_list(make, member)).id, "variant_id": (await make.product()).variant_id}
    item = await make.new("wished_items", "wished_item", **fields)

    assert_refused(
        await make.machine.post("/wished_items", {"wished_item": {**fields, "quantity": quantity}}), "quantity"
    )
    refusal = await make.machine.patch(f"/wished_items/{item.id}", {"wished_item": {"quantity": quantity}})
    assert_refused(refusal, "quantity")


async def test_unknown_users_wishlists_and_variants_are_refused(make: Make, member: Member) -> None:
    deleted_product, mug, list_id = await make.product(), await make.product(), (await new_list(make, member)).id
    await make.remove("products", deleted_product.id)
    unknown_id = str(uuid4())

    async def create(path: str, kind: str, **fields: str) -> Answer:
        return await make.machine.post(f"/{path}", {kind: fields})

    assert_refused(await create("wishlists", "wishlist", user_id=unknown_id, name="a"), "user_id")
    items = "wished_items", "wished_item"
    assert_refused(await create(*items, wishlist_id=unknown_id, variant_id=mug.variant_id), "wishlist_id")
    assert_refused(await create(*items, wishlist_id=list_id, variant_id=unknown_id), "variant_id")
    assert_refused(await create(*items, wishlist_id=list_id, variant_id=deleted_product.variant_id), "variant_id")
    await make.new(*items, wishlist_id=list_id, variant_id=mug.variant_id)
    assert_refused(await create(*items, wishlist_id=list_id, variant_id=mug.variant_id), "variant_id")


async def test_the_maximum_numbers_of_wishlists_and_items_apply_to_applications(
    make: Make, member: Member, db: Any
) -> None:
    user_id, list_id, products = (
        await member.id(),
        (await new_list(make, member)).id,
        [await make.product() for _ in range(2)],
    )
    await add_lists(db, user_id, MAX_LISTS - 2)
    await add_items(db, list_id, products[0].id, MAX_WISHED_ITEMS - 1)
    body = {"wishlist": {"user_id": str(user_id), "name": "the last"}}

    lists = await run_concurrently(db, "users", user_id, *(make.machine.post("/wishlists", body) for _ in range(2)))
    items = await run_concurrently(
        db,
        "wishlists",
        list_id,
        *(
            make.machine.post("/wished_items", {"wished_item": {"wishlist_id": list_id, "variant_id": each.variant_id}})
            for each in products
        ),
    )

    for answers in (lists, items):
        success, refusal = sorted(answers, key=lambda answer: answer.status)
        assert success.status == 201
        assert_refused(refusal, "base")
