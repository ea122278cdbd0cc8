"""Stripe's webhooks: signed, in any order, repeated, or before the response; each payment becomes one order."""

import asyncio
import hashlib
import hmac
import json
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import httpx2
import pytest

from tests.builders import Make
from tests.checkout_builders import Buyer, CheckoutSetup, new_checkout_setup, on_hand
from tests.platform.client import Machine, new_machine
from tests.service import Service
from tests.shopper import Answer
from tests.stripe.conftest import environ, find_problems
from tests.stripe.stand_in import WEBHOOK_SECRET, StandIn
from tests.stripe.test_payments import VISA, buy_by_card, payment_of, wait_until_settled

WEBHOOK_PATH = "/payment_notices/stripe"
CREATE_INTENT = "POST /v1/payment_intents"
MUST_CONFIRM = "pm_card_authenticationRequired"


async def send_webhook(http: httpx2.AsyncClient, stripe: StandIn, event: dict[str, Any], **signing: Any) -> int:
    body, headers = stripe.sign(event, **signing)
    return (await http.post(WEBHOOK_PATH, content=body, headers=headers)).status_code


async def count_completions(db: Any, cart: Answer) -> int:
    query = "select count(*) from audit_events where subject_id = $1 and action = 'order_complete'"
    return int(await db.fetchval(query, UUID(cart.id)))


class PendingPayment:
    """A payment that Stripe has charged, while the shop still waits for the response."""

    def __init__(
        self, cart: Answer, completion: "asyncio.Task[Answer]", intent: dict[str, Any], stripe: StandIn
    ) -> None:
        self.cart, self.completion, self.intent = cart, completion, intent
        self.event = stripe.find_event("payment_intent.succeeded", intent["id"])


async def hold_payment(stripe: StandIn, buyer: Buyer, cart: Answer) -> PendingPayment:
    stripe.faults.append((CREATE_INTENT, "held"))
    completion = asyncio.create_task(buyer.complete())
    assert await asyncio.to_thread(stripe.is_held.wait, 20)
    (intent,) = stripe.intents(cart["number"])
    return PendingPayment(cart, completion, intent, stripe)


@pytest.fixture
async def pending_payment(
    stripe: StandIn, buyer: Buyer, checkout_setup: CheckoutSetup
) -> AsyncIterator[PendingPayment]:
    cart = await buyer.ready((await checkout_setup.product(on_hand=3), 1), source=VISA)
    pending = await hold_payment(stripe, buyer, cart)
    yield pending
    stripe.may_answer.set()
    await asyncio.gather(pending.completion, return_exceptions=True)


async def test_a_waiting_client_gets_the_order_that_a_webhook_completed(
    pending_payment: PendingPayment, buyer: Buyer, db: Any, http: httpx2.AsyncClient, stripe: StandIn
) -> None:
    meanwhile = await buyer.complete()
    status = await send_webhook(http, stripe, pending_payment.event)
    order = await buyer.get(f"/order_status/{pending_payment.cart['number']}")
    stripe.may_answer.set()
    response = await pending_payment.completion

    assert (meanwhile.status, meanwhile.code, status) == (409, "payment_in_progress", 204)
    assert (order["payment_state"], response.status, response.id) == ("paid", 200, order.id)
    assert await count_completions(db, pending_payment.cart) == 1


async def test_many_concurrent_webhooks_after_a_disconnect_create_one_order(
    pending_payment: PendingPayment, buyer: Buyer, db: Any, http: httpx2.AsyncClient, stripe: StandIn
) -> None:
    pending_payment.completion.cancel()
    others = [{**pending_payment.event, "id": f"evt_other{number}"} for number in range(5)]

    statuses = await asyncio.gather(
        *(send_webhook(http, stripe, event) for event in [pending_payment.event, *others] * 4)
    )
    order = await buyer.complete()

    assert set(statuses) == {204}
    assert (order.status, order["payment_state"], await count_completions(db, pending_payment.cart)) == (200, "paid", 1)
    assert [each["amount_received"] for each in stripe.intents(pending_payment.cart["number"])] == [1500]
    count_webhooks = (
        "select count(*) from payment_notices n join payments p on p.id = n.payment_id where p.order_id = $1"
    )
    assert 1 <= await db.fetchval(count_webhooks, UUID(pending_payment.cart.id)) <= 6


