"""Parts of orders that can be removed: void payments, pending shipments, store credit that nobody used."""

from tests.platform.customers.test_users import new_user
from tests.platform.hostile import assert_refused
from tests.platform.machine import Machine
from tests.till import Buyer, Till


async def test_a_void_payment_is_removed_and_another_stays(writer: Machine, till: Till) -> None:
    buyer = Buyer(writer.http, till)
    await buyer.put_in((await till.product(), 1))
    await buyer.come_from()
    await buyer.pay(method=till.check)
    order = await buyer.complete()
    (payment,) = order.json["data"]["relationships"]["payments"]["data"]

    refused = await writer.delete(f"/payments/{payment['id']}")
    await writer.patch(f"/payments/{payment['id']}/void", {})
    removed = await writer.delete(f"/payments/{payment['id']}")

    assert_refused(refused, "base")
    assert removed.status == 204, removed
    assert (await writer.get(f"/orders/{order.id}"))["payment_state"] == "balance_due"


async def test_a_voided_payment_that_took_money_stays(writer: Machine, till: Till) -> None:
    buyer = Buyer(writer.http, till)
    await buyer.ready((await till.product(), 1))
    order = await buyer.complete()
    (payment,) = order.json["data"]["relationships"]["payments"]["data"]

    await writer.patch(f"/payments/{payment['id']}/void", {})

    assert_refused(await writer.delete(f"/payments/{payment['id']}"), "base")


async def test_a_shipment_of_an_open_order_is_removed_and_packed_again(writer: Machine, till: Till) -> None:
    buyer = Buyer(writer.http, till)
    cart = await buyer.ready((await till.product("10.00"), 1))
    (shipment,) = cart.json["data"]["relationships"]["shipments"]["data"]

    removed = await writer.delete(f"/shipments/{shipment['id']}")
    without = await writer.get(f"/orders/{cart.id}")
    again = await writer.patch(f"/orders/{cart.id}/advance", {})

    assert (removed.status, without["state"], without["total"]) == (204, "address", "10.0")
    assert (again.status, again["total"]) == (200, "15.0")
    assert (await buyer.complete()).status == 200


async def test_a_shipment_of_a_completed_order_stays(writer: Machine, till: Till) -> None:
    buyer = Buyer(writer.http, till)
    await buyer.ready((await till.product(), 1))
    order = await buyer.complete()
    (shipment,) = order.json["data"]["relationships"]["shipments"]["data"]

    assert_refused(await writer.delete(f"/shipments/{shipment['id']}"), "base")


async def test_store_credit_is_removed_while_nothing_of_it_was_used(writer: Machine) -> None:
    body = {"user_id": await new_user(writer), "currency": "USD", "amount": "5.0", "memo": "late"}
    unused, withdrawn = [await writer.post("/store_credits", {"store_credit": body}) for _ in range(2)]
    await writer.patch(f"/store_credits/{withdrawn.id}/withdraw", {"reason": "twice"})

    removed = await writer.delete(f"/store_credits/{unused.id}")
    refused = await writer.delete(f"/store_credits/{withdrawn.id}")

    assert removed.status == 204
    assert_refused(refused, "base")
    assert (await writer.get(f"/store_credits/{withdrawn.id}"))["amount_authorized"] == "0.0"
