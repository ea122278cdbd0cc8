"""Wishlists: creating, showing, changing and deleting them; who can see one, and that only its owner changes it."""

import re
from typing import Any
from uuid import uuid4

import asyncpg
import httpx2
import pytest

from shop.rules.customers.wishlists import MAX_LISTS
from tests.accounts import Member, sign_in
from tests.builders import Make
from tests.concurrency import run_concurrently
from tests.service import Service
from tests.shopper import Answer, Shopper
from tests.storefront.product_lists import included, related_ids, word
from tests.wishlists import add_lists


@pytest.fixture
async def member(http: httpx2.AsyncClient) -> Member:
    return await sign_in(http)


async def new_list(member: Member, name: str = "Birthday", **fields: Any) -> Answer:
    wishlist = await member.post("/wishlists", wishlist={"name": name, **fields})
    assert wishlist.status == 201, wishlist
    return wishlist


async def add_item(member: Member, token: str, variant_id: str, quantity: int = 1) -> str:
    item = await member.post(f"/wishlists/{token}/add_item", variant_id=variant_id, quantity=quantity)
    assert item.status == 200, item
    return item.id


async def fetch_lists(member: Member) -> dict[str, dict[str, Any]]:
    """The attributes of the user's own lists, by name."""
    records = (await member.get("/wishlists")).json["data"]
    return {each["attributes"]["name"]: each["attributes"] for each in records}


async def test_a_new_wishlist_is_private_and_shown_to_its_owner(member: Member) -> None:
    wishlist = await new_list(member)

    assert wishlist.json["data"]["type"] == "wishlist"
    assert wishlist.json["data"]["attributes"] == {
        "token": wishlist["token"],
        "name": "Birthday",
        "is_private": True,
        "is_default": False,
        "variant_included": False,
    }
    assert re.fullmatch("[1-9A-HJ-NP-Za-km-z]{24}", wishlist["token"])
    assert wishlist.json["data"]["relationships"] == {"wished_items": {"data": []}}
    assert "included" not in wishlist.json
    assert (await member.get(f"/wishlists/{wishlist['token']}")).json == wishlist.json


@pytest.mark.parametrize("is_wrapped", [True, False], ids=["wrapped", "bare"])
@pytest.mark.parametrize("kind", ["json", "data"])
async def test_a_wishlist_is_created_from_a_wrapped_or_a_bare_object(
    member: Member, is_wrapped: bool, kind: str
) -> None:
    fields = {"name": "For the garden", "is_private": "false", "is_default": "1"}
    if kind == "json":
        body: Any = {"wishlist": fields} if is_wrapped else fields
    else:
        body = {f"wishlist[{name}]": value for name, value in fields.items()} if is_wrapped else fields

    wishlist = await member.ask("POST", "/wishlists", **{kind: body})

    assert wishlist.status == 201, wishlist
    assert (wishlist["name"], wishlist["is_private"], wishlist["is_default"]) == ("For the garden", False, True)


WRONG = {
    "nothing": ({}, {"name"}),
    "no name": ({"is_private": True}, {"name"}),
    "null": ({"name": None}, {"name"}),
    "an empty name": ({"name": ""}, {"name"}),
    "spaces": ({"name": "  \t "}, {"name"}),
    "a long name": ({"name": "x" * 256}, {"name"}),
    "two lines": ({"name": "a\nb"}, {"name"}),
    "a bidirectional override": ({"name": "a\u202eb"}, {"name"}),
    "a number": ({"name": 7}, {"name"}),
    "a list": ({"name": ["a"]}, {"name"}),
    "invalid flags": ({"name": "a", "is_private": "maybe", "is_default": 2}, {"is_private", "is_default"}),
    "empty flags": ({"name": "a", "is_private": None, "is_default": []}, {"is_private", "is_default"}),
    "all fields": ({"name": {}, "is_private": {}, "is_default": 1.5}, {"name", "is_private", "is_default"}),
}


@pytest.mark.parametrize(("fields", "wrong"), WRONG.values(), ids=WRONG.keys())
async def test_invalid_fields_are_422_and_change_nothing(
    member: Member, fields: dict[str, Any], wrong: set[str]
) -> None:
    token = (await new_list(member))["token"]

    creation = await member.ask("POST", "/wishlists", json={"wishlist": fields})
    update = await member.patch(f"/wishlists/{token}", wishlist={"name": None, **fields})

    for answer in (creation, update):
        assert (answer.status, answer.code) == (422, "validation_failed"), answer
    assert set(creation.json["errors"]) == wrong
    assert set(update.json["errors"]) == wrong | ({"name"} - set(fields))
    assert list(await fetch_lists(member)) == ["Birthday"]


