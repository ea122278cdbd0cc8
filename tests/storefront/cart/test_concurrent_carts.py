"""Requests of different carts that share one statement: each sees its own cart, and the true stock."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import httpx2

from tests.builders import Make
from tests.concurrency import wait_for_locks
from tests.shopper import Answer, Shopper

CARTS = 8


async def new_shopper(http: httpx2.AsyncClient) -> Shopper:
    shopper = Shopper(http)
    await shopper.post("/cart")
    return shopper


async def test_concurrent_carts_see_their_own_items_and_the_true_stock(
    make: Make, http: httpx2.AsyncClient, db: Any
) -> None:
    scarce, plenty = await make.product(price="1", on_hand=2), await make.product(price="10", on_hand=99)
    shoppers = [await new_shopper(http) for _ in range(CARTS)]

    for number, shopper in enumerate(shoppers, 1):
        await shopper.post("/cart/add_item", variant_id=plenty.variant_id, quantity=number)

    def add_scarce(number: int, shopper: Shopper) -> Coroutine[Any, Any, Answer]:
        # Every second cart asks for more than there is.
        return shopper.post("/cart/add_item", variant_id=scarce.variant_id, quantity=2 + number % 2)

    async with db.transaction():
        # All statements that read a cart wait: the first one, and the one that the other carts share.
        await db.execute("lock table promotion_versions")
        calls = [asyncio.create_task(add_scarce(*each)) for each in enumerate(shoppers, 1)]
        await wait_for_locks(db, 2)
    answers = await asyncio.gather(*calls)

    assert [answer.status for answer in answers] == [422, 200] * (CARTS // 2)
    assert {answer.code for answer in answers[::2]} == {"out_of_stock"}
    carts = [await shopper.get("/cart") for shopper in shoppers]
    assert [cart["item_count"] for cart in carts] == [1, 4, 3, 6, 5, 8, 7, 10]
