"""Promotions and store credit in a browser: usable without scripts, and every page is accessible."""

import csv
from pathlib import Path
from typing import Any

import httpx2
import pytest
from playwright.async_api import expect

from tests.accounts import sign_in
from tests.admin.browser.test_browser_pages import find_problems
from tests.admin.browser_session import open_page
from tests.admin.catalog_forms import GROUPS, id_of, redirect_path, saved_message, unique_word
from tests.admin.dashboard import Dashboard
from tests.admin.promotion_forms import PROMOTIONS, add_part, new_discount, new_promotion
from tests.browser import PHONE, Browser
from tests.builders import Make
from tests.checkout_builders import Buyer, new_checkout_setup
from tests.platform.client import Machine
from tests.promotion_builders import create_promotion, for_products


@pytest.mark.torture
async def test_a_promotion_is_created_previewed_and_its_codes_downloaded_without_scripts(
    browser: Browser, dashboard: Dashboard, writer: Machine, http: httpx2.AsyncClient, tmp_path: Path
) -> None:
    checkout_setup, word = await new_checkout_setup(Make(writer)), unique_word()
    cup = await checkout_setup.product("10.00", name=f"Cup {word}")
    cart = await Buyer(http, checkout_setup).add_items((cup, 2), (await checkout_setup.product("5.00"), 1))

    async with open_page(browser, dashboard, PROMOTIONS, PHONE, java_script_enabled=False) as page:
        await page.get_by_role("link", name="New promotion").click()
        await page.get_by_label("Name").fill(f"Cups {word}")
        await page.get_by_label("Batches of codes").check()
        await page.get_by_role("button", name="Create").click()
        await page.get_by_label("New condition").select_option(label="Specific products")
        await page.get_by_role("button", name="Add a condition").click()
        await page.get_by_label("Product or SKU").fill(word)
        await page.get_by_role("button", name="Find").click()
        await page.get_by_label(f"Cup {word}").check()
        await page.get_by_role("button", name="Add condition").click()
        await page.get_by_label("New benefit").select_option(label="Buy X, get Y")
        await page.get_by_role("button", name="Add a benefit").click()
        for label, text in (("Buy", "1"), ("Get", "1"), ("Discount (%)", "50")):
            await page.get_by_label(label, exact=True).fill(text)
        await page.get_by_role("button", name="Add benefit").click()

        await page.get_by_role("link", name="Preview", exact=True).click()
        await page.get_by_role("link", name=f"Preview on {cart['number']}").click()
        await expect(page.get_by_role("main")).to_contain_text("takes $5.00 off")
        await expect(page.get_by_role("row").filter(has_text=f"Cup {word}")).to_contain_text("$5.00")
        main_text = await page.get_by_role("main").inner_text()

        await page.get_by_role("link", name="Batches").click()
        await page.get_by_label("Name").fill("Letters")
        await page.get_by_label("Prefix").fill("leaf-")
        await page.get_by_label("Number of codes").fill("20")
        await page.get_by_role("button", name="Generate codes").click()
        async with page.expect_download() as download_info:
            await page.get_by_role("link", name="Download the codes of Letters").click()
        file = await download_info.value
        await file.save_as(tmp_path / "codes.csv")

    assert "$25.00" in main_text
    assert "$20.00" in main_text
    assert file.suggested_filename == "codes-letters.csv"
    header, *rows = csv.reader((tmp_path / "codes.csv").read_text().splitlines())
    assert (header, len({row[0] for row in rows})) == (["code", "used_at", "order_number"], 20)
    shopper = Buyer(http, checkout_setup)
    await shopper.add_items((cup, 2))
    assert (await shopper.patch("/cart/apply_coupon_code", coupon_code=rows[0][0]))["total"] == "15.0"


