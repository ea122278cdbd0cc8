"""The storefront's cart: guests open, read and abandon it."""

import asyncio
import re
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid4, uuid5

import httpx2
import pytest

from shop.base.ids import new_id
from tests.service import Service
from tests.shopper import Shopper

AMOUNTS = {
    "item_total",
    "total",
    "ship_total",
    "adjustment_total",
    "included_tax_total",
    "additional_tax_total",
    "tax_total",
    "promo_total",
    "pre_tax_item_amount",
    "pre_tax_total",
    "total_minus_store_credits",
}
NULLS = {"completed_at", "email", "special_instructions", "shipment_state", "payment_state"}
TO_MANY = {"line_items", "variants", "promotions", "payments", "shipments"}
TO_ONE = {"user", "billing_address", "shipping_address", "gift_card"}
IN_CENTS = ("subtotal", "ship_total", "store_credit_total", "promo_total", "tax_total", "total")
CENTS = {f"{name}_cents" for name in (*IN_CENTS, "total_minus_store_credits")}


async def test_a_new_cart_has_every_documented_attribute(guest: Shopper) -> None:
    cart = await guest.ask("POST", "/cart", headers={"Content-Type": "application/vnd.api+json"})

    assert cart.status == 201
    assert cart.headers["content-type"].startswith("application/vnd.api+json")
    data = cart.json["data"]
    assert data["type"] == "cart"
    assert str(UUID(data["id"])) == data["id"]
    attributes: dict[str, Any] = data["attributes"]
    times = {"created_at", "updated_at"}
    plain = {"number", "currency", "state", "token", "item_count", "public_metadata"}
    assert set(attributes) == AMOUNTS | {f"display_{name}" for name in AMOUNTS} | NULLS | CENTS | times | plain
    assert ({attributes[name] for name in CENTS}, attributes["public_metadata"]) == ({0}, {})
    assert {attributes[name] for name in AMOUNTS} == {"0.0"}
    assert {attributes[f"display_{name}"] for name in AMOUNTS} == {"$0.00"}
    assert {attributes[name] for name in NULLS} == {None}
    assert (attributes["state"], attributes["currency"], attributes["item_count"]) == ("cart", "USD", 0)
    assert re.fullmatch(r"R[0-9]{9,}", attributes["number"])
    for name in times:
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", attributes[name])


async def test_a_new_cart_has_all_spree_relationships_empty(guest: Shopper) -> None:
    cart = await guest.post("/cart")

    expected: dict[str, Any] = {name: {"data": []} for name in TO_MANY} | {name: {"data": None} for name in TO_ONE}
    assert cart.json["data"]["relationships"] == expected


async def test_a_cart_is_read_with_its_order_token(guest: Shopper) -> None:
    cart = await guest.post("/cart")

    read = await guest.get("/cart")

    assert read.status == 200
    assert read.json == cart.json


async def test_a_cart_is_read_with_the_spree_order_token_header(guest: Shopper) -> None:
    cart = await guest.post("/cart")
    token, guest.order_token = guest.order_token, None

    read = await guest.get("/cart", headers={"X-Spree-Order-Token": str(token)})

    assert read.id == cart.id


async def test_two_different_order_tokens_are_refused(guest: Shopper, another_guest: Shopper) -> None:
    await guest.post("/cart")
    await another_guest.post("/cart")

    both = await guest.get("/cart", headers={"X-Spree-Order-Token": str(another_guest.order_token)})
    twice = await guest.get("/cart", headers={"X-Spree-Order-Token": str(guest.order_token)})

    assert (both.status, both.code) == (400, "malformed")
    assert twice.status == 200


async def test_creating_a_cart_with_the_token_of_an_open_cart_returns_that_cart(guest: Shopper, db: Any) -> None:
    first = await guest.post("/cart")
    before = await db.fetchval("select count(*) from orders")

    second = await guest.post("/cart")

    assert (second.status, second.id, second["token"]) == (201, first.id, first["token"])
    assert await db.fetchval("select count(*) from orders") == before


async def test_creating_a_cart_with_an_invalid_token_creates_a_new_cart(guest: Shopper) -> None:
    first = await guest.post("/cart")
    guest.order_token = str(guest.order_token)[:-1] + "x"

    second = await guest.post("/cart")

    assert second.status == 201
    assert second.id != first.id


