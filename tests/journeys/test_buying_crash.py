"""Concurrent buyers on two processes, and a kill among them: acknowledged orders exist, and all sums are right."""

import asyncio
import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import asyncpg
import httpx2
import msgspec
import pytest

from shop.actions.operations.verify import find_inconsistencies
from shop.db.pool import open_database
from tests.accounts import sign_in
from tests.builders import Make, ProductIds
from tests.checkout_builders import Buyer, CheckoutSetup, SignedInBuyer, new_checkout_setup, on_hand
from tests.db.processes import until
from tests.platform.client import new_machine
from tests.promotion_builders import TENTH, create_promotion, new_code
from tests.service import KEYS, Service

UNITS = 10


def serve(data_dir: Path, workers: str = "2") -> Service:
    return Service("--workers", workers, SHOP_DATA_DIR=str(data_dir), SHOP_SECRET_KEYS=KEYS, SHOP_DRAIN_SECONDS="0")


async def verify_errors(url: str) -> dict[str, Any]:
    shop = open_database(url, size=1)
    try:
        return {name: errors async for name, errors in find_inconsistencies(shop.session()) if errors}
    finally:
        await shop.close()


async def ready_buyer(http: httpx2.AsyncClient, checkout_setup: CheckoutSetup, mug: ProductIds) -> Buyer:
    buyer = Buyer(http, checkout_setup)
    await buyer.ready((mug, 1))
    return buyer


async def ready_discounted_buyer(
    http: httpx2.AsyncClient, checkout_setup: CheckoutSetup, mug: ProductIds, code: str
) -> Buyer:
    """A buyer with a coupon code of limited use, a dollar of store credit, and a card for the rest."""
    owner = await sign_in(http)
    credit = {"user_id": str(await owner.id()), "amount": "1", "currency": "USD", "memo": "Sorry"}
    await checkout_setup.make.new("store_credits", "store_credit", **credit)
    buyer = SignedInBuyer(http, checkout_setup, owner)
    await buyer.add_items((mug, 1))
    assert (await buyer.patch("/cart/apply_coupon_code", coupon_code=code)).status == 200
    await buyer.enter_address()
    assert (await buyer.post("/checkout/add_store_credit")).status == 200
    await buyer.pay()
    return buyer


async def complete(buyer: Buyer) -> Any:
    """The status of the completion, or None if the shop was killed before it answered."""
    with contextlib.suppress(httpx2.TransportError):
        return (await buyer.complete()).status
    return None


@pytest.mark.security("C-04")
@pytest.mark.torture
async def test_concurrent_buyers_on_two_processes_do_not_oversell(
    own_data_dir: Callable[[], tuple[Path, str]],
) -> None:
    data_dir, url = own_data_dir()
    service = serve(data_dir)
    db = await asyncpg.connect(url)
    try:
        async with service.client(timeout=60) as http:
            checkout_setup = await new_checkout_setup(Make(await new_machine(http, db)))
            mug, cup = await checkout_setup.product(on_hand=UNITS), await checkout_setup.product(on_hand=1000)
            buyers = [await ready_buyer(http, checkout_setup, mug) for _ in range(100)]
            statuses = await asyncio.gather(*(complete(buyer) for buyer in buyers))
            repeating_buyer = await ready_buyer(http, checkout_setup, cup)
            repeat_statuses = await asyncio.gather(*(complete(repeating_buyer) for _ in range(50)))

            assert statuses.count(200) == UNITS
            assert set(statuses) <= {200, 409, 422, 503}
            assert await on_hand(db, mug.variant_id) == 0
            assert {200} <= set(repeat_statuses) <= {200, 409, 503}
            assert await on_hand(db, cup.variant_id) == 999
            assert await verify_errors(url) == {}
    finally:
        await db.close()
        service.stop()


@pytest.mark.security("X-01")
@pytest.mark.torture
async def test_a_kill_during_purchases_loses_no_order_and_leaves_consistent_totals(
    own_data_dir: Callable[[], tuple[Path, str]],
) -> None:
    data_dir, url = own_data_dir()
    db = await asyncpg.connect(url)
    acknowledged_ids: set[str] = set()
    service = serve(data_dir)
    try:
        async with service.client(timeout=60) as http:
            checkout_setup = await new_checkout_setup(Make(await new_machine(http, db)))
            mug, code = await checkout_setup.product(on_hand=500), new_code()
            await create_promotion(checkout_setup.make, TENTH, code=code, usage_limit=500)
        for _ in range(3):
            async with service.client(timeout=60) as http:
                checkout_setup = msgspec.structs.replace(checkout_setup, make=Make(await new_machine(http, db)))
                buyers = [await ready_discounted_buyer(http, checkout_setup, mug, code) for _ in range(30)]

                async def buy(buyer: Buyer) -> None:
                    with contextlib.suppress(httpx2.TransportError):
                        order = await buyer.complete()
                        if order.status == 200:
                            acknowledged_ids.add(order.id)

                buying = [asyncio.create_task(buy(buyer)) for buyer in buyers]
                while len(acknowledged_ids) % 30 < 8 and not all(task.done() for task in buying):
                    await asyncio.wait(buying, timeout=0.05, return_when=asyncio.FIRST_COMPLETED)
                service.kill()
                await asyncio.gather(*buying)
            service = serve(data_dir)
        await db.execute("update payment_attempts set created_at = created_at - interval '1 hour'")

        async def is_settled() -> bool:
            return not await db.fetchval("select count(*) from payment_attempts where outcome = 'unknown'")

        await until(is_settled, 30)
        completed_ids = {
            str(row["id"]) for row in await db.fetch("select id from orders where completed_at is not null")
        }
        assert acknowledged_ids
        assert acknowledged_ids <= completed_ids
        uses = await db.fetchval("select uses from promotions")
        credit_used = await db.fetchval("select sum(amount_used)::int from store_credits")
        assert (uses, credit_used) == (len(completed_ids), 100 * len(completed_ids))
        assert await verify_errors(url) == {}
    finally:
        await db.close()
        service.stop()
