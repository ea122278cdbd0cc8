"""An operator's browser: signed in by its cookie, and what a person does with the pages."""

import re
from contextlib import AbstractAsyncContextManager
from typing import Any

from playwright.async_api import Page

from tests.admin.dashboard import COOKIE, PASSWORD, Desk
from tests.browser import LAPTOP, Browser, visit

API = "/admin/integrations/api"
CLIPBOARD = ["clipboard-read", "clipboard-write"]


def window(
    browser: Browser, desk: Desk, path: str = "/admin", size: tuple[int, int] = LAPTOP, **options: Any
) -> AbstractAsyncContextManager[Page]:
    """A page of someone who is signed in; addresses are paths of the shop."""
    cookie = {"name": COOKIE, "value": desk.secret, "domain": desk.http.base_url.host, "path": "/", "secure": True}
    storage_state = {"cookies": [{**cookie, "httpOnly": True, "sameSite": "Strict", "expires": -1}], "origins": []}
    origin = str(desk.http.base_url).rstrip("/")
    return visit(browser, origin + path, size, base_url=origin, storage_state=storage_state, **options)


async def sign_in(page: Page, email: str, password: str = PASSWORD) -> None:
    await page.get_by_label("E-mail address").fill(email)
    await page.get_by_label("Password").fill(password)
    await page.get_by_role("button", name="Sign in").click()


async def ask_for_application(page: Page, name: str, level: str) -> None:
    """From the list to the question whether to make it."""
    await page.goto(API)
    await page.get_by_role("link", name="New API application").click()
    await page.get_by_label("Name").fill(name)
    await page.get_by_role("radio", name=re.compile(f"^{level}")).check()
    await page.get_by_role("button", name="Continue").click()


async def make_application(page: Page, name: str = "Warehouse", level: str = "Write") -> tuple[str, str]:
    """Client id and secret as they are shown, once."""
    await ask_for_application(page, name, level)
    await page.get_by_role("button", name="Confirm and create").click()
    return await shown(page)


async def shown(page: Page) -> tuple[str, str]:
    return await page.locator("#client-id").inner_text(), await page.locator("#client-secret").inner_text()
