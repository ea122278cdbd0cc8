"""Carts of signed-in shoppers: opening, finding and protecting them, and merging them with a guest's."""

import asyncio
from typing import Any
from uuid import UUID, uuid4

import httpx2
import pytest

from tests.accounts import Member, sign_in
from tests.service import Service
from tests.shopper import Answer, Shopper

NO_LINES: list[Any] = []


@pytest.fixture
async def member(http: httpx2.AsyncClient) -> Member:
    return await sign_in(http)


@pytest.fixture
async def stranger(http: httpx2.AsyncClient) -> Member:
    return await sign_in(http)


def owner(cart: Answer) -> Any:
    return cart.json["data"]["relationships"]["user"]["data"]


async def count_carts(db: Any, *ids: str) -> int:
    count: int = await db.fetchval("select count(*) from orders where id = any($1)", [UUID(cart_id) for cart_id in ids])
    return count


async def associate(member: Member, guest: Shopper, **options: Any) -> Answer:
    return await member.patch("/cart/associate", guest_order_token=guest.order_token, **options)


async def test_a_cart_made_with_a_bearer_is_that_users(member: Member) -> None:
    cart = await member.post("/cart")

    assert (cart.status, cart["email"], cart["state"]) == (201, None, "cart")
    assert owner(cart) == {"id": str(await member.id()), "type": "user"}
    assert cart["token"].startswith("shpot_")


async def test_opening_again_returns_the_users_cart(member: Member, db: Any) -> None:
    first = await member.post("/cart")

    second = await member.post("/cart?currency=EUR")

    assert (second.status, second.json) == (201, first.json)
    assert await db.fetchval("select count(*) from orders where user_id = $1", await member.id()) == 1


async def test_the_bearer_finds_the_newest_open_cart(member: Member, guest: Shopper, db: Any) -> None:
    old, new, order_id = await guest.post("/cart"), await member.post("/cart"), uuid4()
    user_id = await member.id()
    await db.execute("update orders set user_id = $2 where id = $1", UUID(old.id), user_id)
    await db.execute(
        """insert into orders (id, number, state, currency, user_id, created_at, updated_at, completed_at)
           values ($1, $2, 'complete', 'USD', $3, now(), now(), now())""",
        order_id,
        f"R{order_id.int % 10**15:015}",
        user_id,
    )

    assert (await member.get("/cart")).id == new.id
    await db.execute("update orders set created_at = now() + interval '1 second' where id = $1", UUID(old.id))
    assert (await member.get("/cart")).id == old.id


async def test_a_user_without_a_cart_gets_404_and_then_a_new_one(member: Member, db: Any) -> None:
    assert ((await member.get("/cart")).status, (await member.delete("/cart")).status) == (404, 404)
    first = await member.post("/cart")
    await db.execute("update orders set state = 'complete', completed_at = now() where id = $1", UUID(first.id))

    second = await member.post("/cart")

    assert (second.status, second.id != first.id) == (201, True)


async def test_the_carts_user_can_be_included(member: Member) -> None:
    await member.post("/cart")

    cart = await member.get("/cart?include=user")

    assert [(row["type"], row["attributes"]["email"]) for row in cart.json["included"]] == [("user", member.email)]
    assert cart.json["included"][0] == (await member.get("/account")).json["data"]


async def test_the_order_token_wins_over_the_bearer(member: Member, guest: Shopper) -> None:
    await member.post("/cart")
    guest_cart = await guest.post("/cart")
    token = {"X-Shop-Order-Token": str(guest.order_token)}

    read, cart = await member.get("/cart", headers=token), await member.post("/cart", headers=token)

    assert (read.id, cart.id) == (guest_cart.id, guest_cart.id)
    assert owner(cart) is None


@pytest.mark.parametrize("token", ["x", "shpot_t1_" + "0" * 104])
async def test_a_bad_order_token_falls_to_the_bearers_cart(member: Member, token: str) -> None:
    mine = await member.post("/cart")

    read = await member.get("/cart", headers={"X-Shop-Order-Token": token})

    assert (read.status, read.id) == (200, mine.id)


