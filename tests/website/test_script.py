"""The script of the website in a real browser: it adds comfort to pages that also work without it."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

import pytest
from playwright.async_api import Page, Route, expect

from tests.admin.catalog_forms import unique_word
from tests.browser import PHONE, Browser, accessibility_violations, visit
from tests.builders import Make, ProductIds
from tests.image_files import png
from tests.service import Service


@asynccontextmanager
async def open_product(
    browser: Browser, service: Service, product: ProductIds, query: str = "", **options: Any
) -> AsyncIterator[Page]:
    async with visit(browser, f"{service.url}/products/{product.slug}{query}", **options) as page:
        yield page


async def new_image(make: Make, product: ProductIds, size: int, **fields: str) -> None:
    response = await make.machine.ask(
        "POST",
        "/images",
        files={"attachment": ("a.png", png(size, size), "image/png")},
        data={"product_id": product.id, **fields},
    )
    assert response.status == 201, response


async def test_adding_to_the_cart_stays_on_the_page_and_counts_the_items(
    browser: Browser, service: Service, make: Make
) -> None:
    mug = await make.product("Mug", on_hand=9)

    async with open_product(browser, service, mug) as page:
        await page.get_by_label("Quantity").fill("2")
        await page.get_by_role("button", name="Add to cart").click()

        toast = page.locator(".toast")
        await expect(toast).to_contain_text("Mug is in your cart.")
        await expect(page.get_by_role("link", name="Cart, 2 items")).to_be_visible()
        assert page.url.endswith(f"/products/{mug.slug}")
        assert await accessibility_violations(page) == []
        await toast.get_by_role("link", name="View cart").click()
        await expect(page.get_by_role("heading", level=1)).to_contain_text("cart")
        await expect(page.locator("[data-cart-count]")).to_have_text("2")


async def test_two_clicks_while_the_first_is_sent_add_once(browser: Browser, service: Service, make: Make) -> None:
    mug = await make.product("Mug", on_hand=9)
    sent: list[str] = []

    async with open_product(browser, service, mug) as page:

        async def hold(route: Route) -> None:
            sent.append(route.request.method)
            await page.get_by_label("Quantity").press("Enter")
            await route.continue_()

        await page.route("**/cart/items", hold)
        await page.get_by_role("button", name="Add to cart").click()

        await expect(page.get_by_role("link", name="Cart, 1 item")).to_be_visible()
        assert sent == ["POST"]


@pytest.mark.torture
async def test_what_cannot_be_added_is_explained_in_place(browser: Browser, service: Service, make: Make) -> None:
    mug = await make.product("Mug", on_hand=1)

    async with open_product(browser, service, mug, size=PHONE) as page:
        await page.get_by_label("Quantity").fill("5")
        await page.get_by_role("button", name="Add to cart").click()

        await expect(page.locator(".toast.problem")).not_to_be_empty()
        await expect(page.locator("[data-cart-count]")).to_be_hidden()
        await expect(page.get_by_role("button", name="Add to cart")).to_be_enabled()
        await page.locator(".toast").get_by_role("button", name="Close").click()
        await expect(page.locator(".toast")).to_have_count(0)


@pytest.mark.torture
async def test_an_answer_that_does_not_come_is_explained(browser: Browser, service: Service, make: Make) -> None:
    mug = await make.product("Mug", on_hand=1)

    async with open_product(browser, service, mug) as page:
        await page.route("**/cart/items", lambda route: route.abort())
        await page.get_by_role("button", name="Add to cart").click()

        await expect(page.locator(".toast.problem")).to_contain_text("check your connection")


async def test_suggestions_are_used_by_keyboard(browser: Browser, service: Service, make: Make) -> None:
    word = unique_word()
    mug = await make.product(f"Mug {word}", price="12.00")

    async with visit(browser, service.url) as page:
        field = page.get_by_role("combobox", name="Search")
        await field.press_sequentially(word[:6])
        option = page.get_by_role("option", name=f"Mug {word}")
        await expect(option).to_contain_text("$12.00")
        await expect(field).to_have_attribute("aria-expanded", "true")
        assert await accessibility_violations(page) == []

        await field.press("Escape")
        await expect(option).to_be_hidden()
        await field.press_sequentially(word[6:])
        await expect(option).to_be_visible()
        await field.press("ArrowDown")
        await expect(option).to_have_attribute("aria-selected", "true")
        await expect(field).to_have_attribute("aria-activedescendant", re.compile("suggestions"))
        await field.press("Enter")

        await expect(page).to_have_url(re.compile(f"/products/{mug.slug}$"))


@pytest.mark.torture
async def test_a_suggestion_is_a_link_for_the_mouse(browser: Browser, service: Service, make: Make) -> None:
    word = unique_word()
    mug = await make.product(f"Mug {word}")

    async with visit(browser, service.url) as page:
        await page.get_by_role("combobox", name="Search").press_sequentially(word)
        await page.get_by_role("option", name=f"Mug {word}").click()

        await expect(page).to_have_url(re.compile(f"/products/{mug.slug}$"))


async def test_an_option_changes_price_stock_and_address(browser: Browser, service: Service, make: Make) -> None:
    kind = f"size{uuid4().hex}"
    shirt = await make.product("Shirt", price="10.00")
    small = await make.variant(shirt.id, {kind: "small"}, price="10.00", on_hand=50)
    large = await make.variant(shirt.id, {kind: "large"}, price="12.00", on_hand=50, compare_at_price="15.00")
    await make.variant(shirt.id, {kind: "huge"}, price="13.00", on_hand=0)

    async with open_product(browser, service, shirt, f"?variant={small}") as page:
        price, buy = page.locator("[data-price]"), page.locator("[data-buy]")
        await page.locator(".option", has_text="Large").click()
        await expect(price).to_have_text(re.compile(r"\$12\.00.*\$15\.00"))
        assert page.url.endswith(f"?variant={large}")

        await page.locator(".option", has_text="Huge").click()
        await expect(page.locator("[data-stock]")).to_have_text("Sold out")
        await expect(buy).to_be_disabled()

        await page.locator(".option", has_text="Small").click()
        await expect(price).to_have_text("$10.00")
        await buy.click()
        await expect(page.locator(".toast")).to_contain_text("in your cart")


@pytest.mark.torture
async def test_a_combination_that_cannot_be_bought_is_marked(browser: Browser, service: Service, make: Make) -> None:
    size, color = f"size{uuid4().hex}", f"color{uuid4().hex}"
    shirt = await make.product("Shirt", price="10.00")
    first = await make.variant(shirt.id, {size: "small", color: "red"}, on_hand=5)
    await make.variant(shirt.id, {size: "large", color: "red"}, on_hand=0)
    await make.variant(shirt.id, {size: "large", color: "blue"}, on_hand=5)

    async with open_product(browser, service, shirt, f"?variant={first}") as page:
        marked = page.locator(".option.unavailable")
        await expect(marked).to_have_text([re.compile("Large"), re.compile("Blue")])
        await page.locator(".option", has_text="Blue").click()
        await expect(page.locator("[data-stock]")).to_have_text("This combination is not available.")
        await expect(page.locator("[data-buy]")).to_be_disabled()
        await page.locator(".option", has_text="Large").click()
        await expect(page.locator("[data-buy]")).to_be_enabled()


@pytest.mark.torture
async def test_a_thumbnail_shows_its_image_and_the_image_can_be_enlarged(
    browser: Browser, service: Service, make: Make
) -> None:
    mug = await make.product("Mug")
    await new_image(make, mug, 1000, alt="Front")
    await new_image(make, mug, 800, alt="Back")

    async with open_product(browser, service, mug) as page:
        main = page.locator("[data-zoom] img")
        before, address = await main.get_attribute("src"), page.url
        await page.locator(".thumbnails a").nth(1).click()
        await expect(main).not_to_have_attribute("src", before or "")
        await expect(main).to_have_attribute("alt", "Back")
        await expect(page.locator(".thumbnails [aria-current]")).to_have_count(1)
        assert page.url == address

        await page.locator("[data-zoom]").click()
        dialog = page.get_by_role("dialog")
        await expect(dialog.get_by_role("img", name="Back")).to_be_visible()
        assert await accessibility_violations(page) == []
        await page.keyboard.press("Escape")
        await expect(dialog).to_have_count(0)


@pytest.mark.torture
async def test_a_menu_closes_on_escape_and_on_a_click_beside_it(browser: Browser, service: Service, make: Make) -> None:
    await make.product("Mug")
    async with visit(browser, service.url, PHONE) as page:
        menu, summary = page.locator("details.menu"), page.locator("details.menu summary")
        await summary.click()
        await expect(menu).to_have_attribute("open", "")
        await page.keyboard.press("Escape")
        await expect(menu).not_to_have_attribute("open", "")
        await expect(summary).to_be_focused()
        await summary.click()
        # The menu is at the top and at most three quarters of the screen high.
        await page.mouse.click(5, PHONE[1] - 5)
        await expect(menu).not_to_have_attribute("open", "")


@pytest.mark.torture
async def test_sorting_needs_no_button_and_leaves_no_empty_fields_in_the_address(
    browser: Browser, service: Service, make: Make
) -> None:
    word = unique_word()
    await make.product(f"Mug {word}", price="2.00")
    await make.product(f"Cup {word}", price="1.00")

    async with visit(browser, f"{service.url}/search?q={word}") as page:
        select = page.get_by_label("Sort by")
        value = await select.locator("option").nth(1).get_attribute("value")
        await select.select_option(value)

        await expect(page).to_have_url(re.compile(f"[?&]sort={value}"))
        assert not re.search(r"=(&|$)", page.url)
        await expect(page.get_by_role("button", name="Sort", exact=True)).to_be_hidden()


@pytest.mark.torture
async def test_the_field_of_the_search_contains_what_was_searched_for(browser: Browser, service: Service) -> None:
    async with visit(browser, f"{service.url}/search?q=%3Cmug%3E") as page:
        await expect(page.get_by_role("combobox", name="Search")).to_have_value("<mug>")


@pytest.mark.torture
async def test_buttons_change_a_quantity_and_the_cart_is_updated(
    browser: Browser, service: Service, make: Make
) -> None:
    mug = await make.product("Mug", price="5.00", on_hand=9)

    async with open_product(browser, service, mug) as page:
        quantity = page.get_by_label("Quantity")
        await page.get_by_role("button", name="One less").click()
        await expect(quantity).to_have_value("1")
        await page.get_by_role("button", name="One more").click()
        await expect(quantity).to_have_value("2")
        await page.get_by_role("button", name="Add to cart").click()
        await page.get_by_role("link", name="View cart").click()

        await page.get_by_role("button", name="One more of Mug").click()
        await expect(page.locator("dd.total")).to_have_text("$15.00")
        # A keyboard does not leave the page until its user says so.
        await page.get_by_role("button", name="One less of Mug").press("Enter")
        await expect(page.get_by_label("Quantity of Mug")).to_have_value("2")
        await page.get_by_role("button", name="Update Mug").click()
        await expect(page.locator("dd.total")).to_have_text("$10.00")


@pytest.mark.torture
async def test_without_scripts_a_quantity_is_only_a_field(browser: Browser, service: Service, make: Make) -> None:
    mug = await make.product("Mug", on_hand=9)

    async with open_product(browser, service, mug, java_script_enabled=False) as page:
        await expect(page.get_by_label("Quantity")).to_be_visible()
        await expect(page.locator("[data-step]").first).to_be_hidden()


@pytest.mark.torture
async def test_the_browser_accepts_the_speculation_rules(browser: Browser, service: Service, make: Make) -> None:
    mug = await make.product("Mug")
    sets: list[dict[str, Any]] = []

    async with visit(browser, "about:blank") as page:
        session = await page.context.new_cdp_session(page)
        session.on("Preload.ruleSetUpdated", lambda event: sets.append(event["ruleSet"]))
        await session.send("Preload.enable")
        async with page.expect_response(re.compile("speculation")) as answer:
            await page.goto(f"{service.url}/products/{mug.slug}")
        assert (await answer.value).status == 200
        for _ in range(50):
            if sets:
                break
            await page.wait_for_timeout(100)

    assert sets
    assert [each.get("errorType") for each in sets] == [None] * len(sets)


@pytest.mark.torture
async def test_a_new_code_can_be_requested_after_a_countdown(browser: Browser, service: Service) -> None:
    async with visit(browser, f"{service.url}/sign-in") as page:
        await page.get_by_label("E-mail").fill(f"{unique_word()}@example.com")
        await page.keyboard.press("Enter")

        button = page.locator("[data-resend-seconds]")
        await expect(button).to_be_disabled()
        await expect(button).to_have_text(re.compile(r"Send a new code \([0-9]+ s\)"))


COUNT_SUBMISSIONS = """() => {
    window.sent = 0;
    // The script listens on the document, and is asked before the window.
    addEventListener("submit", event => {
        if (!event.defaultPrevented) window.sent += 1;
        event.preventDefault();
    });
}"""


async def test_a_form_that_is_sent_once_ignores_a_second_click(browser: Browser, service: Service) -> None:
    async with visit(browser, f"{service.url}/sign-in") as page:
        await page.get_by_label("E-mail").fill(f"{unique_word()}@example.com")
        await page.keyboard.press("Enter")
        await page.get_by_label("Code", exact=True).fill("000000")
        await page.evaluate(COUNT_SUBMISSIONS)
        await page.get_by_role("button", name="Sign in").dblclick()

        await expect(page.locator("form[data-once] button")).to_be_disabled()
        assert await page.evaluate("window.sent") == 1
        await page.get_by_label("Code", exact=True).press("Enter")
        assert await page.evaluate("window.sent") == 1