async def test_a_webhook_before_the_response_does_not_change_the_result(
    buyer: Buyer, checkout_setup: CheckoutSetup, db: Any, stripe: StandIn, service: Service
) -> None:
    mug = await checkout_setup.product(on_hand=3)
    cart = await buyer.ready((mug, 1), source=VISA)
    stripe.webhook_base = service.url

    order = await buyer.complete()

    assert (order.status, order["payment_state"], await on_hand(db, mug.variant_id)) == (200, "paid", 2)
    assert await count_completions(db, cart) == 1
    assert (await payment_of(db, cart))["captured_amount"] == 1500


async def test_a_declined_webhook_before_the_response_does_not_change_the_result(
    buyer: Buyer, checkout_setup: CheckoutSetup, db: Any, stripe: StandIn, service: Service
) -> None:
    mug = await checkout_setup.product(on_hand=3)
    cart = await buyer.ready((mug, 1), source="pm_card_chargeDeclinedInsufficientFunds")
    stripe.webhook_base = service.url

    response = await buyer.complete()

    assert (response.status, response.code, await on_hand(db, mug.variant_id)) == (422, "payment_refused", 3)
    assert "insufficient funds" in response.json["errors"]["payments"][0]
    assert (await payment_of(db, cart))["state"] == "failed"


async def test_a_webhook_alone_completes_a_confirmed_payment(
    buyer: Buyer, checkout_setup: CheckoutSetup, db: Any, http: httpx2.AsyncClient, stripe: StandIn
) -> None:
    cart = await buyer.ready((await checkout_setup.product(), 1), source=MUST_CONFIRM)
    response = await buyer.complete()
    (intent,) = stripe.intents(cart["number"])
    stripe.shopper_confirms(intent["id"])

    statuses = [await send_webhook(http, stripe, event) for event in reversed(stripe.events[-2:])]
    status = await buyer.get(f"/order_status/{cart['number']}")

    assert (response.code, statuses) == ("payment_needs_action", [204, 204])
    assert (status["state"], status["payment_state"], await count_completions(db, cart)) == ("complete", "paid", 1)


async def test_a_failure_webhook_after_a_success_is_ignored(
    pending_payment: PendingPayment, buyer: Buyer, db: Any, http: httpx2.AsyncClient, stripe: StandIn
) -> None:
    failure = {**pending_payment.event, "id": "evt_failed", "type": "payment_intent.payment_failed"}

    statuses = [await send_webhook(http, stripe, event) for event in (pending_payment.event, failure)]
    order = await buyer.complete()

    assert (statuses, order["payment_state"], await count_completions(db, pending_payment.cart)) == (
        [204, 204],
        "paid",
        1,
    )


async def test_a_success_webhook_after_a_failure_is_refunded(
    buyer: Buyer, checkout_setup: CheckoutSetup, db: Any, http: httpx2.AsyncClient, stripe: StandIn
) -> None:
    """Stripe's form works again with the same secret after the shop has given up the payment."""
    mug = await checkout_setup.product(on_hand=1)
    cart = await buyer.ready((mug, 1), source=MUST_CONFIRM)
    await buyer.complete()
    (intent,) = stripe.intents(cart["number"])
    stripe.shopper_confirms(intent["id"], is_refused=True)
    intent["status"] = "requires_action"
    stripe.shopper_confirms(intent["id"])
    failure, success = [
        stripe.find_event(f"payment_intent.{kind}", intent["id"]) for kind in ("payment_failed", "succeeded")
    ]

    statuses = [await send_webhook(http, stripe, event) for event in (failure, success, success, failure)]

    assert statuses == [204] * 4
    assert stripe.refunds(intent["id"]) == [1500]
    assert ((await payment_of(db, cart))["state"], await on_hand(db, mug.variant_id)) == ("void", 1)
    assert ((await buyer.get("/cart"))["state"], await count_completions(db, cart)) == ("payment", 0)


