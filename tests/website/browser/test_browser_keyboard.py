"""The website by keyboard alone: everything can be reached, and the focus is always visible."""

from typing import Any

import pytest
from playwright.async_api import Locator, Page, expect

from tests.accounts import new_email
from tests.admin.catalog_forms import unique_word
from tests.browser import LAPTOP, PHONE, Browser, visit
from tests.checkout_builders import ADDRESS, CheckoutSetup
from tests.service import Service
from tests.website.web_buyer import count_orders

MOST_STOPS = 80
# The outline may be around the label of a radio button that is itself invisible.
FOCUS = """() => {
    const focus = document.activeElement;
    const parts = [focus, focus.nextElementSibling, focus.closest("label")].filter(Boolean);
    const isVisible = parts.some(part => {
        const style = getComputedStyle(part), box = part.getBoundingClientRect();
        const hasOutline = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
        return hasOutline && box.width > 0 && box.bottom > 0 && box.top < innerHeight;
    });
    const isPage = focus === document.body || focus === document.documentElement;
    return {isVisible, isPage, html: focus.outerHTML.slice(0, 120)};
}"""
IS_COVERED = """() => {
    const focus = document.activeElement, box = focus.getBoundingClientRect();
    const top = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
    return Boolean(top) && !focus.contains(top) && !top.contains(focus) && !focus.closest("label")?.contains(top);
}"""


