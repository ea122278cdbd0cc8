"""Store credit: granted with a reason, reserved for an order, spent when it is completed, restored when it is not."""

import asyncio
from typing import Any

import httpx2
import pytest

from shop.models.checkout.payments import STORE_CREDIT_METHOD
from tests.accounts import Member, sign_in
from tests.builders import Make, ProductIds
from tests.checkout_builders import ADDRESS, Buyer, CheckoutSetup, set_stock
from tests.db.processes import until
from tests.promotion_builders import FREE_SHIPPING, create_promotion, new_code
from tests.shopper import Answer


@pytest.fixture
async def member(http: httpx2.AsyncClient) -> Member:
    return await sign_in(http)


STATUS = "/api/v2/storefront/order_status"


async def grant(make: Make, member: Member, amount: str, currency: str = "USD", memo: str = "Late delivery") -> Answer:
    user_id = str(await member.id())
    return await make.new("store_credits", "store_credit", user_id=user_id, amount=amount, currency=currency, memo=memo)


async def ready(member: Member, checkout_setup: CheckoutSetup, *lines: tuple[ProductIds, int]) -> Answer:
    """Fills a cart and its checkout, except for the payment."""
    await member.post("/cart")
    items = [{"variant_id": product.variant_id, "quantity": quantity} for product, quantity in lines]
    await member.post("/cart/add_items", items=items)
    return await member.patch("/checkout", order={"bill_address_attributes": ADDRESS, "use_billing": True})


async def pay_by_card(member: Member, checkout_setup: CheckoutSetup, script: str) -> Answer:
    source = {"gateway_payment_profile_id": script, "last_digits": "1111"}
    return await member.post(
        "/checkout/create_payment", payment_method_id=checkout_setup.card, source_attributes=source
    )


async def fetch_balances(db: Any, member: Member, currency: str = "USD") -> tuple[int, int]:
    """The remaining credit according to the grants, and according to the ledger."""
    owner = (await member.id(), currency)
    balance = await db.fetchval(
        "select coalesce(sum(amount - amount_used), 0)::int from store_credits where user_id = $1 and currency = $2",
        *owner,
    )
    ledger = "select coalesce(sum(amount), 0)::int from store_credit_events where user_id = $1 and currency = $2"
    return balance, await db.fetchval(ledger, *owner)


def payments(answer: Answer) -> list[tuple[str, str]]:
    return sorted(
        (each["attributes"]["amount"], each["attributes"]["state"])
        for each in answer.json["included"]
        if each["type"] == "payment"
    )


async def test_the_owner_sees_the_store_credit_of_a_payment(
    checkout_setup: CheckoutSetup, member: Member, http: httpx2.AsyncClient
) -> None:
    first, _ = [await grant(checkout_setup.make, member, amount) for amount in ("2.00", "50.00")]
    cart = await ready(member, checkout_setup, (await checkout_setup.product("20.00"), 1))
    include = "payments.source.payment_method"

    with_credit = await member.post(f"/checkout/add_store_credit?include={include}")
    order = await member.patch(f"/checkout/complete?include={include}")
    token = {"X-Spree-Order-Token": cart["token"]}
    by_token = (await http.get(f"{STATUS}/{order['number']}?include={include}", headers=token)).json()

    payment_list = await checkout_setup.make.machine.get(f"/payments?filter[order_id_eq]={order.id}&include=source")
    assert payment_list.json["data"][0]["relationships"]["source"]["data"] == {"id": first.id, "type": "store_credit"}
    assert [each["type"] for each in payment_list.json["included"]] == ["store_credit"]
    for answer in (with_credit, order):
        records = {each["type"]: each for each in answer.json["included"]}
        source = {"id": first.id, "type": "store_credit"}
        assert records["payment"]["relationships"]["source"]["data"] == source
        assert records["store_credit"]["attributes"]["amount"] == "2.0"
    assert records["store_credit"]["attributes"]["amount_remaining"] == "0.0"
    (payment,) = [each for each in by_token["included"] if each["type"] == "payment"]
    assert payment["relationships"]["source"]["data"] is None


