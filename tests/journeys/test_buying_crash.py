"""Buyers at once on two processes, and the shop killed among them: what was acknowledged is there, and it adds up."""

import asyncio
import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import msgspec
import pytest

from shop.actions.operations.verify import verify
from shop.db.pool import open_database
from tests.accounts import sign_in
from tests.builders import MadeProduct, Make
from tests.checkout_builders import Buyer, SignedIn, Till, new_till, on_hand
from tests.db.processes import until
from tests.platform.client import new_machine
from tests.promotion_builders import TENTH, new_code, new_deal
from tests.service import KEYS, Service

UNITS = 10


def serve(data_dir: Path, workers: str = "2") -> Service:
    return Service("--workers", workers, SHOP_DATA_DIR=str(data_dir), SHOP_SECRET_KEYS=KEYS, SHOP_DRAIN_SECONDS="0")


async def wrong(url: str) -> dict[str, Any]:
    shop = open_database(url, size=1)
    try:
        return {name: errors async for name, errors in verify(shop.session()) if errors}
    finally:
        await shop.close()


async def ready(http: httpx.AsyncClient, till: Till, mug: MadeProduct) -> Buyer:
    buyer = Buyer(http, till)
    await buyer.ready((mug, 1))
    return buyer


async def ready_to_pay_less(http: httpx.AsyncClient, till: Till, mug: MadeProduct, code: str) -> Buyer:
    """With a code that may be used so often, a dollar of credit, and a card for the rest."""
    owner = await sign_in(http)
    credit = {"user_id": str(await owner.id()), "amount": "1", "currency": "USD", "memo": "Sorry"}
    await till.make.new("store_credits", "store_credit", **credit)
    buyer = SignedIn(http, till, owner)
    await buyer.put_in((mug, 1))
    assert (await buyer.patch("/cart/apply_coupon_code", coupon_code=code)).status == 200
    await buyer.come_from()
    assert (await buyer.post("/checkout/add_store_credit")).status == 200
    await buyer.pay()
    return buyer


async def finish(buyer: Buyer) -> Any:
    """The status of the last step, or none where the shop was killed before it answered."""
    with contextlib.suppress(httpx.TransportError):
        return (await buyer.complete()).status
    return None


@pytest.mark.security("C-04")
@pytest.mark.torture
async def test_many_buyers_on_two_processes_get_what_there_is(
    own_data_dir: Callable[[], tuple[Path, str]],
) -> None:
    data_dir, url = own_data_dir()
    service = serve(data_dir)
    db = await asyncpg.connect(url)
    try:
        async with service.client(timeout=60) as http:
            till = await new_till(Make(await new_machine(http, db)))
            mug, cup = await till.product(on_hand=UNITS), await till.product(on_hand=1000)
            buyers = [await ready(http, till, mug) for _ in range(100)]
            statuses = await asyncio.gather(*(finish(buyer) for buyer in buyers))
            again = await ready(http, till, cup)
            repeat_statuses = await asyncio.gather(*(finish(again) for _ in range(50)))

            assert statuses.count(200) == UNITS
            assert set(statuses) <= {200, 409, 422, 503}
            assert await on_hand(db, mug.sold) == 0
            assert {200} <= set(repeat_statuses) <= {200, 409, 503}
            assert await on_hand(db, cup.sold) == 999
            assert await wrong(url) == {}
    finally:
        await db.close()
        service.stop()


@pytest.mark.security("X-01")
@pytest.mark.torture
async def test_killed_among_buyers_it_loses_no_order_and_adds_up(
    own_data_dir: Callable[[], tuple[Path, str]],
) -> None:
    data_dir, url = own_data_dir()
    db = await asyncpg.connect(url)
    acknowledged_ids: set[str] = set()
    service = serve(data_dir)
    try:
        async with service.client(timeout=60) as http:
            till = await new_till(Make(await new_machine(http, db)))
            mug, code = await till.product(on_hand=500), new_code()
            await new_deal(till.make, TENTH, code=code, usage_limit=500)
        for _ in range(3):
            async with service.client(timeout=60) as http:
                till = msgspec.structs.replace(till, make=Make(await new_machine(http, db)))
                buyers = [await ready_to_pay_less(http, till, mug, code) for _ in range(30)]

                async def buy(buyer: Buyer) -> None:
                    with contextlib.suppress(httpx.TransportError):
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
        assert await wrong(url) == {}
    finally:
        await db.close()
        service.stop()
