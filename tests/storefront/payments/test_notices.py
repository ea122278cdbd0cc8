"""What a provider tells by itself: signed, once, and never against what is known."""

import asyncio
import json
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest

from shop.gateways.test_card import TestCard as Card
from tests.checkout_builders import Buyer, Till, on_hand
from tests.db.processes import until
from tests.service import Service

HERE = "/payment_notices/test_card"


@pytest.fixture
def card(service: Service) -> Card:
    """The provider, with the secret that it shares with the shop."""
    return Card(Path(service.environ["SHOP_DATA_DIR"]) / "test_card")


async def attempt_of(db: Any, order_id: str) -> Any:
    """The call to the provider, once it is made."""

    async def is_asked() -> bool:
        count = await db.fetchval("select count(*) from payment_attempts where order_id = $1", UUID(order_id))
        return bool(count)

    await until(is_asked)
    return await db.fetchrow("select * from payment_attempts where order_id = $1 order by id", UUID(order_id))


def told(key: Any, outcome: str = "approved", **fields: Any) -> bytes:
    result = {"outcome": outcome, "reference": "test-1", "message": None}
    return json.dumps({"id": f"event-{uuid4().hex}", "key": str(key), "result": result, **fields}).encode()


async def tell(http: httpx.AsyncClient, card: Card, body: bytes, signature: bytes | None = None) -> int:
    headers = {"Content-Type": "application/json", "X-Test-Card-Signature": (signature or card.sign(body)).decode()}
    return (await http.post(HERE, content=body, headers=headers)).status_code


async def test_a_payment_that_is_told_of_completes_the_order_though_the_client_is_gone(
    buyer: Buyer, till: Till, db: Any, http: httpx.AsyncClient, card: Card
) -> None:
    mug = await till.product(on_hand=3)
    cart = await buyer.ready((mug, 1), source="hang")
    asking = asyncio.create_task(buyer.complete())
    attempt = await attempt_of(db, cart.id)
    asking.cancel()

    body = told(attempt["id"])
    statuses = [await tell(http, card, body) for _ in range(3)]
    status = await buyer.get(f"/order_status/{cart['number']}")

    assert statuses == [204] * 3
    assert (status["state"], status["payment_state"]) == ("complete", "paid")
    assert await on_hand(db, mug.sold) == 2
    row = await db.fetchrow("select state, captured_amount from payments where order_id = $1", UUID(cart.id))
    assert tuple(row) == ("completed", 1500)
    assert await db.fetchval("select count(*) from payment_notices where payment_id = $1", attempt["payment_id"]) == 1


async def test_told_many_times_at_once_and_answered_too_there_is_one_order(
    buyer: Buyer, till: Till, db: Any, http: httpx.AsyncClient, card: Card
) -> None:
    mug = await till.product(on_hand=5)
    cart = await buyer.ready((mug, 1))
    asking = asyncio.create_task(buyer.complete())
    attempt = await attempt_of(db, cart.id)
    bodies = [told(attempt["id"]) for _ in range(5)] * 2

    statuses = await asyncio.gather(*(tell(http, card, body) for body in bodies))
    order = await asking

    assert set(statuses) == {204}
    assert (order.status, order["state"], order["payment_state"]) == (200, "complete", "paid")
    assert await on_hand(db, mug.sold) == 4
    query = "select count(*) from audit_events where subject_id = $1 and action = 'order_complete'"
    assert await db.fetchval(query, UUID(cart.id)) == 1


async def test_a_refusal_that_is_told_of_gives_the_goods_back_and_what_comes_later_changes_nothing(
    buyer: Buyer, till: Till, db: Any, http: httpx.AsyncClient, card: Card
) -> None:
    mug = await till.product(on_hand=3)
    cart = await buyer.ready((mug, 1), source="hang")
    asking = asyncio.create_task(buyer.complete())
    attempt = await attempt_of(db, cart.id)
    asking.cancel()

    await tell(http, card, told(attempt["id"], "declined"))
    after = await buyer.get("/cart")
    await tell(http, card, told(attempt["id"], "declined"))

    assert (after["state"], await on_hand(db, mug.sold)) == ("payment", 3)
    await buyer.pay()
    assert (await buyer.complete())["payment_state"] == "paid"


async def test_an_approval_after_the_payment_was_given_up_is_undone(
    buyer: Buyer, till: Till, db: Any, http: httpx.AsyncClient, card: Card
) -> None:
    mug = await till.product(on_hand=1)
    cart = await buyer.ready((mug, 1), source="hang")
    asking = asyncio.create_task(buyer.complete())
    attempt = await attempt_of(db, cart.id)
    asking.cancel()
    await tell(http, card, told(attempt["id"], "declined"))

    late = [told(attempt["id"]) for _ in range(4)] * 2
    assert set(await asyncio.gather(*(tell(http, card, body) for body in late))) == {204}

    acts = await db.fetch("select act, outcome from payment_attempts where order_id = $1 order by id", UUID(cart.id))
    assert [tuple(row) for row in acts] == [("purchase", "declined"), ("undo", "approved")]
    assert await db.fetchval("select state from payments where order_id = $1", UUID(cart.id)) == "void"
    assert ((await buyer.get("/cart"))["state"], await on_hand(db, mug.sold)) == ("payment", 1)


async def test_what_somebody_else_signed_or_nobody_is_refused(
    buyer: Buyer, till: Till, db: Any, http: httpx.AsyncClient, card: Card
) -> None:
    cart = await buyer.ready((await till.product(), 1), source="hang")
    asking = asyncio.create_task(buyer.complete())
    attempt = await attempt_of(db, cart.id)
    asking.cancel()
    body = told(attempt["id"])

    statuses = [await tell(http, card, body, signature) for signature in (b"0" * 64, b"-", card.sign(body + b" "))]
    without_signature = await http.post(HERE, content=body, headers={"Content-Type": "application/json"})
    elsewhere = [
        (await http.post(f"/payment_notices/{name}", json={})).status_code for name in ("check", "nobody", "stripe%00")
    ]

    assert statuses == [400] * 3
    assert (without_signature.status_code, without_signature.json()["code"]) == (400, "bad_signature")
    assert elsewhere == [400, 404, 404]
    assert await db.fetchval("select state from payments where order_id = $1", UUID(cart.id)) == "processing"
    await tell(http, card, told(attempt["id"], "declined"))


@pytest.mark.parametrize(
    "body",
    [
        b"{}",
        b"[]",
        b"null",
        json.dumps({"id": "x", "key": "not an id", "result": {"outcome": "approved"}}).encode(),
        json.dumps({"id": "x", "key": str(UUID(int=1)), "result": {"outcome": "wonderful"}}).encode(),
        json.dumps({"id": "x", "key": str(UUID(int=1)), "result": {"outcome": "approved"}}).encode(),
    ],
)
async def test_what_is_about_nothing_of_ours_is_heard_and_forgotten(
    http: httpx.AsyncClient, card: Card, body: bytes
) -> None:
    assert await tell(http, card, body) == 204
