"""Every page of the dashboard in a browser: accessible on a laptop and on a phone, in light and in dark."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pyotp
import pytest
from playwright.async_api import Page, expect

from tests.admin.browser_session import API, fill_application_form, open_page, sign_in
from tests.admin.catalog_forms import new_customer
from tests.admin.dashboard import UNKNOWN_ID, Dashboard, backdate_session, new_dashboard, new_link, new_operator
from tests.admin.page_records import fill_pages
from tests.browser import LAPTOP, PHONE, SMALL_PHONE, Browser, accessibility_violations, scrolls_sideways, visit
from tests.service import Service

# The elements that show no outline when they have the focus. Browsers draw it once a key such as Tab was pressed.
WITHOUT_VISIBLE_FOCUS = """() => [...document.querySelectorAll("a, button, input, select, summary, [tabindex='0']")]
    .filter(element => element.checkVisibility() && element.type !== "hidden")
    .filter(element => {
        element.focus();
        const style = getComputedStyle(element);
        const isVisible = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
        return document.activeElement !== element || !isVisible;
    }).map(element => element.outerHTML)"""
FACTS = """() => ({
    lang: document.documentElement.lang,
    headings: document.querySelectorAll("h1").length,
    mains: document.querySelectorAll("main").length,
    ids: [...document.querySelectorAll("[id]")].map(part => part.id).filter((id, at, all) => all.indexOf(id) !== at),
})"""
CUT_OFF = """() => [...document.querySelectorAll(".scroll")]
    .filter(part => part.scrollWidth > part.clientWidth).map(part => part.textContent.trim())"""
SECTIONS = (
    *("products", "products/batches", "stock", "price-lists", "promotions", "customer-groups", "taxons"),
    *("orders", "carts", "drafts", "approvals", "customers", "integrations/webhooks", "imports/products", "events"),
)
"""The lists that are visited before they have rows."""
SIZES = ((LAPTOP, "light"), (LAPTOP, "dark"), (PHONE, "light"), (PHONE, "dark"))


async def visit_paths(page: Page, paths_by_name: dict[str, str]) -> AsyncIterator[str]:
    for name, path in paths_by_name.items():
        await page.goto(path)
        assert urlsplit(page.url).path == path.partition("?")[0], f"{path} redirects to {page.url}"
        yield name


async def submit(page: Page, path: str, button: str, **values_by_label: str) -> None:
    """Opens a page, fills in the first fields with these labels and sends the form."""
    await page.goto(path)
    for label, value in values_by_label.items():
        await page.get_by_label(label.replace("_", " ")).first.fill(value)
    await page.get_by_role("button", name=button).first.click()


async def catalog_pages(page: Page, paths: dict[str, str], db: Any) -> AsyncIterator[str]:
    """Visits the catalog pages after refused forms, a preview and a conflict."""
    await submit(page, paths["prices"], "Save prices", Price_of="1.999")
    yield "prices, refused"
    await submit(page, paths["bulk"], "Preview", Amount="5")
    yield "bulk, preview"
    await page.goto(paths["product"])
    await db.execute("update products set name = 'Meanwhile' where id::text = $1", paths["product"].rpartition("/")[2])
    await page.get_by_role("button", name="Save").click()
    yield "product, conflict"
    await submit(page, paths["entries"], "Add prices", Lines="nonsense")
    yield "entries, refused"
    await submit(page, paths["variants"], "Create variants")
    yield "variants, refused"
    await submit(page, paths["new product"], "Show variants", Option_1="Size", Values_of_option_1="S, M, L")
    yield "new product with variants"


async def order_pages(page: Page, paths: dict[str, str], other_email: str) -> AsyncIterator[str]:
    """Visits the previews of changes to an order, and of a merge of customers."""
    await submit(page, paths["order, edit"], "Preview changes", Quantity_of="2")
    yield "order, edit preview"
    await submit(page, paths["order, refund"], "Preview", Units_of="1")
    yield "order, refund preview"
    await submit(page, paths["order, cancel items"], "Preview", Units_of="1")
    yield "order, cancel items preview"
    await submit(page, paths["order, edit"], "Search", Name_or_SKU="mug")
    yield "order, edit with results"
    await submit(page, paths["order, cancel items"], "Preview", Units_of="0")
    yield "order, cancel items refused"
    await submit(page, paths["customer, merge"], "Show what moves", of_the_other_account=other_email)
    yield "customer, merge preview"
    await submit(page, paths["settings"], "Find", Find_a_setting="tax")
    yield "settings, some"


async def signed_out_pages(page: Page, email: str, link: str) -> AsyncIterator[str]:
    """Visits the pages without a session: sign-in with an authenticator, and the link to choose a password."""
    async for name in visit_paths(page, {"sign in": "/admin/sign-in"}):
        yield name
    await sign_in(page, "nobody@operators.example")
    yield "sign in, refused"
    await page.goto("/admin/sign-in")
    await sign_in(page, email)
    yield "code"
    await page.get_by_label("Authenticator code").fill("12345")
    await page.get_by_role("button", name="Sign in").click()
    yield "code, refused"
    await page.goto(link)
    yield "join"
    await page.get_by_label("Password", exact=True).fill("too short")
    await page.get_by_label("Confirm password").fill("not the same")
    await page.get_by_role("button", name="Set password").click()
    yield "join, refused"
    await page.goto("/admin/join/x")
    yield "link used"
    await page.goto("/admin/nowhere")
    yield "not found"


async def webhook_pages(page: Page, paths: dict[str, str]) -> AsyncIterator[str]:
    """Visits the webhook pages after refused forms, and with a new secret."""
    await submit(page, paths["replay"], "Replay")
    yield "replay, refused"
    await submit(page, paths["new endpoint"], "Create endpoint", URL="ftp://x")
    yield "new endpoint, refused"
    await submit(page, paths["endpoint"], "Rotate secret")
    yield "endpoint's secret"


async def mail_pages(page: Page, paths: dict[str, str]) -> AsyncIterator[str]:
    """Visits the pages of the e-mails to customers: after a refused form, and with an edited text."""
    await submit(page, paths["e-mail"], "Save", Subject="{{ nothing }}")
    yield "e-mail, refused"
    await submit(page, paths["e-mail"], "Save", Subject="Order {{ number }} is on its way")
    yield "e-mail, edited"
    await page.goto(paths["e-mails"])
    yield "e-mails, one edited"


async def signed_in_pages(page: Page, dashboard: Dashboard, other: Dashboard, db: Any) -> AsyncIterator[str]:
    """Visits the pages of a signed-in operator: empty, by path and by form."""
    # The visits last longer than a password confirmation.
    await backdate_session(db, dashboard, "authenticated_at", "-1 hour")
    async for name in visit_paths(page, {f"{section}, empty": f"/admin/{section}" for section in SECTIONS}):
        yield name
    paths = await fill_pages(dashboard, other, db)
    async for name in visit_paths(page, paths):
        yield name
    other_email = await new_customer(db)
    for pages in (catalog_pages(page, paths, db), order_pages(page, paths, other_email), webhook_pages(page, paths)):
        async for name in pages:
            yield name
    async for name in form_pages(page, paths):
        yield name
    async for name in second_factor_pages(page):
        yield name
    await page.goto(f"/admin/customers/{UNKNOWN_ID}")
    yield "customer, not found"
    await backdate_session(db, dashboard, "authenticated_at", "71 minutes")
    await page.goto(f"{API}/new")
    yield "confirm"


async def form_pages(page: Page, paths: dict[str, str]) -> AsyncIterator[str]:
    """Visits the pages that other forms lead to."""
    await fill_application_form(page, "Accounting", "Read")
    yield "review"
    await page.get_by_role("button", name="Create application").click()
    yield "secret"
    await page.goto("/admin/settings/operators/new")
    await page.get_by_label("E-mail address").fill("grace@operators.example")
    await page.get_by_label("Role").select_option("Owner")
    await page.get_by_role("button", name="Invite").click()
    yield "operator's link"
    await submit(page, paths["invoice, not issued"], "Issue invoice")
    yield "invoice"
    await submit(page, paths["documents"], "Save", Digits="0")
    yield "documents, refused"
    await submit(page, paths["shop"], "Save", **{"Currency 2": "doubloons"})
    yield "shop, refused"
    async for name in mail_pages(page, paths):
        yield name


async def second_factor_pages(page: Page) -> AsyncIterator[str]:
    await page.goto("/admin/account/authenticator")
    secret = (await page.locator("#totp-secret").inner_text()).replace(" ", "")
    await page.get_by_label("Code", exact=True).fill(pyotp.TOTP(secret).now())
    await page.get_by_role("button", name="Turn on authenticator").click()
    yield "recovery codes"
    pages = {
        "account with an authenticator": "/admin/account",
        "another authenticator": "/admin/account/authenticator",
        "new recovery codes": "/admin/account/recovery-codes",
        "remove the authenticator": "/admin/account/authenticator/remove",
    }
    async for name in visit_paths(page, pages):
        yield name
    await page.get_by_role("button", name="Remove authenticator").click()
    yield "remove the authenticator, refused"


async def find_problems(page: Page) -> list[str]:
    """Lists the problems of the open page, at every width and in both color schemes."""
    problems: list[str] = []
    for size, scheme in SIZES:
        await page.set_viewport_size({"width": size[0], "height": size[1]})
        await page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        # The other color scheme changes nothing but colors.
        problems += await accessibility_violations(page, *(["color-contrast"] if (size, scheme) in SIZES[1:3] else []))
    await page.set_viewport_size({"width": SMALL_PHONE[0], "height": SMALL_PHONE[1]})
    problems += ["It scrolls sideways."] if await scrolls_sideways(page) else []
    await page.set_viewport_size({"width": LAPTOP[0], "height": LAPTOP[1]})
    problems += [f"Cut off: {text}" for text in await page.evaluate(CUT_OFF)]
    facts = await page.evaluate(FACTS)
    if facts != {"lang": "en", "headings": 1, "mains": 1, "ids": []} or " · " not in await page.title():
        problems.append(f"{facts}, {await page.title()!r}")
    return problems + await find_focus_problems(page)


async def find_focus_problems(page: Page) -> list[str]:
    is_at_start = await page.evaluate("document.activeElement === document.body")
    await page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="Skip to content")
    if is_at_start and await skip.count():
        await expect(skip).to_be_focused()
        await expect(skip).to_be_in_viewport()
        await page.keyboard.press("Enter")
        await expect(page.locator("main")).to_be_focused()
        await page.keyboard.press("Tab")
    return [f"The focus is not visible: {element}" for element in await page.evaluate(WITHOUT_VISIBLE_FOCUS)]


@pytest.mark.torture
async def test_every_page_is_accessible_at_any_width_in_light_and_dark(
    browser: Browser, empty_service: Service, empty_client: httpx2.AsyncClient, empty_db: Any
) -> None:
    dashboard, other = [await new_dashboard(empty_client, empty_db) for _ in range(2)]
    operator_id, email = await new_operator(empty_db, totp=True)
    link = await new_link(empty_db, operator_id)
    problems: dict[str, list[str]] = {}

    async def check_pages(pages: AsyncIterator[str], page: Page) -> None:
        async for name in pages:
            problems[name] = await find_problems(page)

    start = f"{empty_service.url}/admin/sign-in"
    async with (
        visit(browser, start, base_url=empty_service.url) as signed_out_page,
        open_page(browser, dashboard) as signed_in_page,
    ):
        await asyncio.gather(
            check_pages(signed_out_pages(signed_out_page, email, link), signed_out_page),
            check_pages(signed_in_pages(signed_in_page, dashboard, other, empty_db), signed_in_page),
        )

    assert {name: messages for name, messages in problems.items() if messages} == {}
    assert len(problems) >= 220
