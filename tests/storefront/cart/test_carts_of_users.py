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
async def other_member(http: httpx2.AsyncClient) -> Member:
    return await sign_in(http)


def owner(cart: Answer) -> Any:
    return cart.json["data"]["relationships"]["user"]["data"]


async def count_carts(db: Any, *ids: str) -> int:
    count: int = await db.fetchval("select count(*) from orders where id = any($1)", [UUID(cart_id) for cart_id in ids])
    return count


async def associate(member: Member, guest: Shopper, **options: Any) -> Answer:
    return await member.patch("/cart/associate", guest_order_token=guest.order_token, **options)


async def test_a_cart_created_with_a_bearer_token_belongs_to_that_user(member: Member) -> None:
    cart = await member.post("/cart")

    assert (cart.status, cart["email"], cart["state"]) == (201, None, "cart")
    assert owner(cart) == {"id": str(await member.id()), "type": "user"}
    assert cart["token"].startswith("shpot_")


async def test_creating_a_cart_again_returns_the_users_open_cart(member: Member, db: Any) -> None:
    first = await member.post("/cart")

    second = await member.post("/cart?currency=EUR")

    assert (second.status, second.json) == (201, first.json)
    assert await db.fetchval("select count(*) from orders where user_id = $1", await member.id()) == 1


async def test_a_bearer_token_returns_the_users_newest_open_cart(member: Member, guest: Shopper, db: Any) -> None:
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


async def test_a_user_without_an_open_cart_gets_404_and_can_create_one(member: Member, db: Any) -> None:
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


async def test_the_order_token_has_precedence_over_the_bearer_token(member: Member, guest: Shopper) -> None:
    await member.post("/cart")
    guest_cart = await guest.post("/cart")
    token = {"X-Shop-Order-Token": str(guest.order_token)}

    read, cart = await member.get("/cart", headers=token), await member.post("/cart", headers=token)

    assert (read.id, cart.id) == (guest_cart.id, guest_cart.id)
    assert owner(cart) is None


@pytest.mark.parametrize("token", ["x", "shpot_t1_" + "0" * 104])
async def test_an_invalid_order_token_falls_back_to_the_bearer_tokens_cart(member: Member, token: str) -> None:
    mine = await member.post("/cart")

    read = await member.get("/cart", headers={"X-Shop-Order-Token": token})

    assert (read.status, read.id) == (200, mine.id)


async def test_the_token_of_a_completed_order_falls_back_to_the_bearer_tokens_cart(
    member: Member, guest: Shopper, db: Any
) -> None:
    order = await guest.post("/cart")
    await db.execute("update orders set state = 'complete', completed_at = now() where id = $1", UUID(order.id))
    token = {"X-Shop-Order-Token": str(guest.order_token)}

    assert (await member.get("/cart", headers=token)).status == 404
    mine = await member.post("/cart", headers=token)
    assert (mine.status, (await member.get("/cart", headers=token)).id) == (201, mine.id)


@pytest.mark.security("C-12")
async def test_an_invalid_bearer_token_with_a_valid_order_token_is_refused(member: Member, guest: Shopper) -> None:
    await guest.post("/cart")
    await member.delete(f"/auth/{member.access_token}")
    token = {"X-Shop-Order-Token": str(guest.order_token)}

    for method in ("GET", "POST", "DELETE"):
        answer = await member.ask(method, "/cart", headers=token)
        assert (answer.status, answer.code) == (401, "invalid_token")
    assert (await guest.get("/cart")).status == 200


@pytest.mark.security("C-01")
async def test_a_bearer_token_gives_no_access_to_another_users_cart(
    member: Member, other_member: Member, db: Any
) -> None:
    other_member_cart = await other_member.post("/cart")

    read, deletion, cart = await member.get("/cart"), await member.delete("/cart"), await member.post("/cart")

    assert (read.status, deletion.status) == (404, 404)
    assert (cart.status, cart.id != other_member_cart.id) == (201, True)
    assert (await other_member.get("/cart")).id == other_member_cart.id
    assert await count_carts(db, other_member_cart.id) == 1


