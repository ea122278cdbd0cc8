"""The checkout of the website, from the address to the payment, without scripts."""

import asyncio
import re
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import httpx2
import pytest

from tests.accounts import sign_in
from tests.builders import Make
from tests.checkout_builders import ADDRESS, CheckoutSetup, on_hand, set_stock
from tests.promotion_builders import FREE_SHIPPING, create_promotion, for_products, new_code
from tests.website.visitor import CART, COUNT, ORDER, VisitedPage
from tests.website.web_buyer import (
    HOSTILE,
    WebBuyer,
    address_fields,
    confirmation_mail,
    count_orders,
    order_number,
    plain_text,
    signed_in_buyer,
)

BERLIN = {
    "address1": "Hauptstraße 1",
    "city": "Berlin",
    "zipcode": "10115",
    "state_name": "",
    "country_iso": "DE",
}


@pytest.fixture
def buyer(http: httpx2.AsyncClient, checkout_setup: CheckoutSetup) -> WebBuyer:
    return WebBuyer(http, checkout_setup)


def field_order(page: VisitedPage, side: str = "ship_address") -> list[str]:
    """The names of the fields of an address in their order, without the names of the person."""
    names = page.form("enter_address").attributes
    own = [name.removeprefix(f"{side}.") for name in names if name.startswith(f"{side}.")]
    return [name for name in own if name not in {"firstname", "lastname", "company", "phone", "country_iso"}]


async def test_a_guest_buys_with_forms_alone(buyer: WebBuyer, checkout_setup: CheckoutSetup, db: Any) -> None:
    product = await checkout_setup.product("10.00", name="Lantern", on_hand=5)

    review = await buyer.go_to_review(product, 2)
    page = await buyer.pay(review)

    text = plain_text(review)
    assert f"Ada Lovelace 1 Main Street Springfield, IL 62701 United States {buyer.email}" in text
    assert "Same as the shipping address" in text
    assert "Lantern Quantity 2 $20.00" in text
    assert "Subtotal $20.00 Shipping $5.00 Total $25.00 Pay $25.00" in text
    number = order_number(page)
    assert (CART in buyer.cookies, COUNT in buyer.cookies, ORDER in buyer.cookies) == (False, False, True)
    assert f"Thank you for your order Your order number is {number} ." in plain_text(await buyer.follow(page))
    assert await on_hand(db, product.variant_id) == 3
    assert "Lantern" in (await confirmation_mail(buyer, number))["text"]


@pytest.mark.parametrize("step", ["", "/address", "/delivery", "/payment", "/review", "/return"])
async def test_without_a_cart_every_step_leads_to_the_cart(buyer: WebBuyer, step: str) -> None:
    page = await buyer.get(f"/checkout{step}")

    assert page.location == ("/checkout/address" if step == "" else "/cart")


async def test_a_step_leads_to_the_first_one_that_lacks_something(
    buyer: WebBuyer, checkout_setup: CheckoutSetup
) -> None:
    await buyer.add(await checkout_setup.product())

    before = [(await buyer.get(f"/checkout/{step}")).location for step in ("delivery", "payment", "review")]
    await buyer.enter_address()
    after = [(await buyer.get(f"/checkout/{step}")).location or "" for step in ("delivery", "payment", "review")]

    assert before == ["/checkout/address"] * 3
    assert after == ["", "", "/checkout/payment"]


async def test_every_page_has_one_heading_and_is_kept_from_search_engines(
    buyer: WebBuyer, checkout_setup: CheckoutSetup
) -> None:
    await buyer.go_to_review(await checkout_setup.product())

    pages = [
        await buyer.get(path)
        for path in ("/cart", *(f"/checkout/{step}" for step in ("address", "delivery", "payment", "review")))
    ]

    assert [page.text.count("<h1") for page in pages] == [1] * 5
    assert [page.headers["cache-control"] for page in pages] == ["no-store"] * 5
    assert all('<meta name="robots" content="noindex">' in page.text for page in pages)


