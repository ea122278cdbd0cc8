"""Promotions and store credit in a browser: the way through them without a script, and every page for everybody."""

import csv
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.async_api import expect

from tests.accounts import sign_in
from tests.admin.browser.test_browser_pages import faults
from tests.admin.browser_session import window
from tests.admin.catalog_forms import GROUPS, done, id_of, mark, place
from tests.admin.dashboard import Desk
from tests.admin.promotion_forms import PROMOTIONS, a_tenth, add, new_promotion
from tests.browser import PHONE, Browser
from tests.builders import Make
from tests.checkout_builders import Buyer, new_till
from tests.platform.client import Machine
from tests.promotion_builders import about, new_deal


@pytest.mark.torture
async def test_a_promotion_is_made_tried_on_a_cart_and_its_codes_are_downloaded_without_a_script(
    browser: Browser, desk: Desk, writer: Machine, http: httpx.AsyncClient, tmp_path: Path
) -> None:
    till, word = await new_till(Make(writer)), mark()
    cup = await till.product("10.00", name=f"Cup {word}")
    cart = await Buyer(http, till).put_in((cup, 2), (await till.product("5.00"), 1))

    async with window(browser, desk, PROMOTIONS, PHONE, java_script_enabled=False) as page:
        await page.get_by_role("link", name="New promotion").click()
        await page.get_by_label("Name").fill(f"Cups {word}")
        await page.get_by_label("Batches of codes").check()
        await page.get_by_role("button", name="Create").click()
        await page.get_by_label("Another condition").select_option(label="Certain products")
        await page.get_by_role("button", name="Add a condition").click()
        await page.get_by_label("Product or SKU").fill(word)
        await page.get_by_role("button", name="Find").click()
        await page.get_by_label(f"Cup {word}").check()
        await page.get_by_role("button", name="Add it").click()
        await page.get_by_label("Another benefit").select_option(label="Buy some, get some")
        await page.get_by_role("button", name="Add a benefit").click()
        for label, text in (("Buy", "1"), ("Get", "1"), ("Percent", "50")):
            await page.get_by_label(label, exact=True).fill(text)
        await page.get_by_role("button", name="Add it").click()

        await page.get_by_role("link", name="Try it", exact=True).click()
        await page.get_by_role("link", name=f"Try it on {cart['number']}").click()
        await expect(page.get_by_role("main")).to_contain_text("takes $5.00 off")
        await expect(page.get_by_role("row").filter(has_text=f"Cup {word}")).to_contain_text("$5.00")
        main_text = await page.get_by_role("main").inner_text()

        await page.get_by_role("link", name="Batches").click()
        await page.get_by_label("Name").fill("Letters")
        await page.get_by_label("Prefix").fill("leaf-")
        await page.get_by_label("How many").fill("20")
        await page.get_by_role("button", name="Generate codes").click()
        async with page.expect_download() as coming:
            await page.get_by_role("link", name="Download the codes of Letters").click()
        file = await coming.value
        await file.save_as(tmp_path / "codes.csv")

    assert "$25.00" in main_text
    assert "$20.00" in main_text
    assert file.suggested_filename == "codes-letters.csv"
    heads, *rows = csv.reader((tmp_path / "codes.csv").read_text().splitlines())
    assert (heads, len({row[0] for row in rows})) == (["code", "used_at", "order_number"], 20)
    shopper = Buyer(http, till)
    await shopper.put_in((cup, 2))
    assert (await shopper.patch("/cart/apply_coupon_code", coupon_code=rows[0][0]))["total"] == "15.0"


async def fill(desk: Desk, db: Any, make: Make, http: httpx.AsyncClient) -> dict[str, str]:
    """Where there is something of everything to look at."""
    till, word = await new_till(make), mark()
    long = f"A promotion with a name that is longer than what is usually said of one {word}"
    promotion = await a_tenth(desk, name=long, description="Off everything that grows", starts_at="2031-03-01T00:00")
    cup, jug = await till.product("10.00", name=f"Cup {word}"), await till.product("5.00", name="Jug")
    _, root = await make.taxonomy()
    group = place(await desk.post(GROUPS, name=f"Friends {word}"))
    await new_deal(make, ("percent_off_items", {"percent": "20"}), conditions=[about(cup)], name=f"Fifth {word}")
    await add(desk, promotion, "conditions", "product", **{"product_ids[]": [cup.id, jug.id]})
    await add(desk, promotion, "conditions", "item_total", **{"amounts[USD]": "1", "amounts[JPY]": "100"})
    await add(desk, promotion, "benefits", "free_shipping")
    await desk.post(f"{promotion}/batches", name="With the parcels of November", prefix="leaf-", codes_count="3")
    cart = await Buyer(http, till).put_in((cup, 1), (jug, 2))
    member = await sign_in(http)
    credit = f"/admin/customers/{await member.id()}/credit"
    for memo in ("The courier left it in the rain, and it was the second time this month", "Thank you"):
        assert done(await desk.post(f"{credit}/grant", amount="12.50", currency="EUR", memo=memo)) == "granted"
    grant = await db.fetchval("select id from store_credits where user_id = $1 limit 1", await member.id())
    batch = await db.fetchval("select id from coupon_batches where promotion_id = $1", id_of(promotion))
    bare, automatic = await new_promotion(desk), await new_promotion(desk, way="automatic")
    kinds = ("product", "taxon", "customer_group", "first_order", "item_total")
    return {
        "promotions": PROMOTIONS,
        "promotions, none": f"{PROMOTIONS}?q=zzzz",
        "new promotion": f"{PROMOTIONS}/new",
        "promotion": promotion,
        "parts": f"{promotion}/parts?done=added",
        "parts, none": f"{bare}/parts",
        **{f"condition, {kind}": f"{promotion}/conditions/new?kind={kind}" for kind in kinds},
        "benefit": f"{promotion}/benefits/new?kind=buy_some_get_some",
        "try": f"{promotion}/try",
        "tried": f"{promotion}/try?order={cart['number']}",
        "tried, nothing": f"{bare}/try?order={cart['number']}",
        "tried, no such order": f"{bare}/try?order=R1",
        "batches": f"{promotion}/batches?done=made",
        "batches, none": f"{bare}/batches",
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
async def test_everybody_can_use_the_pages_of_promotions_and_store_credit(
    browser: Browser, desk: Desk, db: Any, writer: Machine, http: httpx.AsyncClient
) -> None:
    at = await fill(desk, db, Make(writer), http)
    problems: dict[str, list[str]] = {}

    async with window(browser, desk) as page:
        for name, path in at.items():
            await page.goto(path)
            problems[name] = await faults(page)
        await page.goto(at["condition, item_total"])
        await page.get_by_label("USD").fill("nonsense")
        await page.get_by_role("button", name="Add it").click()
        problems["condition, refused"] = await faults(page)
        await page.goto(at["condition, product"])
        await page.get_by_label("Product or SKU").fill("cup")
        await page.get_by_role("button", name="Find").click()
        problems["condition, found"] = await faults(page)
        await page.goto(at["new promotion"])
        await page.get_by_label("Name").fill("Half")
        await page.get_by_label("One code").check()
        await page.get_by_role("button", name="Create").click()
        problems["new promotion, refused"] = await faults(page)

    assert {name: wrong for name, wrong in problems.items() if wrong} == {}