class KeyboardShopper:
    """A shopper who uses no mouse, and notes every stop whose focus is not seen."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.problems: list[str] = []

    async def press(self, *keys: str) -> None:
        for key in keys:
            await self.page.keyboard.press(key)

    async def write(self, label: str, text: str, group: str = "") -> None:
        """Moves to a field and types."""
        root: Any = self.page.get_by_role("group", name=group) if group else self.page
        await self.move_to(root.get_by_label(label))
        await self.page.keyboard.type(text)

    async def move_to(self, target: Locator) -> None:
        """Presses Tab until the target has the focus."""
        await expect(target).to_be_visible()
        for _ in range(MOST_STOPS):
            await self.press("Tab")
            await self._check_focus()
            if await target.evaluate("element => element === document.activeElement"):
                return
        raise AssertionError(f"{target} cannot be reached")

    async def _check_focus(self) -> None:
        focus = await self.page.evaluate(FOCUS)
        if not focus["isPage"] and not focus["isVisible"]:
            self.problems.append(f"The focus is not seen: {focus['html']}")
        elif not focus["isPage"] and await self.page.evaluate(IS_COVERED):
            self.problems.append(f"The focus is covered: {focus['html']}")

    async def expect_heading(self, text: str) -> None:
        await expect(self.page.get_by_role("heading", level=1)).to_have_text(text)


@pytest.mark.torture
@pytest.mark.parametrize("size", [LAPTOP, PHONE], ids=["laptop", "phone"])
async def test_the_whole_purchase_by_keyboard_alone(
    browser: Browser, service: Service, checkout_setup: CheckoutSetup, db: Any, size: tuple[int, int]
) -> None:
    shirt = await checkout_setup.product("10.00", name="Shirt", options={unique_word(): ["small", "large"]})
    large = shirt.variants[1]

    async with visit(browser, f"{service.url}/products/{shirt.slug}", size) as page:
        shopper = KeyboardShopper(page)
        await shopper.press("Tab")
        await expect(page.get_by_role("link", name="Skip to content")).to_be_in_viewport()
        await shopper.press("Enter")
        await expect(page.locator("main")).to_be_focused()
        await shopper.move_to(page.get_by_role("radio", name="Small"))
        await shopper.press("ArrowRight")
        await expect(page.get_by_role("radio", name="Large")).to_be_checked()
        await shopper.move_to(page.get_by_role("button", name="Add to cart"))
        await shopper.press("Enter")
        await shopper.move_to(page.get_by_role("link", name="View cart"))
        await shopper.press("Enter")
        await shopper.expect_heading("Your cart")
        await shopper.move_to(page.get_by_role("link", name="Check out"))
        await shopper.press("Enter")
        await shopper.expect_heading("Where should we send it?")
        await enter_address(shopper)
        await shopper.expect_heading("How should it arrive?")
        await shopper.move_to(page.get_by_role("radio", name="Post"))
        await shopper.press("ArrowDown")
        await shopper.move_to(page.get_by_role("button", name="Continue to payment"))
        await shopper.press("Space")
        await shopper.expect_heading("How do you want to pay?")
        await choose_card(shopper, checkout_setup.card)
        await shopper.expect_heading("Review your order")
        await shopper.move_to(page.get_by_role("button", name="Pay $19.00"))
        await shopper.press("Enter")
        await shopper.expect_heading("Thank you for your order")

    assert "\n".join(shopper.problems) == ""
    assert await count_orders(db, large) == 1


async def enter_address(shopper: KeyboardShopper) -> None:
    """Sends the form empty first, and follows a link of the summary."""
    page = shopper.page
    await shopper.move_to(page.get_by_label("E-mail"))
    await shopper.press("Enter")
    await expect(page.locator(".error-summary")).to_be_focused()
    await shopper.move_to(page.locator(".error-summary").get_by_role("link").first)
    await shopper.press("Enter")
    await expect(page.get_by_label("E-mail")).to_be_focused()
    await page.keyboard.type(new_email())
    names = {"First name": "firstname", "Last name": "lastname", "Street address": "address1", "City": "city"}
    for label, name in names.items():
        await shopper.write(label, ADDRESS[name], "Shipping address")
    await shopper.write("State", "Illinois", "Shipping address")
    await shopper.write("ZIP code", ADDRESS["zipcode"], "Shipping address")
    await shopper.move_to(page.get_by_role("checkbox", name="Same as the shipping address"))
    # Enter in a field sends the form; the button is reached as well.
    await shopper.move_to(page.locator("button.button", has_text="Continue to delivery"))
    await shopper.press("Enter")


async def choose_card(shopper: KeyboardShopper, method_id: str) -> None:
    page, card = shopper.page, shopper.page.locator(f"[value='method:{method_id}']")
    methods = page.locator("[name=method]")
    await shopper.move_to(methods.first)
    await shopper.press("Space")
    for _ in range(await methods.count()):
        if await card.is_checked():
            break
        await shopper.press("ArrowDown")
    await expect(card).to_be_checked()
    await shopper.move_to(page.locator(".method", has=card).get_by_label("The payment succeeds"))
    await shopper.move_to(page.get_by_role("button", name="Review your order"))
    await shopper.press("Enter")


@pytest.mark.torture
@pytest.mark.parametrize("size", [LAPTOP, PHONE], ids=["laptop", "phone"])
async def test_every_part_of_a_list_can_be_reached_with_a_visible_focus(
    browser: Browser, service: Service, checkout_setup: CheckoutSetup, size: tuple[int, int]
) -> None:
    await checkout_setup.product(name="Lantern")
    async with visit(browser, f"{service.url}/search?q=Lantern", size) as page:
        shopper = KeyboardShopper(page)
        await shopper.move_to(page.get_by_label("Sort by"))
        await shopper.move_to(page.locator("footer").get_by_role("link", name="Cart"))

        assert shopper.problems == []


@pytest.mark.torture
async def test_the_header_does_not_cover_what_follows_the_skip_link(
    browser: Browser, service: Service, checkout_setup: CheckoutSetup
) -> None:
    make = checkout_setup.make
    # The links to so many categories need several rows.
    _, root = await make.taxonomy(unique_word())
    taxons = [await make.taxon(f"{unique_word()} and many more", root) for _ in range(6)]
    shirt = await make.product("Shirt", taxons=taxons)
    async with visit(browser, f"{service.url}/products/{shirt.slug}", (1280, 400)) as page:
        shopper = KeyboardShopper(page)
        await shopper.press("Tab", "Enter")
        await expect(page.locator("main")).to_be_focused()
        await shopper.move_to(page.get_by_label("Breadcrumbs").get_by_role("link", name="Home"))

        assert shopper.problems == []
