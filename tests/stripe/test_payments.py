"""Cards charged through Stripe: captured at once or later, refunded, declined, and with lost responses."""

from typing import Any
from uuid import UUID

import httpx2
import pytest

from tests.builders import Make
from tests.checkout_builders import Buyer, CheckoutSetup, on_hand
from tests.db.processes import until
from tests.platform.client import Machine
from tests.sampling import first
from tests.service import Service
from tests.shopper import Answer
from tests.storefront.product_lists import related_ids
from tests.stripe.stand_in import PUBLISHABLE_KEY, SECRET_KEY, StandIn

VISA = "pm_card_visa"
AGE_ATTEMPTS = """update payment_attempts set created_at = now() - $2 * interval '1 minute', looked_at = null
where order_id = $1"""


async def payment_of(db: Any, cart: Answer) -> Any:
    """The newest payment of an order."""
    return await db.fetchrow("select * from payments where order_id = $1 order by id desc limit 1", UUID(cart.id))


async def wait_until_settled(db: Any, cart: Answer, minutes: int) -> None:
    """Ages the payment attempts by `minutes`, and waits until the worker has settled them."""
    await db.execute(AGE_ATTEMPTS, UUID(cart.id), minutes)

    async def is_settled() -> bool:
        count_unknown = "select count(*) from payment_attempts where order_id = $1 and outcome = 'unknown'"
        return not await db.fetchval(count_unknown, UUID(cart.id))

    await until(is_settled)


async def buy_by_card(buyer: Buyer, checkout_setup: CheckoutSetup, source: str = VISA) -> Answer:
    await buyer.ready((await checkout_setup.product("10.00", on_hand=9), 1), source=source)
    order = await buyer.complete()
    assert order.status == 200, order
    return order


async def test_a_card_is_charged_once_and_shown_with_the_details_from_stripe(
    buyer: Buyer, checkout_setup: CheckoutSetup, db: Any, stripe: StandIn
) -> None:
    order = await buy_by_card(buyer, checkout_setup)
    again = await buyer.complete()
    status = await buyer.get(f"/order_status/{order['number']}", include="payments.source.payment_method")

    (intent,) = stripe.intents(order["number"])
    assert (order["state"], order["payment_state"], again.id) == ("complete", "paid", order.id)
    assert (intent["status"], intent["amount_received"], intent["currency"]) == ("succeeded", 1500, "usd")
    payment = await payment_of(db, order)
    assert (payment["state"], payment["captured_amount"]) == ("completed", 1500)
    assert payment["response_code"] == intent["id"]
    attempt = await db.fetchval("select id from payment_attempts where payment_id = $1", payment["id"])
    assert (intent["metadata"]["attempt"], str(attempt) in stripe.keys) == (str(attempt), True)
    (card,) = [each for each in status.json["included"] if each["type"] == "credit_card"]
    # The client sent 1111 as the last digits.
    assert [card["attributes"][name] for name in ("cc_type", "last_digits", "month", "default")] == [
        "visa",
        "4242",
        12,
        False,
    ]


async def test_a_payment_method_shows_the_publishable_key_and_no_secret(
    buyer: Buyer, checkout_setup: CheckoutSetup, writer: Machine, make: Make
) -> None:
    await buyer.add_items((await checkout_setup.product(), 1))

    methods = await buyer.get("/checkout/payment_methods")
    method = await writer.get(f"/payment_methods/{checkout_setup.card}")
    response = await writer.patch(
        f"/payment_methods/{checkout_setup.card}", {"payment_method": {"preferences": {"a": {"b": [SECRET_KEY]}}}}
    )

    (card,) = [each for each in methods.json["data"] if each["id"] == checkout_setup.card]
    assert card["attributes"]["preferences"] == {"publishable_key": PUBLISHABLE_KEY}
    assert (method["type"], method["preferences"]) == ("stripe", {})
    assert (response.status, list(response.json["errors"])) == (422, ["preferences"])


