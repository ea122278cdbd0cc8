"""Purchases on the website in a real browser, each with and without scripts.

The HTTP tests cover most of these steps too, so only the purchase of a guest runs by default; `make torture` runs all
of them.
"""

from typing import Any

import httpx2
import pytest
from playwright.async_api import expect

from tests.accounts import mailed_code, sign_in
from tests.browser import PHONE, Browser, scrolls_sideways
from tests.checkout_builders import CheckoutSetup, on_hand
from tests.promotion_builders import TENTH, create_promotion, for_products, new_code
from tests.sampling import first
from tests.service import Service
from tests.website.browser.page_checks import find_problems
from tests.website.browser.shopping import CARDS, open_shopper
from tests.website.full_account import payment_token
from tests.website.web_buyer import WebBuyer, count_orders

with_and_without_scripts = pytest.mark.parametrize(
    "has_script", first(1, [True, False]), ids=lambda has_script: "script" if has_script else "no script"
)


@with_and_without_scripts
@pytest.mark.torture
async def test_a_guest_buys_by_check(
    browser: Browser, service: Service, checkout_setup: CheckoutSetup, db: Any, has_script: bool
) -> None:
    lantern = await checkout_setup.product("10.00", name="Lantern", on_hand=5)

    async with open_shopper(browser, service, has_script=has_script) as shopper:
        await shopper.go_to_review(lantern, checkout_setup.check, 2)
        await shopper.pay("$25.00")
        number = await shopper.read_order_number()

        await expect(shopper.page.locator("main")).to_contain_text(f"Your order number is {number}.")
        await shopper.page.goto("/cart")
        await shopper.expect_heading("Your cart is empty.")

    order = await db.fetchrow("select email, total, item_count from orders where number = $1", number)
    assert tuple(order) == (shopper.email, 2500, 2)
    assert await on_hand(db, lantern.variant_id) == 3


@pytest.mark.torture
@with_and_without_scripts
async def test_a_guest_buys_by_card_on_a_phone(
    browser: Browser, service: Service, checkout_setup: CheckoutSetup, db: Any, has_script: bool
) -> None:
    lantern = await checkout_setup.product("10.00", name="Lantern", on_hand=5)
    wide_pages = []

    async with open_shopper(browser, service, size=PHONE, has_script=has_script, has_touch=True) as shopper:

        async def check_width() -> None:
            if await scrolls_sideways(shopper.page):
                wide_pages.append(shopper.page.url)

        await shopper.add(lantern)
        await check_width()
        await shopper.start_checkout()
        await check_width()
        await shopper.enter_address()
        await check_width()
        await shopper.choose_delivery("Express")
        await check_width()
        await shopper.choose_payment(checkout_setup.card, "approve")
        await check_width()
        await shopper.pay("$19.00")
        number = await shopper.read_order_number()
        await check_width()

    assert wide_pages == []
    assert await db.fetchval("select payment_state from orders where number = $1", number) == "paid"


@pytest.mark.torture
@with_and_without_scripts
async def test_a_guest_signs_in_by_code_and_both_carts_are_one(
    browser: Browser, service: Service, http: httpx2.AsyncClient, checkout_setup: CheckoutSetup, has_script: bool
) -> None:
    lantern, candle = [await checkout_setup.product(name=name) for name in ("Lantern", "Candle")]
    member = await sign_in(http)
    await member.post("/cart")
    await member.post("/cart/add_item", variant_id=candle.variant_id)

    async with open_shopper(browser, service, has_script=has_script) as shopper:
        page = shopper.page
        await shopper.add(lantern)
        await shopper.press(page.locator("main").get_by_role("link", name="Sign in"))
        await shopper.request_code(member.email)
        await expect(page.get_by_label("Code", exact=True)).to_be_focused()
        await shopper.enter_code(await mailed_code(http, member.email))
        await shopper.expect_heading("Where should we send it?")
        await page.goto("/cart")

        await expect(page.locator(".line-name")).to_have_text(["Lantern", "Candle"])
        if has_script:
            await expect(page.get_by_role("link", name="Cart, 2 items")).to_be_visible()
        await page.goto("/account")
        await expect(page.locator("main")).to_contain_text(member.email)


