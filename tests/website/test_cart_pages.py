"""The cart page of the website and its forms."""

from typing import Any
from uuid import uuid4

import httpx2
import pytest

from shop.website.checkout.routes import CHECKOUT_ROUTES
from tests.accounts import sign_in
from tests.checkout_builders import CheckoutSetup, on_hand, set_stock
from tests.promotion_builders import FREE_SHIPPING, TENTH, create_promotion, for_products, new_code
from tests.website.visitor import CART, COUNT, Visitor
from tests.website.web_buyer import HOSTILE, WebBuyer, plain_text, signed_in_buyer

UNKNOWN_ID = "01890000-0000-7000-8000-000000000000"
FORMS = sorted(route.path for route in CHECKOUT_ROUTES if route.method == "POST")


@pytest.fixture
def buyer(http: httpx2.AsyncClient, checkout_setup: CheckoutSetup) -> WebBuyer:
    return WebBuyer(http, checkout_setup)


async def test_an_empty_cart_leads_back_to_the_shop(buyer: WebBuyer) -> None:
    page = await buyer.get("/cart")

    assert page.status == 200
    assert "Your cart is empty." in page.text
    assert page.headers["cache-control"] == "no-store"
    assert '<meta name="robots" content="noindex">' in page.text


async def test_adding_a_product_opens_a_cart_in_cookies_of_this_host(
    buyer: WebBuyer, checkout_setup: CheckoutSetup
) -> None:
    product = await checkout_setup.product("12.50", name="Lantern")

    page = await buyer.add(product, 2)

    assert (page.status, page.location) == (303, "/cart?done=added")
    attributes = set(page.cookies[CART].split("; ")[1:])
    assert {"Path=/", "Secure", "HttpOnly", "SameSite=Lax"} <= attributes
    assert (buyer.cookies[COUNT], "HttpOnly" in page.cookies[COUNT]) == ("2", False)
    text = plain_text(await buyer.follow(page))
    assert "The item is in your cart." in text
    assert "Lantern $12.50 each $25.00" in text
    assert "Total $25.00" in text


async def test_a_product_is_added_to_the_cart_that_there_is(buyer: WebBuyer, checkout_setup: CheckoutSetup) -> None:
    first, second = await checkout_setup.product(name="Mug"), await checkout_setup.product(name="Bowl")

    await buyer.add(first)
    page = await buyer.add(second)

    assert CART in page.cookies
    text = plain_text(await buyer.get("/cart"))
    assert ("Mug" in text, "Bowl" in text, buyer.cookies[COUNT]) == (True, True, "2")


async def test_options_select_the_variant(buyer: WebBuyer, checkout_setup: CheckoutSetup) -> None:
    size, color = f"size{uuid4().hex[:6]}", f"color{uuid4().hex[:6]}"
    product = await checkout_setup.product(name="Shirt", options={size: ["s", "m"], color: ["red"]})

    page = await buyer.post(
        "/cart/items", {"product_id": product.id, f"option[{size}]": "m", f"option[{color}]": "red", "quantity": "1"}
    )

    assert page.status == 303, page
    assert f"variant={product.variants[1]}" in (await buyer.get("/cart")).text


async def test_a_missing_option_is_asked_for(buyer: WebBuyer, checkout_setup: CheckoutSetup) -> None:
    size = f"size{uuid4().hex[:6]}"
    product = await checkout_setup.product(options={size: ["s", "m"]})

    page = await buyer.post("/cart/items", {"product_id": product.id, "quantity": "1"})

    assert page.status == 422
    assert "Please choose an option first." in page.text


async def test_the_script_gets_the_new_count_as_json(buyer: WebBuyer, checkout_setup: CheckoutSetup) -> None:
    product = await checkout_setup.product(name="Mug")

    page = await buyer.post("/cart/items", {"variant_id": product.variant_id, "quantity": 3}, Accept="application/json")

    assert page.response.json() == {"count": 3, "text": "Mug is in your cart.", "cart_url": "/cart"}
    assert buyer.cookies[COUNT] == "3"


async def test_the_script_gets_the_reason_of_a_refusal_as_json(buyer: WebBuyer, checkout_setup: CheckoutSetup) -> None:
    product = await checkout_setup.product(on_hand=2)

    page = await buyer.post("/cart/items", {"variant_id": product.variant_id, "quantity": 3}, Accept="application/json")

    assert page.status == 422
    assert page.response.json() == {"error": "The quantity is more than the available stock: 2."}


