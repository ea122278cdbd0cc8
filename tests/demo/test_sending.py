"""What was bought with the README's own lines is sent by an operator in a browser."""

import re
from collections.abc import AsyncIterator, Iterator
from typing import Any

import asyncpg
import pytest
from playwright.async_api import expect

from tests.admin.desk import new_desk
from tests.admin.window import window
from tests.browser import PHONE, Browser
from tests.cluster import Cluster
from tests.demo.test_demo import environ_of
from tests.service import Service
from tests.test_docs import paste

pytestmark = pytest.mark.torture


@pytest.fixture
def url(cluster: Cluster, worker_name: str) -> Iterator[str]:
    with cluster.database(f"sending_{worker_name}") as url:
        yield url


@pytest.fixture
async def db(url: str) -> AsyncIterator[Any]:
    connection = await asyncpg.connect(url)
    yield connection
    await connection.close()


async def test_an_operator_sends_what_was_bought_by_the_readme(
    browser: Browser, url: str, db: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    demo = Service("--demo", **environ_of(url, tmp_path_factory.mktemp("demo")))
    try:
        bought = paste(2, demo)[-1]["data"]["attributes"]
        async with demo.client() as http:
            desk = await new_desk(http, db)
            async with window(browser, desk, "/admin/orders", PHONE) as page:
                await page.get_by_role("link", name=bought["number"]).click()
                await page.get_by_label("Tracking number").fill("1Z 999 AA1")
                await page.get_by_role("button", name=re.compile("sent", re.IGNORECASE)).first.click()
                await expect(page.get_by_text("1Z 999 AA1").first).to_be_visible()
                await expect(page.get_by_text("Shipment ship").or_(page.get_by_text("shipped")).first).to_be_visible()
        row = await db.fetchrow("select shipment_state, payment_state from orders where number = $1", bought["number"])
        assert tuple(row) == ("shipped", "paid")
        assert await db.fetchval("select tracking from shipments where shipped_at is not null") == "1Z 999 AA1"
    finally:
        demo.stop()
