"""Jobs of an operator in a browser: the clicks and page loads that docs/dashboard.md states, and no more than allowed.

Each job starts on the overview, signed in.
"""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import pytest
from playwright.async_api import FilePayload, expect

from tests.accounts import sign_in
from tests.admin.browser.operator_counter import OperatorCounter
from tests.admin.browser_session import open_page
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
from tests.admin.order_builders import buy
from tests.admin.orders.order_lists import wait_for_index
from tests.browser import Browser
from tests.builders import Make
from tests.checkout_builders import ADDRESS, Buyer, CheckoutSetup, new_checkout_setup
from tests.db.processes import until
from tests.platform.client import Machine
from tests.service import Service
from tests.shopper import Answer

MAX_TABS = 10
"""The most presses of Tab from one cell to the next one that is filled in."""
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


def test_the_documentation_lists_ten_jobs() -> None:
    assert len(JOBS) == 10


@pytest.mark.torture
async def test_an_order_is_found_by_name(
    browser: Browser, dashboard: Dashboard, checkout_setup: CheckoutSetup, db: Any
) -> None:
    order, name = await place_order(dashboard, checkout_setup, db)

    async with count_job(browser, dashboard, "find an order by the customer's name") as operator:
        await operator.follow("Orders")
        await operator.type("/", name, "Enter")
        await operator.follow_part(order["number"])

        await expect(operator.page.get_by_role("heading", level=1)).to_contain_text(order["number"])


@pytest.mark.torture
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


@pytest.mark.torture
async def test_a_coupon_is_created(browser: Browser, dashboard: Dashboard, db: Any) -> None:
    code = unique_word()

    async with count_job(browser, dashboard, "create a coupon for 10 % off") as operator:
        await operator.follow("Promotions")
        await operator.follow("New promotion")
        await operator.fill("Name", f"Coupon {code}")
        await operator.tick("One code")
        await operator.fill("Code", code)
        await operator.press("Create promotion")
        await operator.choose("New benefit", "Percentage off the order")
        await operator.press("Add a benefit …")
        await operator.fill("Discount (%)", "10")
        await operator.press("Add benefit")

        await expect(operator.page.get_by_role("status")).to_have_text("Added.")
    query = """select a.type, a.preferences, p.is_automatic from promotion_actions a
        join promotions p on p.id = promotion_id where p.code = $1"""
    rows = [tuple(row) for row in await db.fetch(query, code)]
    assert rows == [("percent_off_order", '{"percent": "10"}', False)]


@pytest.mark.torture
async def test_a_line_is_refunded(
    browser: Browser, dashboard: Dashboard, checkout_setup: CheckoutSetup, db: Any
) -> None:
    order, _ = await place_order(dashboard, checkout_setup, db)

    async with count_job(browser, dashboard, "refund a line of an order") as operator:
        await operator.follow("Orders")
        await operator.type("/", order["number"], "Enter")
        await operator.follow_part(order["number"])
        await operator.follow("Refund …")
        await operator.enter("Units of")
        await operator.type("1", "Enter")
        await operator.press_part("Refund $10")

        await expect(operator.page.get_by_role("status")).to_contain_text("efunded")


@pytest.mark.torture
async def test_an_item_of_an_order_is_removed(
    browser: Browser, dashboard: Dashboard, checkout_setup: CheckoutSetup, db: Any
) -> None:
    order, _ = await place_order(dashboard, checkout_setup, db)

    async with count_job(browser, dashboard, "reduce a quantity of a placed order") as operator:
        await operator.follow("Orders")
        await operator.type("/", order["number"], "Enter")
        await operator.follow_part(order["number"])
        await operator.follow("Edit order")
        await operator.enter("Quantity of")
        await operator.type("Control+A", "1", "Enter")
        await operator.press("Save changes")

        await expect(operator.page.get_by_role("status")).to_be_visible()
    assert await db.fetchval("select item_count from orders where number = $1", order["number"]) == 1


@pytest.mark.torture
async def test_twenty_prices_are_changed(browser: Browser, dashboard: Dashboard, db: Any) -> None:
    word = unique_word()
    product = await new_product(dashboard, name=f"Twenty {word}")
    numbers = ",".join(f"No {number}" for number in range(20))
    ((kind, values),) = (await new_options(dashboard, product, db, Number=numbers)).values()
    fields = {f"values[{kind}][]": values, "sku_prefix": word, "each_price": "20.00"}
    assert saved_message(await dashboard.post(f"{product}/variants/generate", **fields)) == "generated"

    async with count_job(browser, dashboard, "change 20 prices") as operator:
        await operator.enter("Change prices and stock")
        await operator.type(word, "Enter")
        await operator.enter("Price (USD) of")
        for number in range(20):
            await operator.type("Control+A", f"{30 + number}.50", "Enter")
        await operator.press("Review changes")
        await operator.press("Save 20 changes")

        await expect(operator.page.get_by_role("status")).to_contain_text("20 changes saved.")
    query = (
        "select count(*) from prices p join variants v on v.id = variant_id where product_id = $1 and amount >= 3050"
    )
    assert await db.fetchval(query, id_of(product)) == 20


@pytest.fixture
async def two_currencies(
    empty_service: Service, empty_client: httpx2.AsyncClient, empty_db: Any
) -> AsyncIterator[Dashboard]:
    """An operator of a shop that sells in two currencies."""
    currencies = await empty_db.fetchval("select currencies from shops")
    await empty_db.execute("update shops set currencies = '{USD,EUR}', version = version + 1")
    yield await new_dashboard(empty_client, empty_db)
    await empty_db.execute("update shops set currencies = $1, version = version + 1", currencies)