@pytest.mark.parametrize("source", first(2, ["pm_card/../x", None, "", "approve", "pm_", "tok_visa"]))
async def test_only_payment_method_ids_of_stripe_are_accepted(
    buyer: Buyer, checkout_setup: CheckoutSetup, source: str | None
) -> None:
    await buyer.add_items((await checkout_setup.product(), 1))
    await buyer.enter_address()

    response = await buyer.post(
        "/checkout/create_payment",
        payment_method_id=checkout_setup.card,
        source_attributes={"gateway_payment_profile_id": source, "last_digits": "1111"},
    )

    assert response.status == 422
    assert list(response.json["errors"]) == ["source_attributes.gateway_payment_profile_id"]


async def test_a_card_is_authorized_and_captured_later(
    buyer: Buyer, checkout_setup: CheckoutSetup, make: Make, writer: Machine, stripe: StandIn, db: Any
) -> None:
    await make.change("payment_methods", checkout_setup.card, "payment_method", auto_capture=False)
    order = await buy_by_card(buyer, checkout_setup)
    (intent,) = stripe.intents(order["number"])
    before, payment = dict(intent), await payment_of(db, order)

    capture = await writer.patch(f"/payments/{payment['id']}/capture", {})

    assert (order["payment_state"], payment["state"], before["status"]) == (
        "balance_due",
        "pending",
        "requires_capture",
    )
    assert (capture.status, capture["state"]) == (200, "completed")
    assert (intent["status"], intent["amount_received"]) == ("succeeded", 1500)
    assert (await buyer.get(f"/order_status/{order['number']}"))["payment_state"] == "paid"


@pytest.mark.parametrize("is_captured", [False, True])
async def test_a_void_cancels_the_payment_or_refunds_it_in_full(
    buyer: Buyer,
    checkout_setup: CheckoutSetup,
    make: Make,
    writer: Machine,
    stripe: StandIn,
    db: Any,
    is_captured: bool,
) -> None:
    await make.change("payment_methods", checkout_setup.card, "payment_method", auto_capture=is_captured)
    order = await buy_by_card(buyer, checkout_setup)
    payment = await payment_of(db, order)

    response = await writer.patch(f"/payments/{payment['id']}/void", {})

    (intent,) = stripe.intents(order["number"])
    assert (response.status, response["state"]) == (200, "void")
    assert intent["status"] == ("succeeded" if is_captured else "canceled")
    assert stripe.refunds(intent["id"]) == ([1500] if is_captured else [])
    # Without a valid payment the order would fail the check after the test.
    await writer.patch(f"/orders/{order.id}/cancel", {})


async def test_canceling_an_order_refunds_the_rest_after_a_partial_refund(
    buyer: Buyer, checkout_setup: CheckoutSetup, writer: Machine, stripe: StandIn, db: Any
) -> None:
    order = await buy_by_card(buyer, checkout_setup)
    payment = await payment_of(db, order)
    part = {"payment_id": str(payment["id"]), "amount": "4.0", "reason": "a scratch"}
    refund = await writer.post("/refunds", {"refund": part})

    canceled_order = await writer.patch(f"/orders/{order.id}/cancel", {})

    (intent,) = stripe.intents(order["number"])
    assert (refund.status, refund["state"]) == (201, "completed")
    assert (canceled_order["state"], canceled_order["payment_state"]) == ("canceled", "void")
    assert stripe.refunds(intent["id"]) == [400, 1100]
    assert (await payment_of(db, order))["response_code"] == intent["id"]


@pytest.mark.parametrize(
    ("source", "words"),
    first(
        2,
        [
            ("pm_card_chargeDeclinedInsufficientFunds", "insufficient funds"),
            # The buyer must not learn that fraud is suspected.
            ("pm_card_chargeDeclinedFraudulent", "was declined"),
            ("pm_card_chargeDeclined", "was declined"),
            ("pm_card_chargeDeclinedExpiredCard", "has expired"),
            ("pm_unheard_of", "could not be charged"),
        ],
    ),
)
async def test_a_declined_card_has_a_reason_and_another_can_be_used(
    buyer: Buyer, checkout_setup: CheckoutSetup, db: Any, stripe: StandIn, source: str, words: str
) -> None:
    mug = await checkout_setup.product(on_hand=3)
    cart = await buyer.ready((mug, 2), source=source)

    response = await buyer.complete()

    assert (response.status, response.code) == (422, "payment_refused")
    assert words in response.json["errors"]["payments"][0]
    assert (await payment_of(db, cart))["state"] == "failed"
    assert await on_hand(db, mug.variant_id) == 3
    if source == "pm_card_chargeDeclined":
        await buyer.pay(VISA)
        assert (await buyer.complete())["payment_state"] == "paid"
        assert [each["status"] for each in stripe.intents(cart["number"])] == ["requires_payment_method", "succeeded"]


