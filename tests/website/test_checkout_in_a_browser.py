"""The purchase in a real browser by keyboard alone."""

import re
from typing import Any

from tests.browser import LAPTOP, Browser, Page, visit
from tests.checkout_builders import CheckoutSetup
from tests.service import Service
from tests.website.web_buyer import count_orders

MOST_KEYS = 150
FOCUS = """() => {
    const element = document.activeElement;
    const label = element.getAttribute("aria-label") || element.labels?.[0]?.innerText || element.innerText;
    return [label.replace(/\\s+/g, " ").trim(), element.value ?? ""];
}"""
ENTRIES = {
    "E-mail": "ada@shoppers.example",
    "First name": "Ada",
    "Last name": "Lovelace",
    "Street address": "1 Main Street",
    "City": "Springfield",
    "State": "Illinois",
    "ZIP code": "62701",
}


async def tab_to(page: Page, name: str, value: str = "") -> None:
    """Presses Tab until the element with this label, and this value if one is given, has the focus."""
    for _ in range(MOST_KEYS):
        await page.keyboard.press("Tab")
        label, own_value = await page.evaluate(FOCUS)
        if label.startswith(name) and value in ("", own_value):
            return
    raise AssertionError(f"Tab does not reach {name}")


async def press(page: Page, name: str, path: str) -> None:
    """Presses Enter on a link or button, which leads to this path."""
    await tab_to(page, name)
    await page.keyboard.press("Enter")
    await page.wait_for_url(path)


async def choose_method(page: Page, value: str) -> None:
    """Reaches the payment methods with Tab, and chooses one with the arrow keys."""
    for _ in range(MOST_KEYS):
        if (await page.evaluate(FOCUS))[1] == value:
            await page.keyboard.press("Space")
            return
        is_inside = await page.evaluate("document.activeElement.name == 'method'")
        await page.keyboard.press("ArrowDown" if is_inside else "Tab")
    raise AssertionError("the keyboard does not reach the payment method")


async def test_a_purchase_needs_no_mouse(
    browser: Browser, service: Service, checkout_setup: CheckoutSetup, db: Any
) -> None:
    lantern = await checkout_setup.product("10.00", name="Lantern", on_hand=9)

    async with visit(browser, f"{service.url}/products/{lantern.slug}", LAPTOP, java_script_enabled=True) as page:
        async with page.expect_response(f"{service.url}/cart/items"):
            await tab_to(page, "Add to cart")
            await page.keyboard.press("Enter")
        await press(page, "Cart", "**/cart")
        await press(page, "Check out", "**/checkout/address")
        for label, text in ENTRIES.items():
            await tab_to(page, label)
            await page.keyboard.type(text)
        await page.keyboard.press("Enter")
        await page.wait_for_url("**/checkout/delivery")
        await press(page, "Continue to payment", "**/checkout/payment")
        await choose_method(page, f"method:{checkout_setup.check}")
        await press(page, "Review your order", "**/checkout/review")
        await tab_to(page, "Pay $15.00")
        await page.keyboard.press("Enter")
        await page.wait_for_url(re.compile(r"/orders/R[0-9]+[?]done=completed$"))

    assert await count_orders(db, lantern.variant_id) == 1
