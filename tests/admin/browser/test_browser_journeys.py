"""Operators in a real browser, from the first link to a revoked application.

The HTTP tests cover most of these steps too, so only the journey that needs a browser runs by default; `make torture`
runs all of them.
"""

import asyncio
import json
import subprocess
import time
from typing import Any

import httpx2
import pyotp
import pytest
from playwright.async_api import Error, Page, expect

from shop.actions.access.operators import make_first_link
from shop.base.config.settings import read_settings
from shop.base.crypto.secrets import secret_hash
from shop.cli.database_session import run_action_on
from tests.admin.browser_session import API, CLIPBOARD, create_application, open_page, read_credentials, sign_in
from tests.admin.dashboard import PASSWORD, Dashboard, backdate_session, new_operator
from tests.browser import Browser, visit
from tests.service import KEYS, Service

ORDERS = "/api/v2/platform/orders"


async def expect_heading(page: Page, text: str) -> None:
    await expect(page.get_by_role("heading", level=1)).to_have_text(text)


async def token_status(http: httpx2.AsyncClient, client_id: str, secret: str) -> int:
    form = {"grant_type": "client_credentials", "client_id": client_id, "client_secret": secret, "scope": "admin"}
    return (await http.post("/shop_oauth/token", json=form)).status_code


async def copy_text(page: Page, label: str) -> str:
    button = page.get_by_role("button", name=label)
    await button.click()
    await expect(button).to_have_text("Copied")
    return str(await page.evaluate("navigator.clipboard.readText()"))


async def run_script(script: str) -> str:
    """Runs the script in a shell and returns its output."""
    process = await asyncio.create_subprocess_exec("bash", "-euo", "pipefail", "-c", script, stdout=subprocess.PIPE)
    return (await process.communicate())[0].decode()


async def go_back_or_forward(page: Page, direction: str) -> None:
    """Goes through the history. For the response to a form the browser shows an error page instead."""
    try:
        await (page.go_back() if direction == "back" else page.go_forward())
    except Error as error:
        if "ERR_CACHE_MISS" not in str(error):
            raise
        await page.wait_for_url("chrome-error://**")


@pytest.mark.torture
async def test_the_first_operator_joins_by_link_and_sets_up_an_authenticator(
    browser: Browser, empty_service: Service, empty_url: str, empty_db: Any
) -> None:
    settings = read_settings({"SHOP_DATABASE_URL": empty_url, "SHOP_SECRET_KEYS": KEYS})
    token = await asyncio.to_thread(run_action_on, empty_url, settings, make_first_link)
    link, email = f"{empty_service.url}/admin/join/{token}", "ada@operators.example"

    async with visit(browser, link) as page:
        await expect_heading(page, "Create the first operator")
        await page.get_by_label("E-mail address").fill(email)
        await page.get_by_label("Password", exact=True).fill(PASSWORD)
        await page.get_by_label("Confirm password").fill(PASSWORD)
        await page.get_by_role("button", name="Set password").click()
        await expect_heading(page, "Overview")

        await page.get_by_role("link", name="Your account").click()
        await page.get_by_role("link", name="Set up an authenticator").click()
        secret = (await page.locator("#totp-secret").inner_text()).replace(" ", "")
        authenticator = pyotp.TOTP(secret)
        await page.get_by_label("Code", exact=True).fill(authenticator.now())
        await page.get_by_role("button", name="Turn on authenticator").click()
        await expect_heading(page, "Your recovery codes")
        recovery_code = (await page.locator("#codes").inner_text()).split()[3]
        assert secret not in (await page.content()).replace(" ", "")

        await page.get_by_role("button", name="Sign out").click()
        await expect_heading(page, "Sign in")
        await sign_in(page, email)
        await expect_heading(page, "Confirm it is you")
        # A code works once, and the current one was used above.
        code = authenticator.at(int(time.time()) + 30)
        await page.get_by_label("Authenticator code").fill(f"{(int(code) + 1) % 10**6:06}")
        await page.get_by_role("button", name="Sign in").click()
        await expect(page.get_by_role("alert")).to_be_focused()
        await expect_heading(page, "Confirm it is you")
        await page.get_by_label("Authenticator code").fill(code)
        await page.get_by_role("button", name="Sign in").click()
        await expect_heading(page, "Overview")

        await page.get_by_role("button", name="Sign out").click()
        await sign_in(page, email)
        await page.get_by_text("Use a recovery code instead").click()
        await page.get_by_label("Recovery code").fill(recovery_code)
        await page.get_by_role("button", name="Sign in").click()
        await expect_heading(page, "Overview")

        await page.goto(link)
        await expect_heading(page, "This link is no longer valid")