@pytest.mark.security("C-05")
async def test_a_completed_order_is_404_as_a_cart(guest: Shopper, db: Any) -> None:
    cart = await guest.post("/cart")
    await db.execute("update orders set state = 'complete', completed_at = now() where id = $1", UUID(cart.id))

    read, deletion = await guest.get("/cart"), await guest.delete("/cart")
    new = await guest.post("/cart")

    assert (read.status, deletion.status) == (404, 404)
    assert (new.status, new.id != cart.id) == (201, True)


async def test_reading_a_cart_without_credentials_is_401(guest: Shopper) -> None:
    answer = await guest.get("/cart")

    assert (answer.status, answer.code) == (401, "unauthenticated")
    assert answer.headers["www-authenticate"] == 'Bearer realm="shop"'


@pytest.mark.security("C-01")
async def test_malformed_unknown_and_forged_tokens_get_the_same_404(guest: Shopper) -> None:
    cart = await guest.post("/cart")
    token = str(guest.order_token)
    await guest.delete("/cart")
    wrong_token = token[:20] + ("0" if token[20] != "0" else "1") + token[21:]
    other_key = token.replace("shpot_t1_", "shpot_k9_")
    bodies = []
    for wrong in ("x", token, wrong_token, other_key, token.upper(), cart.id, cart["number"], "a" * 9000):
        answer = await guest.get("/cart", headers={"X-Shop-Order-Token": wrong})
        assert answer.status == 404, wrong
        bodies.append({name: value for name, value in answer.json.items() if name != "request_id"})

    assert all(body == bodies[0] for body in bodies)


@pytest.mark.security("T-02", "T-05")
async def test_a_forged_token_never_reaches_the_database(guest: Shopper, service: Service) -> None:
    await guest.post("/cart")
    token = str(guest.order_token)
    positions = range(6, len(token), 7)
    forged_tokens = [token[:at] + ("0" if token[at] != "0" else "1") + token[at + 1 :] for at in positions]

    answers = [await guest.get("/cart", headers={"X-Shop-Order-Token": each}) for each in forged_tokens]

    assert [answer.status for answer in answers] == [404] * len(positions)
    assert [service.request_line(answer.request_id)["statements"] for answer in answers] == [0] * len(positions)


@pytest.mark.security("T-07")
async def test_an_order_token_in_the_query_or_body_is_ignored(guest: Shopper) -> None:
    await guest.post("/cart")
    token, guest.order_token = str(guest.order_token), None

    assert (await guest.get("/cart", order_token=token)).status == 401
    assert (await guest.get("/cart", token=token)).status == 401


async def test_deleting_a_cart_is_204_and_the_cart_is_then_404(guest: Shopper, db: Any) -> None:
    cart = await guest.post("/cart")

    response = await guest.delete("/cart")

    assert (response.status, response.response.content) == (204, b"")
    assert (await guest.get("/cart")).status == 404
    assert (await guest.delete("/cart")).status == 404
    assert await db.fetchval("select count(*) from orders where id = $1", UUID(cart.id)) == 0


@pytest.mark.security("C-01")
async def test_an_order_token_gives_access_to_its_own_cart_only(guest: Shopper, another_guest: Shopper) -> None:
    mine, other = await guest.post("/cart"), await another_guest.post("/cart")

    await another_guest.delete("/cart")

    assert mine.id != other.id
    assert (await guest.get("/cart")).id == mine.id


async def test_a_cart_can_be_opened_in_another_currency_of_the_shop(guest: Shopper, another_guest: Shopper) -> None:
    yen = await guest.post("/cart?currency=jpy")
    euro = await another_guest.post("/cart", currency="EUR")

    assert (yen["currency"], yen["total"], yen["display_total"]) == ("JPY", "0.0", "¥0")
    assert (euro["currency"], euro["display_total"]) == ("EUR", "€0.00")


async def test_a_currency_the_shop_does_not_have_falls_back_to_the_default(guest: Shopper) -> None:
    assert (await guest.post("/cart?currency=CHF"))["currency"] == "USD"
    assert (await guest.post("/cart", currency=["EUR"]))["currency"] == "USD"