async def fill_shop(dashboard: Dashboard, db: Any, make: Make, http: httpx2.AsyncClient) -> dict[str, str]:
    """Creates promotions, codes and store credit; returns the paths of their pages."""
    checkout_setup, word = await new_checkout_setup(make), unique_word()
    long_name = f"A promotion with a name that is longer than what is usually said of one {word}"
    promotion = await new_discount(
        dashboard, name=long_name, description="Off everything that grows", starts_at="2031-03-01T00:00"
    )
    cup, jug = (
        await checkout_setup.product("10.00", name=f"Cup {word}"),
        await checkout_setup.product("5.00", name="Jug"),
    )
    _, root = await make.taxonomy()
    group = redirect_path(await dashboard.post(GROUPS, name=f"Friends {word}"))
    await create_promotion(
        make, ("percent_off_items", {"percent": "20"}), conditions=[for_products(cup)], name=f"Fifth {word}"
    )
    await add_part(dashboard, promotion, "conditions", "product", **{"product_ids[]": [cup.id, jug.id]})
    await add_part(dashboard, promotion, "conditions", "item_total", **{"amounts[USD]": "1", "amounts[JPY]": "100"})
    await add_part(dashboard, promotion, "benefits", "free_shipping")
    await dashboard.post(f"{promotion}/batches", name="With the parcels of November", prefix="leaf-", codes_count="3")
    cart = await Buyer(http, checkout_setup).add_items((cup, 1), (jug, 2))
    member = await sign_in(http)
    credit = f"/admin/customers/{await member.id()}/credit"
    for memo in ("The courier left it in the rain, and it was the second time this month", "Thank you"):
        assert (
            saved_message(await dashboard.post(f"{credit}/grant", amount="12.50", currency="EUR", memo=memo))
            == "granted"
        )
    grant = await db.fetchval("select id from store_credits where user_id = $1 limit 1", await member.id())
    batch = await db.fetchval("select id from coupon_batches where promotion_id = $1", id_of(promotion))
    empty_promotion, automatic = await new_promotion(dashboard), await new_promotion(dashboard, way="automatic")
    kinds = ("product", "taxon", "customer_group", "first_order", "item_total")
    return {
        "promotions": PROMOTIONS,
        "promotions, none": f"{PROMOTIONS}?q=zzzz",
        "new promotion": f"{PROMOTIONS}/new",
        "promotion": promotion,
        "parts": f"{promotion}/parts?done=added",
        "parts, none": f"{empty_promotion}/parts",
        **{f"condition, {kind}": f"{promotion}/conditions/new?kind={kind}" for kind in kinds},
        "benefit": f"{promotion}/benefits/new?kind=buy_some_get_some",
        "try": f"{promotion}/try",
        "tried": f"{promotion}/try?order={cart['number']}",
        "tried, nothing": f"{empty_promotion}/try?order={cart['number']}",
        "tried, no such order": f"{empty_promotion}/try?order=R1",
        "batches": f"{promotion}/batches?done=made",
        "batches, none": f"{empty_promotion}/batches",
        "batches, automatic": f"{automatic}/batches",
        "batch, delete": f"{promotion}/batches/{batch}/delete",
        "promotion, delete": f"{promotion}/delete",
        "credit": f"{credit}?done=granted",
        "grant": f"{credit}/grant",
        "withdraw": f"{credit}/{grant}/withdraw",
        "customer": credit.removesuffix("/credit"),
        "group": group,
        "taxon": f"/admin/taxons/{root}",
    }


@pytest.mark.torture
async def test_the_promotion_and_store_credit_pages_are_accessible(
    browser: Browser, dashboard: Dashboard, db: Any, writer: Machine, http: httpx2.AsyncClient
) -> None:
    paths = await fill_shop(dashboard, db, Make(writer), http)
    problems: dict[str, list[str]] = {}

    async with open_page(browser, dashboard) as page:
        for name, path in paths.items():
            await page.goto(path)
            problems[name] = await find_problems(page)
        await page.goto(paths["condition, item_total"])
        await page.get_by_label("USD").fill("nonsense")
        await page.get_by_role("button", name="Add condition").click()
        problems["condition, refused"] = await find_problems(page)
        await page.goto(paths["condition, product"])
        await page.get_by_label("Product or SKU").fill("cup")
        await page.get_by_role("button", name="Find").click()
        problems["condition, found"] = await find_problems(page)
        await page.goto(paths["new promotion"])
        await page.get_by_label("Name").fill("Half")
        await page.get_by_label("One code").check()
        await page.get_by_role("button", name="Create").click()
        problems["new promotion, refused"] = await find_problems(page)

    assert {name: messages for name, messages in problems.items() if messages} == {}