async def test_all_errors_of_the_address_are_shown_at_once(buyer: WebBuyer, checkout_setup: CheckoutSetup) -> None:
    await buyer.add(await checkout_setup.product())
    page = await buyer.get("/checkout/address")

    page = await buyer.submit(
        page, "enter_address", email="ada", **{"ship_address.firstname": f"Ada{HOSTILE}", "ship_address.zipcode": "1"}
    )

    assert page.status == 422
    links = dict(re.findall(r'<li><a href="#([\w-]+)">(.*?)</a></li>', page.text))
    assert links == {
        "email": "Enter your e-mail address, like name@example.com.",
        "ship_address-lastname": "Last name is required.",
        "ship_address-address1": "Street address is required.",
        "ship_address-city": "City is required.",
        "ship_address-state_name": "State is required.",
        "ship_address-zipcode": "ZIP code is not valid in this country.",
    }
    form = page.form("enter_address")
    assert form.attributes["ship_address.zipcode"]["aria-describedby"] == "ship_address-zipcode-error"
    assert form.attributes["email"]["aria-describedby"] == "email-hint email-error"
    assert (form["email"], form["ship_address.firstname"]) == ("ada", f"Ada{HOSTILE}")
    assert HOSTILE not in page.text


async def test_another_country_changes_the_fields_and_keeps_the_entries(
    buyer: WebBuyer, checkout_setup: CheckoutSetup
) -> None:
    await buyer.add(await checkout_setup.product())
    page = await buyer.get("/checkout/address")

    german = await buyer.submit(
        page, "enter_address", email="a@b.example", intent="country", **address_fields(country_iso="DE", city="Köln")
    )

    assert field_order(page) == ["address1", "address2", "city", "state_name", "zipcode"]
    assert ("ZIP code" in page.text, "Postal code" in page.text.split("Billing address")[0]) == (True, False)
    assert german.status == 200
    assert field_order(german) == ["address1", "address2", "zipcode", "city"]
    form = german.form("enter_address")
    assert (form["email"], form["ship_address.city"], form["ship_address.country_iso"]) == ("a@b.example", "Köln", "DE")
    assert "Postal code" in german.text


async def test_the_billing_address_may_be_another_one(buyer: WebBuyer, checkout_setup: CheckoutSetup) -> None:
    await buyer.add(await checkout_setup.product())
    fields = {"email": buyer.email, **address_fields(), **address_fields("bill_address", **BERLIN)}

    page = await buyer.post("/checkout/address", fields)
    await buyer.choose_delivery()
    await buyer.choose_payment()

    assert page.location == "/checkout/delivery"
    text = plain_text(await buyer.get("/checkout/review"))
    assert "Ship to Change the shipping address Ada Lovelace 1 Main Street" in text
    assert "Ada Lovelace Hauptstraße 1 10115 Berlin Germany" in text


async def test_errors_of_the_billing_address_are_shown_with_the_others(
    buyer: WebBuyer, checkout_setup: CheckoutSetup
) -> None:
    await buyer.add(await checkout_setup.product())

    page = await buyer.post(
        "/checkout/address", {"email": buyer.email, **address_fields(), "bill_address.country_iso": "DE"}
    )

    assert page.status == 422
    assert '<a href="#bill_address-zipcode">Postal code is required.</a>' in page.text


async def test_an_address_that_nothing_can_be_sent_to_is_refused(
    buyer: WebBuyer, checkout_setup: CheckoutSetup
) -> None:
    paris = {"address1": "1 Rue", "city": "Paris", "zipcode": "75001", "state_name": "", "country_iso": "FR"}
    await buyer.add(await checkout_setup.product())

    page = await buyer.enter_address(**address_fields(**paris))

    assert page.status == 422
    assert "No shipping method is available for this address and these items." in page.text
    assert page.form("enter_address")["ship_address.city"] == "Paris"


async def test_a_signed_in_shopper_chooses_a_saved_address(
    http: httpx2.AsyncClient, checkout_setup: CheckoutSetup
) -> None:
    member = await sign_in(http)
    first = await member.post("/account/addresses", address=ADDRESS)
    second = await member.post("/account/addresses", address={**ADDRESS, "address1": "2 Side Street", "label": "Work"})
    buyer = signed_in_buyer(member, checkout_setup)
    await buyer.add(await checkout_setup.product())

    page = await buyer.get("/checkout/address")
    step = await buyer.submit(page, "enter_address", ship_address_id=second.id)
    await buyer.choose_delivery()
    await buyer.choose_payment()

    form = page.form("enter_address")
    assert ("email" in form.attributes, form["ship_address_id"], "bill_same" in dict(form.fields)) == (
        False,
        first.id,
        True,
    )
    assert "Work Ada Lovelace, 2 Side Street" in plain_text(page)
    assert step.location == "/checkout/delivery"
    text = plain_text(await buyer.get("/checkout/review"))
    assert "2 Side Street" in text
    assert member.email in text


