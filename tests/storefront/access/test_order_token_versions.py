"""Order tokens have a version: `associate` replaces the token, and no earlier response reveals the next one."""

import asyncio
from typing import Any
from uuid import UUID, uuid4

import httpx2
import pytest

from shop.base.crypto.keys import parse_keys
from shop.base.crypto.order_tokens import order_token
from shop.cli.routes import every_route
from tests.accounts import Member, sign_in
from tests.checkout_builders import Buyer, CheckoutSetup, SignedInBuyer
from tests.service import KEYS, Service
from tests.shopper import PREFIX, Answer, Shopper

ORDER_TOKEN_ROUTES = [route for route in every_route() if route.who == "order token or user"]


@pytest.fixture
async def member(http: httpx2.AsyncClient) -> Member:
    return await sign_in(http)


@pytest.fixture
async def other_member(http: httpx2.AsyncClient) -> Member:
    return await sign_in(http)


async def associate(member: Member, token: str | None, **options: Any) -> Answer:
    return await member.patch("/cart/associate", guest_order_token=token, **options)


def order_token_headers(token: object) -> dict[str, str]:
    return {"X-Shop-Order-Token": str(token)}


async def statuses(http: httpx2.AsyncClient, headers: dict[str, str]) -> set[tuple[int, str]]:
    """The statuses and error codes of all cart and checkout routes with these headers."""
    outcomes = set()
    for route in ORDER_TOKEN_ROUTES:
        path = route.path.format(id=uuid4(), code="SAVE", number="R123456789")
        body: dict[str, Any] = {"variant_id": str(uuid4()), "quantity": 1, "order": {}, "new_currency": "EUR"}
        body["items"] = [{"variant_id": str(uuid4())}]
        answer = Answer(await http.request(route.method, path, headers=headers, json=body))
        outcomes.add((answer.status, answer.code))
    return outcomes


@pytest.mark.security("C-01", "C-07")
async def test_a_replaced_token_is_404_on_every_route_like_an_unknown_one(
    http: httpx2.AsyncClient, member: Member, guest: Shopper, db: Any
) -> None:
    cart = await guest.post("/cart")
    await associate(member, guest.order_token)
    unknown = order_token(parse_keys(KEYS), uuid4(), 0)

    answers = [await statuses(http, order_token_headers(token)) for token in (cart["token"], unknown)]

    assert answers == [{(404, "not_found")}] * 2
    new_cart = await guest.post("/cart")
    assert (new_cart.status, new_cart.id != cart.id) == (201, True)


async def test_only_the_version_of_an_order_token_is_stored(member: Member, guest: Shopper, db: Any) -> None:
    cart = await guest.post("/cart")
    first = await db.fetchval("select token_version from orders where id = $1", UUID(cart.id))
    user_cart = await associate(member, guest.order_token)
    second = await db.fetchval("select token_version from orders where id = $1", UUID(cart.id))

    assert (first, second) == (0, 1)
    assert user_cart["token"] == order_token(parse_keys(KEYS), UUID(cart.id), 1)
    assert user_cart["token"][-72:-8] not in await db.fetchval(
        "select o::text from orders o where id = $1", UUID(cart.id)
    )


async def test_each_associate_replaces_the_token_again(member: Member, guest: Shopper) -> None:
    await guest.post("/cart")
    first = await associate(member, guest.order_token)

    second = await associate(member, first["token"])

    assert (second.status, second.id, second["token"] != first["token"]) == (200, first.id, True)
    read = [await guest.get("/cart", headers=order_token_headers(answer["token"])) for answer in (first, second)]
    assert [answer.status for answer in read] == [404, 200]


@pytest.mark.security("T-02")
async def test_a_cart_is_read_in_one_statement_and_a_forged_token_version_costs_none(
    member: Member, guest: Shopper, service: Service
) -> None:
    cart = await guest.post("/cart")
    user_cart = await associate(member, guest.order_token)
    forged_token = cart["token"][:-72] + "00000002" + cart["token"][-72:]
    tokens = {cart["token"]: (404, 1), user_cart["token"]: (200, 1), forged_token: (404, 0)}

    for token, expected in tokens.items():
        answer = await guest.get("/cart", headers=order_token_headers(token))
        assert (answer.status, service.request_line(answer.request_id)["statements"]) == expected


