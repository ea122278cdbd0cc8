"""What operators do, from the first link to a revoked application, in a real browser.

What a browser adds to the tests of the same over HTTP is in the journeys that every run makes; the others are for
`make torture`.
"""

import asyncio
import json
import subprocess
import time
from typing import Any

import httpx
import pyotp
import pytest
from playwright.async_api import Error, Page, expect

from shop.actions.access.operators import make_first_link
from shop.base.secrets import secret_hash
from shop.base.settings import read_settings
from shop.cli.database_session import run_action_on
from tests.admin.browser_session import API, CLIPBOARD, make_application, shown, sign_in, window
from tests.admin.dashboard import PASSWORD, Desk, age, new_operator
from tests.browser import Browser, visit
from tests.service import KEYS, Service

ORDERS = "/api/v2/platform/orders"


async def heading(page: Page, text: str) -> None:
    await expect(page.get_by_role("heading", level=1)).to_have_text(text)


async def token_status(http: httpx.AsyncClient, client_id: str, secret: str) -> int:
    form = {"grant_type": "client_credentials", "client_id": client_id, "client_secret": secret, "scope": "admin"}
    return (await http.post("/shop_oauth/token", json=form)).status_code


async def copied(page: Page, label: str) -> str:
    button = page.get_by_role("button", name=label)
    await button.click()
    await expect(button).to_have_text("Copied")
    return str(await page.evaluate("navigator.clipboard.readText()"))


async def paste(script: str) -> str:
    """What a shell answers."""
    process = await asyncio.create_subprocess_exec("bash", "-euo", "pipefail", "-c", script, stdout=subprocess.PIPE)
    return (await process.communicate())[0].decode()


async def leave(page: Page, way: str) -> None:
    """Back or forward. A page that a form made cannot be had again; the browser says so in a page of its own."""
    try:
        await (page.go_back() if way == "back" else page.go_forward())
    except Error as refused:
        if "ERR_CACHE_MISS" not in str(refused):
            raise
        await page.wait_for_url("chrome-error://**")


async def test_the_first_operator_joins_by_the_link_and_from_then_on_needs_the_authenticator(
    browser: Browser, empty_service: Service, empty_url: str, empty_db: Any
) -> None:
    settings = read_settings({"SHOP_DATABASE_URL": empty_url, "SHOP_SECRET_KEYS": KEYS})
    token = await asyncio.to_thread(run_action_on, empty_url, settings, make_first_link)
    link, email = f"{empty_service.url}/admin/join/{token}", "ada@operators.example"

    async with visit(browser, link) as page:
        await heading(page, "Become the first operator")
        await page.get_by_label("E-mail address").fill(email)
        await page.get_by_label("Password", exact=True).fill(PASSWORD)
        await page.get_by_label("Password, again").fill(PASSWORD)
        await page.get_by_role("button", name="Choose this password").click()
        await heading(page, "Overview")

        await page.get_by_role("link", name="Your account").click()
        await page.get_by_role("link", name="Set up an authenticator").click()
        secret = (await page.locator("#totp-secret").inner_text()).replace(" ", "")
        authenticator = pyotp.TOTP(secret)
        await page.get_by_label("Code", exact=True).fill(authenticator.now())
        await page.get_by_role("button", name="Turn it on").click()
        await heading(page, "Your recovery codes")
        recovery_code = (await page.locator("#codes").inner_text()).split()[3]
        assert secret not in (await page.content()).replace(" ", "")

        await page.get_by_role("button", name="Sign out").click()
        await heading(page, "Sign in")
        await sign_in(page, email)
        await heading(page, "Authenticator code")
        # Each code counts once, and the one of now was used above.
        code = authenticator.at(int(time.time()) + 30)
        await page.get_by_label("Authenticator code").fill(f"{(int(code) + 1) % 10**6:06}")
        await page.get_by_role("button", name="Sign in").click()
        await expect(page.get_by_role("alert")).to_be_focused()
        await heading(page, "Authenticator code")
        await page.get_by_label("Authenticator code").fill(code)
        await page.get_by_role("button", name="Sign in").click()
        await heading(page, "Overview")

        await page.get_by_role("button", name="Sign out").click()
        await sign_in(page, email)
        await page.get_by_text("Use a recovery code instead").click()
        await page.get_by_label("Recovery code").fill(recovery_code)
        await page.get_by_role("button", name="Sign in").click()
        await heading(page, "Overview")

        await page.goto(link)
        await heading(page, "This link is no longer valid")