@pytest.mark.parametrize(
    ("currency", "price", "units"), [("JPY", "1000", 1500), ("KWD", "2.120", 3120), ("KWD", "2.125", None)]
)
async def test_an_amount_is_charged_exactly_or_not_at_all(
    buyer: Buyer, checkout_setup: CheckoutSetup, stripe: StandIn, currency: str, price: str, units: int | None
) -> None:
    mug = await checkout_setup.product(prices={currency: price})
    await buyer.post(f"/cart?currency={currency}")
    cart = await buyer.ready((mug, 1), source=VISA)

    response = await buyer.complete()

    assert [each["amount_received"] for each in stripe.intents(cart["number"])] == ([units] if units else [])
    assert response.status == (200 if units else 422)
    if not units:
        assert "this precision in KWD" in response.json["errors"]["payments"][0]


async def test_a_request_with_a_lost_response_is_retried_and_charged_once(
    buyer: Buyer, checkout_setup: CheckoutSetup, stripe: StandIn
) -> None:
    stripe.faults.append(("POST /v1/payment_intents", "lost"))

    order = await buy_by_card(buyer, checkout_setup)

    assert [each["status"] for each in stripe.intents(order["number"])] == ["succeeded"]


# The shop treats an error response like a missing response.
@pytest.mark.parametrize(
    "fault", ["lost", *(pytest.param(each, marks=pytest.mark.torture) for each in ("dropped", "fails", "busy"))]
)
async def test_the_worker_settles_a_charge_with_an_unknown_result(
    buyer: Buyer, checkout_setup: CheckoutSetup, db: Any, stripe: StandIn, fault: str
) -> None:
    mug = await checkout_setup.product(on_hand=3)
    cart = await buyer.ready((mug, 1), source=VISA)
    stripe.faults += [("POST /v1/payment_intents", fault)] * 2

    response = await buyer.complete()
    stripe.faults.clear()
    await wait_until_settled(db, cart, 2 if fault == "lost" else 11)

    assert (response.status, response.code) == (409, "payment_in_progress")
    if fault == "lost":
        order = await buyer.complete()
        assert (order.status, order["payment_state"], await on_hand(db, mug.variant_id)) == (200, "paid", 2)
        assert [each["amount_received"] for each in stripe.intents(cart["number"])] == [1500]
    else:
        assert ((await payment_of(db, cart))["state"], await on_hand(db, mug.variant_id)) == ("failed", 3)
        assert stripe.intents(cart["number"]) == []


@pytest.mark.torture
async def test_a_payment_is_found_among_many_of_the_same_time(
    buyer: Buyer, checkout_setup: CheckoutSetup, db: Any, stripe: StandIn
) -> None:
    cart = await buyer.ready((await checkout_setup.product(), 1), source=VISA)
    stripe.faults += [("POST /v1/payment_intents", "lost")] * 2
    await buyer.complete()
    (intent,) = stripe.intents(cart["number"])
    # More than fit on one page, and all of them newer.
    others = {f"pi_other{number}": {**intent, "id": f"pi_other{number}", "metadata": {}} for number in range(120)}
    stripe.resources |= others

    await wait_until_settled(db, cart, 2)

    assert (await payment_of(db, cart))["response_code"] == intent["id"]
    for other in others:
        del stripe.resources[other]