@pytest.mark.parametrize("body", [{"wishlist": 7}, {"wishlist": None}, {"wishlist": []}, {"wishlist": "name"}])
async def test_a_wrapper_without_an_object_is_malformed(member: Member, body: Any) -> None:
    token = (await new_list(member))["token"]

    answers = [await member.ask("POST", "/wishlists", json=body)]
    answers += [await member.ask(method, f"/wishlists/{token}", json=body) for method in ("PATCH", "PUT")]

    assert [(answer.status, answer.code) for answer in answers] == [(400, "malformed")] * 3


async def test_names_of_255_characters_and_of_any_script_are_saved_unchanged(member: Member) -> None:
    names = ["x" * 255, "誕生日🎂", "<b>'\"; drop table--"]

    assert [(await new_list(member, name))["name"] for name in names] == names


async def test_wishlists_are_listed_in_the_order_of_creation_and_paged(
    member: Member, http: httpx2.AsyncClient
) -> None:
    await new_list(await sign_in(http), "another's", is_private=False)
    for number in range(3):
        await new_list(member, f"list {number}")

    first = await member.get("/wishlists?per_page=2&is_variant_included=" + str(uuid4()))
    second = await member.get("/wishlists?per_page=2&page=2")
    beyond = await member.get("/wishlists?page=9")

    assert [each["attributes"]["name"] for each in first.json["data"]] == ["list 0", "list 1"]
    assert [each["attributes"]["name"] for each in second.json["data"]] == ["list 2"]
    assert first.json["meta"] == {"count": 2, "total_count": 3, "total_pages": 2}
    assert set(first.json["links"]) == {"self", "next", "prev", "last", "first"}
    assert "is_variant_included=" in first.json["links"]["next"]
    assert (beyond.status, beyond.json["data"]) == (200, [])


async def test_filters_sorts_and_unknown_includes_of_wishlists_are_refused(member: Member) -> None:
    answers = [await member.get(f"/wishlists?{query}") for query in ("filter[name]=a", "sort=name", "include=user")]

    assert [(answer.status, answer.code) for answer in answers] == [
        (400, "unknown_filter"),
        (400, "unknown_sort"),
        (400, "unknown_include"),
    ]


async def test_variant_included_says_whether_the_requested_variant_is_in_a_wishlist(make: Make, member: Member) -> None:
    mug, cup = await make.product(), await make.product()
    token = (await new_list(member, "mugs"))["token"]
    await new_list(member, "nothing")
    await add_item(member, token, mug.variant_id)

    async def inclusions(path: str, variant_id: str) -> list[bool]:
        data = (await member.get(f"{path}?is_variant_included={variant_id}")).json["data"]
        return [each["attributes"]["variant_included"] for each in (data if isinstance(data, list) else [data])]

    assert await inclusions("/wishlists", mug.variant_id) == [True, False]
    assert await inclusions("/wishlists", cup.variant_id) == [False, False]
    assert await inclusions("/wishlists", "") == [False, False]
    assert await inclusions(f"/wishlists/{token}", mug.variant_id) == [True]
    assert [each["variant_included"] for each in (await fetch_lists(member)).values()] == [False, False]
    wrong = await member.get("/wishlists?is_variant_included=7")
    assert (wrong.status, wrong.code) == (400, "malformed")


async def test_the_default_wishlist_is_created_at_its_first_request(member: Member) -> None:
    await new_list(member, "another")

    first, second = await member.get("/wishlists/default"), await member.get("/wishlists/default")

    assert (first.status, first["is_default"], first["is_private"], first["name"]) == (200, True, True, "My wishes")
    assert second.json == first.json
    assert [each["is_default"] for each in (await fetch_lists(member)).values()] == [False, True]


async def test_concurrent_requests_for_the_default_wishlist_create_one(member: Member, db: Any) -> None:
    requests = [member.get("/wishlists/default") for _ in range(6)]

    answers = await run_concurrently(db, "users", await member.id(), *requests)

    assert {answer.status for answer in answers} == {200}
    assert len({answer.id for answer in answers}) == 1
    assert len(await fetch_lists(member)) == 1