async def test_a_signed_in_shopper_saves_the_address_once(
    http: httpx2.AsyncClient, checkout_setup: CheckoutSetup
) -> None:
    member = await sign_in(http)
    buyer = signed_in_buyer(member, checkout_setup)
    await buyer.add(await checkout_setup.product())

    page = await buyer.get("/checkout/address")
    for _ in range(2):
        await buyer.submit(page, "enter_address", **address_fields())

    assert page.form("enter_address")["save_address"] == "1"
    (address,) = (await member.get("/account/addresses")).json["data"]
    assert address["attributes"]["address1"] == "1 Main Street"
    assert "save_address" not in dict((await buyer.get("/checkout/address")).form("enter_address").fields)


async def test_an_address_of_someone_else_is_not_used(http: httpx2.AsyncClient, checkout_setup: CheckoutSetup) -> None:
    other = await sign_in(http)
    address = await other.post("/account/addresses", address={**ADDRESS, "address1": "Secret Street"})
    buyer = signed_in_buyer(await sign_in(http), checkout_setup)
    await buyer.add(await checkout_setup.product())

    page = await buyer.post("/checkout/address", {"ship_address_id": address.id, "bill_same": "1"})

    assert page.status == 422
    assert "Secret Street" not in page.text


async def test_another_delivery_changes_the_total(buyer: WebBuyer, checkout_setup: CheckoutSetup) -> None:
    await buyer.add(await checkout_setup.product("10.00"))
    await buyer.enter_address()
    page = await buyer.get("/checkout/delivery")
    (name,) = [name for name in page.form("choose_delivery").attributes if name.startswith("rate[")]
    (express,) = re.findall(r'value="([0-9a-f-]{36})"[^>]*><span class="grow">Express', page.text)

    step = await buyer.submit(page, "choose_delivery", **{name: express})

    assert step.location == "/checkout/payment"
    assert "Shipping $9.00 Total $19.00" in plain_text(await buyer.get("/checkout/payment"))


async def test_a_delivery_that_is_not_offered_is_chosen_again(buyer: WebBuyer, checkout_setup: CheckoutSetup) -> None:
    await buyer.add(await checkout_setup.product())
    await buyer.enter_address()

    page = await buyer.post("/checkout/delivery", {f"rate[{uuid4()}]": str(uuid4())})

    assert page.status == 422
    assert "Please choose a delivery option again: they have changed." in page.text


async def test_a_payment_must_be_chosen(buyer: WebBuyer, checkout_setup: CheckoutSetup) -> None:
    await buyer.add(await checkout_setup.product())
    await buyer.enter_address()

    pages = [await buyer.post("/checkout/payment", {"method": choice}) for choice in ("", "method:x", "card:x", "x")]

    assert [page.status for page in pages] == [422] * 4
    assert [re.findall(r'<li><a href="#method">(.*?)</a></li>', page.text) for page in pages] == [
        ["Choose how to pay."],
        ["This way to pay is not available. Please choose another one."],
        ["This way to pay is not available. Please choose another one."],
        ["Choose how to pay."],
    ]


async def test_payment_instructions_are_shown_before_and_after(
    buyer: WebBuyer, checkout_setup: CheckoutSetup, make: Make
) -> None:
    text = f"Send it to\nP.O. Box {HOSTILE}"
    method = await make.new(
        "payment_methods", "payment_method", name="Transfer", type="check", auto_capture=False, description=text
    )
    await buyer.add(await checkout_setup.product("10.00"))
    await buyer.enter_address()

    page = await buyer.get("/checkout/payment")
    await buyer.submit(page, "choose_payment", method=f"method:{method.id}")
    order = await buyer.follow(await buyer.pay(await buyer.get("/checkout/review")))
    await make.remove("payment_methods", method.id)

    assert "Send it to" in page.text
    assert "Please pay $15.00 by Transfer" in order.text
    assert "Waiting for your payment $15.00 to pay" in plain_text(order)
    assert (HOSTILE in page.text, HOSTILE in order.text) == (False, False)