async def test_a_finished_order_token_falls_to_the_bearers_cart(member: Member, guest: Shopper, db: Any) -> None:
    order = await guest.post("/cart")
    await db.execute("update orders set state = 'complete', completed_at = now() where id = $1", UUID(order.id))
    token = {"X-Shop-Order-Token": str(guest.order_token)}

    assert (await member.get("/cart", headers=token)).status == 404
    mine = await member.post("/cart", headers=token)
    assert (mine.status, (await member.get("/cart", headers=token)).id) == (201, mine.id)


@pytest.mark.security("C-12")
async def test_a_dead_bearer_beside_a_good_order_token_is_refused(member: Member, guest: Shopper) -> None:
    await guest.post("/cart")
    await member.delete(f"/auth/{member.access_token}")
    token = {"X-Shop-Order-Token": str(guest.order_token)}

    for method in ("GET", "POST", "DELETE"):
        answer = await member.ask(method, "/cart", headers=token)
        assert (answer.status, answer.code) == (401, "invalid_token")
    assert (await guest.get("/cart")).status == 200


@pytest.mark.security("C-01")
async def test_a_bearer_cannot_reach_anothers_cart(member: Member, stranger: Member, db: Any) -> None:
    stranger_cart = await stranger.post("/cart")

    read, deletion, cart = await member.get("/cart"), await member.delete("/cart"), await member.post("/cart")

    assert (read.status, deletion.status) == (404, 404)
    assert (cart.status, cart.id != stranger_cart.id) == (201, True)
    assert (await stranger.get("/cart")).id == stranger_cart.id
    assert await count_carts(db, stranger_cart.id) == 1


async def test_the_bearer_abandons_its_own_cart_only(member: Member, stranger: Member, db: Any) -> None:
    mine, stranger_cart = await member.post("/cart"), await stranger.post("/cart")

    response = await member.delete("/cart", headers={"X-Shop-Order-Token": "x"})

    assert (response.status, response.response.content) == (204, b"")
    assert (await count_carts(db, mine.id), await count_carts(db, stranger_cart.id)) == (0, 1)


async def test_a_users_cart_opens_with_its_token_alone_too(member: Member, guest: Shopper) -> None:
    cart = await member.post("/cart")
    guest.order_token = cart["token"]

    assert (await guest.get("/cart")).id == cart.id


async def test_reading_by_bearer_costs_one_statement_and_opening_four(member: Member, service: Service) -> None:
    cart, read, again = await member.post("/cart"), await member.get("/cart"), await member.post("/cart")

    counts = [service.request_line(answer.request_id)["statements"] for answer in (cart, read, again)]
    # Opening locks the user's row and checks again, so that concurrent calls open one cart.
    assert counts == [4, 1, 1]


@pytest.mark.security("C-06")
async def test_one_key_of_two_shoppers_makes_two_carts(member: Member, stranger: Member) -> None:
    key = {"Idempotency-Key": str(uuid4())}

    mine, stranger_cart = await member.post("/cart", headers=key), await stranger.post("/cart", headers=key)

    assert (mine.status, stranger_cart.status) == (201, 201)
    assert mine.id != stranger_cart.id
    assert owner(stranger_cart)["id"] == str(await stranger.id())


async def test_a_guests_cart_joins_with_a_new_token_and_the_users_email(member: Member, guest: Shopper) -> None:
    cart = await guest.post("/cart")

    user_cart = await associate(member, guest)

    assert (user_cart.status, user_cart.id, user_cart["email"]) == (200, cart.id, member.email)
    assert user_cart["token"] != cart["token"]
    assert owner(user_cart) == {"id": str(await member.id()), "type": "user"}
    assert user_cart.json["meta"]["merge"] == {
        "strategy": "merge",
        "survivor": "guest",
        "closed": None,
        "moved": NO_LINES,
        "capped": NO_LINES,
        "dry_run": False,
        "repeated": False,
    }
    guest.order_token = user_cart["token"]
    assert ((await member.get("/cart")).id, (await guest.get("/cart")).id) == (cart.id, cart.id)


