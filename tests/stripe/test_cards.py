"""Cards that Stripe saves for a user: they belong to a Stripe customer and have the details that Stripe knows."""

from typing import Any
from uuid import UUID

import httpx2
import pytest

from tests.accounts import sign_in
from tests.checkout_builders import CheckoutSetup, SignedInBuyer
from tests.shopper import Answer
from tests.stripe.stand_in import NEXT_YEAR, StandIn
from tests.stripe.test_payments import VISA
from tests.stripe.test_webhooks import MUST_CONFIRM, send_webhook

CARDS_PATH = "/account/credit_cards"


@pytest.fixture
async def buyer(http: httpx2.AsyncClient, checkout_setup: CheckoutSetup) -> SignedInBuyer:
    return SignedInBuyer(http, checkout_setup, await sign_in(http))


async def cards(buyer: SignedInBuyer) -> list[dict[str, Any]]:
    response = await buyer.get(CARDS_PATH)
    assert response.status == 200, response
    return list(response.json["data"])


async def buy(buyer: SignedInBuyer, source: str = VISA) -> Answer:
    order = await buyer.buy(await buyer.checkout_setup.product(), source)
    assert order.status == 200, order
    return order


def customers(stripe: StandIn, user: UUID) -> list[str]:
    all_customers = [each for each in stripe.resources.values() if each["object"] == "customer"]
    return [each["id"] for each in all_customers if each["metadata"] == {"user": str(user)}]


async def test_a_card_is_saved_for_a_customer_with_the_details_from_stripe(
    buyer: SignedInBuyer, stripe: StandIn
) -> None:
    first = await buy(buyer)
    await buy(buyer, "pm_card_mastercard")

    mastercard, visa = await cards(buyer)

    (intent,) = stripe.intents(first["number"])
    # Stripe gets no address of the user.
    (customer,) = customers(stripe, await buyer.member.id())
    assert intent["customer"] == customer
    assert stripe.resources[intent["payment_method"]]["customer"] == customer
    assert visa["attributes"] == {
        "cc_type": "visa",
        "last_digits": "4242",
        "month": 12,
        "year": NEXT_YEAR,
        "name": None,
        "default": False,
        "gateway_payment_profile_id": intent["payment_method"],
        "public_metadata": {},
    }
    assert (mastercard["attributes"]["cc_type"], mastercard["attributes"]["default"]) == ("mastercard", True)


async def test_a_saved_card_is_charged_again(
    buyer: SignedInBuyer, checkout_setup: CheckoutSetup, stripe: StandIn
) -> None:
    await buy(buyer)
    (card,) = await cards(buyer)
    buyer.order_token = None
    await buyer.add_items((await checkout_setup.product(), 1))
    await buyer.enter_address()

    payment = await buyer.post("/checkout/create_payment", payment_method_id=checkout_setup.card, source_id=card["id"])
    order = await buyer.complete()

    (intent,) = stripe.intents(order["number"])
    assert (payment.status, order["payment_state"]) == (201, "paid")
    assert intent["payment_method"] == card["attributes"]["gateway_payment_profile_id"]
    assert (intent["customer"], intent["setup_future_usage"]) == (customers(stripe, await buyer.member.id())[0], None)
    assert [each["id"] for each in await cards(buyer)] == [card["id"]]


@pytest.mark.parametrize("faults", [0, 2])
async def test_deleting_a_card_detaches_it_at_stripe_or_at_least_hides_it(
    buyer: SignedInBuyer, stripe: StandIn, faults: int
) -> None:
    await buy(buyer)
    (card,) = await cards(buyer)
    method = stripe.resources[card["attributes"]["gateway_payment_profile_id"]]
    stripe.faults += [(f"POST /v1/payment_methods/{method['id']}/detach", "fails")] * faults

    response = await buyer.delete(f"{CARDS_PATH}/{card['id']}")

    assert (response.status, await cards(buyer)) == (204, [])
    assert (method["customer"] is None) is not bool(faults)


async def test_a_card_is_saved_after_a_payment_completed_by_webhook(
    buyer: SignedInBuyer, checkout_setup: CheckoutSetup, http: httpx2.AsyncClient, stripe: StandIn
) -> None:
    response = await buyer.buy(await checkout_setup.product(), MUST_CONFIRM)
    before, event = await cards(buyer), stripe.events[-1]
    stripe.shopper_confirms(event["data"]["object"]["id"])

    await send_webhook(http, stripe, stripe.events[-1])

    (card,) = await cards(buyer)
    assert (response.code, before, card["attributes"]["last_digits"]) == ("payment_needs_action", [], "3184")


@pytest.mark.torture
async def test_a_payment_succeeds_even_if_no_stripe_customer_can_be_created(
    buyer: SignedInBuyer, stripe: StandIn
) -> None:
    stripe.faults += [("POST /v1/customers", "fails")] * 2

    order = await buy(buyer)

    assert (order["payment_state"], await cards(buyer)) == ("paid", [])
    assert stripe.intents(order["number"])[0]["customer"] is None


@pytest.mark.torture
async def test_a_customer_unknown_to_stripe_is_created_again(buyer: SignedInBuyer, stripe: StandIn) -> None:
    """For example, the keys now belong to another Stripe account."""
    await buy(buyer)
    user = await buyer.member.id()
    (old,) = customers(stripe, user)
    del stripe.resources[old]

    order = await buy(buyer, "pm_card_mastercard")
    again = await buy(buyer)

    (new,) = customers(stripe, user)
    assert [stripe.intents(each["number"])[0]["customer"] for each in (order, again)] == [new, new]
    assert len(await cards(buyer)) == 3