async def test_a_declined_card_leads_back_to_the_payment(
    buyer: WebBuyer, checkout_setup: CheckoutSetup, db: Any
) -> None:
    product = await checkout_setup.product(on_hand=5)
    review = await buyer.go_to_review(product, source="decline")

    page = await buyer.pay(review)
    step = await buyer.choose_payment("approve")
    done = await buyer.pay(await buyer.follow(step))

    assert page.status == 422
    assert "The card was declined." in page.text
    assert page.form("choose_payment").action == "/checkout/payment"
    assert order_number(done)
    assert await on_hand(db, product.variant_id) == 4


async def test_a_card_is_confirmed_at_the_bank(buyer: WebBuyer, checkout_setup: CheckoutSetup, db: Any) -> None:
    product = await checkout_setup.product()
    review = await buyer.go_to_review(product, source="confirm")

    bank = await buyer.pay(review)
    waiting = await buyer.get("/checkout/return")
    decision = await buyer.post(bank.location, {"decision": "confirm", "return_url": _return_url(buyer)})
    back = await buyer.get(decision.location)
    done = await buyer.submit(back, "finish_order")

    assert bank.status == 303
    assert bank.location.endswith(f"?return_url={quote(_return_url(buyer), safe='')}")
    assert (waiting.status, waiting.headers["refresh"]) == (200, "4")
    assert "Your payment is being processed" in waiting.text
    assert ("Finish your order" in back.text, "data-auto-submit" in back.text) == (True, True)
    assert ("refresh" in back.headers, "data-auto-submit" in waiting.text) == (False, False)
    assert order_number(done)
    assert await count_orders(db, product.variant_id) == 1


def _return_url(buyer: WebBuyer) -> str:
    return f"{str(buyer.http.base_url).rstrip('/')}/checkout/return?confirmed=1"


async def test_a_confirmation_that_the_shopper_declines_leads_back_to_the_payment(
    buyer: WebBuyer, checkout_setup: CheckoutSetup
) -> None:
    bank = await buyer.pay(await buyer.go_to_review(await checkout_setup.product(), source="confirm"))
    back = await buyer.get("/checkout/return?confirmed=1")
    await buyer.post(bank.location, {"decision": "decline"})

    page = await buyer.submit(back, "finish_order")
    later = await buyer.get("/checkout/return")

    assert page.status == 422
    assert "The payment was not confirmed." in page.text
    assert later.location == "/checkout/payment?done=declined"


async def test_a_cart_that_is_being_paid_cannot_be_changed(buyer: WebBuyer, checkout_setup: CheckoutSetup) -> None:
    product = await checkout_setup.product()
    await buyer.pay(await buyer.go_to_review(product, source="confirm"))

    pages = [await buyer.add(product), await buyer.enter_address(), await buyer.choose_payment("approve")]

    assert [page.location for page in pages] == ["/checkout/return"] * 3


async def test_a_changed_price_needs_consent(buyer: WebBuyer, checkout_setup: CheckoutSetup, db: Any) -> None:
    product = await checkout_setup.product("10.00", name="Lantern")
    review = await buyer.go_to_review(product, 2, source="approve")
    await checkout_setup.make.change("products", product.id, "product", price="12.50")

    page = await buyer.pay(review)
    done = await buyer.pay(page)

    text = plain_text(page)
    assert page.status == 409
    assert "Lantern now costs $12.50. Before, it cost $10.00." in text
    assert "The new total is $30.00 . Nothing was charged yet. Pay $30.00" in text
    total = await db.fetchval("select total from orders where number = $1", order_number(done))
    assert total == 3000


async def test_consent_to_one_change_is_not_consent_to_the_next(
    buyer: WebBuyer, checkout_setup: CheckoutSetup, db: Any
) -> None:
    product = await checkout_setup.product("10.00")
    review = await buyer.go_to_review(product, source="approve")
    await checkout_setup.make.change("products", product.id, "product", price="12.00")
    consent = await buyer.pay(review)
    await checkout_setup.make.change("products", product.id, "product", price="90.00")

    page = await buyer.pay(consent)

    assert page.status == 409
    assert "The new total is $95.00 ." in plain_text(page)
    assert await count_orders(db, product.variant_id) == 0