async def test_a_new_default_replaces_the_old_one(member: Member, http: httpx2.AsyncClient) -> None:
    other = await sign_in(http)
    other_default = await other.get("/wishlists/default")
    first = await new_list(member, "first", is_default=True)
    await new_list(member, "second", is_default=True)

    async def defaults() -> list[str]:
        return [name for name, each in (await fetch_lists(member)).items() if each["is_default"]]

    assert await defaults() == ["second"]
    again = await member.patch(f"/wishlists/{first['token']}", is_default=True)
    assert (again.status, again["is_default"], await defaults()) == (200, True, ["first"])
    assert (await member.get("/wishlists/default")).id == first.id
    await member.patch(f"/wishlists/{first['token']}", is_default=False)
    assert await defaults() == []
    assert (await other.get("/wishlists/default")).id == other_default.id


async def test_of_concurrent_new_defaults_one_remains_the_default(member: Member, db: Any) -> None:
    wishlists = [await new_list(member, f"list {number}") for number in range(3)]

    answers = await run_concurrently(
        db,
        "users",
        await member.id(),
        *(member.patch(f"/wishlists/{each['token']}", is_default=True) for each in wishlists),
        *(member.post("/wishlists", name=f"new {number}", is_default=True) for number in range(2)),
        member.get("/wishlists/default"),
    )

    assert {answer.status for answer in answers} <= {200, 201}, answers
    assert [each["is_default"] for each in (await fetch_lists(member)).values()].count(True) == 1


@pytest.mark.parametrize("method", ["PATCH", "PUT"])
async def test_an_update_changes_only_the_given_fields(member: Member, method: str) -> None:
    wishlist = await new_list(member)
    path = f"/wishlists/{wishlist['token']}"

    update = await member.ask(method, path, json={"wishlist": {"name": "Christmas"}})
    shared = await member.ask(method, path, json={"is_private": False, "token": "mine", "user_id": str(uuid4())})
    same = await member.ask(method, path, json={})

    assert (update.status, update["name"], update["is_private"]) == (200, "Christmas", True)
    assert (shared["name"], shared["is_private"], shared["token"]) == ("Christmas", False, wishlist["token"])
    assert (same.status, same.json) == (200, shared.json)
    assert (await member.get(path)).json == shared.json


async def test_deleting_a_wishlist_deletes_its_items(make: Make, member: Member, db: Any) -> None:
    wishlist = await new_list(member)
    await add_item(member, wishlist["token"], (await make.product()).variant_id)

    deletion = await member.delete(f"/wishlists/{wishlist['token']}")
    again = await member.delete(f"/wishlists/{wishlist['token']}")

    assert (deletion.status, deletion.response.content, again.status) == (204, b"", 404)
    assert (await member.get(f"/wishlists/{wishlist['token']}")).status == 404
    assert await db.fetchval("select count(*) from wished_items where wishlist_id = $1", wishlist.id) == 0


async def test_a_public_wishlist_is_visible_with_its_token_and_a_private_one_only_to_its_owner(
    make: Make, member: Member, http: httpx2.AsyncClient, guest: Shopper
) -> None:
    other = await sign_in(http)
    wishlist = await new_list(member)
    item_id = await add_item(member, wishlist["token"], (await make.product()).variant_id)
    path = f"/wishlists/{wishlist['token']}"

    while_private = [await viewer.get(path) for viewer in (other, guest)]
    missing = [await viewer.get(f"/wishlists/{'1' * 24}") for viewer in (other, guest)]
    await member.patch(path, is_private=False)
    while_public = [await viewer.get(path) for viewer in (other, guest)]
    await member.patch(path, is_private=True)
    after = [await viewer.get(path) for viewer in (other, guest)]

    assert [answer.status for answer in while_private + missing + after] == [404] * 6
    bodies = [{**answer.json, "request_id": ""} for answer in while_private + missing]
    assert all(each == bodies[0] for each in bodies)
    for answer in while_public:
        assert answer.status == 200
        assert related_ids(answer.json["data"], "wished_items") == [item_id]
        assert str(await member.id()) not in answer.response.text
        assert answer.headers["cache-control"] == "no-store"