async def test_store_credit_is_used_from_the_oldest_grant_first(
    checkout_setup: CheckoutSetup, member: Member, db: Any
) -> None:
    first, second = await grant(checkout_setup.make, member, "10.00"), await grant(checkout_setup.make, member, "50.00")
    await ready(member, checkout_setup, (await checkout_setup.product("20.00"), 1))

    cart = await member.post("/checkout/add_store_credit?include=payments")
    order = await member.patch("/checkout/complete?include=payments")

    assert (cart.status, cart["total"], cart["total_minus_store_credits"]) == (200, "25.0", "0.0")
    assert payments(cart) == [("25.0", "checkout")]
    assert (order.status, order["state"], order["payment_state"]) == (200, "complete", "paid")
    assert payments(order) == [("25.0", "completed")]
    assert await fetch_balances(db, member) == (3_500, 3_500)
    amounts_used = [
        (await checkout_setup.make.machine.get(f"/store_credits/{each.id}"))["amount_used"] for each in (first, second)
    ]
    assert amounts_used == ["10.0", "15.0"]
    assert (await member.get("/account"))["store_credits"] == "35.0"


async def test_the_card_pays_the_rest_that_store_credit_does_not_cover(
    checkout_setup: CheckoutSetup, member: Member, db: Any
) -> None:
    await grant(checkout_setup.make, member, "10.00")
    await ready(member, checkout_setup, (await checkout_setup.product("20.00"), 1))

    cart = await member.post("/checkout/add_store_credit")
    refusal = await member.patch("/checkout/complete")
    await pay_by_card(member, checkout_setup, "approve")
    order = await member.patch("/checkout/complete?include=payments")

    assert cart["total_minus_store_credits"] == "15.0"
    assert (refusal.status, refusal.code) == (422, "payment_missing")
    assert payments(order) == [("10.0", "completed"), ("15.0", "completed")]
    assert (order["payment_state"], await fetch_balances(db, member)) == ("paid", (0, 0))
    rows = await db.fetch("select amount, captured_amount from payments where order_id = $1", order.id)
    assert sorted(map(tuple, rows)) == [(1_000, 1_000), (1_500, 1_500)]


@pytest.mark.parametrize("amount", ["4.00", "4", 4, 4.0])
async def test_an_amount_may_be_a_number_or_a_string(
    checkout_setup: CheckoutSetup, member: Member, db: Any, amount: str | float
) -> None:
    await grant(checkout_setup.make, member, "10.00")
    await ready(member, checkout_setup, (await checkout_setup.product("20.00"), 1))

    cart = await member.post("/checkout/add_store_credit?include=payments", amount=amount)

    assert (cart.status, payments(cart)) == (200, [("4.0", "checkout")])
    for wrong in (True, "four", [4], 0, -1, 4.001):
        assert (await member.post("/checkout/add_store_credit", amount=wrong)).status == 422, wrong


async def test_a_declined_card_does_not_use_store_credit(
    checkout_setup: CheckoutSetup, member: Member, db: Any
) -> None:
    await grant(checkout_setup.make, member, "10.00")
    await ready(member, checkout_setup, (await checkout_setup.product("20.00"), 1))
    await member.post("/checkout/add_store_credit", amount="4.00")
    await pay_by_card(member, checkout_setup, "decline")

    refusal = await member.patch("/checkout/complete")
    after = await fetch_balances(db, member)
    await pay_by_card(member, checkout_setup, "approve")
    order = await member.patch("/checkout/complete?include=payments")

    assert (refusal.status, refusal.code, after) == (422, "payment_refused", (1_000, 1_000))
    assert payments(order) == [("21.0", "completed"), ("4.0", "completed")]
    assert await fetch_balances(db, member) == (600, 600)


async def test_canceling_and_partial_refunds_restore_store_credit(
    checkout_setup: CheckoutSetup, member: Member, db: Any
) -> None:
    await grant(checkout_setup.make, member, "10.00")
    await ready(member, checkout_setup, (await checkout_setup.product("20.00", on_hand=5), 1))
    await member.post("/checkout/add_store_credit")
    await pay_by_card(member, checkout_setup, "approve")
    order = await member.patch("/checkout/complete?include=payments")
    credit = next(
        each["id"]
        for each in order.json["included"]
        if each["type"] == "payment" and each["attributes"]["amount"] == "10.0"
    )
    machine = checkout_setup.make.machine

    refund = {"payment_id": credit, "amount": "3.00", "reason": "Scratched"}
    part = await machine.post("/refunds", {"refund": refund})
    after_part = await fetch_balances(db, member)
    cancellation = await machine.patch(f"/orders/{order.id}/cancel", {})
    events = await machine.get(f"/store_credit_events?filter[user_id_eq]={await member.id()}&sort=id")

    assert (part.status, after_part) == (201, (300, 300)), part
    assert (cancellation.status, await fetch_balances(db, member)) == (200, (1_000, 1_000))
    actions = [(each["attributes"]["action"], each["attributes"]["amount"]) for each in events.json["data"]]
    assert actions == [("granted", "10.0"), ("spent", "-10.0"), ("restored", "3.0"), ("restored", "7.0")]
    totals = [each["attributes"]["user_total_amount"] for each in events.json["data"]]
    assert totals == ["10.0", "0.0", "3.0", "10.0"]


