"""Completing again while a charge is not recorded: the provider is asked at once, and what it did is not lost."""

import asyncio
import time
from collections.abc import Iterator
from functools import partial
from typing import Any
from uuid import UUID

import httpx
import pytest

from shop.actions.payments.charges import CHARGES_PER_CONNECTION
from tests.checkout_builders import Buyer, Till, on_hand
from tests.db.processes import until
from tests.service import Service
from tests.shopper import Answer
from tests.stripe.conftest import environ
from tests.stripe.stand_in import StandIn
from tests.stripe.test_notices import MAKING, completions, wait_at
from tests.stripe.test_paying import VISA, payment_of

DECLINED = "pm_card_chargeDeclined"


@pytest.fixture(scope="module")
def other(database_url: str, standing_in: StandIn, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Another process of the same shop, with one connection."""
    settings = environ(database_url, tmp_path_factory.mktemp("other"), standing_in)
    node = Service(**settings, SHOP_DATABASE_POOL="1")
    yield node
    node.stop()


def at(node: httpx.AsyncClient, buyer: Buyer) -> Buyer:
    """The same shopper at another process."""
    there = Buyer(node, buyer.till)
    there.order_token = buyer.order_token
    return there


@pytest.mark.security("C-03", "X-15")
async def test_a_repeated_complete_asks_for_the_lost_answer_at_once(
    buyer: Buyer, till: Till, db: Any, stripe: StandIn
) -> None:
    mug = await till.product(on_hand=3)
    cart = await buyer.ready((mug, 1), source=VISA)
    stripe.faults += [(MAKING, "lost")] * 2
    response = await buyer.complete()

    start = time.monotonic()
    order = await buyer.complete()

    assert (response.status, response.code) == (409, "payment_in_progress")
    assert (order.status, order["payment_state"], await on_hand(db, mug.sold)) == (200, "paid", 2)
    assert time.monotonic() - start < 2
    assert [each["amount_received"] for each in stripe.intents(cart["number"])] == [1500]
    assert await completions(db, cart) == 1


@pytest.mark.security("C-03", "X-15")
async def test_a_charge_that_another_process_waits_for_is_recorded_once(
    buyer: Buyer, till: Till, db: Any, stripe: StandIn, other: Service
) -> None:
    pending = await wait_at(stripe, buyer, await buyer.ready((await till.product(), 1), source=VISA))

    async with other.client() as there:
        second = await at(there, buyer).complete()
    stripe.may_answer.set()
    first = await pending.asking

    assert (second.status, first.status) == (200, 200), (second, first)
    assert second.id == first.id
    assert await completions(db, pending.cart) == 1


async def test_a_refusal_is_not_final_while_another_process_waits_for_the_answer(
    buyer: Buyer, till: Till, db: Any, stripe: StandIn, other: Service
) -> None:
    mug = await till.product(on_hand=3)
    cart = await buyer.ready((mug, 1), source=DECLINED)
    stripe.faults.append((MAKING, "held"))
    asking = asyncio.create_task(buyer.complete())
    assert await asyncio.to_thread(stripe.is_held.wait, 20)

    async with other.client() as there:
        second = await at(there, buyer).complete()
    state = (await payment_of(db, cart))["state"]
    stripe.may_answer.set()
    first = await asking

    assert (second.status, second.code, state) == (409, "payment_in_progress", "processing")
    assert (first.status, first.code, await on_hand(db, mug.sold)) == (422, "payment_refused", 3)


async def test_a_charge_that_never_arrived_is_made_by_whoever_completes_again(
    buyer: Buyer, till: Till, db: Any, stripe: StandIn
) -> None:
    cart = await buyer.ready((await till.product(), 1), source=VISA)
    stripe.faults += [(MAKING, "dropped")] * 2
    await buyer.complete()
    at_once = await buyer.complete()
    statement = "update payment_attempts set created_at = now() - interval '20 s' where order_id = $1"
    await db.execute(statement, UUID(cart.id))

    order = await buyer.complete()

    assert (at_once.status, at_once.code) == (409, "payment_in_progress")
    assert (order.status, order["payment_state"]) == (200, "paid")
    assert [each["amount_received"] for each in stripe.intents(cart["number"])] == [1500]


@pytest.mark.security("H-05", "X-14")
async def test_a_charge_is_recorded_before_others_get_a_connection(
    buyer: Buyer, till: Till, db: Any, stripe: StandIn, other: Service
) -> None:
    async with other.client() as there:
        crowd = Buyer(there, till)
        mug = await till.product(on_hand=9)
        cart = await crowd.put_in((mug, 1))
        ready = await buyer.ready((mug, 1), source=VISA)
        pending = await wait_at(stripe, at(there, buyer), ready)
        async with db.transaction():
            # Each request of the crowd keeps the only connection for the 2 s that it waits for the lock.
            await db.execute("select from orders where id = $1 for update", UUID(cart.id))
            waiting = [asyncio.create_task(crowd.put_in_anyway(mug)) for _ in range(4)]
            await until_blocked(db)
            stripe.may_answer.set()
            order = await pending.asking
        answers = await asyncio.gather(*waiting)

    assert (order.status, order["payment_state"]) == (200, "paid")
    assert {answer.status for answer in answers} <= {200, 503}


@pytest.mark.torture
@pytest.mark.security("H-05", "X-14")
async def test_load_is_shed_before_anything_is_charged(till: Till, stripe: StandIn, other: Service) -> None:
    mug = await till.product(on_hand=99)
    async with other.client() as there:
        buyers = [Buyer(there, till) for _ in range(CHARGES_PER_CONNECTION + 1)]
        carts = [await buyer.ready((mug, 1), source=VISA) for buyer in buyers]
        stripe.faults += [(MAKING, "held")] * CHARGES_PER_CONNECTION
        asking = []
        for buyer, cart in zip(buyers[:-1], carts[:-1], strict=True):
            asking.append(asyncio.create_task(buyer.complete()))
            await until(partial(is_charged, stripe, cart))

        response = await buyers[-1].complete()
        stripe.may_answer.set()
        responses = await asyncio.gather(*asking)

    assert (response.status, response.headers["retry-after"], stripe.intents(carts[-1]["number"])) == (503, "5", [])
    assert [answer.status for answer in responses] == [200] * CHARGES_PER_CONNECTION


@pytest.mark.torture
@pytest.mark.security("X-14")
async def test_a_burst_is_shed_too_before_any_of_it_is_charged(till: Till, stripe: StandIn, other: Service) -> None:
    mug = await till.product(on_hand=99)
    async with other.client() as there:
        buyers = [Buyer(there, till) for _ in range(CHARGES_PER_CONNECTION + 8)]
        carts = [await buyer.ready((mug, 1), source=VISA) for buyer in buyers]

        answers = await asyncio.gather(*(buyer.complete() for buyer in buyers))

    has_intent = [bool(stripe.intents(cart["number"])) for cart in carts]
    assert sorted({answer.status for answer in answers}) == [200, 503]
    assert has_intent == [answer.status == 200 for answer in answers]


async def is_charged(stripe: StandIn, cart: Answer) -> bool:
    await asyncio.sleep(0.01)
    return bool(stripe.intents(cart["number"]))


async def until_blocked(db: Any) -> None:
    query = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
    async with asyncio.timeout(5):
        while not await db.fetchval(query):
            pass