@pytest.mark.security("P-06")
@pytest.mark.torture
async def test_an_applications_secret_is_shown_once_and_copied_works_until_it_is_revoked(
    browser: Browser, desk: Desk
) -> None:
    async with window(browser, desk, permissions=CLIPBOARD) as page:
        client_id, secret = await make_application(page)
        assert await copied(page, "Copy Client ID") == client_id
        assert await copied(page, "Copy Client Secret") == secret
        asking = await copied(page, "Copy: Get a token")
        listing = await copied(page, "Copy: List orders")
        token, _, answer = (await paste(f"{asking}\necho $TOKEN\n{listing}")).partition("\n")
        assert isinstance(json.loads(answer)["data"], list)

        await page.get_by_role("link", name="I have saved it").click()
        await expect(page.get_by_role("heading", name="Rotate the secret")).to_be_visible()
        for way in ("back", "forward", "back", "forward"):
            await leave(page, way)
            assert secret not in await page.content()
        await page.goto(API)
        row = page.get_by_role("row").filter(has_text="Warehouse").filter(has_text=desk.email)
        assert secret not in await page.content()
        await expect(row).to_contain_text("write")
        await row.get_by_role("link").click()
        await expect(page.locator(".facts")).to_contain_text(client_id)
        assert secret not in await page.content()

        bearer = {"Authorization": f"Bearer {token}"}
        before = await desk.http.get(ORDERS, headers=bearer)
        await page.get_by_role("link", name="Revoke").click()
        await page.get_by_role("button", name="Revoke it").click()
        await expect(page.get_by_role("status")).to_contain_text("revoked")
        after = await desk.http.get(ORDERS, headers=bearer)

    assert (before.status_code, after.status_code) == (200, 401)
    assert await token_status(desk.http, client_id, secret) == 401


@pytest.mark.security("P-06")
@pytest.mark.torture
async def test_a_reload_makes_no_second_application_and_shows_no_secret(browser: Browser, desk: Desk, db: Any) -> None:
    async with window(browser, desk) as page:
        _, secret = await make_application(page, "Reloaded", "Read")

        await page.reload()

        await expect(page.get_by_role("status")).to_contain_text("cannot be shown again")
        assert secret not in await page.content()
    assert await db.fetchval("select count(*) from applications where created_by_id = $1", desk.id) == 1


@pytest.mark.torture
async def test_a_rotated_secret_goes_on_beside_the_new_one_for_as_long_as_was_chosen(
    browser: Browser, desk: Desk, db: Any
) -> None:
    async def rotate(overlap: str) -> str:
        await page.get_by_label("The old secret stays valid for").select_option(label=overlap)
        await page.get_by_role("button", name="Rotate the secret").click()
        await expect(page.locator("main")).to_contain_text("The secret is rotated.")
        secret = (await shown(page))[1]
        await page.get_by_role("link", name="I have saved it").click()
        await expect(page.get_by_role("heading", name="Rotate the secret")).to_be_visible()
        assert secret not in await page.content()
        return secret

    async with window(browser, desk) as page:
        client_id, first = await make_application(page)
        await page.get_by_role("link", name="I have saved it").click()

        second = await rotate("1 hour")
        beside = [await token_status(desk.http, client_id, secret) for secret in (first, second)]
        statement = "update application_secrets set expires_at = now() where hash = $1"
        await db.execute(statement, secret_hash(first))
        later = [await token_status(desk.http, client_id, secret) for secret in (first, second)]
        third = await rotate("None: the old secret ends now")
        at_once = [await token_status(desk.http, client_id, secret) for secret in (first, second, third)]

    assert (beside, later, at_once) == ([200, 200], [401, 200], [401, 401, 200])