@pytest.mark.security("P-06")
@pytest.mark.torture
async def test_the_secret_of_an_application_is_shown_once_and_works_until_revoked(
    browser: Browser, dashboard: Dashboard
) -> None:
    async with open_page(browser, dashboard, permissions=CLIPBOARD) as page:
        client_id, secret = await create_application(page)
        assert await copy_text(page, "Copy Client ID") == client_id
        assert await copy_text(page, "Copy Client Secret") == secret
        token_command = await copy_text(page, "Copy: Get a token")
        orders_command = await copy_text(page, "Copy: List orders")
        token, _, orders_json = (await run_script(f"{token_command}\necho $TOKEN\n{orders_command}")).partition("\n")
        assert isinstance(json.loads(orders_json)["data"], list)

        await page.get_by_role("link", name="I have saved it").click()
        await expect(page.get_by_role("heading", name="Rotate secret")).to_be_visible()
        for direction in ("back", "forward", "back", "forward"):
            await go_back_or_forward(page, direction)
            assert secret not in await page.content()
        await page.goto(API)
        row = page.get_by_role("row").filter(has_text="Warehouse").filter(has_text=dashboard.email)
        assert secret not in await page.content()
        await expect(row).to_contain_text("write")
        await row.get_by_role("link").click()
        await expect(page.locator(".facts")).to_contain_text(client_id)
        assert secret not in await page.content()

        bearer = {"Authorization": f"Bearer {token}"}
        before = await dashboard.http.get(ORDERS, headers=bearer)
        await page.get_by_role("link", name="Revoke").click()
        await page.get_by_role("button", name="Revoke application").click()
        await expect(page.get_by_role("status")).to_contain_text("revoked")
        after = await dashboard.http.get(ORDERS, headers=bearer)

    assert (before.status_code, after.status_code) == (200, 401)
    assert await token_status(dashboard.http, client_id, secret) == 401


@pytest.mark.security("P-06")
@pytest.mark.torture
async def test_a_reload_creates_no_second_application_and_shows_no_secret(
    browser: Browser, dashboard: Dashboard, db: Any
) -> None:
    async with open_page(browser, dashboard) as page:
        _, secret = await create_application(page, "Reloaded", "Read")

        await page.reload()

        await expect(page.get_by_role("status")).to_contain_text("cannot be shown again")
        assert secret not in await page.content()
    assert await db.fetchval("select count(*) from applications where created_by_id = $1", dashboard.id) == 1


@pytest.mark.torture
async def test_a_rotated_secret_remains_valid_for_the_chosen_overlap(
    browser: Browser, dashboard: Dashboard, db: Any
) -> None:
    async def rotate(overlap: str) -> str:
        await page.get_by_label("The old secret stays valid for").select_option(label=overlap)
        await page.get_by_role("button", name="Rotate secret").click()
        await expect(page.locator("main")).to_contain_text("Secret rotated.")
        secret = (await read_credentials(page))[1]
        await page.get_by_role("link", name="I have saved it").click()
        await expect(page.get_by_role("heading", name="Rotate secret")).to_be_visible()
        assert secret not in await page.content()
        return secret

    async with open_page(browser, dashboard) as page:
        client_id, first = await create_application(page)
        await page.get_by_role("link", name="I have saved it").click()

        second = await rotate("1 hour")
        statuses_during_overlap = [await token_status(dashboard.http, client_id, secret) for secret in (first, second)]
        statement = "update application_secrets set expires_at = now() where hash = $1"
        await db.execute(statement, secret_hash(first))
        statuses_after_overlap = [await token_status(dashboard.http, client_id, secret) for secret in (first, second)]
        third = await rotate("None: the old secret stops working now")
        statuses_without_overlap = [
            await token_status(dashboard.http, client_id, secret) for secret in (first, second, third)
        ]

    assert (statuses_during_overlap, statuses_after_overlap, statuses_without_overlap) == (
        [200, 200],
        [401, 200],
        [401, 401, 200],
    )


