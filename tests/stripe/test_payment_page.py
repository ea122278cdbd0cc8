"""The website's payment page with Stripe's form: markup, policy, and the calls of the server."""

import re

import httpx2
import pytest

from tests.checkout_builders import CheckoutSetup
from tests.stripe.stand_in import PUBLISHABLE_KEY, SECRET_KEY, StandIn
from tests.stripe.test_payments import VISA
from tests.stripe.test_webhooks import MUST_CONFIRM
from tests.website.visitor import VisitedPage
from tests.website.web_buyer import WebBuyer, order_number, plain_text


@pytest.fixture
async def buyer(http: httpx2.AsyncClient, checkout_setup: CheckoutSetup) -> WebBuyer:
    """A shopper at the payment step."""
    buyer = WebBuyer(http, checkout_setup)
    await buyer.add(await checkout_setup.product("10.00"))
    await buyer.enter_address()
    await buyer.choose_delivery()
    return buyer


async def choose_card(buyer: WebBuyer, reference: str) -> VisitedPage:
    return await buyer.choose_payment(
        "", method=f"method:{buyer.checkout_setup.card}", gateway_payment_profile_id=reference
    )


def sources_of(page: VisitedPage, directive: str) -> list[str]:
    policy = dict(part.strip().split(" ", 1) for part in page.headers["content-security-policy"].split(";"))
    return policy[directive].split()


async def test_the_payment_page_has_stripes_form_and_its_publishable_key(buyer: WebBuyer) -> None:
    page = await buyer.get("/checkout/payment")

    assert f'data-stripe-form data-key="{PUBLISHABLE_KEY}" data-amount="1500" data-currency="usd"' in page.text
    assert '<script src="https://js.stripe.com/v3/" defer></script>' in page.text
    assert re.search(r'<script type="module" src="/website/stripe\.[0-9a-f]{16}\.js"></script>', page.text)
    assert "Paying by card needs JavaScript." in page.text
    assert SECRET_KEY not in page.text


@pytest.mark.security("W-03")
async def test_only_the_payment_page_allows_stripe(buyer: WebBuyer) -> None:
    payment, others = (
        await buyer.get("/checkout/payment"),
        [await buyer.get(f"/checkout/{step}") for step in ("address", "delivery")],
    )

    assert "https://js.stripe.com" in sources_of(payment, "script-src")
    assert "https://js.stripe.com" in sources_of(payment, "frame-src")
    assert "https://api.stripe.com" in sources_of(payment, "connect-src")
    assert "unsafe-inline" not in payment.headers["content-security-policy"]
    assert [page for page in others if "stripe" in page.headers["content-security-policy"]] == []
    assert [page for page in others if "stripe" in page.text] == []


async def test_the_card_of_stripes_form_is_charged(buyer: WebBuyer, stripe: StandIn) -> None:
    step = await choose_card(buyer, VISA)
    page = await buyer.pay(await buyer.follow(step))

    (intent,) = stripe.intents(order_number(page))
    assert (intent["status"], intent["amount_received"]) == ("succeeded", 1500)


@pytest.mark.parametrize("reference", ["", "4242424242424242", "tok_visa"])
async def test_without_a_card_of_stripe_the_shopper_stays_at_the_payment(buyer: WebBuyer, reference: str) -> None:
    page = await choose_card(buyer, reference)

    assert page.status == 422
    assert "Enter your card details." in plain_text(page)
    assert "4242424242424242" not in page.text


async def test_a_declined_card_is_explained(buyer: WebBuyer) -> None:
    await choose_card(buyer, "pm_card_chargeDeclinedInsufficientFunds")

    page = await buyer.pay(await buyer.get("/checkout/review"))

    assert page.status == 422
    assert "The card has insufficient funds; choose another payment method." in page.text
    assert "https://js.stripe.com" in sources_of(page, "script-src")


async def test_a_card_is_confirmed_in_stripes_dialog(buyer: WebBuyer, stripe: StandIn) -> None:
    await choose_card(buyer, MUST_CONFIRM)

    page = await buyer.pay(await buyer.get("/checkout/review"))
    (secret,) = re.findall(r'data-secret="([^"]+)"', page.text)
    early = await buyer.submit(page, "finish_order")
    stripe.shopper_confirms(secret.partition("_secret_")[0])
    done = await buyer.submit(page, "finish_order")

    assert page.status == 200
    assert f'data-stripe-confirm data-key="{PUBLISHABLE_KEY}"' in page.text
    assert "https://js.stripe.com" in sources_of(page, "script-src")
    assert page.headers["cache-control"] == "no-store"
    assert "data-stripe-confirm" in early.text
    assert order_number(done)
