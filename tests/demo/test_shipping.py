"""An operator ships the order of the README's commands in a browser."""

import re
from collections.abc import Callable
from pathlib import Path

import asyncpg
import pytest
from playwright.async_api import expect

from tests.admin.browser_session import open_page
from tests.admin.dashboard import new_dashboard
from tests.browser import PHONE, Browser
from tests.service import KEYS, Service
from tests.test_docs import paste

pytestmark = pytest.mark.torture


async def test_an_operator_ships_the_order_of_the_readme(
    browser: Browser, own_data_dir: Callable[[], tuple[Path, str]]
) -> None:
    data_dir, url = own_data_dir()
    db = await asyncpg.connect(url)
    demo = Service("--demo", SHOP_DATA_DIR=str(data_dir), SHOP_SECRET_KEYS=KEYS, SHOP_DRAIN_SECONDS="0")
    try:
        order = paste(2, demo)[-1]["data"]["attributes"]
        async with demo.client() as http:
            dashboard = await new_dashboard(http, db)
            async with open_page(browser, dashboard, "/admin/orders", PHONE) as page:
                await page.get_by_role("link", name=order["number"]).click()
                await page.get_by_label("Tracking number (optional)").fill("1Z 999 AA1")
                await page.get_by_role("button", name=re.compile(r"^Ship \d+ item")).click()
                await expect(page.get_by_text("1Z 999 AA1").first).to_be_visible()
                await expect(page.get_by_text("Shipment ship").or_(page.get_by_text("shipped")).first).to_be_visible()
        row = await db.fetchrow("select shipment_state, payment_state from orders where number = $1", order["number"])
        assert tuple(row) == ("shipped", "paid")
        tracking = "select tracking from shipments join orders o on o.id = order_id where o.number = $1"
        assert await db.fetchval(tracking, order["number"]) == "1Z 999 AA1"
    finally:
        await db.close()
        demo.stop()