async def test_fewer_units_than_chosen_need_consent(buyer: WebBuyer, checkout_setup: CheckoutSetup, db: Any) -> None:
    product = await checkout_setup.product("10.00", name="Lantern", on_hand=5)
    review = await buyer.go_to_review(product, 3, source="approve")
    await set_stock(db, product.variant_id, 1)

    page = await buyer.pay(review)

    assert page.status == 409
    assert "Lantern: only 1 of 3 are left, so the quantity is now 1." in plain_text(page)
    assert "Pay $15.00" in plain_text(page)


async def test_the_last_unit_bought_by_someone_else_is_removed_by_the_shopper(
    buyer: WebBuyer, http: httpx2.AsyncClient, checkout_setup: CheckoutSetup
) -> None:
    product = await checkout_setup.product(name="Lantern", on_hand=1)
    review = await buyer.go_to_review(product, source="approve")
    await WebBuyer(http, checkout_setup).buy(product)

    page = await buyer.pay(review)
    after = await buyer.submit(page, "remove_from_cart")

    assert page.status == 422
    assert "Lantern is sold out. Remove it to continue." in plain_text(page)
    assert "Your cart is empty." in (await buyer.follow(after)).text


async def test_a_cart_changed_in_another_tab_is_reviewed_again(
    buyer: WebBuyer, checkout_setup: CheckoutSetup, db: Any
) -> None:
    product = await checkout_setup.product("10.00")
    review = await buyer.go_to_review(product, source="approve")
    await buyer.add(product)

    page = await buyer.pay(review)

    assert page.location == "/checkout/review?done=changed"
    assert await count_orders(db, product.variant_id) == 0


async def test_a_review_of_an_earlier_cart_does_not_buy_the_next_one(
    buyer: WebBuyer, checkout_setup: CheckoutSetup, db: Any
) -> None:
    product = await checkout_setup.product("10.00")
    review = await buyer.go_to_review(product, source="approve")
    first = await buyer.pay(review)
    await buyer.go_to_review(product, source="approve")

    page = await buyer.pay(review)

    assert order_number(page) == order_number(first)
    assert await count_orders(db, product.variant_id) == 1


@pytest.mark.parametrize("source", [None, "approve"])
async def test_two_clicks_on_pay_create_one_order(
    buyer: WebBuyer, checkout_setup: CheckoutSetup, db: Any, source: str | None
) -> None:
    product = await checkout_setup.product(on_hand=5)
    review = await buyer.go_to_review(product, source=source)

    pages = await asyncio.gather(*(buyer.pay(review) for _ in range(5)))

    numbers = {order_number(page) for page in pages if page.location != "/checkout/return"}
    assert len(numbers) == 1
    assert await count_orders(db, product.variant_id) == 1
    assert await on_hand(db, product.variant_id) == 4
    later = await buyer.get("/checkout/return")
    assert order_number(later) in numbers


async def test_the_back_button_after_the_purchase_buys_nothing(
    buyer: WebBuyer, checkout_setup: CheckoutSetup, db: Any
) -> None:
    product = await checkout_setup.product()
    review = await buyer.go_to_review(product, source="approve")
    first = await buyer.pay(review)

    again = await buyer.pay(review)
    back = await buyer.get("/checkout/review")

    assert order_number(again) == order_number(first)
    assert back.location == "/cart"
    assert await count_orders(db, product.variant_id) == 1


async def test_a_signed_in_shopper_buys_twice_in_a_row(
    http: httpx2.AsyncClient, checkout_setup: CheckoutSetup, db: Any
) -> None:
    product = await checkout_setup.product()
    buyer = signed_in_buyer(await sign_in(http), checkout_setup)

    first, review = await buyer.buy(product, source="approve"), await buyer.go_to_review(product, source="approve")
    second = order_number(await buyer.pay(review))
    repeated = order_number(await buyer.pay(review))

    assert (first != second, repeated) == (True, second)
    assert await count_orders(db, product.variant_id) == 2


async def test_a_saved_card_is_used_again(http: httpx2.AsyncClient, checkout_setup: CheckoutSetup) -> None:
    product = await checkout_setup.product()
    buyer = signed_in_buyer(await sign_in(http), checkout_setup)
    await buyer.buy(product, source="approve")
    await buyer.add(product)
    await buyer.enter_address()

    page = await buyer.get("/checkout/payment")
    step = await buyer.submit(page, "choose_payment")

    assert "Visa ending in 4242" in plain_text(page)
    assert page.form("choose_payment")["method"].startswith("card:")
    assert order_number(await buyer.pay(await buyer.follow(step)))


