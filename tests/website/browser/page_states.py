"""Every page of the website in every state, in a demo shop. A generator opens one after another and yields its name."""

import re
from collections.abc import AsyncIterator, Mapping
from typing import Any

import httpx2
import msgspec
from playwright.async_api import expect

from tests.accounts import Member, mailed_code
from tests.builders import Make, ProductIds
from tests.service import Service
from tests.website.browser.shopping import BrowserShopper

WITHOUT_VALIDATION = "document.querySelectorAll('form').forEach(form => form.noValidate = true)"
"""Lets a form be sent with what the browser would not accept."""
CUSTOMER = "tess@example.com"
"""A customer of the demo shop with orders and store credit."""


class DemoShop(msgspec.Struct, frozen=True):
    """A served demo shop, and what a test needs to change it."""

    service: Service
    http: httpx2.AsyncClient
    db: Any
    make: Make

    async def slug(self, name: str) -> str:
        return str(await self.db.fetchval("select slug from products where name = $1", name))

    async def category(self, name: str) -> str:
        return f"/t/{await self.db.fetchval('select permalink from taxons where name = $1', name)}"

    async def method_id(self, kind: str) -> str:
        return str(await self.db.fetchval("select id from payment_methods where type = $1", kind))


async def open_paths(shopper: BrowserShopper, paths: Mapping[str, str]) -> AsyncIterator[str]:
    for name, path in paths.items():
        await shopper.page.goto(path)
        yield name


async def catalog_states(shopper: BrowserShopper, shop: DemoShop) -> AsyncIterator[str]:
    lanterns, seeds = await shop.category("Lanterns"), await shop.category("Growing")
    sold_out = await shop.make.product("Sold-out Lamp", options={"shade": ["red", "blue"]}, on_hand=0)
    past_dates: Any = {"available_on": "2020-01-01T00:00:00Z", "discontinue_on": "2020-02-01T00:00:00Z"}
    discontinued = await shop.make.product("Discontinued Lamp", on_hand=5, **past_dates)
    long_name = await shop.make.product("Supercalifragilistic" * 6, price="1234567.89", on_hand=5)
    almanac = await shop.slug("The Night Gardener's Almanac")
    paths = {
        "home": "/",
        "category": lanterns,
        "category with subcategories": seeds,
        "category, filtered": f"{lanterns}?in_stock=1&price_min=10&sort=price-low",
        "category, filtered to nothing": f"{lanterns}?price_max=0.01&in_stock=1",
        "search, all": "/search",
        "search, second page": "/search?page=2",
        "search, results": "/search?q=lantern",
        "search, nothing": "/search?q=zzzz",
        "product": f"/products/{almanac}",
        "product with options": f"/products/{await shop.slug('Heron Coat')}",
        "product, sold out": f"/products/{sold_out.slug}",
        "product, discontinued": f"/products/{discontinued.slug}",
        "product with a long name": f"/products/{long_name.slug}",
        "content page": f"/pages/{await shop.db.fetchval('select slug from cms_pages where visible limit 1')}",
        "policy": f"/policies/{await shop.db.fetchval('select slug from policies limit 1')}",
        "not found": "/no/such/page",
        "not found, product": "/products/no-such-product",
        "expired link": "/order-status/x",
        "order of someone else": "/orders/R0",
    }
    async for name in open_paths(shopper, paths):
        yield name


async def script_states(shopper: BrowserShopper, shop: DemoShop) -> AsyncIterator[str]:
    """What the script shows on the catalog pages."""
    page = shopper.page
    await page.goto("/")
    await page.evaluate("document.querySelectorAll('details[data-menu]').forEach(menu => menu.open = true)")
    yield "menus"
    await page.goto("/")
    await page.get_by_role("combobox", name="Search").press_sequentially("lantern")
    await expect(page.get_by_role("option").first).to_be_visible()
    yield "suggestions"
    await page.goto(f"/products/{await shop.slug('Heron Coat')}")
    await page.locator("[data-zoom]").click()
    await expect(page.get_by_role("dialog")).to_be_visible()
    yield "enlarged image"
    await page.goto(f"/products/{await shop.slug('Beeswax Tapers')}")
    await shopper.press_button("Add to cart")
    # A message with the focus stays.
    await page.get_by_role("link", name="View cart").focus()
    yield "message"
    await page.goto(f"/products/{await shop.slug('Beeswax Tapers')}")
    await page.get_by_label("Quantity").fill("999")
    await shopper.press_button("Add to cart")
    await expect(page.locator(".toast.problem")).to_be_visible()
    yield "message, refused"


