"""Operators edit the catalog in a real browser: from a new product to the price that one customer pays."""

import re
from typing import Any

import pytest
from playwright.async_api import FilePayload, Page, expect

from tests.admin.browser_session import open_page
from tests.admin.catalog.test_taxons import new_tree
from tests.admin.catalog_forms import (
    PRODUCTS,
    image_data,
    new_customer,
    new_location,
    new_product,
    new_variants,
    unique_word,
)
from tests.admin.dashboard import Dashboard
from tests.browser import PHONE, Browser


async def expect_notice(page: Page, text: str) -> None:
    await expect(page.get_by_role("status")).to_contain_text(text)


async def open_tab(page: Page, name: str) -> None:
    await page.get_by_role("navigation", name="sections").get_by_role("link", name=name).click()


async def create_variants(page: Page, word: str) -> None:
    """Creates variants in two colors for the product whose page is open."""
    await open_tab(page, "Variants")
    await page.get_by_label("New option").fill(f"Glaze {word}")
    await page.get_by_role("button", name="Save options").click()
    await page.get_by_label(f"New values of Glaze {word}").fill("Moss, Night blue")
    await page.get_by_role("button", name="Save options").click()
    await expect_notice(page, "Options saved.")
    combinations = page.get_by_role("region", name="All combinations")
    for name in ("Moss", "Night blue"):
        await combinations.get_by_label(name).check()
    await combinations.get_by_label("SKU begins with").fill(word)
    await combinations.get_by_role("button", name="Create variants").click()
    await expect_notice(page, "Variants created")


async def choose_files(page: Page, *images: bytes) -> None:
    files: list[FilePayload] = [{"name": "a.png", "mimeType": "image/png", "buffer": data} for data in images]
    await page.get_by_label("Images", exact=True).set_input_files(files)


async def create_list(page: Page, word: str, email: str) -> None:
    """Creates a price list for one customer: two prices of one SKU, by quantity, and 10 percent off the rest."""
    await page.get_by_role("navigation", name="Main").get_by_role("link", name="Price lists").click()
    await page.get_by_role("link", name="New price list").click()
    await page.get_by_label("Name").fill(f"Friends {word}")
    await page.get_by_label("Percentage off").fill("10")
    await page.get_by_role("button", name="Create").click()
    await open_tab(page, "Prices")
    await page.get_by_label("Lines").fill(f"{word}-MOSS,1,20.00\n{word}-MOSS,6,18.00")
    await page.get_by_role("button", name="Add prices").click()
    await expect_notice(page, "Prices saved.")
    await open_tab(page, "Customers")
    await page.get_by_label("E-mail addresses").fill(email)
    await page.get_by_role("button", name="Assign").click()


@pytest.mark.torture
@pytest.mark.parametrize("has_scripts", [True, False])
async def test_a_product_is_created_stocked_and_priced_for_one_customer(
    browser: Browser, dashboard: Dashboard, db: Any, has_scripts: bool
) -> None:
    word, email = unique_word().upper(), await new_customer(db)
    location = await new_location(dashboard, db)

    async with open_page(browser, dashboard, "/admin", java_script_enabled=has_scripts) as page:
        await page.get_by_role("navigation", name="Main").get_by_role("link", name="Products").click()
        await page.get_by_role("link", name="New product").click()
        await page.get_by_label("Name").fill(f"Mug {word}")
        await page.get_by_label("Price (USD)").fill("24.00")
        await page.get_by_label("Status").select_option("active")
        await page.get_by_role("button", name="Create").click()
        await expect_notice(page, "Product created.")

        await create_variants(page, word)
        await open_tab(page, "Prices")
        await page.get_by_label("Price of").first.fill("26.50")
        await page.get_by_label("Compare-at price of").first.fill("30")
        await page.get_by_role("button", name="Save prices").click()
        await expect_notice(page, "Prices saved.")

        await open_tab(page, "Images")
        await choose_files(page, image_data(), image_data("#27395c"))
        await page.get_by_label("Description", exact=True).fill("A green mug")
        await page.get_by_role("button", name="Upload images").click()
        await expect_notice(page, "Images added.")
        await expect(page.get_by_role("img", name="A green mug")).to_have_count(2)

        await open_tab(page, "Variants")
        row = page.get_by_role("row").filter(has_text=f"{word}-MOSS")
        await expect(row).to_contain_text("$26.50")
        await row.get_by_role("link", name=f"{await location_name(db, location)}: 0").click()
        await page.get_by_label("Quantity").fill("12")
        await page.get_by_label("Note").fill("The first kiln")
        await page.get_by_role("button", name="Record movement").click()
        await expect_notice(page, "Movement recorded.")
        await expect(page.get_by_role("row").filter(has_text="The first kiln")).to_contain_text(dashboard.email)

        await create_list(page, word, email)
        await page.get_by_role("link", name=f"Preview as {email}").click()
        await page.get_by_label("Product or SKU").fill(word)
        await page.get_by_label("Quantity").fill("6")
        await page.get_by_role("button", name="Show").click()

        moss = page.get_by_role("region").filter(has_text=f"{word}-MOSS")
        await expect(moss).to_contain_text("$18.00")
        await expect(moss).to_contain_text(f"Friends {word} applies: fixed price from 6 units")
        other = page.get_by_role("region").filter(has_text=f"{word}-NIGHT-BLUE")
        await expect(other).to_contain_text("$21.60")
        await expect(other).to_contain_text("regular price $24.00")


