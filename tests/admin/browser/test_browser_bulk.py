"""Operators change many products in a real browser: the grid like a spreadsheet, with few clicks and page loads."""

import re
from typing import Any

import pytest
from playwright.async_api import expect

from tests.admin.browser_session import CLIPBOARD, open_page
from tests.admin.catalog_forms import (
    id_of,
    new_options,
    new_product,
    saved_message,
    unique_word,
)
from tests.admin.dashboard import Dashboard
from tests.browser import PHONE, Browser, accessibility_violations, scrolls_sideways

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


@pytest.mark.torture
async def test_the_grid_is_edited_like_a_spreadsheet(browser: Browser, dashboard: Dashboard, db: Any) -> None:
    product, word = await new_twenty_variants(dashboard, db)
    async with open_page(browser, dashboard, f"/admin/products/grid?q={word}", permissions=CLIPBOARD) as page:
        prices = page.get_by_label(re.compile(r"^Price \(USD\) of"))
        await prices.nth(0).fill("1.00")
        await prices.nth(0).press("ArrowDown")
        await expect(prices.nth(1)).to_be_focused()
        await prices.nth(1).press("Control+d")
        await expect(prices.nth(1)).to_have_value("1.00")
        await prices.nth(1).press("Escape")
        await expect(prices.nth(1)).to_have_value("20.00")
        await prices.nth(1).press("ArrowRight")
        await expect(page.get_by_label("Compare-at price (USD) of").nth(1)).to_be_focused()
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


@pytest.mark.torture
async def test_the_page_of_an_import_shows_its_progress_and_result(browser: Browser, dashboard: Dashboard) -> None:
    word = unique_word()
    rows = [f"{word}-{number},Mug {number},active,{word}-{number},5.00" for number in range(300)]
    file = "\n".join(["slug,name,status,sku,price", *rows]).encode()
    async with open_page(browser, dashboard, "/admin/imports/products") as page:
        await page.locator("[type=file]").set_input_files({"name": "mugs.csv", "mimeType": "text/csv", "buffer": file})
        await page.get_by_role("button", name="Upload").click()
        await page.get_by_role("button", name="Check file").click()
        await page.get_by_role("button", name="Import now").click()
        await expect(page.get_by_role("heading", name="Result", exact=True)).to_be_visible()
        await expect(page.get_by_role("definition").first).to_have_text("300")