@pytest.mark.torture
@pytest.mark.parametrize("act", ["capture", "refund", pytest.param("void", marks=pytest.mark.torture)])
async def test_the_worker_settles_an_operators_action_with_a_lost_response(
    buyer: Buyer, checkout_setup: CheckoutSetup, make: Make, writer: Machine, db: Any, stripe: StandIn, act: str
) -> None:
    await make.change("payment_methods", checkout_setup.card, "payment_method", auto_capture=act == "refund")
    order = await buy_by_card(buyer, checkout_setup)
    payment = str((await payment_of(db, order))["id"])
    stripe.faults += [("POST /v1/refunds" if act == "refund" else "POST /v1/payment_intents/", "lost")] * 2

    if act == "refund":
        body = {"refund": {"payment_id": payment, "amount": "15.0", "reason": "late"}}
        response = await writer.post("/refunds", body)
    else:
        response = await writer.patch(f"/payments/{payment}/{act}", {})
    await wait_until_settled(db, order, 2)

    assert (response.status, response.code) == (409, "payment_in_progress")
    state, refund = {"capture": ("completed", 0), "void": ("void", 0), "refund": ("completed", 1500)}[act]
    row = await payment_of(db, order)
    assert (row["state"], row["refunded_amount"]) == (state, refund)
    if act != "capture":
        await writer.patch(f"/orders/{order.id}/cancel", {})


@pytest.mark.torture
async def test_a_refund_that_never_arrived_is_not_confused_with_another(
    buyer: Buyer, checkout_setup: CheckoutSetup, writer: Machine, db: Any, stripe: StandIn
) -> None:
    order = await buy_by_card(buyer, checkout_setup)
    payment = str((await payment_of(db, order))["id"])

    async def refund(amount: str) -> Answer:
        return await writer.post("/refunds", {"refund": {"payment_id": payment, "amount": amount, "reason": "late"}})

    await refund("4.0")
    stripe.faults += [("POST /v1/refunds", "dropped")] * 2
    response = await refund("5.0")
    await wait_until_settled(db, order, 11)

    states = await db.fetch("select amount, state from refunds where payment_id = $1 order by amount", UUID(payment))
    assert (response.status, response.code) == (409, "payment_in_progress")
    assert [tuple(row) for row in states] == [(400, "completed"), (500, "failed")]
    assert (await payment_of(db, order))["refunded_amount"] == 400


@pytest.mark.torture
async def test_an_invalid_stripe_key_is_logged_and_not_shown_to_the_buyer(
    buyer: Buyer, checkout_setup: CheckoutSetup, stripe: StandIn, service: Service
) -> None:
    await buyer.ready((await checkout_setup.product(), 1), source=VISA)
    stripe.faults.append(("POST /v1/payment_intents", "unauthorized"))

    line_count = len(service.lines)
    response = await buyer.complete()
    log_line = service.wait_for(lambda line: "Stripe refused a request" in line, since=line_count)

    assert (response.status, response.code) == (422, "payment_refused")
    assert "choose another payment method" in response.json["errors"]["payments"][0]
    assert '"status":401' in log_line
    assert SECRET_KEY[:12] not in log_line + response.response.text


async def test_a_payment_that_must_be_confirmed_waits_for_the_shopper(
    buyer: Buyer, checkout_setup: CheckoutSetup, db: Any, stripe: StandIn
) -> None:
    mug = await checkout_setup.product(on_hand=3)
    cart = await buyer.ready((mug, 1), source="pm_card_authenticationRequired")

    response, again = await buyer.complete(), await buyer.complete()
    (intent,) = stripe.intents(cart["number"])
    other_change = await buyer.add_item(mug)
    stripe.shopper_confirms(intent["id"])
    order = await buyer.complete()

    for answer in (response, again):
        assert (answer.status, answer.code) == (409, "payment_needs_action")
        assert answer.json["client_secret"] == intent["client_secret"]
    assert (other_change.status, other_change.code) == (409, "payment_in_progress")
    assert (order.status, order["payment_state"], await on_hand(db, mug.variant_id)) == (200, "paid", 2)
    assert stripe.intents(cart["number"]) == [intent]


