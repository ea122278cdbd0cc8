"""Operators change many products in a real browser: the grid like a spreadsheet, with few clicks and page loads."""

import asyncio
import re
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from playwright.async_api import FilePayload, Page, expect

from tests.admin.browser_session import CLIPBOARD, open_page
from tests.admin.catalog_forms import (
    id_of,
    image_data,
    new_location,
    new_options,
    new_product,
    saved_message,
    unique_word,
)
from tests.admin.dashboard import Dashboard, new_dashboard
from tests.admin.effort import Effort
from tests.browser import PHONE, Browser, accessibility_violations, scrolls_sideways
from tests.service import Service

COPY = """text => navigator.clipboard.writeText(text)"""


async def new_twenty_variants(dashboard: Dashboard, db: Any) -> tuple[str, str]:
    """Creates a product with twenty variants; returns its path and a word of its name."""
    word = unique_word()
    product = await new_product(dashboard, name=f"Twenty {word}")
    ((kind, values),) = (
        await new_options(dashboard, product, db, Number=",".join(f"No {number}" for number in range(20)))
    ).values()
    fields = {f"values[{kind}][]": values, "sku_prefix": word, "each_price": "20.00"}
    assert saved_message(await dashboard.post(f"{product}/variants/generate", **fields)) == "generated"
    return product, word


async def amounts_of(db: Any, product: str) -> list[int]:
    rows = await db.fetch(
        """select amount from prices p join variants v on v.id = p.variant_id
        where v.product_id = $1 and not v.is_master order by v.position""",
        id_of(product),
    )
    return [row["amount"] for row in rows]


async def test_twenty_prices_are_changed_with_few_clicks_and_page_loads(
    browser: Browser, dashboard: Dashboard, db: Any
) -> None:
    product, word = await new_twenty_variants(dashboard, db)
    async with open_page(browser, dashboard, f"/admin/products?q={word}") as page:
        effort = Effort(page)
        await effort.start()
        await page.get_by_role("link", name="Edit in grid").click()
        await page.get_by_label("Price (USD) of").first.click()
        for number in range(20):
            await page.keyboard.press("Control+A")
            await page.keyboard.type(f"{30 + number}.50")
            await page.keyboard.press("Enter")
        await expect(page.get_by_text("20 changed values")).to_be_visible()
        await page.get_by_role("button", name="Review changes").click()
        await page.get_by_role("button", name="Save 20 changes").click()
        await expect(page.get_by_role("status")).to_contain_text("20 changes saved.")

        assert await amounts_of(db, product) == [3050 + 100 * number for number in range(20)]
        assert await effort.clicks() <= 25
        assert effort.loads <= 3


async def test_the_grid_is_edited_like_a_spreadsheet(browser: Browser, dashboard: Dashboard, db: Any) -> None:
    product, word = await new_twenty_variants(dashboard, db)
    async with open_page(browser, dashboard, f"/admin/products/grid?q={word}", permissions=CLIPBOARD) as page:
        prices = page.get_by_label("Price (USD) of")
        await prices.nth(0).fill("1.00")
        await prices.nth(0).press("ArrowDown")
        await expect(prices.nth(1)).to_be_focused()
        await prices.nth(1).press("Control+d")
        await expect(prices.nth(1)).to_have_value("1.00")
        await prices.nth(1).press("Escape")
        await expect(prices.nth(1)).to_have_value("20.00")
        await prices.nth(1).press("ArrowRight")
        await expect(page.get_by_label("Compare-at (USD) of").nth(1)).to_be_focused()
        await page.evaluate(COPY, "2.00\n3.00\n4.00\n")
        await prices.nth(2).focus()
        await prices.nth(2).press("Control+v")
        await expect(prices.nth(4)).to_have_value("4.00")
        await page.get_by_role("button", name="Save").click()
        await expect(page.get_by_role("status")).to_contain_text("4 changes saved.")

        assert (await amounts_of(db, product))[:6] == [100, 2000, 200, 300, 400, 2000]
        assert await accessibility_violations(page) == []
        await page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
        assert await accessibility_violations(page) == []
        assert not await scrolls_sideways(page)


@pytest.fixture
async def two_currencies(
    empty_service: Service, empty_client: httpx2.AsyncClient, empty_db: Any
) -> AsyncIterator[Dashboard]:
    """An operator of a shop that sells in two currencies."""
    currencies = await empty_db.fetchval("select currencies from shops")
    await empty_db.execute("update shops set currencies = '{USD,EUR}', version = version + 1")
    yield await new_dashboard(empty_client, empty_db)
    await empty_db.execute("update shops set currencies = $1, version = version + 1", currencies)


async def fill_variants(page: Page) -> None:
    """Enters a price in euros and the stock of each variant with the keyboard."""
    cells = page.get_by_role("table").get_by_role("textbox", name=re.compile(r"^(Price \(EUR\)|Stock)"))
    for number in range(await cells.count()):
        await cells.nth(number).focus()
        await page.keyboard.press("Control+A")
        await page.keyboard.type(str(number + 5))


async def test_a_product_with_variants_is_created_with_few_clicks_and_page_loads(
    browser: Browser, two_currencies: Dashboard, empty_db: Any
) -> None:
    word = unique_word()
    await new_location(two_currencies, empty_db)
    images: list[FilePayload] = [
        {"name": "a.png", "mimeType": "image/png", "buffer": image_data(color)} for color in ("#56704f", "#27395c")
    ]
    async with open_page(browser, two_currencies, "/admin/products") as page:
        # A process learns of the new currency within seconds.
        async with asyncio.timeout(30):
            for _ in range(3):
                await page.goto("/admin/products/new")
                while not await page.get_by_label("Price in EUR").count():
                    await page.goto("/admin/products/new")
        await page.goto("/admin/products")
        effort = Effort(page)
        await effort.start()
        await page.get_by_role("link", name="New product").first.click()
        await page.get_by_label("Name", exact=True).fill(f"Shirt {word}")
        await page.get_by_label("Price in USD").fill("20")
        await page.get_by_label("SKU").first.fill(word)
        for label, text in {"Option 1": "Size", "Option 2": "Color"}.items():
            await page.get_by_label(label, exact=True).fill(f"{text} {word}")
        await page.get_by_label("Values of option 1").fill("S, M, L")
        await page.get_by_label("Values of option 2").fill("red, blue")
        await page.get_by_role("button", name="Show variants").click()
        await fill_variants(page)
        assert await accessibility_violations(page) == []
        async with page.expect_file_chooser() as chooser:
            await page.get_by_label("Images of the product").click()
        await (await chooser.value).set_files(images)
        await page.get_by_role("button", name="Create").click()
        await expect(page.get_by_role("status")).to_contain_text("Product created.")
        clicks, loads = await effort.clicks(), effort.loads
        product = id_of(page.url.partition("?")[0])

    assert (clicks <= 30, loads <= 6) == (True, True), (clicks, loads)
    counts = await empty_db.fetchrow(
        """select count(distinct v.id) as variants, count(distinct p.id) as prices, count(distinct s.id) as items,
        (select count(*) from images where product_id = $1) as images
        from variants v join prices p on p.variant_id = v.id left join stock_items s on s.variant_id = v.id
        where v.product_id = $1 and not v.is_master""",
        product,
    )
    assert (counts["variants"], counts["prices"], counts["images"]) == (6, 12, 2)
    assert counts["items"] >= 6