async def cart_states(shopper: BrowserShopper, shop: DemoShop, lamp: ProductIds) -> AsyncIterator[str]:
    """The states of the cart; at the end it contains the lamp."""
    page = shopper.page
    await page.context.clear_cookies()
    await page.goto("/cart")
    yield "cart, empty"
    await shopper.add(lamp, 2)
    yield "cart"
    await page.get_by_label("Coupon code").fill("nonsense")
    await shopper.press_button("Apply")
    yield "cart, coupon refused"
    await page.get_by_label("Coupon code").fill("MOONRISE")
    await shopper.press_button("Apply")
    await expect(page.get_by_role("button", name="Remove MOONRISE")).to_be_visible()
    yield "cart, coupon applied"
    await page.get_by_label("Quantity of").fill("5000")
    await shopper.press_button(re.compile("^Update"))
    await expect(page.locator(".error-summary")).to_be_visible()
    yield "cart, quantity refused"
    await shop.make.change("products", lamp.id, "product", price="31.00")
    await page.goto("/cart")
    await expect(page.locator(".changes")).to_be_visible()
    yield "cart, changed"
    await shopper.press_button("Update my cart")


async def checkout_states(shopper: BrowserShopper, shop: DemoShop, lamp: ProductIds) -> AsyncIterator[str]:
    """The steps of a guest, with errors; at the end the lamp is bought."""
    page = shopper.page
    await page.goto("/checkout/address")
    yield "address"
    await shopper.press_button("Continue to delivery")
    await expect(page.locator(".error-summary")).to_be_visible()
    yield "address, refused"
    await page.get_by_label("Same as the shipping address").uncheck()
    await page.locator("#bill_address-country_iso").select_option("JP")
    await page.locator(".billing").get_by_role("button", name="Change country").click()
    await page.locator("details.order-note summary").click()
    yield "address, two countries and a note"
    await page.get_by_label("Same as the shipping address").check()
    await shopper.enter_address()
    yield "delivery"
    await page.evaluate("document.querySelectorAll('[name^=rate]').forEach(radio => radio.value = 'x')")
    await shopper.press_button("Continue to payment")
    await expect(page.locator(".error-summary")).to_be_visible()
    yield "delivery, refused"
    await shopper.choose_delivery()
    yield "payment"
    await page.evaluate(WITHOUT_VALIDATION)
    await shopper.press_button("Review your order")
    await expect(page.locator(".error-summary")).to_be_visible()
    yield "payment, nothing chosen"
    card = await shop.method_id("test_card")
    await page.goto("/checkout/payment")
    await page.locator(f"[value='method:{card}']").check()
    yield "payment, card chosen"
    await shopper.choose_payment(card, "decline")
    yield "review"
    await shopper.press_button(re.compile("^Pay"))
    await shopper.expect_heading("How do you want to pay?")
    yield "payment, declined"
    await shopper.choose_payment(card, "approve")
    await shop.make.change("products", lamp.id, "product", price="33.00")
    await shopper.press_button(re.compile("^Pay"))
    await expect(page.locator(".changes")).to_be_visible()
    yield "review, consent"
    await shopper.press_button(re.compile("^Pay"))
    await shopper.expect_heading("Thank you for your order")
    yield "order, completed"
    await page.goto(page.url.partition("?")[0])
    yield "order, by link"


async def sign_in_states(shopper: BrowserShopper, shop: DemoShop) -> AsyncIterator[str]:
    """Sign-in with errors; at the end the customer is signed in."""
    page = shopper.page
    await page.goto("/sign-in")
    yield "sign-in"
    await page.evaluate(WITHOUT_VALIDATION)
    await page.get_by_label("E-mail address").fill("tess")
    await shopper.press_button("Send code")
    await expect(page.locator(".field-error")).to_be_visible()
    yield "sign-in, refused"
    await shopper.request_code(CUSTOMER)
    yield "code"
    await shopper.enter_code("000000")
    await expect(page.locator(".field-error")).to_be_visible()
    yield "code, refused"
    await shopper.enter_code(await mailed_code(shop.http, CUSTOMER))
    await shopper.expect_heading(re.compile("Hello"))


