"""Stock holds: items are reserved for a limited time while a customer pays."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any
from uuid import UUID

import httpx2
import pytest

from tests.accounts import sign_in
from tests.checkout_builders import Buyer, CheckoutSetup, on_hand
from tests.db.processes import until
from tests.http_client import SharedTransport
from tests.service import KEYS, Service
from tests.shopper import Answer


@pytest.fixture(scope="module")
def holding_service(service: Service) -> Iterator[Service]:
    """The same shop, with stock holds of one minute."""
    shop = Service(
        SHOP_DATA_DIR=service.environ["SHOP_DATA_DIR"],
        SHOP_SECRET_KEYS=KEYS,
        SHOP_HOLD_SECONDS="60",
        SHOP_DRAIN_SECONDS="0",
    )
    yield shop
    shop.stop()


@pytest.fixture
async def holding_client(
    holding_service: Service, shared_transport: SharedTransport
) -> AsyncIterator[httpx2.AsyncClient]:
    async with holding_service.client(transport=shared_transport) as client:
        yield client


@pytest.fixture
def buyer(holding_client: httpx2.AsyncClient, checkout_setup: CheckoutSetup) -> Buyer:
    return Buyer(holding_client, checkout_setup)


async def test_choosing_a_payment_holds_the_last_item_for_that_cart(
    buyer: Buyer, checkout_setup: CheckoutSetup, db: Any, holding_client: httpx2.AsyncClient
) -> None:
    mug = await checkout_setup.product(on_hand=1)
    other = Buyer(holding_client, checkout_setup)
    await other.add_items((mug, 1))
    paying_cart = await buyer.ready((mug, 1))

    held_until = (await buyer.get("/checkout/requirements")).json["held_until"]
    cart = await buyer.get("/cart")
    assert (held_until is not None, "meta" in cart.json, await on_hand(db, mug.variant_id)) == (True, False, 0)
    await other.enter_address()
    await other.pay()
    refusal = await other.complete()
    assert (refusal.status, refusal.code) == (422, "out_of_stock")
    order = await buyer.complete()
    assert (order["state"], await on_hand(db, mug.variant_id)) == ("complete", 0)
    assert await db.fetchval("select count(*) from stock_holds where order_id = $1", UUID(paying_cart.id)) == 0


async def test_an_expired_hold_is_released_and_the_item_can_still_be_bought(
    buyer: Buyer, checkout_setup: CheckoutSetup, db: Any
) -> None:
    mug = await checkout_setup.product(on_hand=2)
    cart = await buyer.ready((mug, 2))
    statement = "update stock_holds set expires_at = now() - interval '1 second' where order_id = $1"
    await db.execute(statement, UUID(cart.id))

    async def is_back() -> bool:
        return await on_hand(db, mug.variant_id) == 2

    await until(is_back)
    assert (await buyer.complete())["state"] == "complete"
    assert await on_hand(db, mug.variant_id) == 0


@pytest.mark.parametrize(
    "change",
    [
        "reduce the quantity",
        "empty the cart",
        "delete the cart",
        *(
            pytest.param(change, marks=pytest.mark.torture)
            for change in ("add another item", "change the address", "change the currency")
        ),
    ],
)
async def test_every_change_of_the_cart_releases_its_hold(
    buyer: Buyer, checkout_setup: CheckoutSetup, db: Any, change: str
) -> None:
    mug, bowl = await checkout_setup.product(on_hand=3, prices={"EUR": "9.00"}), await checkout_setup.product(on_hand=3)
    cart = await buyer.ready((mug, 3))
    assert await on_hand(db, mug.variant_id) == 0
    line = cart.json["data"]["relationships"]["line_items"]["data"][0]["id"]

    changes: dict[str, Callable[[], Awaitable[Answer]]] = {
        "reduce the quantity": lambda: buyer.patch("/cart/set_quantity", line_item_id=line, quantity=2),
        "add another item": lambda: buyer.add_items((bowl, 1)),
        "empty the cart": lambda: buyer.patch("/cart/empty"),
        "delete the cart": lambda: buyer.delete("/cart"),
        "change the address": lambda: buyer.enter_address(city="Chicago"),
        "change the currency": lambda: buyer.patch("/cart/change_currency", new_currency="EUR"),
    }
    assert (await changes[change]()).status in (200, 204)

    assert await on_hand(db, mug.variant_id) == 3
    sums = "select count_on_hand - (select sum(quantity) from stock_movements where stock_item_id = i.id)"
    assert await db.fetchval(f"{sums} from stock_items i where variant_id = $1", UUID(mug.variant_id)) == 0


async def test_associating_a_cart_releases_its_hold(
    buyer: Buyer, checkout_setup: CheckoutSetup, db: Any, holding_client: httpx2.AsyncClient
) -> None:
    mug = await checkout_setup.product(on_hand=3)
    await buyer.ready((mug, 3))
    member = await sign_in(holding_client)

    cart = await member.ask("PATCH", "/cart/associate", json={"guest_order_token": buyer.order_token})

    assert (cart.status, cart["item_count"]) == (200, 3)
    assert await on_hand(db, mug.variant_id) == 3
