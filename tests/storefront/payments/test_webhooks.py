"""Webhooks of a payment provider: signed, handled once, and never against a known result."""

import asyncio
import json
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx2
import pytest

from shop.gateways.test_card import TestCard as Card
from tests.checkout_builders import Buyer, CheckoutSetup, on_hand
from tests.db.processes import until
from tests.service import Service

WEBHOOK_PATH = "/payment_notices/test_card"


@pytest.fixture
def card(service: Service) -> Card:
    """The provider, with the secret that it shares with the shop."""
    return Card(Path(service.environ["SHOP_DATA_DIR"]) / "test_card")


async def attempt_of(db: Any, order_id: str) -> Any:
    """Waits for the first call to the provider, and returns its payment attempt."""

    async def has_attempt() -> bool:
        count = await db.fetchval("select count(*) from payment_attempts where order_id = $1", UUID(order_id))
        return bool(count)

    await until(has_attempt)
    return await db.fetchrow("select * from payment_attempts where order_id = $1 order by id", UUID(order_id))


def webhook_body(key: Any, outcome: str = "approved", **fields: Any) -> bytes:
    result = {"outcome": outcome, "reference": "test-1", "message": None}
    return json.dumps({"id": f"event-{uuid4().hex}", "key": str(key), "result": result, **fields}).encode()


async def send_webhook(http: httpx2.AsyncClient, card: Card, body: bytes, signature: bytes | None = None) -> int:
    headers = {"Content-Type": "application/json", "X-Test-Card-Signature": (signature or card.sign(body)).decode()}
    return (await http.post(WEBHOOK_PATH, content=body, headers=headers)).status_code


async def test_a_webhook_completes_the_order_after_the_client_disconnected(
    buyer: Buyer, checkout_setup: CheckoutSetup, db: Any, http: httpx2.AsyncClient, card: Card
) -> None:
    mug = await checkout_setup.product(on_hand=3)
    cart = await buyer.ready((mug, 1), source="hang")
    completion = asyncio.create_task(buyer.complete())
    attempt = await attempt_of(db, cart.id)
    completion.cancel()

    body = webhook_body(attempt["id"])
    statuses = [await send_webhook(http, card, body) for _ in range(3)]
    status = await buyer.get(f"/order_status/{cart['number']}")

    assert statuses == [204] * 3
    assert (status["state"], status["payment_state"]) == ("complete", "paid")
    assert await on_hand(db, mug.variant_id) == 2
    row = await db.fetchrow("select state, captured_amount from payments where order_id = $1", UUID(cart.id))
    assert tuple(row) == ("completed", 1500)
    assert await db.fetchval("select count(*) from payment_notices where payment_id = $1", attempt["payment_id"]) == 1


async def test_concurrent_webhooks_and_the_response_create_one_order(
    buyer: Buyer, checkout_setup: CheckoutSetup, db: Any, http: httpx2.AsyncClient, card: Card
) -> None:
    mug = await checkout_setup.product(on_hand=5)
    cart = await buyer.ready((mug, 1))
    completion = asyncio.create_task(buyer.complete())
    attempt = await attempt_of(db, cart.id)
    bodies = [webhook_body(attempt["id"]) for _ in range(5)] * 2

    statuses = await asyncio.gather(*(send_webhook(http, card, body) for body in bodies))
    order = await completion

    assert set(statuses) == {204}
    assert (order.status, order["state"], order["payment_state"]) == (200, "complete", "paid")
    assert await on_hand(db, mug.variant_id) == 4
    query = "select count(*) from audit_events where subject_id = $1 and action = 'order_complete'"
    assert await db.fetchval(query, UUID(cart.id)) == 1


async def test_a_declined_webhook_releases_the_stock_and_its_repetition_is_ignored(
    buyer: Buyer, checkout_setup: CheckoutSetup, db: Any, http: httpx2.AsyncClient, card: Card
) -> None:
    mug = await checkout_setup.product(on_hand=3)
    cart = await buyer.ready((mug, 1), source="hang")
    completion = asyncio.create_task(buyer.complete())
    attempt = await attempt_of(db, cart.id)
    completion.cancel()

    await send_webhook(http, card, webhook_body(attempt["id"], "declined"))
    after = await buyer.get("/cart")
    await send_webhook(http, card, webhook_body(attempt["id"], "declined"))

    assert (after["state"], await on_hand(db, mug.variant_id)) == ("payment", 3)
    await buyer.pay()
    assert (await buyer.complete())["payment_state"] == "paid"


async def test_an_approval_of_a_failed_payment_is_voided(
    buyer: Buyer, checkout_setup: CheckoutSetup, db: Any, http: httpx2.AsyncClient, card: Card
) -> None:
    mug = await checkout_setup.product(on_hand=1)
    cart = await buyer.ready((mug, 1), source="hang")
    completion = asyncio.create_task(buyer.complete())
    attempt = await attempt_of(db, cart.id)
    completion.cancel()
    await send_webhook(http, card, webhook_body(attempt["id"], "declined"))

    late = [webhook_body(attempt["id"]) for _ in range(4)] * 2
    assert set(await asyncio.gather(*(send_webhook(http, card, body) for body in late))) == {204}

    acts = await db.fetch("select act, outcome from payment_attempts where order_id = $1 order by id", UUID(cart.id))
    assert [tuple(row) for row in acts] == [("purchase", "declined"), ("undo", "approved")]
    assert await db.fetchval("select state from payments where order_id = $1", UUID(cart.id)) == "void"
    assert ((await buyer.get("/cart"))["state"], await on_hand(db, mug.variant_id)) == ("payment", 1)


async def test_a_webhook_with_an_invalid_or_missing_signature_is_refused(
    buyer: Buyer, checkout_setup: CheckoutSetup, db: Any, http: httpx2.AsyncClient, card: Card
) -> None:
    cart = await buyer.ready((await checkout_setup.product(), 1), source="hang")
    completion = asyncio.create_task(buyer.complete())
    attempt = await attempt_of(db, cart.id)
    completion.cancel()
    body = webhook_body(attempt["id"])

    statuses = [
        await send_webhook(http, card, body, signature) for signature in (b"0" * 64, b"-", card.sign(body + b" "))
    ]
    without_signature = await http.post(WEBHOOK_PATH, content=body, headers={"Content-Type": "application/json"})
    elsewhere = [
        (await http.post(f"/payment_notices/{name}", json={})).status_code for name in ("check", "unknown", "stripe%00")
    ]

    assert statuses == [400] * 3
    assert (without_signature.status_code, without_signature.json()["code"]) == (400, "bad_signature")
    assert elsewhere == [400, 404, 404]
    assert await db.fetchval("select state from payments where order_id = $1", UUID(cart.id)) == "processing"
    await send_webhook(http, card, webhook_body(attempt["id"], "declined"))


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
async def test_a_webhook_about_an_unknown_payment_is_ignored(http: httpx2.AsyncClient, card: Card, body: bytes) -> None:
    assert await send_webhook(http, card, body) == 204