async def test_an_invalid_bearer_token_is_refused(guest: Shopper) -> None:
    await guest.post("/cart")
    for bearer in ("Bearer junk", "bearer x", "Bearer", "Bearer " + "x" * 9000):
        for method in ("GET", "POST", "DELETE"):
            answer = await guest.ask(method, "/cart", headers={"Authorization": bearer})

            assert (answer.status, answer.code) == (401, "invalid_token")
            assert 'error="invalid_token"' in answer.headers["www-authenticate"]


async def test_include_and_sparse_fields_shape_the_document(guest: Shopper) -> None:
    await guest.post("/cart")

    included = await guest.get("/cart", include="line_items,user")
    sparse = await guest.get("/cart?fields[cart]=number,total,line_items")

    assert included.json["included"] == []
    assert set(sparse.json["data"]["attributes"]) == {"number", "total"}
    assert set(sparse.json["data"]["relationships"]) == {"line_items"}


async def test_an_unknown_include_is_reported_and_no_cart_is_created(guest: Shopper, db: Any) -> None:
    before = await db.fetchval("select count(*) from orders")

    answer = await guest.post("/cart?include=lines")

    assert (answer.status, answer.code) == (400, "unknown_include")
    assert "line_items" in answer.json["error"]
    assert await db.fetchval("select count(*) from orders") == before


async def test_creating_and_reading_a_cart_cost_one_statement_each(guest: Shopper, service: Service) -> None:
    cart = await guest.post("/cart")
    read = await guest.get("/cart")
    repeat = await guest.post("/cart")
    deletion = await guest.delete("/cart")

    counts = [service.request_line(answer.request_id)["statements"] for answer in (cart, read, repeat, deletion)]
    assert counts == [1, 1, 1, 4]


@pytest.mark.parametrize("headers", [{}, {"Idempotency-Key": "1c2a5a8e-6b0b-4f5e-9d5a-3f1f0c1f7a11"}])
async def test_an_order_number_in_use_costs_retries_and_no_error(
    guest: Shopper, db: Any, service: Service, headers: dict[str, str]
) -> None:
    """A trigger replaces each ten-digit number with one in use; a longer one succeeds, in a transaction or not. Outside
    of one, the same number is first tried apart from the carts of others.
    """
    existing_number = (await guest.post("/cart"))["number"]
    guest.order_token = None
    await db.execute(f"""
        create function pg_temp_taken() returns trigger language plpgsql as $$
        begin if length(new.number) = 11 then new.number = '{existing_number}'; end if; return new; end $$;
        create trigger taken before insert on orders for each row execute function pg_temp_taken();
    """)
    try:
        cart = await guest.post("/cart", headers=headers)
    finally:
        await db.execute("drop trigger taken on orders; drop function pg_temp_taken()")

    assert cart.status == 201
    assert re.fullmatch(r"R[0-9]{12}", cart["number"])
    assert service.request_line(cart.request_id)["statements"] == (4 if headers else 3)


@pytest.mark.security("X-03")
@pytest.mark.parametrize(("times", "status"), [(1, 201), (2, 201), (100, 503)])
async def test_a_serialization_failure_is_retried_and_finally_503(
    guest: Shopper, db: Any, service: Service, times: int, status: int
) -> None:
    await db.execute(f"""
        create sequence losses;
        create function lose() returns trigger language plpgsql as $$
        begin if nextval('losses') <= {times} then raise serialization_failure; end if; return new; end $$;
        create trigger lose before insert on orders for each row execute function lose();
    """)
    try:
        cart = await guest.post("/cart")
    finally:
        await db.execute("drop trigger lose on orders; drop function lose(); drop sequence losses")

    assert cart.status == status
    assert service.request_line(cart.request_id)["statements"] == min(times, 5) + 1
    assert status == 201 or (cart.code, cart.headers["retry-after"]) == ("temporarily_unavailable", "5")


@pytest.mark.security("C-06")
async def test_a_repeated_idempotency_key_returns_the_first_cart_and_creates_no_second(
    http: httpx2.AsyncClient, db: Any
) -> None:
    key = {"Idempotency-Key": str(uuid4())}
    before = await db.fetchval("select count(*) from orders")

    first = await Shopper(http).post("/cart", headers=key)
    second = await Shopper(http).post("/cart", headers=key)

    assert (first.status, second.status) == (201, 201)
    assert second.json == first.json
    assert await db.fetchval("select count(*) from orders") == before + 1