async def test_only_the_owner_can_change_a_public_or_private_wishlist(
    make: Make, member: Member, http: httpx2.AsyncClient
) -> None:
    other, mug = await sign_in(http), await make.product()
    for is_private in (True, False):
        wishlist = await new_list(member, is_private=is_private)
        item_id = await add_item(member, wishlist["token"], mug.variant_id, 2)
        path = f"/wishlists/{wishlist['token']}"
        before = await member.get(f"{path}?include=wished_items")

        answers = [
            await other.patch(path, name="Mine"),
            await other.ask("PUT", path, json={"is_default": True}),
            await other.delete(path),
            await other.post(f"{path}/add_item", variant_id=(await make.product()).variant_id),
            await other.post(f"{path}/add_items", wished_items=[{"variant_id": mug.variant_id, "quantity": 9}]),
            await other.patch(f"{path}/set_item_quantity/{item_id}", quantity=9),
            await other.delete(f"{path}/remove_item/{item_id}"),
            await other.ask("DELETE", f"{path}/remove_items", json={"wished_items_ids": [item_id]}),
        ]

        assert [(answer.status, answer.code) for answer in answers] == [(404, "not_found")] * 8
        assert (await member.get(f"{path}?include=wished_items")).json == before.json
    assert await fetch_lists(other) == {}


async def test_without_a_valid_bearer_token_only_a_public_wishlist_is_shown(
    member: Member, guest: Shopper, http: httpx2.AsyncClient
) -> None:
    token = (await new_list(member, is_private=False))["token"]
    await guest.post("/cart")
    paths = [
        ("GET", ""),
        ("POST", ""),
        ("GET", "/default"),
        ("PATCH", f"/{token}"),
        ("DELETE", f"/{token}"),
        ("POST", f"/{token}/add_item"),
        ("POST", f"/{token}/add_items"),
        ("PATCH", f"/{token}/set_item_quantity/{uuid4()}"),
        ("DELETE", f"/{token}/remove_item/{uuid4()}"),
        ("DELETE", f"/{token}/remove_items"),
    ]

    without_token = [await guest.ask(method, f"/wishlists{path}") for method, path in paths]
    junk = {"Authorization": "Bearer junk"}
    with_junk = [await guest.ask(method, f"/wishlists{path}", headers=junk) for method, path in paths]
    responses = [await guest.get(f"/wishlists/{token}"), await guest.get(f"/wishlists/{token}", headers=junk)]

    assert {(answer.status, answer.code) for answer in without_token} == {(401, "unauthenticated")}
    assert {(answer.status, answer.code) for answer in with_junk} == {(401, "invalid_token")}
    assert [answer.status for answer in responses] == [200, 401]


@pytest.mark.security("H-03")
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
async def test_the_default_wishlist_path_is_read_only(member: Member, method: str) -> None:
    answer = await member.ask(method, "/wishlists/default")

    assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD")


@pytest.mark.parametrize("token", ["%00", "%FF", "..%2f", "' or 1=1 --", "x" * 1900, "%F0%9F%8E%82"])
async def test_a_malformed_wishlist_token_is_404(member: Member, guest: Shopper, token: str) -> None:
    answers = [
        await member.patch(f"/wishlists/{token}", name="Mine"),
        await member.delete(f"/wishlists/{token}"),
        await member.post(f"/wishlists/{token}/add_item", variant_id=str(uuid4())),
        *[await viewer.get(f"/wishlists/{token}") for viewer in (member, guest)],
    ]

    assert {(answer.status, answer.code) for answer in answers} == {(404, "not_found")}


async def test_a_user_has_a_maximum_number_of_wishlists(member: Member, db: Any) -> None:
    await add_lists(db, await member.id(), MAX_LISTS - 1)

    last = [member.post("/wishlists", name="the last") for _ in range(4)]
    answers = await run_concurrently(db, "users", await member.id(), *last)
    default = await member.get("/wishlists/default")

    assert sorted(answer.status for answer in answers) == [201, 422, 422, 422]
    for refusal in [default, *(answer for answer in answers if answer.status == 422)]:
        assert (refusal.status, refusal.code, list(refusal.json["errors"])) == (422, "validation_failed", ["base"])
    assert await db.fetchval("select count(*) from wishlists where user_id = $1", await member.id()) == MAX_LISTS


async def test_an_idempotency_key_creates_one_wishlist(member: Member, http: httpx2.AsyncClient) -> None:
    key = {"Idempotency-Key": uuid4().hex}

    first, again = [await member.post("/wishlists", headers=key, name="Once") for _ in range(2)]
    other = await member.post("/wishlists", headers=key, name="Another")
    other_users_list = await (await sign_in(http)).post("/wishlists", headers=key, name="Once")

    assert (first.status, again.status, again.json == first.json) == (201, 201, True)
    assert (other.status, other.code) == (422, "idempotency_key_reused")
    assert (other_users_list.status, other_users_list.id == first.id) == (201, False)
    updates = [
        await member.patch(f"/wishlists/{first['token']}", headers=headers, name="Twice" if headers else "Thrice")
        for headers in ({"Idempotency-Key": "k"}, None, {"Idempotency-Key": "k"})
    ]
    assert [answer["name"] for answer in updates] == ["Twice", "Thrice", "Thrice"]
    await member.delete(f"/wishlists/{first['token']}")
    assert (await member.post("/wishlists", headers=key, name="Once")).status == 404
    assert await fetch_lists(member) == {}


