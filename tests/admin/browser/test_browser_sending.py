"""Orders that were bought, and what a shop is set up with, in a browser: for everybody, at any width."""

from typing import Any

import httpx
import pytest

from tests.admin.browser.test_browser_pages import faults
from tests.admin.browser_session import window
from tests.admin.catalog_forms import done, mark
from tests.admin.dashboard import Desk
from tests.admin.order_builders import HERE, buy, payment_of
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
    new,
    new_rate,
    new_zone,
)
from tests.browser import Browser
from tests.builders import Make
from tests.checkout_builders import Buyer, new_till
from tests.platform.client import Machine

pytestmark = pytest.mark.torture


async def fill(desk: Desk, db: Any, make: Make) -> dict[str, str]:
    """Where there is something of everything to look at."""
    till = await new_till(make)
    name = "A name that is longer than what is usually said of a thing that is sold in shops"
    ready, _ = await buy(Buyer(desk.http, till), name=name, options={mark(): ["Red"]})
    unpaid, _ = await buy(Buyer(desk.http, till), pays="check")
    canceled_order, _ = await buy(Buyer(desk.http, till))
    done(await desk.post(f"{HERE}/{canceled_order['number']}/cancel"))
    zone = await new_zone(desk, db, make, "US", "DE", description="Where the post goes")
    rate = await new_rate(desk, db, make)
    by_weight = {**POST, "calculator": "by_weight", "amounts[USD]": "0: 5.00\n2.5: 9.00", "zone_ids[]": [zone]}
    method = await new(desk, db, METHODS, "shipping_methods", **by_weight)
    check = await new(desk, db, PAYMENTS, "payment_methods", **CHECK)
    return {
        "order, ready": f"{HERE}/{ready['number']}",
        "order, not paid": f"{HERE}/{unpaid['number']}",
        "order, canceled": f"{HERE}/{canceled_order['number']}?done=canceled",
        "cancel": f"{HERE}/{ready['number']}/cancel",
        "refund": f"{await payment_of(db, ready)}/refund",
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
        "payment method": f"{PAYMENTS}/{check}",
        "new payment method": f"{PAYMENTS}/new",
    }


async def test_everybody_can_use_the_pages_of_what_is_bought_and_sent(
    browser: Browser, desk: Desk, db: Any, writer: Machine
) -> None:
    at = await fill(desk, db, Make(writer))
    problems: dict[str, list[str]] = {}

    async with window(browser, desk) as page:
        for name, path in at.items():
            await page.goto(path)
            problems[name] = await faults(page)
        await page.goto(at["shipping method"])
        await page.get_by_label("USD").fill("nonsense")
        await page.get_by_role("button", name="Save").click()
        problems["shipping method, refused"] = await faults(page)

    assert {name: wrong for name, wrong in problems.items() if wrong} == {}


async def test_what_was_bought_is_sent_and_given_back_by_its_pages(
    browser: Browser, desk: Desk, db: Any, writer: Machine, http: httpx.AsyncClient
) -> None:
    order, _ = await buy(Buyer(http, await new_till(Make(writer))))

    async with window(browser, desk, f"{HERE}/{order['number']}") as page:
        await page.get_by_label("Tracking number").fill("XY 123")
        await page.get_by_role("button", name="Mark as shipped").click()
        shipment_text = await page.locator("main").inner_text()
        await page.get_by_role("link", name="Refund").click()
        await page.get_by_label("Amount").fill("5.00")
        await page.get_by_label("Reason").fill("Came late")
        await page.get_by_role("button", name="Refund").click()
        refund_text = await page.locator("main").inner_text()

    assert "Shipment marked as shipped." in shipment_text
    assert "XY 123" in shipment_text
    assert "Payment refunded." in refund_text
    assert "Came late" in refund_text
