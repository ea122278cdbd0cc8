"""Cards that Stripe keeps for a user: under a customer of theirs, with what Stripe knows of them."""

from typing import Any
from uuid import UUID

import httpx
import pytest

from tests.accounts import sign_in
from tests.checkout_builders import SignedIn, Till
from tests.shopper import Answer
from tests.stripe.stand_in import NEXT_YEAR, StandIn
from tests.stripe.test_notices import MUST_CONFIRM, tell
from tests.stripe.test_paying import VISA

HERE = "/account/credit_cards"


@pytest.fixture
async def buyer(http: httpx.AsyncClient, till: Till) -> SignedIn:
    return SignedIn(http, till, await sign_in(http))


async def cards(buyer: SignedIn) -> list[dict[str, Any]]:
    response = await buyer.get(HERE)
    assert response.status == 200, response
    return list(response.json["data"])


async def buy(buyer: SignedIn, source: str = VISA) -> Answer:
    order = await buyer.buy(await buyer.till.product(), source)
    assert order.status == 200, order
    return order


def customers(stripe: StandIn, user: UUID) -> list[str]:
    all_customers = [each for each in stripe.things.values() if each["object"] == "customer"]
    return [each["id"] for each in all_customers if each["metadata"] == {"user": str(user)}]


async def test_a_card_is_kept_for_a_customer_and_shown_as_stripe_knows_it(buyer: SignedIn, stripe: StandIn) -> None:
    first = await buy(buyer)
    await buy(buyer, "pm_card_mastercard")

    mastercard, visa = await cards(buyer)

    (intent,) = stripe.intents(first["number"])
    # They are told of nobody's address.
    (customer,) = customers(stripe, await buyer.member.id())
    assert intent["customer"] == customer
    assert stripe.things[intent["payment_method"]]["customer"] == customer
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


async def test_a_kept_card_is_charged_again(buyer: SignedIn, till: Till, stripe: StandIn) -> None:
    await buy(buyer)
    (card,) = await cards(buyer)
    buyer.order_token = None
    await buyer.put_in((await till.product(), 1))
    await buyer.come_from()

    payment = await buyer.post("/checkout/create_payment", payment_method_id=till.card, source_id=card["id"])
    order = await buyer.complete()

    (intent,) = stripe.intents(order["number"])
    assert (payment.status, order["payment_state"]) == (201, "paid")
    assert intent["payment_method"] == card["attributes"]["gateway_payment_profile_id"]
    assert (intent["customer"], intent["setup_future_usage"]) == (customers(stripe, await buyer.member.id())[0], None)
    assert [each["id"] for each in await cards(buyer)] == [card["id"]]


@pytest.mark.parametrize("faults", [0, 2])
async def test_a_card_that_is_forgotten_is_forgotten_by_stripe_or_at_least_here(
    buyer: SignedIn, stripe: StandIn, faults: int
) -> None:
    await buy(buyer)
    (card,) = await cards(buyer)
    method = stripe.things[card["attributes"]["gateway_payment_profile_id"]]
    stripe.faults += [(f"POST /v1/payment_methods/{method['id']}/detach", "fails")] * faults

    response = await buyer.delete(f"{HERE}/{card['id']}")

    assert (response.status, await cards(buyer)) == (204, [])
    assert (method["customer"] is None) is not bool(faults)


async def test_a_card_whose_payment_was_told_of_is_kept_too(
    buyer: SignedIn, till: Till, http: httpx.AsyncClient, stripe: StandIn
) -> None:
    response = await buyer.buy(await till.product(), MUST_CONFIRM)
    before, event = await cards(buyer), stripe.events[-1]
    stripe.shopper_confirms(event["data"]["object"]["id"])

    await tell(http, stripe, stripe.events[-1])

    (card,) = await cards(buyer)
    assert (response.code, before, card["attributes"]["last_digits"]) == ("payment_needs_action", [], "3184")


@pytest.mark.torture
async def test_who_cannot_be_made_a_customer_pays_all_the_same(buyer: SignedIn, stripe: StandIn) -> None:
    stripe.faults += [("POST /v1/customers", "fails")] * 2

    order = await buy(buyer)

    assert (order["payment_state"], await cards(buyer)) == ("paid", [])
    assert stripe.intents(order["number"])[0]["customer"] is None


@pytest.mark.torture
async def test_a_customer_whom_stripe_does_not_know_is_made_anew(buyer: SignedIn, stripe: StandIn) -> None:
    """The keys are of another account now: that for real money, say."""
    await buy(buyer)
    user = await buyer.member.id()
    (old,) = customers(stripe, user)
    del stripe.things[old]

    order = await buy(buyer, "pm_card_mastercard")
    again = await buy(buyer)

    (new,) = customers(stripe, user)
    assert [stripe.intents(each["number"])[0]["customer"] for each in (order, again)] == [new, new]
    assert len(await cards(buyer)) == 3
