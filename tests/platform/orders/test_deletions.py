"""Deletable records: void payments, pending shipments, unused store credit."""

from tests.checkout_builders import Buyer, CheckoutSetup
from tests.platform.client import Machine
from tests.platform.customers.test_users import new_user
from tests.platform.invalid_values import assert_refused


async def test_only_a_void_payment_can_be_deleted(writer: Machine, checkout_setup: CheckoutSetup) -> None:
    buyer = Buyer(writer.http, checkout_setup)
    await buyer.add_items((await checkout_setup.product(), 1))
    await buyer.enter_address()
    await buyer.pay(method=checkout_setup.check)
    order = await buyer.complete()
    (payment,) = order.json["data"]["relationships"]["payments"]["data"]

    refusal = await writer.delete(f"/payments/{payment['id']}")
    await writer.patch(f"/payments/{payment['id']}/void", {})
    deletion = await writer.delete(f"/payments/{payment['id']}")

    assert_refused(refusal, "base")
    assert deletion.status == 204, deletion
    assert (await writer.get(f"/orders/{order.id}"))["payment_state"] == "balance_due"


async def test_a_voided_payment_that_was_captured_cannot_be_deleted(
    writer: Machine, checkout_setup: CheckoutSetup
) -> None:
    buyer = Buyer(writer.http, checkout_setup)
    await buyer.ready((await checkout_setup.product(), 1))
    order = await buyer.complete()
    (payment,) = order.json["data"]["relationships"]["payments"]["data"]

    await writer.patch(f"/payments/{payment['id']}/void", {})

    assert_refused(await writer.delete(f"/payments/{payment['id']}"), "base")


async def test_a_deleted_shipment_of_a_cart_is_created_again_by_advancing(
    writer: Machine, checkout_setup: CheckoutSetup
) -> None:
    buyer = Buyer(writer.http, checkout_setup)
    cart = await buyer.ready((await checkout_setup.product("10.00"), 1))
    (shipment,) = cart.json["data"]["relationships"]["shipments"]["data"]

    response = await writer.delete(f"/shipments/{shipment['id']}")
    without = await writer.get(f"/orders/{cart.id}")
    again = await writer.patch(f"/orders/{cart.id}/advance", {})

    assert (response.status, without["state"], without["total"]) == (204, "address", "10.0")
    assert (again.status, again["total"]) == (200, "15.0")
    assert (await buyer.complete()).status == 200


async def test_the_only_shipment_of_a_completed_order_cannot_be_deleted(
    writer: Machine, checkout_setup: CheckoutSetup
) -> None:
    buyer = Buyer(writer.http, checkout_setup)
    await buyer.ready((await checkout_setup.product(), 1))
    order = await buyer.complete()
    (shipment,) = order.json["data"]["relationships"]["shipments"]["data"]

    assert_refused(await writer.delete(f"/shipments/{shipment['id']}"), "base")


async def test_deleting_a_used_store_credit_is_refused(writer: Machine) -> None:
    body = {"user_id": await new_user(writer), "currency": "USD", "amount": "5.0", "memo": "late"}
    unused_credit, withdrawn = [await writer.post("/store_credits", {"store_credit": body}) for _ in range(2)]
    await writer.patch(f"/store_credits/{withdrawn.id}/withdraw", {"reason": "twice"})

    deletion = await writer.delete(f"/store_credits/{unused_credit.id}")
    refusal = await writer.delete(f"/store_credits/{withdrawn.id}")

    assert deletion.status == 204
    assert_refused(refusal, "base")
    assert (await writer.get(f"/store_credits/{withdrawn.id}"))["amount_authorized"] == "0.0"