async def location_name(db: Any, location: str) -> str:
    return str(await db.fetchval("select name from stock_locations where id::text = $1", location))


@pytest.mark.torture
async def test_the_error_summary_is_focused_and_links_to_the_field(
    browser: Browser, dashboard: Dashboard, db: Any
) -> None:
    product, _ = await new_variants(dashboard, db)

    async with open_page(browser, dashboard, f"{product}/prices", PHONE) as page:
        await page.get_by_label(re.compile("^Price of")).last.fill("1.999")
        await page.get_by_role("button", name="Save prices").click()
        await expect(page.get_by_role("alert")).to_be_focused()
        await page.get_by_role("alert").get_by_role("link").click()

        await expect(page.get_by_label(re.compile("^Price of")).last).to_be_focused()
        await expect(page.get_by_label(re.compile("^Price of")).last).to_have_value("1.999")
        await expect(page.get_by_label(re.compile("^Price of")).last).to_have_accessible_description(
            "Price has more decimals than JPY allows (0)."
        )


@pytest.mark.torture
async def test_deleting_an_image_asks_for_confirmation_and_can_be_canceled(
    browser: Browser, dashboard: Dashboard
) -> None:
    product = await new_product(dashboard)

    async with open_page(browser, dashboard, f"{product}/images") as page:
        await choose_files(page, image_data())
        await page.get_by_role("button", name="Upload images").click()
        page.once("dialog", lambda dialog: dialog.dismiss())
        await page.get_by_role("button", name="Delete image 1").click()
        await expect(page.get_by_role("button", name="Delete image 1")).to_be_visible()
        page.once("dialog", lambda dialog: dialog.accept())
        await page.get_by_role("button", name="Delete image 1").click()

        await expect_notice(page, "Image deleted.")
        await expect(page.get_by_role("heading", name="No images yet")).to_be_visible()


@pytest.mark.torture
async def test_leaving_a_page_with_unsaved_input_asks_for_confirmation(browser: Browser, dashboard: Dashboard) -> None:
    product = await new_product(dashboard)

    async with open_page(browser, dashboard, product) as page:
        await page.get_by_label("Name").fill("Half typed")
        dialogs: list[str] = []

        async def dismiss(dialog: Any) -> None:
            dialogs.append(dialog.type)
            await dialog.dismiss()

        page.on("dialog", dismiss)
        await page.get_by_role("navigation", name="Main").get_by_role("link", name="Stock").click(no_wait_after=True)
        await expect(page.get_by_label("Name")).to_have_value("Half typed")
        await page.get_by_role("button", name="Save").click()

        await expect_notice(page, "Saved.")
    assert dialogs == ["beforeunload"]


@pytest.mark.torture
async def test_the_mobile_menu_links_to_every_catalog_section(browser: Browser, dashboard: Dashboard) -> None:
    async with open_page(browser, dashboard, "/admin", PHONE) as page:
        for name in ("Products", "Categories", "Stock", "Price lists", "Customer groups"):
            await page.get_by_text("Menu", exact=True).click()
            link = page.get_by_role("navigation", name="Menu").get_by_role("link", name=name, exact=True)
            await expect(link).to_be_in_viewport()
            await link.click()
            await expect(page.get_by_role("heading", level=1)).to_have_text(name)
        assert PRODUCTS not in page.url


@pytest.mark.torture
async def test_feedback_receives_focus_also_if_the_page_shows_a_part_of_it(
    browser: Browser, dashboard: Dashboard, db: Any
) -> None:
    _, _, (_, pans) = await new_tree(dashboard, db, "Cups", "Pans")
    async with open_page(browser, dashboard, "/admin/taxons") as page:
        await page.locator(f"#taxon-{pans}").get_by_role("button", name="up").click()
        await expect(page).to_have_url(re.compile(f"#taxon-{pans}$"))
        await expect(page.locator("[data-feedback]")).to_be_focused()