@pytest.mark.torture
@with_and_without_scripts
async def test_a_price_that_changed_before_the_payment_needs_consent(
    browser: Browser, service: Service, checkout_setup: CheckoutSetup, db: Any, has_script: bool
) -> None:
    lantern = await checkout_setup.product("10.00", name="Lantern")

    async with open_shopper(browser, service, has_script=has_script) as shopper:
        await shopper.go_to_review(lantern, checkout_setup.card, 2, card="approve")
        await checkout_setup.make.change("products", lantern.id, "product", price="12.50")
        await shopper.pay("$25.00")

        changes = shopper.page.locator(".changes")
        await expect(changes).to_contain_text("Lantern now costs $12.50. Before, it cost $10.00.")
        await expect(changes).to_contain_text("The new total is $30.00. Nothing was charged yet.")
        await expect(changes).to_be_focused()
        assert await count_orders(db, lantern.variant_id) == 0
        await shopper.pay("$30.00")
        number = await shopper.read_order_number()

    assert await db.fetchval("select total from orders where number = $1", number) == 3000


@pytest.mark.torture
@with_and_without_scripts
async def test_the_last_unit_that_someone_else_bought_is_not_paid(
    browser: Browser,
    service: Service,
    http: httpx2.AsyncClient,
    checkout_setup: CheckoutSetup,
    db: Any,
    has_script: bool,
) -> None:
    lantern = await checkout_setup.product(name="Lantern", on_hand=1)

    async with open_shopper(browser, service, has_script=has_script) as shopper:
        await shopper.go_to_review(lantern, checkout_setup.card, card="approve")
        await WebBuyer(http, checkout_setup).buy(lantern)
        await shopper.pay("$15.00")

        problem = shopper.page.locator(".error-summary")
        await expect(problem).to_have_text("Lantern is sold out. Remove it to continue.")
        await expect(problem).to_be_focused()
        await shopper.press_button("Remove Lantern")
        await shopper.expect_heading("Your cart is empty.")

    assert (await count_orders(db, lantern.variant_id), await on_hand(db, lantern.variant_id)) == (1, 0)


@pytest.mark.torture
@with_and_without_scripts
async def test_after_a_declined_card_another_one_is_confirmed_at_the_bank(
    browser: Browser, service: Service, checkout_setup: CheckoutSetup, db: Any, has_script: bool
) -> None:
    lantern = await checkout_setup.product("10.00", name="Lantern")

    async with open_shopper(browser, service, has_script=has_script) as shopper:
        page = shopper.page
        await shopper.go_to_review(lantern, checkout_setup.card, card="decline")
        await shopper.pay("$15.00")
        await shopper.expect_heading("How do you want to pay?")
        await expect(page.locator(".error-summary")).to_contain_text("The card was declined.")
        await expect(page.locator(".error-summary")).to_be_focused()

        await shopper.choose_payment(checkout_setup.card, "confirm")
        await shopper.pay("$15.00")
        await shopper.expect_heading("Confirm your payment to Tested")
        await shopper.press_button("Confirm payment")
        if not has_script:
            await shopper.expect_heading("Finish your order")
            await shopper.press_button("Finish your order")
        number = await shopper.read_order_number()

    assert await count_orders(db, lantern.variant_id) == 1
    assert await db.fetchval("select payment_state from orders where number = $1", number) == "paid"


@pytest.mark.torture
@with_and_without_scripts
async def test_a_coupon_is_applied_and_removed(
    browser: Browser, service: Service, checkout_setup: CheckoutSetup, has_script: bool
) -> None:
    lantern, code = await checkout_setup.product("10.00", name="Lantern"), new_code()
    await create_promotion(checkout_setup.make, TENTH, code=code, conditions=[for_products(lantern)])

    async with open_shopper(browser, service, has_script=has_script) as shopper:
        page, field = shopper.page, shopper.page.get_by_label("Coupon code")
        await shopper.add(lantern, 2)
        await field.fill("no such code")
        await shopper.press_button("Apply")
        await expect(page.locator(".error-summary")).to_be_focused()
        await expect(field).to_have_attribute("aria-describedby", "coupon_code-error")
        await expect(field).to_have_value("no such code")

        await field.fill(code)
        await shopper.press_button("Apply")
        await expect(page.get_by_role("status")).to_contain_text(["Your coupon code is applied."])
        await expect(page.locator("dd.total")).to_have_text("$18.00")
        await shopper.press_button(f"Remove {code.upper()}")
        await expect(page.locator("dd.total")).to_have_text("$20.00")