@pytest.mark.security("C-07")
async def test_a_cart_that_was_never_associated_keeps_its_token(guest: Shopper, member: Member) -> None:
    cart = await guest.post("/cart")
    user_cart = await member.post("/cart")

    assert cart["token"] == order_token(parse_keys(KEYS), UUID(cart.id), 0)
    assert user_cart["token"] == order_token(parse_keys(KEYS), UUID(user_cart.id), 0)


@pytest.mark.security("C-11")
@pytest.mark.parametrize("strategy", ["merge", "keep_guest", "keep_user"])
async def test_a_repeated_associate_with_the_replaced_token_returns_the_same_cart(
    member: Member, guest: Shopper, strategy: str, db: Any
) -> None:
    await member.post("/cart")
    await guest.post("/cart")
    first = await associate(member, guest.order_token, strategy=strategy)

    again = await associate(member, guest.order_token, strategy=strategy)
    preview = await associate(member, guest.order_token, strategy=strategy, dry_run=True)

    for answer in (again, preview):
        assert (answer.status, answer.id, answer["token"]) == (200, first.id, first["token"])
        assert answer.json["meta"]["merge"]["repeated"] is True
    assert await db.fetchval("select count(*) from orders where user_id = $1", await member.id()) == 1


@pytest.mark.security("C-11")
async def test_after_ten_minutes_associate_with_the_replaced_token_is_404(
    member: Member, guest: Shopper, db: Any
) -> None:
    await guest.post("/cart")
    await associate(member, guest.order_token)
    statement = "update idempotency_keys set expires_at = expires_at - interval '10 minutes' where record_id = $1"
    await db.execute(statement, UUID((await member.get("/cart")).id))

    again = await associate(member, guest.order_token)

    assert (again.status, again.code) == (404, "not_found")


@pytest.mark.security("C-11")
async def test_only_the_same_user_can_repeat_an_associate(member: Member, other_member: Member, guest: Shopper) -> None:
    await guest.post("/cart")
    await associate(member, guest.order_token)
    other_session = await sign_in(member.http, member.email)

    foreign, own = await associate(other_member, guest.order_token), await associate(other_session, guest.order_token)

    assert (foreign.status, own.status) == (404, 200)


async def test_concurrent_associates_replace_the_token_once_and_all_return_it(member: Member, guest: Shopper) -> None:
    await guest.post("/cart")

    answers = await asyncio.gather(*(associate(member, guest.order_token) for _ in range(6)))

    assert [answer.status for answer in answers] == [200] * 6
    assert len({answer["token"] for answer in answers}) == 1
    assert sorted(answer.json["meta"]["merge"]["repeated"] for answer in answers) == [False] + [True] * 5


@pytest.mark.security("C-07")
async def test_a_dry_run_does_not_reveal_the_next_token(member: Member, other_member: Member, guest: Shopper) -> None:
    """Otherwise the client that opened the cart could use that token after another user has associated the cart."""
    cart = await guest.post("/cart")

    preview = await associate(other_member, guest.order_token, dry_run=True)

    assert (preview.status, preview["token"]) == (200, cart["token"])
    user_cart = await associate(member, guest.order_token)
    assert user_cart["token"] != preview["token"]


@pytest.mark.security("C-07")
async def test_the_idempotency_key_that_created_a_cart_does_not_reveal_its_new_token(
    http: httpx2.AsyncClient, member: Member
) -> None:
    guest, key = Shopper(http), {"Idempotency-Key": str(uuid4())}
    cart = await guest.post("/cart", headers=key)
    by_token = await guest.post("/cart", headers=key)
    user_cart = await associate(member, cart["token"])

    anonymous = await http.post(f"{PREFIX}/cart", headers=key)
    with_token = await http.post(f"{PREFIX}/cart", headers={**key, **order_token_headers(cart["token"])})

    assert (by_token.id, user_cart.status) == (cart.id, 200)
    for answer in (anonymous, with_token):
        assert answer.status_code == 404
        assert user_cart["token"] not in answer.text