@pytest.mark.torture
async def test_a_product_with_variants_is_created(browser: Browser, two_currencies: Dashboard, empty_db: Any) -> None:
    word = unique_word()
    await new_location(two_currencies, empty_db)
    images: list[FilePayload] = [
        {"name": "a.png", "mimeType": "image/png", "buffer": image_data(color)} for color in ("#56704f", "#27395c")
    ]
    # Each process learns of the new currency within seconds.
    for _ in range(6):
        await until(partial(sells_in_euros, two_currencies), 60)

    async with count_job(
        browser, two_currencies, "create a product with six variants, images and two currencies"
    ) as operator:
        await operator.follow("Products")
        await operator.follow("New product")
        await operator.fill("Name", f"Shirt {word}")
        await operator.fill("Price (USD)", "20")
        await operator.enter("SKU")
        await operator.type(word)
        await operator.fill("Option 1", f"Size {word}")
        await operator.fill("Values of option 1", "S, M, L")
        await operator.fill("Option 2", f"Color {word}")
        await operator.fill("Values of option 2", "red, blue")
        await operator.press("Show variants")
        await fill_cells(operator, r"^(Price \(EUR\)|Stock)")
        await operator.choose_files("Add images", images)
        await operator.press("Create product")

        await expect(operator.page.get_by_role("status")).to_contain_text("Product created.")
    query = """select count(distinct v.id), count(distinct p.id), count(distinct i.id) from products
        join variants v on v.product_id = products.id join prices p on p.variant_id = v.id
        left join images i on i.product_id = products.id where products.name = $1 and not v.is_master"""
    assert tuple(await empty_db.fetchrow(query, f"Shirt {word}")) == (6, 12, 2)


async def sells_in_euros(dashboard: Dashboard) -> bool:
    return "Price (EUR)" in (await dashboard.get("/admin/products/new")).text


async def fill_cells(operator: OperatorCounter, label: str) -> None:
    """Clicks the first cell, and reaches the others with the Tab key."""
    cells = operator.page.get_by_role("table").get_by_role("textbox", name=re.compile(label))
    operator.clicks += 1
    await cells.first.click()
    for number in range(await cells.count()):
        for _ in range(MAX_TABS):
            if await cells.nth(number).evaluate("(cell) => cell === document.activeElement"):
                break
            await operator.type("Tab")
        await expect(cells.nth(number)).to_be_focused()
        await operator.type("Control+A", str(number + 5))


@pytest.mark.torture
async def test_a_phone_order_is_taken(
    browser: Browser, dashboard: Dashboard, checkout_setup: CheckoutSetup, http: httpx2.AsyncClient, db: Any
) -> None:
    member = await sign_in(http, first_name="Ada")
    await member.post("/account/addresses", address=ADDRESS)
    words = (unique_word(), unique_word())
    for word in words:
        await checkout_setup.product(name=f"Lamp {word}")

    async with count_job(browser, dashboard, "take a phone order of two products") as operator:
        await operator.follow("Drafts")
        await operator.press("New draft")
        await operator.enter("Find a customer")
        await operator.type(member.email[:20], "Enter")
        await operator.press(f"Choose {member.email}")
        for word in words:
            await operator.enter("Find a product")
            await operator.type(word, "Enter")
            await operator.press_part("Add Lamp")
        await operator.tick("Express")
        await operator.press("Save shipping")
        await operator.tick("Check")
        await operator.press_part("Place order")

        await expect(operator.page.get_by_role("main")).to_contain_text("Order placed.")
    query = "select payment_state, item_count from orders where user_id = $1 and completed_at is not null"
    assert tuple(await db.fetchrow(query, await member.id())) == ("balance_due", 2)


@pytest.mark.torture
async def test_a_delivery_is_received(
    browser: Browser, dashboard: Dashboard, checkout_setup: CheckoutSetup, db: Any
) -> None:
    word = unique_word()
    await checkout_setup.product(name=f"Lamp {word}", sku=word)
    reference = unique_word()

    async with count_job(browser, dashboard, "receive a delivery") as operator:
        await operator.follow("Stock")
        await operator.follow_part("Deliveries")
        await operator.follow("New delivery")
        await operator.fill("Reference", reference)
        await operator.fill("Lines", f"{word},7")
        await operator.press("Create delivery")
        await operator.press("Receive")

        await expect(operator.page.get_by_role("status")).to_be_visible()
    assert await db.fetchval("select sum(quantity) from stock_movements where note like $1", f"%{reference}%") == 7


@pytest.mark.torture
async def test_a_colleague_is_invited(browser: Browser, dashboard: Dashboard, db: Any) -> None:
    email = f"{unique_word()}@operators.example"

    async with count_job(browser, dashboard, "invite a colleague") as operator:
        await operator.follow("Staff")
        await operator.follow_part("Invite")
        await operator.fill("E-mail address", email)
        await operator.choose("Role", "Fulfilment")
        await operator.press("Invite")

        await expect(operator.page.get_by_role("heading", level=1)).to_contain_text(email)
    query = "select r.code from operators o join roles r on r.id = o.role_id where o.email = $1"
    assert await db.fetchval(query, email) == "fulfilment"