@pytest.mark.torture
async def test_a_late_success_that_cannot_be_refunded_at_once_is_refunded_by_the_worker(
    buyer: Buyer, checkout_setup: CheckoutSetup, db: Any, http: httpx2.AsyncClient, stripe: StandIn
) -> None:
    cart = await buyer.ready((await checkout_setup.product(), 1), source=MUST_CONFIRM)
    await buyer.complete()
    (intent,) = stripe.intents(cart["number"])
    stripe.shopper_confirms(intent["id"], is_refused=True)
    await send_webhook(http, stripe, stripe.find_event("payment_intent.payment_failed", intent["id"]))
    intent["status"] = "requires_action"
    stripe.shopper_confirms(intent["id"])
    stripe.faults += [(f"POST /v1/payment_intents/{intent['id']}/cancel", "dropped")] * 2

    status = await send_webhook(http, stripe, stripe.find_event("payment_intent.succeeded", intent["id"]))
    before = stripe.refunds(intent["id"])
    await wait_until_settled(db, cart, 2)

    assert (status, before, stripe.refunds(intent["id"])) == (204, [], [1500])
    assert (await payment_of(db, cart))["state"] == "void"


@pytest.mark.torture
async def test_a_capture_with_a_lost_response_is_completed_by_its_webhook(
    buyer: Buyer,
    checkout_setup: CheckoutSetup,
    make: Make,
    writer: Machine,
    db: Any,
    http: httpx2.AsyncClient,
    stripe: StandIn,
) -> None:
    await make.change("payment_methods", checkout_setup.card, "payment_method", auto_capture=False)
    order = await buy_by_card(buyer, checkout_setup)
    (intent,) = stripe.intents(order["number"])
    stripe.faults += [(f"POST /v1/payment_intents/{intent['id']}/capture", "lost")] * 2
    response = await writer.patch(f"/payments/{(await payment_of(db, order))['id']}/capture", {})

    kinds = ("succeeded", "amount_capturable_updated")
    statuses = [
        await send_webhook(http, stripe, stripe.find_event(f"payment_intent.{kind}", intent["id"])) for kind in kinds
    ]

    assert (response.code, statuses) == ("payment_in_progress", [204, 204])
    assert (await payment_of(db, order))["state"] == "completed"


async def test_a_refund_that_fails_later_is_logged(
    buyer: Buyer,
    checkout_setup: CheckoutSetup,
    writer: Machine,
    db: Any,
    http: httpx2.AsyncClient,
    stripe: StandIn,
    service: Service,
) -> None:
    order = await buy_by_card(buyer, checkout_setup)
    await writer.patch(f"/orders/{order.id}/cancel", {})
    event = {**stripe.events[-1], "type": "refund.failed"}

    line_count = len(service.lines)
    status = await send_webhook(http, stripe, event)

    assert status == 204
    assert (await payment_of(db, order))["number"] in service.wait_for(
        lambda line: "refund failed at the provider" in line, since=line_count
    )


WRONG_SIGNATURES = (
    "",
    "t=,v1=",
    "v1={mac}",
    "t={now}",
    "t={now},v0={mac}",
    "t={now},v1=0{mac}",
    "t={now},t={now},v1={mac}",
    "t=-{now},v1={mac}",
    "t=99999999999999999999,v1={mac}",
    "t={now},v1=\xe9",
)


@pytest.mark.security("A-04")
async def test_a_webhook_with_a_malformed_signature_is_refused(
    pending_payment: PendingPayment, db: Any, http: httpx2.AsyncClient, stripe: StandIn
) -> None:
    body, headers = stripe.sign(pending_payment.event)
    now, _, mac = headers["Stripe-Signature"].partition(",")
    parts, kind = {"now": now.removeprefix("t="), "mac": mac.removeprefix("v1=")}, headers["Content-Type"].encode()

    answers = {}
    for header in WRONG_SIGNATURES:
        request_headers = [(b"Stripe-Signature", header.format(**parts).encode("latin-1")), (b"Content-Type", kind)]
        answer = await http.post(WEBHOOK_PATH, content=body, headers=request_headers)
        answers[header] = (answer.status_code, answer.json()["code"])

    assert answers == dict.fromkeys(WRONG_SIGNATURES, (400, "bad_signature"))
    assert (await payment_of(db, pending_payment.cart))["state"] == "processing"