async def test_a_bearer_token_deletes_only_the_users_own_cart(member: Member, other_member: Member, db: Any) -> None:
    mine, other_member_cart = await member.post("/cart"), await other_member.post("/cart")

    response = await member.delete("/cart", headers={"X-Shop-Order-Token": "x"})

    assert (response.status, response.response.content) == (204, b"")
    assert (await count_carts(db, mine.id), await count_carts(db, other_member_cart.id)) == (0, 1)


async def test_a_users_cart_can_be_read_with_its_order_token_alone(member: Member, guest: Shopper) -> None:
    cart = await member.post("/cart")
    guest.order_token = cart["token"]

    assert (await guest.get("/cart")).id == cart.id


async def test_reading_with_a_bearer_token_costs_one_statement_and_creating_four(
    member: Member, service: Service
) -> None:
    cart, read, again = await member.post("/cart"), await member.get("/cart"), await member.post("/cart")

    counts = [service.request_line(answer.request_id)["statements"] for answer in (cart, read, again)]
    # Opening locks the user's row and checks again, so that concurrent calls open one cart.
    assert counts == [4, 1, 1]


@pytest.mark.security("C-06")
async def test_one_idempotency_key_of_two_users_creates_two_carts(member: Member, other_member: Member) -> None:
    key = {"Idempotency-Key": str(uuid4())}

    mine, other_member_cart = await member.post("/cart", headers=key), await other_member.post("/cart", headers=key)

    assert (mine.status, other_member_cart.status) == (201, 201)
    assert mine.id != other_member_cart.id
    assert owner(other_member_cart)["id"] == str(await other_member.id())


