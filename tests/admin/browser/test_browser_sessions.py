"""Sessions in a real browser: a form survives the end of its session, and feedback receives the focus."""

from typing import Any

import pytest
from playwright.async_api import expect

from tests.admin.browser_session import open_page, sign_in
from tests.admin.dashboard import Dashboard, backdate_session
from tests.browser import LAPTOP, SMALL_PHONE, Browser, accessibility_violations, scrolls_sideways
from tests.sampling import first


@pytest.mark.parametrize("has_script", first(1, [True, False]))
async def test_a_form_is_sent_with_one_click_after_signing_in_again(
    browser: Browser, dashboard: Dashboard, db: Any, has_script: bool
) -> None:
    name = f"Wholesale {dashboard.id}"
    async with open_page(browser, dashboard, "/admin/customer-groups", java_script_enabled=has_script) as page:
        await page.get_by_label("Name").fill(name)
        await page.get_by_label("Description").fill("A long description, " * 10)
        await backdate_session(db, dashboard, "seen_at", "31 minutes")
        await page.get_by_role("button", name="Create").click()
        await expect(page.get_by_role("status")).to_contain_text("Your session has ended")
        if has_script:
            await expect(page.get_by_role("status")).to_be_focused()
            assert await accessibility_violations(page) == []
        await sign_in(page, dashboard.email)
        await expect(page.get_by_role("heading", level=1)).to_have_text("Send your form again?")
        await expect(page.get_by_text(name)).to_be_visible()
        if has_script:
            assert await accessibility_violations(page) == []
            await page.set_viewport_size({"width": SMALL_PHONE[0], "height": SMALL_PHONE[1]})
            assert not await scrolls_sideways(page)
            await page.set_viewport_size({"width": LAPTOP[0], "height": LAPTOP[1]})
        await page.get_by_role("button", name="Send again").click()
        await expect(page.get_by_role("status")).to_be_visible()
        if has_script:
            await expect(page.get_by_role("status")).to_be_focused()

    assert await db.fetchval("select count(*) from customer_groups where name = $1", name) == 1


@pytest.mark.torture
async def test_an_error_page_with_the_menu_is_accessible(browser: Browser, dashboard: Dashboard) -> None:
    async with open_page(browser, dashboard, "/admin/nowhere") as page:
        await expect(page.get_by_role("navigation", name="Main")).to_be_visible()
        assert await accessibility_violations(page) == []
        await page.get_by_role("link", name="Back to the overview").click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("Overview")
