"""The payment page of a completed order with Stripe's form: markup, charge, decline, confirmation and webhooks."""

import asyncio
import re
from typing import Any
from uuid import UUID

import httpx2
import pytest

from tests.checkout_builders import CheckoutSetup
from tests.stripe.stand_in import PUBLISHABLE_KEY, StandIn
from tests.stripe.test_payment_page import sources_of
from tests.stripe.test_payments import VISA
from tests.stripe.test_webhooks import MUST_CONFIRM
from tests.website.test_payment_links import DueOrder, new_due_order
from tests.website.visitor import VisitedPage
from tests.website.web_buyer import WebBuyer, plain_text


@pytest.fixture
async def due(http: httpx2.AsyncClient, checkout_setup: CheckoutSetup, db: Any) -> DueOrder:
    return await new_due_order(WebBuyer(http, checkout_setup), db)


async def pay(due: DueOrder, reference: str, page: VisitedPage | None = None) -> VisitedPage:
    """Sends the form with a card of Stripe's form."""
    return await due.pay("", page, gateway_payment_profile_id=reference)


async def test_the_payment_page_of_an_order_has_stripes_form(due: DueOrder) -> None:
    page = await due.payer.get(due.path)
    await pay(due, VISA, page)
    paid = await due.payer.get(due.path)

    assert f'data-stripe-form data-key="{PUBLISHABLE_KEY}" data-amount="1500" data-currency="usd"' in page.text
    assert '<script src="https://js.stripe.com/v3/" defer></script>' in page.text
    assert "https://js.stripe.com" in sources_of(page, "script-src")
    assert "stripe" not in paid.headers["content-security-policy"]


async def test_the_card_of_stripes_form_pays_the_order(due: DueOrder, stripe: StandIn) -> None:
    page = await pay(due, VISA)

    (intent,) = stripe.intents(due.number)
    assert page.location == f"{due.path}?done=payment"
    assert (intent["status"], intent["amount_received"]) == ("succeeded", 1500)
    assert await due.payments() == [("void", 1500, 0), ("completed", 1500, 1500)]
    assert (await due.states())[1:] == ("paid", "ready", 1500)


async def test_concurrent_payments_create_one_intent(due: DueOrder, stripe: StandIn) -> None:
    page = await due.payer.get(due.path)

    answers = await asyncio.gather(*(pay(due, VISA, page) for _ in range(4)))

    assert {answer.status for answer in answers} == {303}
    assert [intent["amount_received"] for intent in stripe.intents(due.number)] == [1500]


async def test_a_declined_card_is_explained_and_another_one_pays(due: DueOrder, stripe: StandIn) -> None:
    declined = await pay(due, "pm_card_chargeDeclinedInsufficientFunds")
    done = await pay(due, VISA, declined)

    assert (declined.status, done.status) == (422, 303)
    assert "The card has insufficient funds; choose another payment method." in plain_text(declined)
    assert (await due.states())[0:2] == ("complete", "paid")


async def test_a_card_is_confirmed_in_stripes_dialog(due: DueOrder, stripe: StandIn) -> None:
    page = await pay(due, MUST_CONFIRM)
    (secret,) = re.findall(r'data-secret="([^"]+)"', page.text)
    early = await due.payer.submit(page, "finish_payment")
    stripe.shopper_confirms(secret.partition("_secret_")[0])
    done = await due.payer.submit(page, "finish_payment")

    assert (page.status, page.headers["cache-control"]) == (200, "no-store")
    assert f'data-stripe-confirm data-key="{PUBLISHABLE_KEY}"' in page.text
    assert "https://js.stripe.com" in sources_of(page, "script-src")
    assert "data-stripe-confirm" in early.text
    assert done.location == f"{due.path}?done=payment"
    assert (await due.states())[1] == "paid"


@pytest.mark.parametrize("is_refused", [False, True], ids=["confirmed", "refused"])
async def test_a_webhook_settles_a_payment_whose_shopper_never_returns(
    due: DueOrder, stripe: StandIn, http: httpx2.AsyncClient, is_refused: bool
) -> None:
    await pay(due, MUST_CONFIRM)
    (intent,) = stripe.intents(due.number)
    stripe.shopper_confirms(intent["id"], is_refused=is_refused)
    kind = "payment_intent.payment_failed" if is_refused else "payment_intent.succeeded"
    body, headers = stripe.sign(stripe.find_event(kind, intent["id"]))

    statuses = [(await http.post("/payment_notices/stripe", content=body, headers=headers)).status_code for _ in "ab"]

    assert statuses == [204, 204]
    card = ("failed", 1500, 0) if is_refused else ("completed", 1500, 1500)
    check = ("pending", 1500, 0) if is_refused else ("void", 1500, 0)
    assert await due.payments() == [check, card]
    assert (await due.states())[:2] == ("complete", "balance_due" if is_refused else "paid")


async def test_a_lost_answer_is_found_by_the_next_request(due: DueOrder, stripe: StandIn, db: Any) -> None:
    # The library repeats a request once.
    stripe.faults += [("POST /v1/payment_intents", "lost")] * 2
    waiting = await pay(due, VISA)
    statement = "update payment_attempts set created_at = now() - interval '20 s' where order_id = $1"
    await db.execute(statement, UUID(str(due.id)))

    done = await due.payer.submit(await due.payer.follow(waiting), "finish_payment")

    assert waiting.location == due.path
    assert done.location == f"{due.path}?done=payment"
    assert [intent["amount_received"] for intent in stripe.intents(due.number)] == [1500]
    assert (await due.states())[1] == "paid"