async def test_store_credit_is_removed_on_request_and_by_cart_changes(
    checkout_setup: CheckoutSetup, member: Member
) -> None:
    product = await checkout_setup.product("20.00")
    await grant(checkout_setup.make, member, "10.00")
    await ready(member, checkout_setup, (product, 1))
    await member.post("/checkout/add_store_credit")

    cart = await member.post("/checkout/remove_store_credit?include=payments")
    await member.post("/checkout/add_store_credit")
    await member.post("/cart/add_item", variant_id=product.variant_id)
    cart_after = await member.get("/cart?include=payments")

    assert (cart.status, cart["total_minus_store_credits"]) == (200, "25.0")
    assert cart.json["included"] == []
    assert (cart_after["total_minus_store_credits"], cart_after.json["included"]) == ("40.0", [])


async def test_removing_unavailable_items_releases_their_store_credit(
    checkout_setup: CheckoutSetup, member: Member, db: Any
) -> None:
    await grant(checkout_setup.make, member, "50.00")
    product = await checkout_setup.product("20.00")
    await ready(member, checkout_setup, (product, 1))
    await member.post("/checkout/add_store_credit")
    await set_stock(db, product.variant_id, 0)

    answer = await member.post("/checkout/validate_order_for_payment?include=payments", skip_state=True)

    assert (answer.status, answer["item_count"], answer["total"]) == (422, 0, "0.0")
    query = "select store_credit_total from orders where id = $1"
    assert await db.fetchval(query, answer.id) == 0
    assert "included" not in answer.json or payments(answer) == []
    assert await fetch_balances(db, member) == (5000, 5000)


async def test_a_customer_without_store_credit_is_refused(
    http: httpx2.AsyncClient, checkout_setup: CheckoutSetup, member: Member
) -> None:
    product, guest = await checkout_setup.product("20.00"), Buyer(http, checkout_setup)
    await guest.add_items((product, 1))
    await guest.enter_address()
    await grant(checkout_setup.make, member, "10.00", "EUR")
    await ready(member, checkout_setup, (product, 1))

    by_guest, in_euros = await guest.post("/checkout/add_store_credit"), await member.post("/checkout/add_store_credit")
    empty = await sign_in(http)
    await empty.post("/cart")
    nothing = await empty.post("/checkout/add_store_credit")

    assert [(answer.status, answer.code) for answer in (by_guest, in_euros)] == [(422, "no_store_credit")] * 2
    assert (nothing.status, nothing.code) == (422, "cart_empty")
    assert (await member.get("/account"))["store_credits"] == 0


async def test_an_invalid_amount_is_422(checkout_setup: CheckoutSetup, member: Member) -> None:
    await grant(checkout_setup.make, member, "10.00")
    await ready(member, checkout_setup, (await checkout_setup.product("20.00"), 1))
    amounts: list[Any] = ["0", "-1", "1.001", "NaN", "much", "1e400", "1e9", "\u0661", " 1", True, -5]

    answers = [await member.post("/checkout/add_store_credit", amount=amount) for amount in amounts]

    assert [(answer.status, list(answer.json["errors"])) for answer in answers] == [(422, ["amount"])] * len(amounts)


async def test_two_concurrent_orders_do_not_spend_store_credit_twice(
    http: httpx2.AsyncClient, checkout_setup: CheckoutSetup, member: Member, db: Any
) -> None:
    """Both carts use all of the credit: one order gets it, and the other learns how much remains."""
    product, carts = await checkout_setup.product("20.00", on_hand=9), []
    await grant(checkout_setup.make, member, "30.00")
    for _ in range(2):
        buyer = Buyer(http, checkout_setup)
        cart = await buyer.add_items((product, 1))
        await db.execute("update orders set user_id = $1 where id = $2", await member.id(), cart.id)
        await buyer.enter_address()
        token_headers = {"X-Shop-Order-Token": str(buyer.order_token)}
        with_credit = await member.post("/checkout/add_store_credit", headers=token_headers)
        assert with_credit["total_minus_store_credits"] == "0.0"
        await buyer.post("/checkout/create_payment", payment_method_id=checkout_setup.check)
        carts.append(token_headers)

    answers = await asyncio.gather(
        *(member.patch("/checkout/complete", headers=token_headers) for token_headers in carts)
    )

    assert sorted(answer.status for answer in answers) == [200, 409]
    index = next(index for index, answer in enumerate(answers) if answer.status == 409)
    conflict = answers[index].json
    assert conflict["differences"] == [{"code": "store_credit_changed", "was": "25.0", "now": "5.0"}]
    assert await fetch_balances(db, member) == (500, 500)
    order = await member.patch("/checkout/complete", headers=carts[index], consent_token=conflict["consent_token"])
    assert (order.status, order["payment_state"]) == (200, "balance_due")
    assert await fetch_balances(db, member) == (0, 0)


