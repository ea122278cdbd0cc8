"""The mailbox as a person sees it in a browser."""

import httpx2
import pytest
from playwright.async_api import expect

from tests.accounts import ask_for_code, mailed_code, new_email
from tests.browser import LAPTOP, PHONE, Browser, accessibility_violations, scrolls_sideways, visit
from tests.service import Service

pytestmark = pytest.mark.torture


async def test_a_new_e_mail_appears_without_a_reload(
    browser: Browser, service: Service, http: httpx2.AsyncClient
) -> None:
    email = new_email()
    async with visit(browser, f"{service.url}/mailbox") as page:
        await ask_for_code(http, email)

        mail = page.locator("article").filter(has_text=email)
        await expect(mail).to_be_visible(timeout=15_000)
        await expect(mail.locator(".code")).to_have_text(await mailed_code(http, email))


@pytest.mark.parametrize(
    ("size", "is_dark"),
    [
        pytest.param(LAPTOP, True, id="laptop, dark"),
        pytest.param(PHONE, False, id="phone, light"),
    ],
)
async def test_the_mailbox_is_accessible(
    browser: Browser, service: Service, http: httpx2.AsyncClient, size: tuple[int, int], is_dark: bool
) -> None:
    await ask_for_code(http, new_email())

    async with visit(browser, f"{service.url}/mailbox", size, is_dark=is_dark) as page:
        await page.locator("article details").first.evaluate("details => { details.open = true }")

        assert await accessibility_violations(page) == []
        assert not await scrolls_sideways(page)