@pytest.mark.security("A-04")
async def test_an_old_or_forged_webhook_is_refused_and_a_rotated_secret_is_accepted(
    pending_payment: PendingPayment, db: Any, http: httpx2.AsyncClient, stripe: StandIn
) -> None:
    body, headers = stripe.sign(pending_payment.event)
    response = await http.post(WEBHOOK_PATH, content=body.replace(b"1500", b"1501"), headers=headers)
    statuses = [
        await send_webhook(http, stripe, pending_payment.event, at=time.time() - 301),
        await send_webhook(http, stripe, pending_payment.event, secret="whsec_" + "0" * 48),
        response.status_code,
    ]
    before = (await payment_of(db, pending_payment.cart))["state"]

    # While a secret is rotated, Stripe signs with both.
    both = headers["Stripe-Signature"].replace(",v1=", f",v1={'0' * 64},v1=")
    second_response = await http.post(WEBHOOK_PATH, content=body, headers={**headers, "Stripe-Signature": both})
    almost = await send_webhook(http, stripe, pending_payment.event, at=time.time() - 290)

    assert (statuses, before) == ([400] * 3, "processing")
    assert (second_response.status_code, almost) == (204, 204)
    assert (await payment_of(db, pending_payment.cart))["state"] == "completed"


@pytest.mark.parametrize(
    "event",
    [
        {},
        [],
        {"id": "evt_1", "type": "charge.succeeded", "data": {"object": 5}},
        {"id": "evt_1", "type": "payment_intent.succeeded", "data": {"object": {}}},
        {"id": "evt_1", "type": "payment_intent.succeeded", "data": {"object": {"id": "pi_1", "status": "succeeded"}}},
        {
            "id": "evt_1",
            "type": "payment_intent.succeeded",
            "data": {"object": {"id": "pi_1", "status": "succeeded", "metadata": {"attempt": str(UUID(int=1))}}},
        },
        {
            "id": "evt_1",
            "type": "refund.failed",
            "data": {"object": {"id": "re_1", "metadata": {"attempt": "not an id"}}},
        },
    ],
    ids=lambda event: str(len(json.dumps(event))),
)
async def test_a_webhook_about_an_unknown_payment_is_ignored(
    http: httpx2.AsyncClient, stripe: StandIn, event: Any
) -> None:
    assert await send_webhook(http, stripe, event) == 204


async def test_a_signed_webhook_without_json_causes_no_failure(http: httpx2.AsyncClient, stripe: StandIn) -> None:
    now = int(time.time())
    for body in (b"", b"{", b"\xff"):
        mac = hmac.new(WEBHOOK_SECRET.encode(), b"%d." % now + body, hashlib.sha256).hexdigest()
        headers = {"Content-Type": "application/json", "Stripe-Signature": f"t={now},v1={mac}"}

        assert (await http.post(WEBHOOK_PATH, content=body, headers=headers)).status_code in {204, 400}


@pytest.mark.security("C-03", "X-01")
@pytest.mark.parametrize(
    "has_webhook", [True, pytest.param(False, marks=pytest.mark.torture)], ids=["webhook", "worker"]
)
async def test_a_shop_killed_during_a_charge_has_one_order_and_one_charge(
    own_database: Callable[..., str], tmp_path: Path, stripe: StandIn, has_webhook: bool
) -> None:
    url = own_database()
    settings = environ(url, tmp_path, stripe)
    service = Service(**settings)
    db = await asyncpg.connect(url)
    try:
        async with service.client() as http:
            make = Make(await new_machine(http, db))
            card = await make.new("payment_methods", "payment_method", name="Card", type="stripe")
            checkout_setup = await new_checkout_setup(make, card=card.id)
            buyer, mug = Buyer(http, checkout_setup), await checkout_setup.product(on_hand=3)
            pending = await hold_payment(stripe, buyer, await buyer.ready((mug, 1), source=VISA))
            service.kill()
            await asyncio.gather(pending.completion, return_exceptions=True)
        service = Service(**settings)
        async with service.client() as http:
            buyer.http = http
            if has_webhook:
                assert await send_webhook(http, stripe, pending.event) == 204
            else:
                await wait_until_settled(db, pending.cart, 2)
            order = await buyer.complete()
        assert (order.status, order["payment_state"], await on_hand(db, mug.variant_id)) == (200, "paid", 2)
        assert [each["amount_received"] for each in stripe.intents(pending.cart["number"])] == [1500]
        assert await count_completions(db, pending.cart) == 1
        assert await find_problems(url) == {}
    finally:
        await db.close()
        service.stop()


@pytest.mark.torture
async def test_the_shop_waits_at_most_ten_seconds_for_a_response(
    pending_payment: PendingPayment, buyer: Buyer, http: httpx2.AsyncClient, stripe: StandIn
) -> None:
    response = await pending_payment.completion
    await send_webhook(http, stripe, pending_payment.event)

    assert (response.status, response.code) == (409, "payment_in_progress")
    assert (await buyer.complete())["payment_state"] == "paid"