async def test_grants_are_validated_and_the_remaining_amount_can_be_withdrawn(
    checkout_setup: CheckoutSetup, member: Member, db: Any
) -> None:
    machine, user_id = checkout_setup.make.machine, str(await member.id())
    good = {"user_id": user_id, "amount": "5.00", "currency": "USD", "memo": "Sorry"}

    async def rejected_fields(**wrong: Any) -> list[str]:
        answer = await machine.post("/store_credits", {"store_credit": {**good, **wrong}})
        assert answer.status == 422, answer
        return list(answer.json["errors"])

    assert await rejected_fields(amount="0") == ["amount"]
    assert await rejected_fields(amount="1.001") == ["amount"]
    assert await rejected_fields(currency="XXX") == ["currency"]
    assert await rejected_fields(memo="") == ["memo"]
    assert await rejected_fields(user_id="018f0000-0000-7000-8000-000000000000") == ["user_id"]
    credit = await grant(checkout_setup.make, member, "5.00")
    withdrawal = await machine.patch(f"/store_credits/{credit.id}/withdraw", {"reason": "A mistake"})
    again = await machine.patch(f"/store_credits/{credit.id}/withdraw", {"reason": "A mistake"})

    assert (withdrawal.status, withdrawal["amount_left"], again.status) == (200, "0.0", 422)
    assert await fetch_balances(db, member) == (0, 0)


async def test_the_store_credit_payment_method_cannot_be_deleted_and_is_not_offered(
    http: httpx2.AsyncClient, checkout_setup: CheckoutSetup
) -> None:
    deletion = await checkout_setup.make.machine.delete(f"/payment_methods/{STORE_CREDIT_METHOD}")
    buyer = Buyer(http, checkout_setup)
    await buyer.add_items((await checkout_setup.product("20.00"), 1))
    methods = await buyer.get("/checkout/payment_methods")
    refusal = await buyer.post("/checkout/create_payment", payment_method_id=str(STORE_CREDIT_METHOD))

    assert deletion.status == 422
    update = await checkout_setup.make.machine.patch(
        f"/payment_methods/{STORE_CREDIT_METHOD}", {"payment_method": {"display_on": "both"}}
    )
    assert update.status == 422
    assert str(STORE_CREDIT_METHOD) not in [each["id"] for each in methods.json["data"]]
    assert (refusal.status, refusal.code) == (422, "payment_method_not_found")


@pytest.mark.security("C-09")
async def test_the_order_token_alone_cannot_spend_the_owners_store_credit(
    http: httpx2.AsyncClient, checkout_setup: CheckoutSetup, member: Member, db: Any
) -> None:
    await grant(checkout_setup.make, member, "30.00")
    buyer = Buyer(http, checkout_setup)
    cart = await buyer.add_items((await checkout_setup.product("20.00"), 1))
    await db.execute("update orders set user_id = $1 where id = $2", await member.id(), cart.id)

    by_token = await buyer.post("/checkout/add_store_credit")

    assert (by_token.status, by_token.code) == (401, "owner_required")


async def test_store_credit_covers_later_shipping_costs_unless_an_amount_was_given(
    checkout_setup: CheckoutSetup, member: Member
) -> None:
    await grant(checkout_setup.make, member, "50.00")
    await member.post("/cart")
    await member.post("/cart/add_item", variant_id=(await checkout_setup.product("20.00")).variant_id)
    early = await member.post("/checkout/add_store_credit")
    fields = {"bill_address_attributes": ADDRESS, "use_billing": True}
    await member.patch("/checkout", order=fields)
    order = await member.patch("/checkout/complete")

    await ready(member, checkout_setup, (await checkout_setup.product("20.00"), 1))
    cart = await member.post("/checkout/add_store_credit", amount="4.00")

    assert (early["total"], early["total_minus_store_credits"]) == ("20.0", "0.0")
    assert (order.status, order["total"], order["payment_state"]) == (200, "25.0", "paid")
    assert cart["total_minus_store_credits"] == "21.0"


