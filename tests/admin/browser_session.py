"""A browser that is signed in as an operator by its cookie, and steps that several tests take in it."""

import re
from contextlib import AbstractAsyncContextManager
from typing import Any

from playwright.async_api import Page

from tests.admin.dashboard import COOKIE, PASSWORD, Dashboard
from tests.browser import LAPTOP, Browser, visit

API = "/admin/integrations/api"
CLIPBOARD = ["clipboard-read", "clipboard-write"]


def open_page(
    browser: Browser, dashboard: Dashboard, path: str = "/admin", size: tuple[int, int] = LAPTOP, **options: Any
) -> AbstractAsyncContextManager[Page]:
    """Opens a page of the shop, signed in as the operator; later URLs may be paths."""
    cookie = {
        "name": COOKIE,
        "value": dashboard.secret,
        "domain": dashboard.http.base_url.host,
        "path": "/",
        "secure": True,
    }
    storage_state = {"cookies": [{**cookie, "httpOnly": True, "sameSite": "Strict", "expires": -1}], "origins": []}
    origin = str(dashboard.http.base_url).rstrip("/")
    return visit(browser, origin + path, size, base_url=origin, storage_state=storage_state, **options)


async def sign_in(page: Page, email: str, password: str = PASSWORD) -> None:
    await page.get_by_label("E-mail address").fill(email)
    await page.get_by_label("Password").fill(password)
    await page.get_by_role("button", name="Sign in").click()


async def fill_application_form(page: Page, name: str, level: str) -> None:
    """Fills in the form for a new application, up to the page that asks for confirmation."""
    await page.goto(API)
    await page.get_by_role("link", name="New API application").click()
    await page.get_by_label("Name").fill(name)
    await page.get_by_role("radio", name=re.compile(f"^{level}")).check()
    await page.get_by_role("button", name="Continue").click()


async def create_application(page: Page, name: str = "Warehouse", level: str = "Write") -> tuple[str, str]:
    """Creates an application and returns its client id and secret."""
    await fill_application_form(page, name, level)
    await page.get_by_role("button", name="Create application").click()
    return await read_credentials(page)


async def read_credentials(page: Page) -> tuple[str, str]:
    return await page.locator("#client-id").inner_text(), await page.locator("#client-secret").inner_text()