async def give_credit(make: Make, user_id: object, amount: str) -> None:
    fields = {"user_id": str(user_id), "amount": amount, "currency": "USD", "memo": "Thanks"}
    await make.new("store_credits", "store_credit", **fields)


async def test_store_credit_is_used_and_not_used(
    http: httpx2.AsyncClient, checkout_setup: CheckoutSetup, make: Make
) -> None:
    member = await sign_in(http)
    await give_credit(make, await member.id(), "4.00")
    buyer = signed_in_buyer(member, checkout_setup)
    await buyer.add(await checkout_setup.product("10.00"))
    await buyer.enter_address()

    used = await buyer.follow(await buyer.submit(await buyer.get("/checkout/payment"), "use_store_credit"))
    unused = await buyer.follow(await buyer.submit(used, "remove_store_credit"))

    assert "Total $15.00 Store credit -$4.00 To pay $11.00" in plain_text(used)
    assert "You have $4.00 of store credit." in plain_text(unused)
    assert "To pay" not in plain_text(unused)


async def test_store_credit_can_cover_the_whole_order(
    http: httpx2.AsyncClient, checkout_setup: CheckoutSetup, make: Make
) -> None:
    member = await sign_in(http)
    await give_credit(make, await member.id(), "40.00")
    buyer = signed_in_buyer(member, checkout_setup)
    await buyer.add(await checkout_setup.product("10.00"))
    await buyer.enter_address()
    page = await buyer.follow(await buyer.submit(await buyer.get("/checkout/payment"), "use_store_credit"))

    step = await buyer.submit(page, "choose_payment")
    review = await buyer.follow(step)

    assert "Your store credit covers the whole order." in page.text
    assert "Place order" in review.text
    assert order_number(await buyer.pay(review))


async def test_an_order_that_costs_nothing_needs_no_payment(buyer: WebBuyer, checkout_setup: CheckoutSetup) -> None:
    product, code = await checkout_setup.product("10.00"), new_code()
    gift = ("percent_off_items", {"percent": "100"})
    await create_promotion(checkout_setup.make, gift, FREE_SHIPPING, code=code, conditions=[for_products(product)])
    await buyer.add(product)
    await buyer.post("/cart/coupon", {"coupon_code": code})
    await buyer.enter_address()

    step = await buyer.choose_delivery()
    review = await buyer.follow(step)

    assert step.location == "/checkout/review"
    assert ("Nothing to pay" in review.text, "Place order" in review.text) == (True, True)
    assert order_number(await buyer.pay(review))


@pytest.mark.security("W-11")
async def test_a_form_sent_after_the_session_ended_is_not_lost(
    http: httpx2.AsyncClient, checkout_setup: CheckoutSetup, db: Any
) -> None:
    member = await sign_in(http)
    buyer = signed_in_buyer(member, checkout_setup)
    await buyer.add(await checkout_setup.product())
    page = await buyer.get("/checkout/address")
    await db.execute("update sessions set revoked_at = now() where user_id = $1", await member.id())

    sign_in_page = await buyer.submit(page, "enter_address", **address_fields())

    assert sign_in_page.status == 401
    (form,) = [form for form in sign_in_page.forms if form.tool == "request_sign_in_code"]
    assert form["next"] == "/checkout/address"
    assert "1+Main+Street" in form["resume"]


@pytest.mark.security("W-06")
async def test_a_note_is_text(buyer: WebBuyer, checkout_setup: CheckoutSetup) -> None:
    await buyer.add(await checkout_setup.product())
    await buyer.enter_address(special_instructions=f"Ring twice {HOSTILE}")
    await buyer.choose_payment()

    page = await buyer.get("/checkout/review")

    assert "Ring twice" in page.text
    assert HOSTILE not in page.text


@pytest.mark.security("W-03")
async def test_the_payment_page_allows_no_other_site_without_its_form(
    buyer: WebBuyer, checkout_setup: CheckoutSetup
) -> None:
    await buyer.add(await checkout_setup.product())
    await buyer.enter_address()

    policy = (await buyer.get("/checkout/payment")).headers["content-security-policy"]

    assert "stripe" not in policy
    assert "unsafe-inline" not in policy