@pytest.mark.parametrize("on_hand_count", [0, 1])
async def test_what_is_not_in_stock_is_explained_and_leaves_no_cart(
    buyer: WebBuyer, checkout_setup: CheckoutSetup, db: Any, on_hand_count: int
) -> None:
    product = await checkout_setup.product(on_hand=on_hand_count)

    page = await buyer.add(product, 2)

    assert page.status == 422
    assert f"The quantity is more than the available stock: {on_hand_count}." in page.text
    assert (
        buyer.cookies,
        await db.fetchval("select count(*) from line_items where variant_id = $1", product.variant_id),
    ) == (
        {},
        0,
    )


@pytest.mark.parametrize("fields", [{"variant_id": UNKNOWN_ID}, {"variant_id": "x"}, {"product_id": UNKNOWN_ID}, {}])
async def test_an_unknown_product_is_not_for_sale(buyer: WebBuyer, fields: dict[str, str]) -> None:
    page = await buyer.post("/cart/items", fields)

    assert page.status == 422
    assert "This product is not for sale at the moment." in page.text


async def test_a_quantity_is_changed(buyer: WebBuyer, checkout_setup: CheckoutSetup) -> None:
    await buyer.add(await checkout_setup.product("10.00"))

    page = await buyer.submit(await buyer.get("/cart"), "change_quantity", quantity="4")

    assert page.location == "/cart?done=changed"
    assert "Total $40.00" in plain_text(await buyer.follow(page))
    assert buyer.cookies[COUNT] == "4"


async def test_a_quantity_of_zero_removes_the_line(buyer: WebBuyer, checkout_setup: CheckoutSetup) -> None:
    await buyer.add(await checkout_setup.product())

    page = await buyer.submit(await buyer.get("/cart"), "change_quantity", quantity="0")

    assert page.location == "/cart?done=removed"
    assert "Your cart is empty." in (await buyer.follow(page)).text


@pytest.mark.parametrize("quantity", ["11", "-1", "many", ""])
async def test_a_quantity_that_cannot_be_had_is_explained_and_shown_again(
    buyer: WebBuyer, checkout_setup: CheckoutSetup, quantity: str
) -> None:
    await buyer.add(await checkout_setup.product(on_hand=10))

    page = await buyer.submit(await buyer.get("/cart"), "change_quantity", quantity=quantity)

    assert page.status == 422
    assert "The quantity" in plain_text(page)
    assert page.form("change_quantity")["quantity"] == quantity


async def test_a_line_is_removed_once(buyer: WebBuyer, checkout_setup: CheckoutSetup) -> None:
    await buyer.add(await checkout_setup.product())
    cart = await buyer.get("/cart")

    pages = [await buyer.submit(cart, "remove_from_cart") for _ in range(2)]

    assert [(page.status, page.location) for page in pages] == [(303, "/cart?done=removed"), (303, "/cart")]


async def test_a_coupon_code_is_applied_and_removed(buyer: WebBuyer, checkout_setup: CheckoutSetup) -> None:
    product, code = await checkout_setup.product("30.00"), new_code()
    await create_promotion(checkout_setup.make, TENTH, name="Spring", code=code, conditions=[for_products(product)])
    await buyer.add(product)

    page = await buyer.submit(await buyer.get("/cart"), "apply_coupon", coupon_code=f" {code.upper()} ")
    cart = await buyer.follow(page)

    assert f"Spring ({code.upper()}) -$3.00" in plain_text(cart)
    assert "Total $27.00" in plain_text(cart)
    page = await buyer.post("/cart/coupon/remove", {"coupon_code": code})
    assert "Total $30.00" in plain_text(await buyer.follow(page))


async def test_an_unknown_coupon_code_is_explained_at_its_field(buyer: WebBuyer, checkout_setup: CheckoutSetup) -> None:
    await buyer.add(await checkout_setup.product())

    page = await buyer.submit(await buyer.get("/cart"), "apply_coupon", coupon_code=f"NO{HOSTILE}")

    assert page.status == 422
    assert '<a href="#coupon_code">This code does not exist.</a>' in page.text
    field = page.form("apply_coupon").attributes["coupon_code"]
    assert (field["aria-invalid"], field["aria-describedby"], field["value"]) == (
        "true",
        "coupon_code-error",
        f"NO{HOSTILE}",
    )
    assert HOSTILE not in page.text