@pytest.mark.torture
async def test_a_required_confirmation_is_returned_again_after_a_lost_response(
    buyer: Buyer, checkout_setup: CheckoutSetup, db: Any, stripe: StandIn
) -> None:
    cart = await buyer.ready((await checkout_setup.product(), 1), source="pm_card_authenticationRequired")
    stripe.faults += [("POST /v1/payment_intents", "lost")] * 2
    response = await buyer.complete()
    (intent,) = stripe.intents(cart["number"])
    await db.execute(AGE_ATTEMPTS, UUID(cart.id), 2)

    async def has_reference() -> bool:
        query = "select reference from payment_attempts where order_id = $1"
        return bool(await db.fetchval(query, UUID(cart.id)))

    await until(has_reference)
    second_response = await buyer.complete()
    stripe.shopper_confirms(intent["id"])

    assert (response.code, second_response.code) == ("payment_in_progress", "payment_needs_action")
    assert second_response.json["client_secret"] == intent["client_secret"]
    assert (await buyer.complete())["payment_state"] == "paid"


@pytest.mark.torture
async def test_a_pending_payment_is_not_polled_in_every_run(
    buyer: Buyer, checkout_setup: CheckoutSetup, db: Any, stripe: StandIn
) -> None:
    cart = await buyer.ready((await checkout_setup.product(), 1), source="pm_card_authenticationRequired")
    await buyer.complete()
    (intent,) = stripe.intents(cart["number"])
    await db.execute(AGE_ATTEMPTS, UUID(cart.id), 2)

    def count_requests() -> int:
        return stripe.requests.count(("GET", f"/v1/payment_intents/{intent['id']}"))

    async def has_been_requested() -> bool:
        return count_requests() > 0

    await until(has_been_requested)
    other = Buyer(buyer.http, checkout_setup)
    order = await other.ready((await checkout_setup.product(), 1), source=VISA)
    stripe.faults += [("POST /v1/payment_intents", "lost")] * 2
    await other.complete()
    # The worker has run again, and settled this payment.
    await wait_until_settled(db, order, 2)

    assert count_requests() == 1
    await wait_until_settled(db, cart, 11)


async def test_a_payment_that_the_shopper_refuses_to_confirm_is_declined(
    buyer: Buyer, checkout_setup: CheckoutSetup, db: Any, stripe: StandIn
) -> None:
    mug = await checkout_setup.product(on_hand=3)
    cart = await buyer.ready((mug, 1), source="pm_card_authenticationRequired")
    await buyer.complete()
    (intent,) = stripe.intents(cart["number"])
    stripe.shopper_confirms(intent["id"], is_refused=True)

    response = await buyer.complete()

    assert (response.status, response.code) == (422, "payment_refused")
    assert "not confirmed" in response.json["errors"]["payments"][0]
    assert ((await buyer.get("/cart"))["state"], await on_hand(db, mug.variant_id)) == ("payment", 3)


@pytest.mark.torture
async def test_an_unconfirmed_payment_is_canceled_before_its_stock_is_released(
    buyer: Buyer, checkout_setup: CheckoutSetup, db: Any, stripe: StandIn
) -> None:
    mug = await checkout_setup.product(on_hand=1)
    cart = await buyer.ready((mug, 1), source="pm_card_authenticationRequired")
    await buyer.complete()
    (intent,) = stripe.intents(cart["number"])

    await wait_until_settled(db, cart, 11)

    assert intent["status"] == "canceled"
    after = await buyer.get("/cart")
    assert (after["state"], related_ids(after.json["data"], "payments"), await on_hand(db, mug.variant_id)) == (
        "payment",
        [],
        1,
    )


async def test_stripe_is_called_only_for_payments(
    buyer: Buyer, checkout_setup: CheckoutSetup, stripe: StandIn, http: httpx2.AsyncClient
) -> None:
    call_count = len(stripe.requests)

    await buyer.ready((await checkout_setup.product(), 1), source=VISA)
    await buyer.get("/checkout/payment_methods")
    await http.post("/payment_notices/stripe", content=b"{}", headers={"Stripe-Signature": "t=1,v1=00"})

    assert stripe.requests[call_count:] == []
