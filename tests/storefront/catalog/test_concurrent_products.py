"""Requests of different products that share one statement: each gets its own."""

import asyncio
from typing import Any

import httpx2
import pytest

from tests.builders import Make
from tests.concurrency import wait_for_locks
from tests.service import Service
from tests.shopper import PREFIX

PRODUCTS = 4


@pytest.mark.parametrize("is_cached", [False, True])
async def test_concurrent_requests_get_their_own_product_in_their_own_currency(
    make: Make, http: httpx2.AsyncClient, service: Service, db: Any, is_cached: bool
) -> None:
    products = [await make.product(f"P{number}", prices={"EUR": f"{number}.00"}) for number in range(PRODUCTS)]
    paths = [f"{PREFIX}/products/{product.slug}?currency={each}" for product in products for each in ("USD", "EUR")]
    paths += [f"{PREFIX}/products/{product.id}?currency=EUR" for product in products]
    alone = [(await http.get(path)).json() for path in paths] if is_cached else []

    async with db.transaction():
        # All statements that read a product wait: the first one, and the one that the other requests share.
        await db.execute("lock table product_versions")
        requests = [asyncio.create_task(http.get(path)) for path in paths]
        await wait_for_locks(db, 2)
    responses = [await each for each in requests]
    answers = [response.json() for response in responses]

    assert len({str(answer) for answer in answers}) == 2 * PRODUCTS
    if is_cached:
        lines = [service.request_line(response.headers["x-request-id"]) for response in responses]
        assert {line["statements"] for line in lines} == {1}
    assert answers == (alone or [(await http.get(path)).json() for path in paths])
    names = [f"P{number}" for number in range(PRODUCTS)]
    assert [answer["data"]["attributes"]["name"] for answer in answers] == [*(n for n in names for _ in "12"), *names]
    assert {answer["data"]["attributes"]["currency"] for answer in answers[1 : 2 * PRODUCTS : 2]} == {"EUR"}