async def test_changes_since_the_quote_are_explained_and_accepted(
    buyer: WebBuyer, checkout_setup: CheckoutSetup, db: Any
) -> None:
    make = checkout_setup.make
    dear, scarce, gone = [await checkout_setup.product("10.00", name=name) for name in ("Mug", "Bowl", "Jug")]
    for product in (dear, scarce, gone):
        await buyer.add(product, 2)
    await make.change("products", dear.id, "product", price="12.00")
    await set_stock(db, scarce.variant_id, 1)
    await make.change("products", gone.id, "product", status="archived")

    cart = await buyer.get("/cart")
    page = await buyer.submit(cart, "accept_cart_changes")

    text = plain_text(cart)
    assert "Mug now costs $12.00. You added it at $10.00." in text
    assert "Bowl: only 1 left." in text
    assert "Jug is no longer available." in text
    assert page.location == "/cart?done=accepted"
    text = plain_text(await buyer.follow(page))
    assert ("Jug" in text, "has changed" in text, "Total $34.00" in text) == (False, False, True)


async def test_the_way_to_free_shipping_is_shown(buyer: WebBuyer, checkout_setup: CheckoutSetup) -> None:
    product = await checkout_setup.product("20.00")
    from_fifty = ("item_total", {"amounts": {"USD": "50.00"}})
    await create_promotion(checkout_setup.make, FREE_SHIPPING, conditions=[for_products(product), from_fifty])
    await buyer.add(product)

    before = await buyer.get("/cart")
    await buyer.submit(before, "change_quantity", quantity="3")
    after = await buyer.get("/cart")

    assert "Add $30.00 more for free shipping." in plain_text(before)
    assert 'max="5000" value="2000"' in before.text
    assert "Your order ships free." in plain_text(after)
    assert 'max="5000" value="5000"' in after.text


@pytest.mark.security("W-06")
async def test_names_and_options_are_text(buyer: WebBuyer, checkout_setup: CheckoutSetup) -> None:
    await buyer.add(await checkout_setup.product(name=f"Mug {HOSTILE}", slug=f"mug-{uuid4().hex}"))

    page = await buyer.get("/cart")

    assert "Mug &#34;&gt;&lt;script&gt;" in page.text
    assert HOSTILE not in page.text


async def test_the_cart_of_a_signed_in_shopper_is_in_every_browser(
    http: httpx2.AsyncClient, checkout_setup: CheckoutSetup
) -> None:
    member = await sign_in(http)
    laptop, phone = [signed_in_buyer(member, checkout_setup) for _ in range(2)]

    page = await laptop.add(await checkout_setup.product(name="Lamp"))

    assert CART not in page.cookies
    assert "Lamp" in plain_text(await phone.get("/cart"))
    assert phone.cookies[COUNT] == "1"


async def test_a_cart_that_was_completed_is_replaced_by_a_new_one(
    buyer: WebBuyer, checkout_setup: CheckoutSetup
) -> None:
    product = await checkout_setup.product()
    await buyer.add(product)
    token = buyer.cookies[CART]
    await buyer.buy(product)
    buyer.cookies[CART] = token

    page = await buyer.add(product)

    assert (page.status, buyer.cookies[COUNT]) == (303, "1")
    assert buyer.cookies[CART] != token


@pytest.mark.security("W-02")
@pytest.mark.parametrize("path", FORMS)
@pytest.mark.parametrize(
    "headers", [{"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "", "Origin": "https://evil.example"}]
)
async def test_a_form_of_another_site_is_refused(
    http: httpx2.AsyncClient, checkout_setup: CheckoutSetup, path: str, headers: dict[str, str]
) -> None:
    visitor = Visitor(http)

    page = await visitor.post(path.format(id=UNKNOWN_ID, number="R1"), {"quantity": "1"}, **headers)

    assert page.status == 403
    assert visitor.cookies == {}


@pytest.mark.parametrize(
    "path", [path for path in FORMS if path.startswith(("/cart/", "/checkout/")) and path != "/cart/items"]
)
async def test_a_form_without_a_cart_leads_to_the_cart_page(http: httpx2.AsyncClient, path: str) -> None:
    page = await Visitor(http).post(path.format(id=UNKNOWN_ID, number="R1"), {"quantity": "1", "coupon_code": "x"})

    assert page.location == "/cart"


async def test_a_cart_does_not_reserve_stock(buyer: WebBuyer, checkout_setup: CheckoutSetup, db: Any) -> None:
    product = await checkout_setup.product(on_hand=3)

    await buyer.add(product, 3)

    assert await on_hand(db, product.variant_id) == 3
