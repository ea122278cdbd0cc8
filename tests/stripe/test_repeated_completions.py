"""Repeated completions while a charge is not recorded: the shop asks the provider at once and loses no charge."""

import asyncio
import time
from collections.abc import Iterator
from functools import partial
from typing import Any
from uuid import UUID

import httpx2
import pytest

from shop.actions.payments.charges import CHARGES_PER_CONNECTION
from tests.checkout_builders import Buyer, CheckoutSetup, on_hand
from tests.concurrency import wait_for_locks
from tests.db.processes import until
from tests.service import Service
from tests.shopper import Answer
from tests.stripe.conftest import environ
from tests.stripe.stand_in import StandIn
from tests.stripe.test_payments import VISA, payment_of
from tests.stripe.test_webhooks import CREATE_INTENT, count_completions, hold_payment

DECLINED_CARD = "pm_card_chargeDeclined"


@pytest.fixture(scope="module")
def other_service(
    database_url: str, stripe_server: StandIn, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    """Another process of the same shop, with one connection."""
    settings = environ(database_url, tmp_path_factory.mktemp("other"), stripe_server)
    node = Service(**settings, SHOP_DATABASE_POOL="1")
    yield node
    node.stop()


def buyer_at(node: httpx2.AsyncClient, buyer: Buyer) -> Buyer:
    """The same shopper as a client of another process."""
    other_buyer = Buyer(node, buyer.checkout_setup)
    other_buyer.order_token = buyer.order_token
    return other_buyer


@pytest.mark.security("C-03", "X-15")
async def test_a_repeated_completion_asks_for_the_lost_response_at_once(
    buyer: Buyer, checkout_setup: CheckoutSetup, db: Any, stripe: StandIn
) -> None:
    mug = await checkout_setup.product(on_hand=3)
    cart = await buyer.ready((mug, 1), source=VISA)
    stripe.faults += [(CREATE_INTENT, "lost")] * 2
    response = await buyer.complete()

    start = time.monotonic()
    order = await buyer.complete()

    assert (response.status, response.code) == (409, "payment_in_progress")
    assert (order.status, order["payment_state"], await on_hand(db, mug.variant_id)) == (200, "paid", 2)
    assert time.monotonic() - start < 2
    assert [each["amount_received"] for each in stripe.intents(cart["number"])] == [1500]
    assert await count_completions(db, cart) == 1


@pytest.mark.security("C-03", "X-15")
async def test_a_charge_that_another_process_waits_for_is_recorded_once(
    buyer: Buyer, checkout_setup: CheckoutSetup, db: Any, stripe: StandIn, other_service: Service
) -> None:
    pending = await hold_payment(stripe, buyer, await buyer.ready((await checkout_setup.product(), 1), source=VISA))

    async with other_service.client() as other_client:
        second = await buyer_at(other_client, buyer).complete()
    stripe.may_answer.set()
    first = await pending.completion

    assert (second.status, first.status) == (200, 200), (second, first)
    assert second.id == first.id
    assert await count_completions(db, pending.cart) == 1


async def test_a_decline_is_not_final_while_another_process_waits_for_the_response(
    buyer: Buyer, checkout_setup: CheckoutSetup, db: Any, stripe: StandIn, other_service: Service
) -> None:
    mug = await checkout_setup.product(on_hand=3)
    cart = await buyer.ready((mug, 1), source=DECLINED_CARD)
    stripe.faults.append((CREATE_INTENT, "held"))
    completion = asyncio.create_task(buyer.complete())
    assert await asyncio.to_thread(stripe.is_held.wait, 20)

    async with other_service.client() as other_client:
        second = await buyer_at(other_client, buyer).complete()
    state = (await payment_of(db, cart))["state"]
    stripe.may_answer.set()
    first = await completion

    assert (second.status, second.code, state) == (409, "payment_in_progress", "processing")
    assert (first.status, first.code, await on_hand(db, mug.variant_id)) == (422, "payment_refused", 3)


async def test_a_charge_that_never_arrived_is_made_by_a_repeated_completion(
    buyer: Buyer, checkout_setup: CheckoutSetup, db: Any, stripe: StandIn
) -> None:
    cart = await buyer.ready((await checkout_setup.product(), 1), source=VISA)
    stripe.faults += [(CREATE_INTENT, "dropped")] * 2
    await buyer.complete()
    early_retry = await buyer.complete()
    statement = "update payment_attempts set created_at = now() - interval '20 s' where order_id = $1"
    await db.execute(statement, UUID(cart.id))

    order = await buyer.complete()

    assert (early_retry.status, early_retry.code) == (409, "payment_in_progress")
    assert (order.status, order["payment_state"]) == (200, "paid")
    assert [each["amount_received"] for each in stripe.intents(cart["number"])] == [1500]


@pytest.mark.security("H-05", "X-14")
@pytest.mark.torture
async def test_a_charge_is_recorded_before_others_get_a_connection(
    buyer: Buyer, checkout_setup: CheckoutSetup, db: Any, stripe: StandIn, other_service: Service
) -> None:
    async with other_service.client() as other_client:
        other_buyer = Buyer(other_client, checkout_setup)
        mug = await checkout_setup.product(on_hand=9)
        cart = await other_buyer.add_items((mug, 1))
        ready_cart = await buyer.ready((mug, 1), source=VISA)
        pending = await hold_payment(stripe, buyer_at(other_client, buyer), ready_cart)
        async with db.transaction():
            # Each of these requests keeps the only connection for the 2 s that it waits for the lock.
            await db.execute("select from orders where id = $1 for update", UUID(cart.id))
            requests = [asyncio.create_task(other_buyer.add_item(mug)) for _ in range(4)]
            await wait_for_locks(db, 1)
            stripe.may_answer.set()
            order = await pending.completion
        answers = await asyncio.gather(*requests)

    assert (order.status, order["payment_state"]) == (200, "paid")
    assert {answer.status for answer in answers} <= {200, 503}


@pytest.mark.torture
@pytest.mark.security("H-05", "X-14")
async def test_a_request_over_the_charge_limit_is_refused_before_it_is_charged(
    checkout_setup: CheckoutSetup, stripe: StandIn, other_service: Service
) -> None:
    mug = await checkout_setup.product(on_hand=99)
    async with other_service.client() as other_client:
        buyers = [Buyer(other_client, checkout_setup) for _ in range(CHARGES_PER_CONNECTION + 1)]
        carts = [await buyer.ready((mug, 1), source=VISA) for buyer in buyers]
        stripe.faults += [(CREATE_INTENT, "held")] * CHARGES_PER_CONNECTION
        completions = []
        for buyer, cart in zip(buyers[:-1], carts[:-1], strict=True):
            completions.append(asyncio.create_task(buyer.complete()))
            await until(partial(is_charged, stripe, cart))

        response = await buyers[-1].complete()
        stripe.may_answer.set()
        responses = await asyncio.gather(*completions)

    assert (response.status, response.headers["retry-after"], stripe.intents(carts[-1]["number"])) == (503, "5", [])
    assert [answer.status for answer in responses] == [200] * CHARGES_PER_CONNECTION


@pytest.mark.torture
@pytest.mark.security("X-14")
async def test_excess_requests_of_a_burst_are_refused_before_they_are_charged(
    checkout_setup: CheckoutSetup, stripe: StandIn, other_service: Service
) -> None:
    mug = await checkout_setup.product(on_hand=99)
    async with other_service.client() as other_client:
        buyers = [Buyer(other_client, checkout_setup) for _ in range(CHARGES_PER_CONNECTION + 8)]
        carts = [await buyer.ready((mug, 1), source=VISA) for buyer in buyers]

        answers = await asyncio.gather(*(buyer.complete() for buyer in buyers))

    has_intent = [bool(stripe.intents(cart["number"])) for cart in carts]
    assert sorted({answer.status for answer in answers}) == [200, 503]
    assert has_intent == [answer.status == 200 for answer in answers]


async def is_charged(stripe: StandIn, cart: Answer) -> bool:
    return bool(stripe.intents(cart["number"]))
