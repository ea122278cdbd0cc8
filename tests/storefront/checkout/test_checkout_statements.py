"""The number of database statements of a purchase, in a shop without the promotions of other tests."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from tests.builders import Make, ProductIds
from tests.checkout_builders import Buyer, new_checkout_setup
from tests.platform.client import new_machine
from tests.promotion_builders import TENTH, create_promotion, for_products
from tests.service import KEYS, Service

LIMITS = {"cart": 1, "add_item": 2, "address": 2, "shipping_rates": 1, "create_payment": 4, "complete": 10}


@pytest.fixture
async def shop(own_data_dir: Callable[[], tuple[Path, str]]) -> AsyncIterator[tuple[Service, Buyer]]:
    data_dir, url = own_data_dir()
    service = Service(SHOP_DATA_DIR=str(data_dir), SHOP_SECRET_KEYS=KEYS, SHOP_DRAIN_SECONDS="0")
    db = await asyncpg.connect(url)
    try:
        async with service.client() as http:
            make = Make(await new_machine(http, db))
            setup = await new_checkout_setup(Make(make.machine, await make.stock_location()))
            yield service, Buyer(http, setup)
    finally:
        await db.close()
        service.stop()


async def count_statements(service: Service, buyer: Buyer, product: ProductIds, method: str) -> dict[str, int]:
    """The statements of each request of a purchase."""
    buyer.order_token = None
    body: dict[str, Any] = {"payment_method_id": getattr(buyer.checkout_setup, method)}
    if method == "card":
        body["source_attributes"] = {"gateway_payment_profile_id": "approve"}
    answers = {
        "cart": await buyer.post("/cart"),
        "add_item": await buyer.add_item(product),
        "address": await buyer.enter_address(),
        "shipping_rates": await buyer.get("/checkout/shipping_rates"),
        "create_payment": await buyer.post("/checkout/create_payment", **body),
        "complete": await buyer.complete(),
    }
    assert all(answer.status < 300 for answer in answers.values()), answers
    return {step: service.request_line(each.request_id)["statements"] for step, each in answers.items()}


async def test_a_purchase_of_a_guest_makes_few_statements(shop: tuple[Service, Buyer]) -> None:
    service, buyer = shop
    product = await buyer.checkout_setup.product(on_hand=100)
    totals = {}
    for method in ("check", "card"):
        await count_statements(service, buyer, product, method)  # Reads the setup.
        counts = await count_statements(service, buyer, product, method)
        assert {step: count for step, count in counts.items() if count > LIMITS[step]} == {}, method
        totals[method] = sum(counts.values())
    assert totals["check"] <= 23
    assert totals["card"] <= 27

    await create_promotion(buyer.checkout_setup.make, TENTH, conditions=[for_products(product)])
    await count_statements(service, buyer, product, "check")
    counts = await count_statements(service, buyer, product, "check")

    assert {step: count for step, count in counts.items() if count > LIMITS[step]} == {}
