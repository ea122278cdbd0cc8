"""A shopper in a real browser, with or without scripts, with a mouse or with a finger."""

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from playwright.async_api import Locator, Page, expect

from tests.accounts import new_email
from tests.browser import LAPTOP, Browser, visit
from tests.builders import ProductIds
from tests.checkout_builders import ADDRESS
from tests.service import Service

CARDS = {
    "approve": "The payment succeeds",
    "decline": "The card is declined",
    "confirm": "The bank asks for a confirmation",
}
"""The test cards by their names in the API."""
# One address has a select for its state; the other fields are text.
_LABELS = {
    "firstname": "First name",
    "lastname": "Last name",
    "address1": "Street address",
    "city": "City",
    "zipcode": "ZIP code",
    "phone": "Phone",
}


class BrowserShopper:
    """One shopper in one browser."""

    def __init__(self, page: Page, *, has_script: bool = True, has_touch: bool = False) -> None:
        self.page = page
        self.email = new_email()
        self.has_script = has_script
        self.has_touch = has_touch

    async def press(self, target: Locator) -> None:
        await (target.tap() if self.has_touch else target.click())

    async def press_button(self, name: str | re.Pattern[str]) -> None:
        await self.press(self.page.locator("main").get_by_role("button", name=name))

    async def expect_heading(self, text: str | re.Pattern[str]) -> None:
        await expect(self.page.get_by_role("heading", level=1)).to_have_text(text)

    async def add(self, product: ProductIds, quantity: int = 1) -> None:
        """Adds a product on its page, and opens the cart."""
        await self.page.goto(f"/products/{product.slug}")
        await self.page.get_by_label("Quantity").fill(str(quantity))
        await self.press_button("Add to cart")
        if self.has_script:
            await self.press(self.page.get_by_role("link", name="View cart"))
        await self.expect_heading("Your cart")

    async def start_checkout(self) -> None:
        await self.press(self.page.get_by_role("link", name="Check out"))
        await self.expect_heading("Where should we send it?")

    async def enter_address(self, address: Mapping[str, str] = ADDRESS) -> None:
        await self.fill_address(address)
        await self.press_button("Continue to delivery")
        await self.expect_heading("How should it arrive?")

    async def fill_address(self, address: Mapping[str, str] = ADDRESS) -> None:
        await self.page.get_by_label("E-mail").fill(self.email)
        fields = self.page.get_by_role("group", name="Shipping address")
        for name, label in _LABELS.items():
            await fields.get_by_label(label).fill(address[name])
        await fields.get_by_label("State").select_option(address["state_name"])

    async def choose_delivery(self, name: str = "Post") -> None:
        await self.page.get_by_role("radio", name=name).check()
        await self.press_button("Continue to payment")
        await self.expect_heading("How do you want to pay?")

    async def choose_payment(self, method_id: str, card: str | None = None) -> None:
        """Chooses a payment method, with this test card if it is one."""
        choice = self.page.locator(f"[value='method:{method_id}']")
        await choice.check()
        if card:
            await self.page.locator(".method", has=choice).get_by_label(CARDS[card]).check()
        await self.press_button("Review your order")
        await self.expect_heading("Review your order")

    async def go_to_review(
        self, product: ProductIds, method_id: str, quantity: int = 1, *, card: str | None = None
    ) -> None:
        """Every step but the last."""
        await self.add(product, quantity)
        await self.start_checkout()
        await self.enter_address()
        await self.choose_delivery()
        await self.choose_payment(method_id, card)

    async def pay(self, amount: str) -> None:
        await self.press_button(f"Pay {amount}")

    async def read_order_number(self) -> str:
        """The number of the order that was just completed."""
        await self.expect_heading("Thank you for your order")
        (number,) = re.findall(r"/orders/(R\w+)\?done=completed$", self.page.url)
        return str(number)

    async def request_code(self, email: str) -> None:
        """Enters an address on the sign-in page."""
        await self.page.get_by_label("E-mail address").fill(email)
        await self.press_button("Send code")
        await self.expect_heading("Enter your code")

    async def enter_code(self, code: str) -> None:
        await self.page.get_by_label("Code", exact=True).fill(code)
        await self.press_button("Sign in")


@asynccontextmanager
async def open_shopper(
    browser: Browser,
    service: Service,
    *,
    size: tuple[int, int] = LAPTOP,
    has_script: bool = True,
    has_touch: bool = False,
    **options: Any,
) -> AsyncIterator[BrowserShopper]:
    """A shopper in a new browser context, who has not opened a page yet; addresses may be paths."""
    async with visit(
        browser,
        "about:blank",
        size,
        base_url=service.url,
        java_script_enabled=has_script,
        has_touch=has_touch,
        **options,
    ) as page:
        yield BrowserShopper(page, has_script=has_script, has_touch=has_touch)
