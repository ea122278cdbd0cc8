"""Jobs of an operator in a browser: the clicks and page loads that docs/dashboard.md states, and no more than allowed.

Each job starts on the overview, signed in.
"""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from playwright.async_api import expect

from tests.admin.browser.operator_counter import OperatorCounter
from tests.admin.browser_session import open_page
from tests.admin.catalog_forms import unique_word
from tests.admin.dashboard import Dashboard
from tests.admin.order_builders import buy
from tests.admin.orders.order_lists import wait_for_index
from tests.browser import Browser
from tests.builders import Make
from tests.checkout_builders import Buyer, CheckoutSetup, new_checkout_setup
from tests.platform.client import Machine
from tests.shopper import Answer

DOCUMENT = Path(__file__).parents[3] / "docs" / "dashboard.md"
_ROW = re.compile(r"^\| (?P<job>[^|]+) \| (?P<clicks>\d+) \| (?P<loads>\d+) \| (?P<limit>[^|]*) \|$", re.M)


class Job(NamedTuple):
    """What the documentation says of a job."""

    clicks: int
    loads: int
    most_clicks: int
    most_loads: int


def read_jobs() -> dict[str, Job]:
    jobs = {}
    for row in _ROW.finditer(DOCUMENT.read_text()):
        most_clicks, most_loads = [*re.findall(r"\d+", row["limit"]), "99", "99"][:2]
        jobs[row["job"]] = Job(int(row["clicks"]), int(row["loads"]), int(most_clicks), int(most_loads))
    return jobs


JOBS = read_jobs()


@asynccontextmanager
async def count_job(browser: Browser, dashboard: Dashboard, name: str) -> AsyncIterator[OperatorCounter]:
    """Compares what the operator does with the row of the documentation."""
    job = JOBS[name]
    async with open_page(browser, dashboard) as page:
        operator = OperatorCounter(page)
        yield operator
    assert (operator.clicks, operator.loads) == (job.clicks, job.loads)
    assert job.clicks <= job.most_clicks
    assert job.loads <= job.most_loads


@pytest.fixture
async def checkout_setup(writer: Machine) -> CheckoutSetup:
    return await new_checkout_setup(Make(writer))


async def place_order(dashboard: Dashboard, checkout_setup: CheckoutSetup, db: Any) -> tuple[Answer, str]:
    """Places an order of a customer with a name of their own."""
    name = unique_word()
    buyer = Buyer(dashboard.http, checkout_setup)
    order, _ = await buy(buyer)
    await db.execute(
        "update addresses set lastname = $2 from orders where orders.number = $1 and addresses.id = ship_address_id",
        order["number"],
        name,
    )
    await dashboard.post(f"/admin/orders/{order['number']}/details", email="ada@example.org", tags="", note="")
    await wait_for_index(db)
    return order, name


async def test_an_order_is_found_by_name(
    browser: Browser, dashboard: Dashboard, checkout_setup: CheckoutSetup, db: Any
) -> None:
    order, name = await place_order(dashboard, checkout_setup, db)

    async with count_job(browser, dashboard, "find an order by the customer's name") as operator:
        await operator.follow("Orders")
        await operator.type("/", name, "Enter")
        await operator.follow_part(order["number"])

        await expect(operator.page.get_by_role("heading", level=1)).to_contain_text(order["number"])


async def test_an_order_is_shipped_with_tracking(
    browser: Browser, dashboard: Dashboard, checkout_setup: CheckoutSetup, db: Any
) -> None:
    order, _ = await place_order(dashboard, checkout_setup, db)

    async with count_job(browser, dashboard, "ship an order with its tracking number") as operator:
        await operator.follow("Orders")
        await operator.type("/", order["number"], "Enter")
        await operator.follow_part(order["number"])
        await operator.fill("Tracking number (optional)", "1Z999AA10123456784")
        await operator.press_part("Ship 2 items")

        await expect(operator.page.get_by_role("main")).to_contain_text("1Z999AA10123456784")


async def test_a_coupon_is_created(browser: Browser, dashboard: Dashboard) -> None:
    code = unique_word()

    async with count_job(browser, dashboard, "create a coupon for 10 % off") as operator:
        await operator.follow("Promotions")
        await operator.follow("New promotion")
        await operator.fill("Name", f"Coupon {code}")
        await operator.tick("One code")
        await operator.fill("Code", code)
        await operator.press("Create")
        await operator.choose("New benefit", "Percentage off the order")
        await operator.press("Add a benefit …")
        await operator.fill("Percent", "10")
        await operator.press("Add benefit")

        await expect(operator.page.get_by_role("main")).to_contain_text("10")
