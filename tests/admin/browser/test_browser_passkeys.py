"""Passkeys in a real browser with a virtual authenticator: add one, sign in and confirm with it."""

from typing import Any

import httpx2
import pytest
from playwright.async_api import Page, expect

from tests.admin.dashboard import COOKIE, Dashboard, new_operator
from tests.browser import Browser, accessibility_violations, scrolls_sideways, visit

AUTHENTICATOR = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}


async def add_authenticator(page: Page) -> None:
    session = await page.context.new_cdp_session(page)
    await session.send("WebAuthn.enable")
    await session.send("WebAuthn.addVirtualAuthenticator", {"options": AUTHENTICATOR})


def local_origin(http: httpx2.AsyncClient) -> str:
    return f"http://localhost:{http.base_url.port}"


@pytest.mark.torture
async def test_an_operator_adds_a_passkey_then_signs_in_and_confirms_with_it(
    browser: Browser, http: httpx2.AsyncClient, db: Any
) -> None:
    operator_id, email = await new_operator(db)
    origin = local_origin(http)
    async with visit(browser, f"{origin}/admin/sign-in?next=/admin/account", base_url=origin) as page:
        await add_authenticator(page)
        await page.get_by_label("E-mail address").fill(email)
        await page.get_by_label("Password").fill("seventeen green bottles")
        await page.get_by_role("button", name="Sign in", exact=True).click()
        await page.get_by_role("link", name="Add a passkey").click()
        assert await accessibility_violations(page) == []
        await page.get_by_label("Name").fill("Laptop")
        await page.get_by_role("button", name="Add passkey").click()
        await expect(page.get_by_role("status")).to_contain_text("Passkey added.")
        await expect(page.get_by_role("status")).to_be_focused()
        await expect(page.get_by_role("link", name="Laptop")).to_be_visible()
        assert await accessibility_violations(page) == []
        await page.set_viewport_size({"width": 360, "height": 740})
        assert not await scrolls_sideways(page)
        await page.set_viewport_size({"width": 1280, "height": 900})

        await page.get_by_role("button", name="Sign out").first.click()
        assert await accessibility_violations(page) == []
        await page.get_by_role("button", name="Sign in with a passkey").click()
        await expect(page.get_by_role("heading", name="Overview")).to_be_visible()

        await db.execute(
            "update operator_sessions set authenticated_at = now() - interval '11 minutes' where operator_id = $1",
            operator_id,
        )
        await page.goto("/admin/account/password")
        assert await accessibility_violations(page) == []
        await page.get_by_role("button", name="Use a passkey instead").click()
        await expect(page.get_by_role("heading", name="Change your password")).to_be_visible()


async def test_a_refused_passkey_says_so_and_the_password_still_works(
    browser: Browser, http: httpx2.AsyncClient, db: Any
) -> None:
    _, email = await new_operator(db)
    origin = local_origin(http)
    async with visit(browser, f"{origin}/admin/sign-in", base_url=origin) as page:
        session = await page.context.new_cdp_session(page)
        await session.send("WebAuthn.enable")
        options = {**AUTHENTICATOR, "isUserVerified": False}
        await session.send("WebAuthn.addVirtualAuthenticator", {"options": options})
        await page.get_by_role("button", name="Sign in with a passkey").click()
        await expect(page.get_by_role("alert")).to_contain_text("No passkey was used.")
        await expect(page.get_by_role("alert")).to_be_focused()
        await page.get_by_label("E-mail address").fill(email)
        await page.get_by_label("Password").fill("seventeen green bottles")
        await page.get_by_role("button", name="Sign in", exact=True).click()
        await expect(page.get_by_role("heading", name="Overview")).to_be_visible()


@pytest.mark.torture
async def test_passkey_pages_say_that_they_need_a_script(
    browser: Browser, http: httpx2.AsyncClient, dashboard: Dashboard
) -> None:
    origin = local_origin(http)
    cookie = {"name": COOKIE, "value": dashboard.secret, "domain": "localhost", "path": "/", "secure": True}
    storage_state = {"cookies": [{**cookie, "httpOnly": True, "sameSite": "Strict", "expires": -1}], "origins": []}
    async with visit(
        browser, f"{origin}/admin/sign-in", base_url=origin, java_script_enabled=False, storage_state=storage_state
    ) as page:
        await expect(page.get_by_text("Turn on JavaScript to sign in with a passkey.")).to_be_visible()
        await expect(page.get_by_role("button", name="Sign in with a passkey")).to_be_hidden()
        await page.goto("/admin/account/passkeys/new")
        await expect(page.get_by_text("Adding a passkey needs JavaScript")).to_be_visible()


@pytest.mark.parametrize("path", ["/admin/account", "/admin/account/passkeys/new"])
async def test_an_ip_address_says_that_passkeys_need_a_host_name(dashboard: Dashboard, path: str) -> None:
    page = await dashboard.get(path)

    assert "open the dashboard by its host name, not its IP address" in page.text
    assert "data-passkey" not in page.text
