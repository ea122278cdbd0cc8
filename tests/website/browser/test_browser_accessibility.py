"""Every page of the website in every state: accessible at every width, in light and dark, and without motion."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from playwright.async_api import expect

from shop.demo.order_history.history import ORDERS
from tests.accounts import sign_in
from tests.browser import Browser, visit
from tests.builders import Make
from tests.checkout_builders import CheckoutSetup
from tests.cluster import Cluster
from tests.platform.client import new_machine
from tests.service import KEYS, Service
from tests.tcp_proxy import proxy_to
from tests.website.browser import page_states
from tests.website.browser.page_checks import find_form_problems, find_problems
from tests.website.browser.page_states import CUSTOMER, DemoShop
from tests.website.browser.shopping import BrowserShopper, open_shopper


class PatientService(Service):
    """A shop that may take long to start: a busy machine draws the images of the demo shop slowly."""

    def wait_for(self, matches: Any, seconds: float = 180, *, count: int = 1, since: int = 0) -> str:
        return super().wait_for(matches, seconds, count=count, since=since)


@pytest.fixture(scope="module")
def demo_dir(cluster: Cluster, worker_name: str) -> Iterator[tuple[Path, str]]:
    with cluster.data_dir(f"demo_pages_{worker_name}") as pair:
        yield pair


@pytest.fixture(scope="module")
def demo(demo_dir: tuple[Path, str]) -> Iterator[Service]:
    """A try-out served with --demo on an empty database, with all of its orders."""
    service = PatientService("--demo", SHOP_DATA_DIR=str(demo_dir[0]), SHOP_SECRET_KEYS=KEYS, SHOP_DRAIN_SECONDS="0")
    service.wait_for(lambda line: f'"count":{ORDERS},"total":{ORDERS}' in line)
    yield service
    service.stop()


@pytest.fixture
async def demo_shop(demo: Service, demo_dir: tuple[Path, str]) -> AsyncIterator[DemoShop]:
    connection = await asyncpg.connect(demo_dir[1])
    async with demo.client() as http:
        place = str(await connection.fetchval("select id from stock_locations limit 1"))
        yield DemoShop(demo, http, connection, Make(await new_machine(http, connection, "write"), place))
    await connection.close()


async def walk(states: AsyncIterator[str], shopper: BrowserShopper, problems: dict[str, list[str]]) -> None:
    async for name in states:
        problems[name] = await find_problems(shopper.page)


def describe(problems: dict[str, list[str]]) -> str:
    """A line for each problem, with the states that have it."""
    states: dict[str, list[str]] = {}
    for name, messages in problems.items():
        for message in messages:
            states.setdefault(message, []).append(name)
    return "\n".join(f"{message} ({', '.join(names)})" for message, names in states.items())


@pytest.mark.torture
async def test_the_main_pages_are_accessible(browser: Browser, service: Service, checkout_setup: CheckoutSetup) -> None:
    lantern = await checkout_setup.product(name="Lantern")
    problems: dict[str, list[str]] = {}

    async with open_shopper(browser, service) as shopper:

        async def states() -> AsyncIterator[str]:
            await shopper.page.goto(f"/products/{lantern.slug}")
            yield "product"
            await shopper.add(lantern)
            yield "cart"
            await shopper.start_checkout()
            await shopper.press_button("Continue to delivery")
            await expect(shopper.page.locator(".error-summary")).to_be_visible()
            yield "address, refused"

        await walk(states(), shopper, problems)

    assert describe(problems) == ""
    assert len(problems) == 3


@pytest.mark.torture
async def test_everybody_can_use_every_catalog_page(browser: Browser, demo_shop: DemoShop) -> None:
    problems: dict[str, list[str]] = {}

    async with open_shopper(browser, demo_shop.service) as shopper:
        await walk(page_states.catalog_states(shopper, demo_shop), shopper, problems)
        await walk(page_states.script_states(shopper, demo_shop), shopper, problems)

    assert describe(problems) == ""
    assert len(problems) == 25


@pytest.mark.torture
async def test_everybody_can_buy_as_a_guest(browser: Browser, demo_shop: DemoShop) -> None:
    problems: dict[str, list[str]] = {}
    lamp = await demo_shop.make.product("Reading Lamp", price="30.00", on_hand=50)

    async with open_shopper(browser, demo_shop.service) as shopper:
        await walk(page_states.cart_states(shopper, demo_shop, lamp), shopper, problems)
        await walk(page_states.checkout_states(shopper, demo_shop, lamp), shopper, problems)

    assert describe(problems) == ""
    assert len(problems) == 19


@pytest.mark.torture
async def test_everybody_can_use_the_account(browser: Browser, demo_shop: DemoShop) -> None:
    problems: dict[str, list[str]] = {}
    lamp = await demo_shop.make.product("Desk Lamp", price="40.00", on_hand=50)
    member = await sign_in(demo_shop.http, CUSTOMER)

    async with open_shopper(browser, demo_shop.service) as shopper:
        await walk(page_states.sign_in_states(shopper, demo_shop), shopper, problems)
        await walk(page_states.account_states(shopper, demo_shop, member), shopper, problems)
        await walk(page_states.customer_states(shopper, demo_shop, lamp), shopper, problems)
        await walk(page_states.expired_session_states(shopper, demo_shop), shopper, problems)

    assert describe(problems) == ""
    assert len(problems) > 40


@pytest.mark.torture
async def test_everybody_can_use_the_landing_page_of_a_shop_without_a_website(
    browser: Browser, cluster: Cluster, worker_name: str
) -> None:
    with cluster.data_dir(f"landing_{worker_name}") as (data_dir, _):
        environ = {"SHOP_DATA_DIR": str(data_dir), "SHOP_SECRET_KEYS": KEYS, "SHOP_DRAIN_SECONDS": "0"}
        service = await asyncio.to_thread(lambda: Service(**environ, SHOP_WEBSITE="off"))
        try:
            async with visit(browser, service.url) as page:
                problems = await find_problems(page)
        finally:
            service.stop()

    assert problems == []


@pytest.mark.torture
async def test_without_scripts_too_the_summary_of_errors_has_the_focus(
    browser: Browser, service: Service, checkout_setup: CheckoutSetup
) -> None:
    lantern = await checkout_setup.product(name="Lantern")

    async with open_shopper(browser, service, has_script=False) as shopper:
        await shopper.add(lantern)
        await shopper.start_checkout()
        await shopper.press_button("Continue to delivery")

        await expect(shopper.page.locator(".error-summary")).to_be_focused()
        assert await find_form_problems(shopper.page) == []
        await shopper.page.get_by_role("link", name="City is required.").click()
        await expect(shopper.page.locator("#ship_address-city")).to_be_focused()


async def find_error_problems(shopper: BrowserShopper, path: str, heading: str) -> list[str]:
    await shopper.page.goto(path)
    await shopper.expect_heading(heading)
    return await find_problems(shopper.page)


@pytest.mark.torture
async def test_everybody_can_use_the_page_of_an_unexpected_error(
    browser: Browser, cluster: Cluster, worker_name: str, tmp_path: Path
) -> None:
    """A theme has a template that can be compiled, but not rendered."""
    (tmp_path / "templates" / "checkout").mkdir(parents=True)
    (tmp_path / "templates" / "checkout" / "empty_cart.html").write_text("{{ no_such_name }}")
    problems: dict[str, list[str]] = {}
    with cluster.data_dir(f"error_500_{worker_name}") as (data_dir, _):
        environ = {"SHOP_DATA_DIR": str(data_dir), "SHOP_SECRET_KEYS": KEYS, "SHOP_DRAIN_SECONDS": "0"}
        service = await asyncio.to_thread(lambda: Service(**environ, SHOP_THEME_DIR=str(tmp_path)))
        try:
            async with open_shopper(browser, service) as shopper:
                problems["500"] = await find_error_problems(shopper, "/cart", "Something went wrong")
        finally:
            service.stop()

    assert describe(problems) == ""


@pytest.mark.torture
async def test_everybody_can_use_the_pages_of_a_shop_without_its_database(
    browser: Browser, cluster: Cluster, worker_name: str, tmp_path: Path
) -> None:
    problems: dict[str, list[str]] = {}
    heading = "We will be right back"
    with cluster.data_dir(f"error_503_{worker_name}") as (_, url), proxy_to(url) as path:
        environ = {"SHOP_DATA_DIR": str(tmp_path), "SHOP_DATABASE_URL": path.url(), "SHOP_SECRET_KEYS": KEYS}
        service = await asyncio.to_thread(lambda: Service(**environ, SHOP_MAILBOX="on", SHOP_DRAIN_SECONDS="0"))
        try:
            async with open_shopper(browser, service) as shopper:
                await shopper.page.goto("/")
                path.refuse()
                problems["with the last header"] = await find_error_problems(shopper, "/cart", heading)
                os.kill(service.worker_pids()[0], signal.SIGKILL)
                waits = "worker waits for the database"
                await asyncio.to_thread(service.wait_for, lambda line: waits in line)
                await asyncio.to_thread(service.wait_for_listener)
                problems["not loaded"] = await find_error_problems(shopper, "/cart", heading)
        finally:
            path.accept()
            service.stop()

    assert describe(problems) == ""
    assert len(problems) == 2
