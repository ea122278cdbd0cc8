"""Concurrent changes of a guest's checkout, which is read without a lock: the later request starts anew."""

from typing import Any
from uuid import UUID

from tests.checkout_builders import Buyer, CheckoutSetup
from tests.concurrency import run_concurrently, run_in_turn


async def test_an_address_is_entered_while_an_item_is_added(
    buyer: Buyer, checkout_setup: CheckoutSetup, db: Any
) -> None:
    mug, shirt = await checkout_setup.product("10.00"), await checkout_setup.product("7.00")
    cart = await buyer.add_items((mug, 1))

    await run_in_turn(db, UUID(cart.id), buyer.add_item(shirt), buyer.enter_address())

    checkout = await buyer.get("/cart", include="line_items")
    assert (checkout["item_count"], checkout["item_total"], checkout["total"]) == (2, "17.0", "22.0")
    query = "select count(distinct shipment_id), count(*) from shipment_items where order_id = $1"
    assert tuple(await db.fetchrow(query, UUID(cart.id))) == (1, 2)


async def test_two_addresses_are_entered_at_the_same_time(buyer: Buyer, checkout_setup: CheckoutSetup, db: Any) -> None:
    cart = await buyer.add_items((await checkout_setup.product(), 1))

    calls = [buyer.enter_address(address1=f"{number} Main Street") for number in range(3)]
    await run_concurrently(db, "orders", UUID(cart.id), *calls)

    order_id = UUID(cart.id)
    assert await db.fetchval("select count(*) from shipments where order_id = $1", order_id) == 1
    query = "select count(*) from addresses a join orders o on a.id in (o.bill_address_id, o.ship_address_id)"
    assert await db.fetchval(f"{query} where o.id = $1", order_id) == 1


async def test_of_payments_chosen_at_the_same_time_one_remains(
    buyer: Buyer, checkout_setup: CheckoutSetup, db: Any
) -> None:
    cart = await buyer.add_items((await checkout_setup.product(), 1))
    await buyer.enter_address()
    choice: dict[str, Any] = {"payment_method_id": checkout_setup.check}

    calls = [buyer.post("/checkout/create_payment", **choice) for _ in range(3)]
    answers = await run_concurrently(db, "orders", UUID(cart.id), *calls)

    assert [answer.status for answer in answers] == [201] * 3
    assert await db.fetchval("select count(*) from payments where order_id = $1", UUID(cart.id)) == 1


async def test_a_payment_is_chosen_while_an_item_is_added(buyer: Buyer, checkout_setup: CheckoutSetup, db: Any) -> None:
    mug, shirt = await checkout_setup.product("10.00"), await checkout_setup.product("7.00")
    cart = await buyer.add_items((mug, 1))
    await buyer.enter_address()
    pay = buyer.post("/checkout/create_payment", payment_method_id=checkout_setup.check)

    await run_in_turn(db, UUID(cart.id), buyer.add_item(shirt), pay)

    checkout = await buyer.get("/cart")
    assert (checkout["state"], checkout["total"]) == ("payment", "22.0")
    assert await db.fetchval("select amount from payments where order_id = $1", UUID(cart.id)) == 2200