async def test_unneeded_store_credit_is_released_and_the_order_is_ready_to_ship(
    checkout_setup: CheckoutSetup, member: Member, db: Any
) -> None:
    code = new_code()
    await create_promotion(checkout_setup.make, ("percent_off_items", {"percent": "100"}), FREE_SHIPPING, code=code)
    await grant(checkout_setup.make, member, "50.00")
    await ready(member, checkout_setup, (await checkout_setup.product("20.00"), 1))
    await member.post("/checkout/add_store_credit")
    await member.patch("/cart/apply_coupon_code", coupon_code=code)

    order = await member.patch("/checkout/complete?include=payments,shipments")

    assert (order.status, order["total"], order["payment_state"]) == (200, "0.0", "paid"), order
    assert payments(order) == []
    (shipment,) = [each for each in order.json["included"] if each["type"] == "shipment"]
    assert (shipment["attributes"]["state"], await fetch_balances(db, member)) == ("ready", (5_000, 5_000))


async def test_a_fully_refunded_order_can_neither_be_shipped_nor_resumed(
    checkout_setup: CheckoutSetup, member: Member
) -> None:
    await grant(checkout_setup.make, member, "50.00")
    await ready(member, checkout_setup, (await checkout_setup.product("20.00", on_hand=5), 1))
    await member.post("/checkout/add_store_credit")
    purchase = await member.patch("/checkout/complete")
    machine = checkout_setup.make.machine
    order = await machine.get(f"/orders/{purchase.id}")
    payment, shipment = (order.json["data"]["relationships"][name]["data"][0] for name in ("payments", "shipments"))

    refund = {"payment_id": payment["id"], "amount": "25.00", "reason": "Lost"}
    await machine.post("/refunds", {"refund": refund})
    refunded_order = await machine.get(f"/orders/{purchase.id}")
    ship_response = await machine.patch(f"/shipments/{shipment['id']}/ship", {})
    await machine.patch(f"/orders/{purchase.id}/cancel", {})
    resume_response = await machine.patch(f"/orders/{purchase.id}/resume", {})

    assert (refunded_order["payment_state"], refunded_order["outstanding_balance"]) == ("void", "0.0")
    assert [(answer.status, answer.code) for answer in (ship_response, resume_response)] == [
        (422, "illegal_transition")
    ] * 2


async def test_store_credit_reserved_during_a_card_payment_can_neither_be_captured_nor_voided(
    http: httpx2.AsyncClient, checkout_setup: CheckoutSetup, member: Member, db: Any
) -> None:
    await grant(checkout_setup.make, member, "10.00")
    await ready(member, checkout_setup, (await checkout_setup.product("20.00"), 1))
    await member.post("/checkout/add_store_credit")
    await pay_by_card(member, checkout_setup, "late")
    completion = asyncio.create_task(member.patch("/checkout/complete"))
    machine = checkout_setup.make.machine

    async def find_pending_payment() -> Any:
        return await db.fetchrow(
            "select p.id, p.order_id from payments p join orders o on o.id = p.order_id "
            "where o.user_id = $1 and p.state = 'pending'",
            await member.id(),
        )

    await until(find_pending_payment, 10)
    credit = await find_pending_payment()
    order = await machine.get(f"/orders/{credit['order_id']}?include=shipments.shipping_rates")
    shipment = next(each["id"] for each in order.json["included"] if each["type"] == "shipment")
    rates = [each["id"] for each in order.json["included"] if each["type"] == "shipping_rate"]
    refusals = [await machine.patch(f"/payments/{credit['id']}/{verb}", {}) for verb in ("capture", "void")]
    update = await machine.patch(f"/shipments/{shipment}", {"shipment": {"selected_shipping_rate_id": rates[-1]}})
    completion.cancel()

    assert [(answer.status, answer.code) for answer in refusals] == [(422, "illegal_transition")] * 2
    assert (update.status, update.code) == (409, "payment_in_progress")


@pytest.mark.security("C-06")
async def test_a_repeated_idempotency_key_keeps_store_credit_that_was_added_since(
    checkout_setup: CheckoutSetup, member: Member
) -> None:
    product = await checkout_setup.product("10.00")
    await grant(checkout_setup.make, member, "4.00")
    await ready(member, checkout_setup, (product, 1))
    once = {"Idempotency-Key": new_code()}
    await member.post("/cart/add_item", headers=once, variant_id=product.variant_id)
    await member.patch("/checkout/advance")
    await member.post("/checkout/add_store_credit")

    again = await member.post("/cart/add_item", headers=once, variant_id=product.variant_id)
    after = await member.get("/cart?include=payments")

    assert [answer["total_minus_store_credits"] for answer in (again, after)] == ["21.0", "21.0"]
    assert payments(after) == [("4.0", "checkout")]