@pytest.mark.torture
async def test_what_is_dangerous_asks_for_the_password_again_and_leads_back(
    browser: Browser, desk: Desk, db: Any
) -> None:
    await age(db, desk, "authenticated_at", "11 minutes")

    async with window(browser, desk, API) as page:
        await page.get_by_role("link", name="New API application").click()
        await heading(page, "Confirm your password to continue")
        await page.get_by_label("Password").fill("not the password at all")
        await page.get_by_role("button", name="Confirm").click()
        await expect(page.get_by_role("alert")).to_be_focused()
        await page.get_by_label("Password").fill(PASSWORD)
        await page.get_by_role("button", name="Confirm").click()

        await heading(page, "New API application")
        await make_application(page)


@pytest.mark.torture
async def test_an_ended_session_asks_to_sign_in_and_then_shows_the_page_that_was_wanted(
    browser: Browser, desk: Desk, db: Any
) -> None:
    async with window(browser, desk, "/admin/orders") as page:
        await db.execute("update operator_sessions set revoked_at = now() where operator_id = $1", desk.id)

        await page.get_by_label("State").select_option(label="Open carts")
        await page.get_by_role("button", name="Find").click()
        await heading(page, "Sign in")
        await sign_in(page, desk.email)

        await heading(page, "Orders")
        await expect(page.get_by_label("State")).to_have_value("open")


async def tab_to(page: Page, name: str) -> None:
    """Where a reader of the screen says this."""
    for _ in range(40):
        await page.keyboard.press("Tab")
        if name in await page.evaluate("(document.activeElement.labels?.[0] ?? document.activeElement).textContent"):
            return
    raise AssertionError(f"nobody gets to {name!r} with the keyboard")


@pytest.mark.torture
async def test_the_keyboard_alone_signs_in_and_makes_an_application(
    browser: Browser, service: Service, db: Any
) -> None:
    _, email = await new_operator(db)

    async with visit(browser, f"{service.url}/admin/sign-in") as page:
        await tab_to(page, "E-mail address")
        await page.keyboard.type(email)
        await tab_to(page, "Password")
        await page.keyboard.type(PASSWORD)
        await page.keyboard.press("Enter")
        await heading(page, "Overview")
        await tab_to(page, "API")
        await page.keyboard.press("Enter")
        await heading(page, "API applications")
        await tab_to(page, "Skip to the content")
        await page.keyboard.press("Enter")
        await tab_to(page, "New API application")
        await page.keyboard.press("Enter")
        await heading(page, "New API application")
        await tab_to(page, "Name")
        await page.keyboard.type("By hand")
        await tab_to(page, "Read")
        await page.keyboard.press("Space")
        await page.keyboard.press("ArrowDown")
        await tab_to(page, "Continue")
        await page.keyboard.press("Enter")
        await heading(page, "Create this application?")
        await expect(page.locator(".facts")).to_contain_text("Write")
        await tab_to(page, "Confirm and create")
        await page.keyboard.press("Space")

        await heading(page, "By hand")
        await expect(page.locator("#client-secret")).to_contain_text("shpcs_")


@pytest.mark.torture
async def test_without_scripts_one_signs_in_makes_an_application_and_sees_its_secret_once(
    browser: Browser, service: Service, db: Any
) -> None:
    _, email = await new_operator(db)

    start = f"{service.url}/admin/sign-in"
    async with visit(browser, start, base_url=service.url, java_script_enabled=False) as page:
        await sign_in(page, email)
        await heading(page, "Overview")
        _, secret = await make_application(page, "Plain", "Read")
        assert secret.startswith("shpcs_")
        await expect(page.get_by_role("button", name="Copy")).to_have_count(0)

        await page.get_by_role("link", name="I have saved it").click()
        await expect(page.get_by_role("heading", name="Rotate the secret")).to_be_visible()
        for way in ("back", "forward"):
            await leave(page, way)
            assert secret not in await page.content()