async def test_an_associate_repeated_with_an_idempotency_key_returns_the_new_token(
    member: Member, guest: Shopper
) -> None:
    await guest.post("/cart")
    key = {"Idempotency-Key": "join"}
    first = await associate(member, guest.order_token, headers=key)

    again, other = [
        await associate(member, guest.order_token, headers=headers) for headers in (key, {"Idempotency-Key": "other"})
    ]

    assert [(each.status, each["token"]) for each in (again, other)] == [(200, first["token"])] * 2


async def test_the_owners_bearer_token_reaches_the_cart_of_a_replaced_order_token(
    member: Member, http: httpx2.AsyncClient, db: Any
) -> None:
    guest, later = Shopper(http), Shopper(http)
    older = await guest.post("/cart")
    await associate(member, guest.order_token)
    newer = await later.post("/cart")
    await db.execute("update orders set user_id = $2 where id = $1", UUID(newer.id), await member.id())

    read = await member.get("/cart", headers=order_token_headers(older["token"]))

    assert ((await member.get("/cart")).id, read.id) == (newer.id, older.id)
    assert read["token"] != older["token"]


async def test_another_users_bearer_token_with_a_replaced_order_token_gets_their_own_cart(
    member: Member, other_member: Member, guest: Shopper
) -> None:
    await guest.post("/cart")
    await associate(member, guest.order_token)
    own = await other_member.post("/cart")

    read = await other_member.get("/cart", headers=order_token_headers(guest.order_token))

    assert (read.status, read.id) == (200, own.id)


@pytest.mark.security("C-01", "C-07")
async def test_the_opener_of_an_associated_guest_cart_can_neither_change_nor_complete_it(
    http: httpx2.AsyncClient, checkout_setup: CheckoutSetup, member: Member
) -> None:
    """The attacker opens a cart, the victim's storefront associates it, the victim chooses a saved card."""
    attacker, victim = Buyer(http, checkout_setup), SignedInBuyer(http, checkout_setup, member)
    await victim.buy(await checkout_setup.product(), "approve")
    (card,) = (await member.get("/account/credit_cards")).json["data"]
    await attacker.add_items((await checkout_setup.product(), 1))
    cart = await associate(member, attacker.order_token)
    victim.order_token = cart["token"]
    await victim.enter_address()
    await victim.post("/checkout/create_payment", source_id=card["id"])

    update = await attacker.update_checkout(ship_address_attributes={"address1": "66 Other Street"})
    completion = await attacker.complete()

    assert (update.status, completion.status) == (404, 404)
    order = await victim.complete()
    assert (order.status, order["state"]) == (200, "complete")


async def test_a_repeated_completion_with_a_replaced_token_completes_no_other_cart(
    http: httpx2.AsyncClient, checkout_setup: CheckoutSetup, member: Member, db: Any
) -> None:
    """A client without the new token completes with its bearer token and does not receive the response."""
    buyer = SignedInBuyer(http, checkout_setup, member)
    await buyer.ready((await checkout_setup.product(), 1))
    guest = Buyer(http, checkout_setup)
    await guest.post("/cart")
    await associate(member, guest.order_token, strategy="keep_user")
    first = await buyer.complete()
    later = Buyer(http, checkout_setup)
    await later.ready((await checkout_setup.product(), 1))
    await associate(member, later.order_token)

    stale = [
        await member.patch("/checkout/complete", headers=order_token_headers(token))
        for token in (guest.order_token, "junk")
    ]

    assert first.status == 200
    assert [(answer.status, answer.id) for answer in stale] == [(200, first.id)] * 2
    assert (await member.get("/cart"))["state"] != "complete"