@pytest.mark.security("C-06")
async def test_fifty_concurrent_requests_with_one_idempotency_key_create_one_cart(
    http: httpx2.AsyncClient, db: Any
) -> None:
    key = {"Idempotency-Key": str(uuid4())}
    before = await db.fetchval("select count(*) from orders")

    answers = await asyncio.gather(*(Shopper(http).post("/cart", headers=key) for _ in range(50)))

    assert {answer.status for answer in answers} == {201}
    assert len({answer.id for answer in answers}) == 1
    assert await db.fetchval("select count(*) from orders") == before + 1


@pytest.mark.security("C-06")
async def test_an_idempotency_key_with_another_request_is_422(http: httpx2.AsyncClient) -> None:
    key = {"Idempotency-Key": str(uuid4())}
    await Shopper(http).post("/cart", headers=key)

    other = await Shopper(http).post("/cart?currency=EUR", headers=key)

    assert (other.status, other.code) == (422, "idempotency_key_reused")


@pytest.mark.security("C-06")
async def test_an_idempotency_key_of_a_running_request_is_409(http: httpx2.AsyncClient, db: Any) -> None:
    key = str(uuid4())
    first = await Shopper(http).post("/cart", headers={"Idempotency-Key": key})
    row = await db.fetchrow("select * from idempotency_keys where record_id = $1", UUID(first.id))
    await db.execute("delete from idempotency_keys where record_id = $1", UUID(first.id))
    async with db.transaction():
        await db.execute("insert into idempotency_keys values ($1, $2, $3, $4, $5, $6)", *row.values())

        rival = await Shopper(http).post("/cart", headers={"Idempotency-Key": key})

    assert (rival.status, rival.code) == (409, "request_in_progress")


@pytest.mark.security("C-06")
async def test_an_idempotency_key_expires(http: httpx2.AsyncClient, db: Any) -> None:
    key = {"Idempotency-Key": str(uuid4())}
    first = await Shopper(http).post("/cart", headers=key)
    statement = "update idempotency_keys set expires_at = now() - interval '1 second' where record_id = $1"
    await db.execute(statement, UUID(first.id))

    second = await Shopper(http).post("/cart", headers=key)

    assert (second.status, second.id != first.id) == (201, True)


@pytest.mark.security("C-06", "C-17")
async def test_without_credentials_an_idempotency_key_must_be_a_random_uuid(guest: Shopper) -> None:
    version_1, version_6 = "c232ab00-9414-11ec-b3c8-9f6bdeced846", "1ec9414c-232a-6b00-b3c8-9f6bdeced846"
    version_5, zeros, other_variant = uuid5(NAMESPACE_URL, "cart"), UUID(int=0), f"{str(uuid4())[:19]}0000-{'0' * 12}"
    guessable = (version_1, version_6, str(version_5), str(zeros), other_variant)
    for key in ("order-1", "", "x" * 256, "{" + str(uuid4()) + "}", *guessable):
        answer = await guest.post("/cart", headers={"Idempotency-Key": key})

        assert (answer.status, answer.code) == (400, "malformed"), key

    for key in (str(uuid4()), str(new_id()), str(uuid4()).upper()):
        assert (await Shopper(guest.http).post("/cart", headers={"Idempotency-Key": key})).status == 201, key


@pytest.mark.security("T-03", "C-06")
async def test_no_order_token_is_stored_in_the_database(guest: Shopper, db: Any) -> None:
    await guest.post("/cart", headers={"Idempotency-Key": str(uuid4())})
    assert guest.order_token
    secret = guest.order_token[-72:-8]

    for table in ("orders", "idempotency_keys"):
        rows = await db.fetch(f"select t::text from {table} t")
        assert not any(secret in row[0] for row in rows)


async def test_order_numbers_are_spread_over_their_range(http: httpx2.AsyncClient) -> None:
    answers = await asyncio.gather(*(Shopper(http).post("/cart") for _ in range(60)))
    numbers = [int(answer["number"][1:]) for answer in answers]

    assert len(set(numbers)) == 60
    most = 10**10
    assert min(numbers) < 0.4 * most < 0.6 * most < max(numbers)