async def account_states(shopper: BrowserShopper, shop: DemoShop, member: Member) -> AsyncIterator[str]:
    """The account of a customer, first empty where it can be; `member` is another session of the same customer."""
    page = shopper.page
    names = ("", "/orders", "/addresses", "/addresses/new", "/wishlists", "/cards", "/store-credit", "/sessions")
    paths = {f"account{name}": f"/account{name}" for name in (*names, "/profile")}
    async for name in open_paths(shopper, {**paths, "no such page of orders": "/account/orders?page=99"}):
        yield name
    await page.goto("/account/addresses/new")
    await page.evaluate(WITHOUT_VALIDATION)
    await page.locator("main").get_by_role("button", name="Save address").last.click()
    await expect(page.locator(".error-summary")).to_be_visible()
    yield "account/addresses/new, refused"
    address = (await member.post("/account/addresses", address=ADDRESS_WITH_LABEL)).id
    await member.post("/account/addresses", address={**ADDRESS_WITH_LABEL, "label": "Work"})
    await page.goto("/account/addresses")
    await shopper.press_button(re.compile("^Ship here by default.*Work"))
    await expect(page.get_by_role("status").first).to_contain_text("Your default address is changed.")
    yield "account/addresses, filled"
    await page.goto(f"/account/addresses/{address}")
    yield "account/addresses/{id}"
    await page.goto("/account/profile")
    await page.evaluate("document.querySelectorAll('input').forEach(field => field.removeAttribute('maxlength'))")
    await page.get_by_label("First name").fill("T" * 300)
    await shopper.press_button("Save")
    await expect(page.locator(".error-summary")).to_be_visible()
    yield "account/profile, refused"
    async for name in wishlist_states(shopper, shop):
        yield name


async def wishlist_states(shopper: BrowserShopper, shop: DemoShop) -> AsyncIterator[str]:
    page = shopper.page
    await page.goto("/account/wishlists")
    await page.evaluate(WITHOUT_VALIDATION)
    await shopper.press_button("Create")
    await expect(page.locator(".error-summary")).to_be_visible()
    yield "account/wishlists, refused"
    await page.get_by_label("Name").fill("Birthday")
    await shopper.press_button("Create")
    await shopper.expect_heading("Birthday")
    yield "wishlist, empty"
    await page.goto(f"/products/{await shop.slug('Heron Coat')}")
    await shopper.press_button("Add to wishlist")
    await expect(page.get_by_role("status").first).to_contain_text("Added to your wishlist.")
    await page.get_by_text("Delete this list").click()
    yield "wishlist"
    await page.goto("/account/wishlists")
    yield "account/wishlists, filled"
    await page.get_by_role("link", name="Birthday").or_(page.locator("main .rows a")).first.click()
    if await page.get_by_role("button", name="Share with a link").count():
        await shopper.press_button("Share with a link")
    await expect(page.get_by_label("Everyone with this link")).to_be_visible()
    yield "wishlist, shared"
    await page.get_by_role("link", name="Open the shared page").click()
    yield "wishlist, as others see it"


async def customer_states(shopper: BrowserShopper, shop: DemoShop, lamp: ProductIds) -> AsyncIterator[str]:
    """The purchase of a signed-in customer: saved address, store credit, confirmation at the bank, and the orders."""
    page, card = shopper.page, await shop.method_id("test_card")
    await page.goto(f"/products/{await shop.slug('Beeswax Tapers')}")
    yield "product, own price"
    await shopper.add(lamp)
    await shopper.start_checkout()
    yield "address, saved ones"
    await shopper.press_button("Continue to delivery")
    await shopper.choose_delivery()
    yield "payment, store credit"
    await shopper.press_button("Use store credit")
    await expect(page.get_by_role("button", name="Do not use it")).to_be_visible()
    yield "payment, store credit used"
    await shopper.choose_payment(card, "confirm")
    yield "review, store credit"
    await shopper.press_button(re.compile("^Pay"))
    await shopper.expect_heading(re.compile("^Confirm your payment"))
    bank = page.url
    await page.goto("/checkout/return")
    yield "payment, processing"
    await page.goto(bank)
    await shopper.press_button("Confirm payment")
    await shopper.expect_heading("Thank you for your order")
    async for name in open_paths(shopper, {"account/cards, filled": "/account/cards", "orders": "/account/orders"}):
        yield name
    for number in await page.locator(".rows .row-name").all_inner_texts():
        await page.goto(f"/orders/{number}")
        yield f"order {number}"


async def expired_session_states(shopper: BrowserShopper, shop: DemoShop) -> AsyncIterator[str]:
    """A form that was filled in before the session ended."""
    page = shopper.page
    await page.goto("/account/profile")
    await page.get_by_label("First name").fill("Theresa")
    await shop.db.execute("update sessions set revoked_at = now() where revoked_at is null")
    await shopper.press_button("Save")
    await shopper.expect_heading("Sign in")
    yield "sign-in with a kept form"
    await shopper.request_code(CUSTOMER)
    await shopper.enter_code(await mailed_code(shop.http, CUSTOMER))
    await shopper.expect_heading("You are signed in")
    yield "continue"
    await shopper.press_button("Continue")
    await expect(page.get_by_label("First name")).to_have_value("Theresa")
    yield "account/profile, saved"


ADDRESS_WITH_LABEL = {
    "label": "Home",
    "firstname": "Tess",
    "lastname": "Quill",
    "address1": "9 Lamp Lane",
    "city": "Hudson",
    "zipcode": "12534",
    "state_name": "NY",
    "country_iso": "US",
    "phone": "555-0100",
}