@pytest.mark.torture
@with_and_without_scripts
async def test_the_back_button_and_another_tab_do_not_buy_again(
    browser: Browser, service: Service, checkout_setup: CheckoutSetup, db: Any, has_script: bool
) -> None:
    lantern = await checkout_setup.product("10.00", name="Lantern")

    async with open_shopper(browser, service, has_script=has_script) as shopper:
        await shopper.go_to_review(lantern, checkout_setup.card, card="approve")
        other_tab = await shopper.page.context.new_page()
        await other_tab.goto("/checkout/review")
        await shopper.pay("$15.00")
        number = await shopper.read_order_number()

        await shopper.page.go_back()
        await shopper.expect_heading("Your cart is empty.")
        await other_tab.get_by_role("button", name="Pay $15.00").click()
        await expect(other_tab.get_by_role("heading", level=1)).to_have_text("Thank you for your order")
        assert f"/orders/{number}?" in other_tab.url

    assert await count_orders(db, lantern.variant_id) == 1


@pytest.mark.torture
@with_and_without_scripts
async def test_a_double_click_on_pay_creates_one_order(
    browser: Browser, service: Service, checkout_setup: CheckoutSetup, db: Any, has_script: bool
) -> None:
    lantern = await checkout_setup.product("10.00", name="Lantern", on_hand=5)

    async with open_shopper(browser, service, has_script=has_script) as shopper:
        await shopper.go_to_review(lantern, checkout_setup.card, card="approve")
        await shopper.page.get_by_role("button", name="Pay $15.00").dblclick()
        number = await shopper.read_order_number()

    assert (await count_orders(db, lantern.variant_id), await on_hand(db, lantern.variant_id)) == (1, 4)
    statement = "select count(*) from payments p join orders o on o.id = p.order_id where o.number = $1"
    assert await db.fetchval(statement, number) == 1


@pytest.mark.torture
@with_and_without_scripts
async def test_an_order_is_paid_by_link_on_a_phone(
    browser: Browser,
    service: Service,
    http: httpx2.AsyncClient,
    checkout_setup: CheckoutSetup,
    db: Any,
    has_script: bool,
) -> None:
    number = await WebBuyer(http, checkout_setup).buy(await checkout_setup.product("10.00", name="Lantern"))
    path = f"/order-payment/{await payment_token(db, number)}"
    problems: list[str] = []

    async with open_shopper(browser, service, size=PHONE, has_script=has_script, has_touch=True) as shopper:
        page, card = shopper.page, shopper.page.locator(f"[value='method:{checkout_setup.card}']")

        async def pay(source: str) -> None:
            await card.check()
            await page.locator(".method", has=card).get_by_label(CARDS[source]).check()
            await shopper.pay("$15.00")

        async def check_page() -> None:
            if has_script:
                problems.extend(await find_problems(page))
                await page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})

        await page.goto(path)
        assert page.url == f"{service.url}/orders/{number}/payment"
        await shopper.expect_heading(f"Pay for order {number}")
        await check_page()
        await pay("decline")
        await expect(page.locator(".error-summary")).to_contain_text("The card was declined.")
        await expect(page.locator(".error-summary")).to_be_focused()
        await check_page()
        await pay("confirm")
        await shopper.expect_heading("Confirm your payment to Tested")
        await shopper.press_button("Confirm payment")
        if not has_script:
            await shopper.expect_heading("Finish your payment")
            await shopper.press_button("Finish your payment")
        await shopper.expect_heading(f"Order {number} is paid")
        await check_page()

    assert problems == []
    assert await db.fetchval("select payment_state from orders where number = $1", number) == "paid"