@pytest.mark.parametrize(
    ("strategy", "survivor"), [(None, "guest"), ("merge", "guest"), ("keep_guest", "guest"), ("keep_user", "user")]
)
async def test_of_two_carts_the_one_the_strategy_names_survives(
    member: Member, guest: Shopper, db: Any, strategy: str | None, survivor: str
) -> None:
    carts = {"user": await member.post("/cart"), "guest": await guest.post("/cart?currency=EUR")}
    other_cart = carts["user" if survivor == "guest" else "guest"]
    options = {"strategy": strategy} if strategy else {}

    cart = await associate(member, guest, **options)

    surviving_cart = carts[survivor]
    assert (cart.status, cart.id, cart["email"]) == (200, surviving_cart.id, member.email)
    assert (cart["currency"], owner(cart)["id"]) == (surviving_cart["currency"], str(await member.id()))
    merge = cart.json["meta"]["merge"]
    assert (merge["strategy"], merge["survivor"], merge["closed"]) == (
        strategy or "merge",
        survivor,
        other_cart["number"],
    )
    assert await count_carts(db, surviving_cart.id, other_cart.id) == 1
    assert (await member.get("/cart")).id == surviving_cart.id
    tokens = (carts["user"]["token"], carts["guest"]["token"], cart["token"])
    read = [await guest.get("/cart", headers={"X-Shop-Order-Token": token}) for token in tokens]
    assert [answer.status for answer in read] == [404, 404, 200]


@pytest.mark.parametrize("strategy", ["merge", "keep_guest", "keep_user"])
@pytest.mark.parametrize("dry_run", [True, "true", "1"])
async def test_a_dry_run_says_the_same_and_changes_nothing(
    member: Member, guest: Shopper, db: Any, strategy: str, dry_run: Any
) -> None:
    mine, guest_cart = await member.post("/cart"), await guest.post("/cart")
    ids = [UUID(mine.id), UUID(guest_cart.id)]
    rows = "select t::text from orders t where id = any($1) order by id"
    before = await db.fetch(rows, ids)

    preview = await associate(member, guest, strategy=strategy, dry_run=dry_run)

    assert (preview.status, await db.fetch(rows, ids)) == (200, before)
    real = await associate(member, guest, strategy=strategy)
    assert preview.json["meta"]["merge"] == {**real.json["meta"]["merge"], "dry_run": True}
    assert preview.id == real.id


async def test_joining_twice_is_joining_once(member: Member, guest: Shopper, db: Any) -> None:
    cart = await guest.post("/cart")
    first = await associate(member, guest)

    second = await associate(member, guest)

    assert (first.status, second.status, second.id) == (200, 200, cart.id)
    assert second.json["meta"]["merge"] == {"strategy": "merge", "dry_run": False, "repeated": True}


@pytest.mark.security("C-01")
async def test_anothers_unknown_finished_and_missing_carts_get_one_404(
    member: Member, stranger: Member, guest: Shopper, another_guest: Shopper, db: Any
) -> None:
    stranger_cart, completed_cart, deleted_cart = (
        await stranger.post("/cart"),
        await guest.post("/cart"),
        await another_guest.post("/cart"),
    )
    await db.execute(
        "update orders set state = 'complete', completed_at = now() where id = $1", UUID(completed_cart.id)
    )
    await another_guest.delete("/cart")
    tokens = [stranger_cart["token"], completed_cart["token"], deleted_cart["token"], "x", "", None, 7, ["x"], "é"]

    answers = [await member.patch("/cart/associate", guest_order_token=token) for token in tokens]
    answers.append(await member.patch("/cart/associate"))

    assert [answer.status for answer in answers] == [404] * len(answers)
    bodies = [{**answer.json, "request_id": ""} for answer in answers]
    assert all(body == bodies[0] for body in bodies)
    assert owner(await stranger.get("/cart"))["id"] == str(await stranger.id())


async def test_the_order_token_header_is_not_the_guests_token(member: Member, guest: Shopper) -> None:
    await guest.post("/cart")

    answer = await member.patch(
        "/cart/associate", headers={"X-Shop-Order-Token": str(guest.order_token)}, strategy="merge"
    )

    assert answer.status == 404
    assert owner(await guest.get("/cart")) is None


@pytest.mark.security("C-01")
async def test_joining_needs_a_bearer(member: Member, guest: Shopper) -> None:
    await guest.post("/cart")
    body = {"guest_order_token": guest.order_token}

    without = await guest.ask("PATCH", "/cart/associate", json=body)
    await member.delete(f"/auth/{member.access_token}")
    dead = await member.ask("PATCH", "/cart/associate", json=body)

    assert (without.status, without.code) == (401, "unauthenticated")
    assert (dead.status, dead.code) == (401, "invalid_token")
    assert owner(await guest.get("/cart")) is None


