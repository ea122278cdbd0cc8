"""The pages of orders and of the checkout settings in a browser: accessible at any width."""

from typing import Any

import httpx2
import pytest

from tests.admin.browser.test_browser_pages import find_problems
from tests.admin.browser_session import open_page
from tests.admin.catalog_forms import saved_message, unique_word
from tests.admin.dashboard import Dashboard
from tests.admin.order_builders import ORDERS, buy, payment_of
from tests.admin.setup_forms import (
    CATEGORIES,
    CHECK,
    DEFAULT_CATEGORY,
    METHODS,
    PAYMENTS,
    POST,
    SHIPPING,
    TAXES,
    ZONES,
    new_rate,
    new_record,
    new_zone,
)
from tests.browser import Browser
from tests.builders import Make
from tests.checkout_builders import Buyer, new_checkout_setup
from tests.platform.client import Machine

pytestmark = pytest.mark.torture


async def fill_shop(dashboard: Dashboard, db: Any, make: Make) -> dict[str, str]:
    """Creates orders and checkout settings; returns the paths of their pages."""
    checkout_setup = await new_checkout_setup(make)
    name = "A name that is longer than what is usually said of a thing that is sold in shops"
    ready_order, _ = await buy(Buyer(dashboard.http, checkout_setup), name=name, options={unique_word(): ["Red"]})
    unpaid_order, _ = await buy(Buyer(dashboard.http, checkout_setup), pays="check")
    canceled_order, _ = await buy(Buyer(dashboard.http, checkout_setup))
    saved_message(await dashboard.post(f"{ORDERS}/{canceled_order['number']}/cancel"))
    zone = await new_zone(dashboard, db, make, "US", "DE", description="Where the post goes")
    rate = await new_rate(dashboard, db, make)
    by_weight = {**POST, "calculator": "by_weight", "amounts[USD]": "0: 5.00\n2.5: 9.00", "zone_ids[]": [zone]}
    method = await new_record(dashboard, db, METHODS, "shipping_methods", **by_weight)
    check_method = await new_record(dashboard, db, PAYMENTS, "payment_methods", **CHECK)
    return {
        "order, ready": f"{ORDERS}/{ready_order['number']}",
        "order, not paid": f"{ORDERS}/{unpaid_order['number']}",
        "order, canceled": f"{ORDERS}/{canceled_order['number']}?done=canceled",
        "cancel": f"{ORDERS}/{ready_order['number']}/cancel",
        "refund": f"{await payment_of(db, ready_order)}/refund",
        "zones": ZONES,
        "zone": f"{ZONES}/{zone}",
        "new zone": f"{ZONES}/new",
        "taxes": TAXES,
        "tax rate": f"{TAXES}/rates/{rate}",
        "new tax category": f"{TAXES}/categories/new",
        "shipping": SHIPPING,
        "shipping method": f"{METHODS}/{method}",
        "shipping category": f"{CATEGORIES}/{DEFAULT_CATEGORY}",
        "payments": PAYMENTS,
        "checks": "/admin/settings/checks",
        "payment method": f"{PAYMENTS}/{check_method}",
        "new payment method": f"{PAYMENTS}/new",
    }


async def test_the_order_and_checkout_settings_pages_are_accessible(
    browser: Browser, dashboard: Dashboard, db: Any, writer: Machine
) -> None:
    paths = await fill_shop(dashboard, db, Make(writer))
    problems: dict[str, list[str]] = {}

    async with open_page(browser, dashboard) as page:
        for name, path in paths.items():
            await page.goto(path)
            problems[name] = await find_problems(page)
        await page.goto(paths["shipping method"])
        await page.get_by_label("USD").fill("nonsense")
        await page.get_by_role("button", name="Save").click()
        problems["shipping method, refused"] = await find_problems(page)

    assert {name: messages for name, messages in problems.items() if messages} == {}


async def test_an_order_is_shipped_and_refunded(
    browser: Browser, dashboard: Dashboard, db: Any, writer: Machine, http: httpx2.AsyncClient
) -> None:
    order, _ = await buy(Buyer(http, await new_checkout_setup(Make(writer))))

    async with open_page(browser, dashboard, f"{ORDERS}/{order['number']}") as page:
        await page.get_by_label("Tracking number (optional)").fill("XY 123")
        await page.get_by_role("button", name="Ship 2 items", exact=True).click()
        shipment_text = await page.locator("main").inner_text()
        # The first refunds items, the second an amount of the payment.
        await page.get_by_role("link", name="Refund").nth(1).click()
        await page.get_by_label("Amount").fill("5.00")
        await page.get_by_label("Reason").fill("Came late")
        await page.get_by_role("button", name="Refund").click()
        refund_text = await page.locator("main").inner_text()

    assert "Shipment marked as shipped." in shipment_text
    assert "XY 123" in shipment_text
    assert "Payment refunded." in refund_text
    assert "Came late" in refund_text