async def test_sparse_fields_apply_to_wishlists_items_and_variants(make: Make, member: Member) -> None:
    mug = await make.product(price="2")
    token = (await new_list(member))["token"]
    await add_item(member, token, mug.variant_id)
    fields = "fields[wishlist]=name,wished_items&fields[wished_item]=total&fields[variant]=sku"

    answer = await member.get(f"/wishlists/{token}?include=wished_items.variant&{fields}")

    assert answer.json["data"]["attributes"] == {"name": "Birthday"}
    (item,) = included(answer, "wished_item").values()
    assert (item["attributes"], item.get("relationships") or {}) == ({"total": "2.0"}, {})
    assert list(included(answer, "variant")[mug.variant_id]["attributes"]) == ["sku"]


async def test_deleting_a_user_deletes_their_wishlists(
    make: Make, member: Member, http: httpx2.AsyncClient, guest: Shopper, db: Any
) -> None:
    wishlist = await new_list(member, is_private=False)
    await add_item(member, wishlist["token"], (await make.product()).variant_id)
    other = await new_list(await sign_in(http), is_private=False)

    deletion = await make.machine.delete(f"/users/{await member.id()}")

    assert deletion.status == 204
    assert (await guest.get(f"/wishlists/{wishlist['token']}")).status == 404
    assert (await guest.get(f"/wishlists/{other['token']}")).status == 200
    count_items = "select count(*) from wished_items where wishlist_id = $1"
    assert await db.fetchval(count_items, wishlist.id) == 0


async def test_the_database_enforces_one_default_and_one_item_per_variant(make: Make, member: Member, db: Any) -> None:
    first, second = await new_list(member, is_default=True), await new_list(member)
    item_id = await add_item(member, first["token"], (await make.product()).variant_id)

    with pytest.raises(asyncpg.UniqueViolationError, match="uq_wishlists_default"):
        await db.execute("update wishlists set is_default = true where id = $1", second.id)
    again = "insert into wished_items select gen_random_uuid(), wishlist_id, variant_id, 1, now(), now()"
    with pytest.raises(asyncpg.UniqueViolationError, match="uq_wished_items_wishlist_id_variant_id"):
        await db.execute(f"{again} from wished_items where id = $1", item_id)


async def test_a_public_wishlist_of_a_disabled_user_is_404(member: Member, guest: Shopper, db: Any) -> None:
    token = (await new_list(member, is_private=False))["token"]
    await db.execute("update users set disabled_at = now() where id = $1", await member.id())

    assert (await guest.get(f"/wishlists/{token}")).status == 404
    assert (await member.get(f"/wishlists/{token}")).status == 401


async def test_the_number_of_statements_does_not_depend_on_the_number_of_items(
    make: Make, member: Member, service: Service
) -> None:
    tokens = [(await new_list(member, f"list {number}"))["token"] for number in range(3)]
    variants = [(await make.product(options={word(): ["m"]})).variant_id for _ in range(5)]
    await make.price_list(users=[await member.id()], percent_off="10")
    whole = "include=wished_items.variant.product,wished_items.variant.option_values"
    paths = ["/wishlists", f"/wishlists?{whole}", f"/wishlists/{tokens[0]}", f"/wishlists/{tokens[0]}?{whole}"]

    async def count_statements() -> list[int]:
        answers = [await member.get(path) for path in paths]
        assert {answer.status for answer in answers} == {200}
        return [service.request_line(answer.request_id)["statements"] for answer in answers]

    async def put(ids: list[str]) -> int:
        items = [{"variant_id": variant_id} for variant_id in ids]
        answer = await member.post(f"/wishlists/{tokens[0]}/add_items?{whole}", wished_items=items)
        return int(service.request_line(answer.request_id)["statements"])

    few = [await put(variants[:1]), *await count_statements()]
    for token in tokens[1:]:
        await add_item(member, token, variants[0])
    many = [await put(variants), *await count_statements()]

    assert few == many
    assert few[1:4] == [3, 7, 3]