async def test_an_associated_guest_cart_gets_a_new_token_and_the_users_email(member: Member, guest: Shopper) -> None:
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
async def test_the_strategy_decides_which_of_two_carts_survives(
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
async def test_a_dry_run_returns_the_same_result_and_changes_nothing(
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


async def test_associating_twice_is_idempotent(member: Member, guest: Shopper, db: Any) -> None:
    cart = await guest.post("/cart")
    first = await associate(member, guest)

    second = await associate(member, guest)

    assert (first.status, second.status, second.id) == (200, 200, cart.id)
    assert second.json["meta"]["merge"] == {"strategy": "merge", "dry_run": False, "repeated": True}


@pytest.mark.security("C-01")
async def test_other_users_completed_deleted_and_unknown_carts_get_the_same_404(
    member: Member, other_member: Member, guest: Shopper, another_guest: Shopper, db: Any
) -> None:
    other_member_cart, completed_cart, deleted_cart = (
        await other_member.post("/cart"),
        await guest.post("/cart"),
        await another_guest.post("/cart"),
    )
    await db.execute(
        "update orders set state = 'complete', completed_at = now() where id = $1", UUID(completed_cart.id)
    )
    await another_guest.delete("/cart")
    tokens = [other_member_cart["token"], completed_cart["token"], deleted_cart["token"], "x", "", None, 7, ["x"], "é"]

    answers = [await member.patch("/cart/associate", guest_order_token=token) for token in tokens]
    answers.append(await member.patch("/cart/associate"))

    assert [answer.status for answer in answers] == [404] * len(answers)
    bodies = [{**answer.json, "request_id": ""} for answer in answers]
    assert all(body == bodies[0] for body in bodies)
    assert owner(await other_member.get("/cart"))["id"] == str(await other_member.id())


async def test_associate_ignores_the_order_token_header(member: Member, guest: Shopper) -> None:
    await guest.post("/cart")

    answer = await member.patch(
        "/cart/associate", headers={"X-Shop-Order-Token": str(guest.order_token)}, strategy="merge"
    )

    assert answer.status == 404
    assert owner(await guest.get("/cart")) is None


@pytest.mark.security("C-01")
async def test_associate_requires_a_bearer_token(member: Member, guest: Shopper) -> None:
    await guest.post("/cart")
    body = {"guest_order_token": guest.order_token}

    without = await guest.ask("PATCH", "/cart/associate", json=body)
    await member.delete(f"/auth/{member.access_token}")
    signed_out = await member.ask("PATCH", "/cart/associate", json=body)

    assert (without.status, without.code) == (401, "unauthenticated")
    assert (signed_out.status, signed_out.code) == (401, "invalid_token")
    assert owner(await guest.get("/cart")) is None


@pytest.mark.parametrize("strategy", ["", "both", "MERGE", 1, None, ["merge"], {"merge": 1}])
async def test_an_unknown_strategy_is_422_and_changes_nothing(member: Member, guest: Shopper, strategy: Any) -> None:
    await guest.post("/cart")

    answer = await associate(member, guest, strategy=strategy)

    assert (answer.status, answer.code, set(answer.json["errors"])) == (422, "validation_failed", {"strategy"})
    assert owner(await guest.get("/cart")) is None


@pytest.mark.parametrize("dry_run", [[], {}, ["true"], {"a": 1}, "perhaps", 7, None])
async def test_an_invalid_dry_run_is_422_and_changes_nothing(member: Member, guest: Shopper, dry_run: Any) -> None:
    await guest.post("/cart")

    own = await member.post("/cart")

    answer = await associate(member, guest, dry_run=dry_run, strategy="keep_guest")

    assert (answer.status, list(answer.json["errors"])) == (422, ["dry_run"])
    assert (await member.get("/cart")).id == own.id
    assert (await guest.get("/cart")).status == 200


async def test_concurrent_associates_leave_the_user_with_one_cart(
    member: Member, http: httpx2.AsyncClient, db: Any
) -> None:
    guests = [Shopper(http) for _ in range(6)]
    for guest in guests:
        await guest.post("/cart")

    answers = await asyncio.gather(*(associate(member, guest) for guest in guests))

    assert {answer.status for answer in answers} <= {200, 404}
    assert await db.fetchval("select count(*) from orders where user_id = $1", await member.id()) == 1


@pytest.mark.security("C-01")
async def test_three_users_and_three_guests_reach_only_their_own_carts(http: httpx2.AsyncClient) -> None:
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


async def test_concurrent_requests_of_one_user_create_one_cart(member: Member) -> None:
    answers = await asyncio.gather(*(member.post("/cart") for _ in range(12)))

    assert {answer.status for answer in answers} == {201}
    assert len({answer.id for answer in answers}) == 1


async def test_an_order_token_alone_does_not_reveal_the_owner(member: Member, guest: Shopper) -> None:
    guest.order_token = (await member.post("/cart"))["token"]

    cart = await guest.get("/cart", include="user.default_billing_address")

    assert cart.json["included"] == []
    assert member.email not in cart.response.text


async def test_an_idempotency_key_is_recorded_even_if_a_cart_already_exists(member: Member) -> None:
    key = {"Idempotency-Key": "the same"}
    first = await member.ask("POST", "/cart?currency=EUR", headers=key)
    again = await member.ask("POST", "/cart?currency=EUR", headers=key)
    other = await member.ask("POST", "/cart?currency=USD", headers=key)

    assert [answer.status for answer in (first, again, other)] == [201, 201, 422]
    assert (again.id, other.code) == (first.id, "idempotency_key_reused")


async def test_a_repeated_associate_does_not_repeat_the_merge_details(member: Member, guest: Shopper) -> None:
    await member.post("/cart")
    await guest.post("/cart")
    key = {"Idempotency-Key": "join"}
    body = {"guest_order_token": guest.order_token, "strategy": "keep_user"}

    first = await member.ask("PATCH", "/cart/associate", headers=key, json=body)
    again = await member.ask("PATCH", "/cart/associate", headers=key, json=body)

    assert (first.json["meta"]["merge"]["survivor"], first.json["meta"]["merge"]["repeated"]) == ("user", False)
    assert again.json["meta"]["merge"] == {"strategy": "keep_user", "dry_run": False, "repeated": True}
    assert again.id == first.id
