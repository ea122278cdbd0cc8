"""The page on which a shopper confirms a payment by test card, in a browser."""

import pytest

from tests.browser import LAPTOP, PHONE, Browser, accessibility_violations, scrolls_sideways, visit
from tests.checkout_builders import Buyer, CheckoutSetup
from tests.storefront.payments.test_test_card import needs_action, path_of

pytestmark = pytest.mark.torture


@pytest.mark.parametrize(
    ("size", "is_dark"),
    [pytest.param(PHONE, True, id="phone, dark"), pytest.param(LAPTOP, False, id="laptop, light")],
)
async def test_confirming_a_payment_returns_to_the_storefront(
    browser: Browser, buyer: Buyer, checkout_setup: CheckoutSetup, size: tuple[int, int], is_dark: bool
) -> None:
    conflict, _ = await needs_action(buyer, checkout_setup, price="1234.50")
    storefront = str(buyer.http.base_url).replace("127.0.0.1", "localhost") + "/docs"
    url = f"{buyer.http.base_url}{path_of(conflict, buyer)}?return_url={storefront}"

    async with visit(browser, url, size, is_dark=is_dark) as page:
        button = page.get_by_role("button", name="Confirm payment")
        box = await button.bounding_box()

        assert await page.get_by_text("$1,239.50").is_visible()
        assert box is not None
        assert box["height"] >= 44
        assert await accessibility_violations(page) == []
        assert not await scrolls_sideways(page)
        await button.click()
        await page.wait_for_url(storefront)
    assert (await buyer.complete()).status == 200


async def test_declining_a_payment_shows_what_to_do(
    browser: Browser, buyer: Buyer, checkout_setup: CheckoutSetup
) -> None:
    conflict, _ = await needs_action(buyer, checkout_setup)

    async with visit(browser, f"{buyer.http.base_url}{path_of(conflict, buyer)}", PHONE) as page:
        await page.get_by_role("button", name="Decline").click()
        await page.get_by_role("heading", name="Payment declined").wait_for()

        assert await page.get_by_text("Go back to the shop").is_visible()
        assert await page.get_by_role("button").count() == 0
        assert await accessibility_violations(page) == []
    assert (await buyer.complete()).code == "payment_refused"