@pytest.mark.parametrize("strategy", ["", "both", "MERGE", 1, None, ["merge"], {"merge": 1}])
async def test_an_unknown_strategy_is_named_and_changes_nothing(member: Member, guest: Shopper, strategy: Any) -> None:
    await guest.post("/cart")

    answer = await associate(member, guest, strategy=strategy)

    assert (answer.status, answer.code, set(answer.json["errors"])) == (422, "validation_failed", {"strategy"})
    assert owner(await guest.get("/cart")) is None


@pytest.mark.parametrize("dry_run", [[], {}, ["true"], {"a": 1}, "perhaps", 7, None])
async def test_a_dry_run_that_cannot_be_read_breaks_nothing(member: Member, guest: Shopper, dry_run: Any) -> None:
    await guest.post("/cart")

    own = await member.post("/cart")

    answer = await associate(member, guest, dry_run=dry_run, strategy="keep_guest")

    assert (answer.status, list(answer.json["errors"])) == (422, ["dry_run"])
    assert (await member.get("/cart")).id == own.id
    assert (await guest.get("/cart")).status == 200


async def test_many_joins_at_once_leave_one_cart_with_the_user(
    member: Member, http: httpx2.AsyncClient, db: Any
) -> None:
    guests = [Shopper(http) for _ in range(6)]
    for guest in guests:
        await guest.post("/cart")

    answers = await asyncio.gather(*(associate(member, guest) for guest in guests))

    assert {answer.status for answer in answers} <= {200, 404}
    assert await db.fetchval("select count(*) from orders where user_id = $1", await member.id()) == 1


@pytest.mark.security("C-01")
async def test_three_shoppers_and_three_guests_reach_their_own_carts_only(http: httpx2.AsyncClient) -> None:
    members, guests = [await sign_in(http) for _ in range(3)], [Shopper(http) for _ in range(3)]
    user_carts = [await member.post("/cart") for member in members]
    guest_carts = [await guest.post("/cart") for guest in guests]

    for member, mine in zip(members, user_carts, strict=True):
        assert (await member.get("/cart")).id == mine.id
        for cart in (*user_carts, *guest_carts):
            read = await member.get("/cart", headers={"X-Shop-Order-Token": cart["token"]})
            assert read.id == cart.id
    for guest, cart in zip(guests, guest_carts, strict=True):
        assert (await guest.get("/cart")).id == cart.id
    for member, other_cart in zip(members, user_carts[1:] + user_carts[:1], strict=True):
        refusal = await member.patch("/cart/associate", guest_order_token=other_cart["token"])
        assert refusal.status == 404


async def test_many_calls_at_once_by_one_user_open_one_cart(member: Member) -> None:
    answers = await asyncio.gather(*(member.post("/cart") for _ in range(12)))

    assert {answer.status for answer in answers} == {201}
    assert len({answer.id for answer in answers}) == 1


async def test_an_order_token_alone_does_not_tell_who_the_owner_is(member: Member, guest: Shopper) -> None:
    guest.order_token = (await member.post("/cart"))["token"]

    cart = await guest.get("/cart", include="user.default_billing_address")

    assert cart.json["included"] == []
    assert member.email not in cart.response.text


async def test_a_key_counts_even_where_there_is_a_cart_already(member: Member) -> None:
    key = {"Idempotency-Key": "the same"}
    first = await member.ask("POST", "/cart?currency=EUR", headers=key)
    again = await member.ask("POST", "/cart?currency=EUR", headers=key)
    other = await member.ask("POST", "/cart?currency=USD", headers=key)

    assert [answer.status for answer in (first, again, other)] == [201, 201, 422]
    assert (again.id, other.code) == (first.id, "idempotency_key_reused")


async def test_what_became_of_two_carts_is_told_once(member: Member, guest: Shopper) -> None:
    await member.post("/cart")
    await guest.post("/cart")
    key = {"Idempotency-Key": "join"}
    body = {"guest_order_token": guest.order_token, "strategy": "keep_user"}

    first = await member.ask("PATCH", "/cart/associate", headers=key, json=body)
    again = await member.ask("PATCH", "/cart/associate", headers=key, json=body)

    assert (first.json["meta"]["merge"]["survivor"], first.json["meta"]["merge"]["repeated"]) == ("user", False)
    assert again.json["meta"]["merge"] == {"strategy": "keep_user", "dry_run": False, "repeated": True}
    assert again.id == first.id