@pytest.mark.torture
async def test_a_protected_page_asks_for_the_password_and_redirects_back(
    browser: Browser, dashboard: Dashboard, db: Any
) -> None:
    await backdate_session(db, dashboard, "authenticated_at", "11 minutes")

    async with open_page(browser, dashboard, API) as page:
        await page.get_by_role("link", name="New API application").click()
        await expect_heading(page, "Confirm it is you")
        await page.get_by_label("Password").fill("not the password at all")
        await page.get_by_role("button", name="Confirm").click()
        await expect(page.get_by_role("alert")).to_be_focused()
        await page.get_by_label("Password").fill(PASSWORD)
        await page.get_by_role("button", name="Confirm").click()

        await expect_heading(page, "New API application")
        await create_application(page)


@pytest.mark.torture
async def test_after_a_session_ends_signing_in_returns_to_the_requested_page(
    browser: Browser, dashboard: Dashboard, db: Any
) -> None:
    async with open_page(browser, dashboard, "/admin/orders") as page:
        await db.execute("update operator_sessions set revoked_at = now() where operator_id = $1", dashboard.id)

        await page.get_by_label("Search orders").fill("ada")
        await page.get_by_role("button", name="Find").click()
        await expect_heading(page, "Sign in")
        await sign_in(page, dashboard.email)

        await expect_heading(page, "Orders")
        await expect(page.get_by_label("Search orders")).to_have_value("ada")


async def tab_to(page: Page, name: str) -> None:
    """Presses Tab until the element with this label or text has the focus."""
    for _ in range(40):
        await page.keyboard.press("Tab")
        if name in await page.evaluate("(document.activeElement.labels?.[0] ?? document.activeElement).textContent"):
            return
    raise AssertionError(f"{name!r} cannot be reached with the keyboard")


@pytest.mark.torture
async def test_an_application_can_be_created_with_the_keyboard_only(
    browser: Browser, service: Service, db: Any
) -> None:
    _, email = await new_operator(db)

    async with visit(browser, f"{service.url}/admin/sign-in") as page:
        await tab_to(page, "E-mail address")
        await page.keyboard.type(email)
        await tab_to(page, "Password")
        await page.keyboard.type(PASSWORD)
        await page.keyboard.press("Enter")
        await expect_heading(page, "Overview")
        await tab_to(page, "API")
        await page.keyboard.press("Enter")
        await expect_heading(page, "API applications")
        await tab_to(page, "Skip to content")
        await page.keyboard.press("Enter")
        await tab_to(page, "New API application")
        await page.keyboard.press("Enter")
        await expect_heading(page, "New API application")
        await tab_to(page, "Name")
        await page.keyboard.type("By hand")
        await tab_to(page, "Read")
        await page.keyboard.press("Space")
        await page.keyboard.press("ArrowDown")
        await tab_to(page, "Continue")
        await page.keyboard.press("Enter")
        await expect_heading(page, "Create this application?")
        await expect(page.locator(".facts")).to_contain_text("Write")
        await tab_to(page, "Create application")
        await page.keyboard.press("Space")

        await expect_heading(page, "By hand")
        await expect(page.locator("#client-secret")).to_contain_text("shpcs_")


@pytest.mark.torture
async def test_an_application_can_be_created_without_scripts(browser: Browser, service: Service, db: Any) -> None:
    _, email = await new_operator(db)

    start = f"{service.url}/admin/sign-in"
    async with visit(browser, start, base_url=service.url, java_script_enabled=False) as page:
        await sign_in(page, email)
        await expect_heading(page, "Overview")
        _, secret = await create_application(page, "Plain", "Read")
        assert secret.startswith("shpcs_")
        await expect(page.get_by_role("button", name="Copy")).to_have_count(0)

        await page.get_by_role("link", name="I have saved it").click()
        await expect(page.get_by_role("heading", name="Rotate secret")).to_be_visible()
        for direction in ("back", "forward"):
            await go_back_or_forward(page, direction)
            assert secret not in await page.content()
