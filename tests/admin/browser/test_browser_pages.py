"""Every page of the dashboard in a browser: accessible on a laptop and on a phone, in light and in dark."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import httpx2
import pyotp
import pytest
from playwright.async_api import Page, expect

from shop.base.ids import new_id
from shop.rules.access.permissions import OWNER_ID
from tests.accounts import sign_in as sign_in_shopper
from tests.admin.browser_session import API, fill_application_form, open_page, sign_in
from tests.admin.catalog_forms import (
    image_data,
    new_list,
    new_location,
    new_variants,
    redirect_path,
    saved_message,
    upload,
)
from tests.admin.dashboard import UNKNOWN_ID, Dashboard, backdate_session, new_dashboard, new_link, new_operator
from tests.admin.imports.test_csv_imports import upload as upload_csv
from tests.admin.webhooks.forms import PATH as WEBHOOKS
from tests.admin.webhooks.forms import create_endpoint
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
EVENT = """insert into timeline_entries (id, at, actor_kind, actor_id, type, order_id, facts)
    select gen_random_uuid(), now(), 'operator', $1, 'shipment.shipped', id, $3 from orders where number = $2"""
DEAD_MAIL = """insert into outbox_mails
    (id, kind, recipient, ref_id, not_after, next_at, created_at, dead_at, last_error)
    values ($1, 'login_code', 'charles@analytical.example', $1, now(), now(), now(), now(), '550 No such mailbox')"""
FAILING = "update webhook_endpoints set failing_since = now(), paused_until = now() where id = $1"
DISABLED = """update webhook_endpoints set enabled = false, disabled_at = now(),
    disabled_reason = 'The endpoint answered 410 Gone.' where id = $1"""
DELIVERY = """insert into webhook_deliveries (id, endpoint_id, event_id, event_type, occurred_at, position, subject_id,
    state, attempt_count, created_at, ended_at)
    values ($1, $2, $1, 'order.completed', now(), 4711, $1, 'failed', 1, now(), now())"""
ATTEMPT = """insert into webhook_attempts (id, delivery_id, number, status, milliseconds, response, created_at)
    values (gen_random_uuid(), $1, 1, 500, 1234, '<h1>Internal server error</h1>' || repeat('x', 2000), now())"""
SIZES = ((LAPTOP, "light"), (LAPTOP, "dark"), (PHONE, "light"), (PHONE, "dark"))


async def fill_shop(dashboard: Dashboard, db: Any) -> dict[str, str]:
    """Creates a record of each kind; returns the order number, the ids and the e-mail address."""
    member = await sign_in_shopper(dashboard.http, first_name="Ada", last_name="Lovelace")
    user_id = await member.id()
    number = (await member.post("/cart"))["number"]
    name_and_street = {"firstname": "Ada", "lastname": "Lovelace", "address1": "12 St James's Square", "city": "London"}
    country = {"zipcode": "SW1Y 4JH", "country_iso": "GB", "phone": "+44 20 7946 0000"}
    address = await member.post("/account/addresses", address={**name_and_street, **country})
    await db.execute(
        """update orders set state = 'complete', completed_at = now(), item_total = 420000, total = 424900,
        ship_total = 4900, email = $2, ship_address_id = $3, bill_address_id = $3, item_count = 3,
        payment_state = 'paid', special_instructions = 'Leave it at the door, please.' where number = $1""",
        number,
        member.email,
        address.id,
    )
    await member.post("/cart")
    await db.execute(EVENT, dashboard.id, number, json.dumps({"number": "H94311355", "tracking": "1Z999AA10123456784"}))
    await db.execute(DEAD_MAIL, uuid4())
    application_id = new_id()
    path = f"{API}/new"
    await dashboard.post(path, id=str(application_id), name="Warehouse sync", access_level="write", step="create")
    await new_operator(db, password_hash=None)
    event_id = await db.fetchval("select id from events where type = 'application.created' limit 1")
    return {
        "order": number,
        "customer": str(user_id),
        "application": str(application_id),
        "event": str(event_id),
        "email": member.email,
    }


async def fill_catalog(dashboard: Dashboard, db: Any, email: str) -> dict[str, str]:
    """Creates a product with variants, images, taxons and stock, and a price list; returns their paths."""
    product, (sku, _) = await new_variants(dashboard, db)
    assert (await upload(dashboard, f"{product}/images", image_data(), image_data("#27395c"))).status_code == 303
    saved_message(await dashboard.post(f"{product}/properties", new_name="Material", new_value="Stoneware"))
    saved_message(await dashboard.post("/admin/taxons", tree_name="Categories"))
    root = str(await db.fetchval("select id from taxons where name = 'Categories'"))
    saved_message(await dashboard.post("/admin/taxons/add", taxon_name="Kitchen", parent_id=root))
    assert (
        await upload(dashboard, f"/admin/taxons/{root}/image", image_data(), new_alt="A kitchen")
    ).status_code == 303
    location = await new_location(dashboard, db)
    fields = {"sku": sku, "location": location, "reason": "received", "quantity": "3", "note": "First delivery"}
    item = redirect_path(await dashboard.post("/admin/stock/new", **fields))
    delivery = {"kind": "delivery", "reference": "PO 4711", "location": location, "lines": f"{sku},12"}
    expected = redirect_path(await dashboard.post("/admin/stock/deliveries/new", **delivery, expected_on="2027-03-09"))
    other = await new_location(dashboard, db)
    transfer = {**delivery, "kind": "transfer", "reference": "T 1", "source": location, "location": other}
    draft = redirect_path(await dashboard.post("/admin/stock/deliveries/new", **transfer))
    imported = redirect_path(await upload_csv(dashboard, "slug,name,price\nlamp,Lamp,cheap\n"))
    group = redirect_path(
        await dashboard.post("/admin/customer-groups", name="Wholesale", description="Caf\u00e9s and restaurants")
    )
    saved_message(await dashboard.post(f"{group}/members", emails=email))
    price_list = await new_list(dashboard, name="Wholesale 2026", percent_off="12.5", starts_at="2026-01-01T00:00")
    saved_message(await dashboard.post(f"{price_list}/entries/add", sku=sku, min_quantity="10", amount="17.50"))
    saved_message(await dashboard.post(f"{price_list}/customers", emails=email))
    saved_message(await dashboard.post(f"{price_list}/groups", **{"group_ids[]": [group.rpartition("/")[2]]}))
    variant = await db.fetchval("select id from variants where sku = $1", sku)
    return {
        "products": "/admin/products",
        "products, none": "/admin/products?q=zzzz",
        "grid": "/admin/products/grid",
        "grid, none": "/admin/products/grid?q=zzzz",
        "batches, empty": "/admin/products/batches",
        "bulk": "/admin/products/bulk?scope=all",
        "bulk, no product": "/admin/products/bulk",
        "new product": "/admin/products/new",
        "product": product,
        "variants": f"{product}/variants",
        "variant": f"{product}/variants/{variant}",
        "variant, remove": f"{product}/variants/{variant}/remove",
        "prices": f"{product}/prices?done=saved",
        "images": f"{product}/images",
        "places": f"{product}/places",
        "taxons": "/admin/taxons",
        "taxon": f"/admin/taxons/{root}",
        "stock": "/admin/stock",
        "movement": "/admin/stock/new",
        "stock item": item,
        "locations": "/admin/stock/locations",
        "location": f"/admin/stock/locations/{location}",
        "threshold": "/admin/stock/threshold",
        "deliveries": "/admin/stock/deliveries",
        "deliveries, none": "/admin/stock/deliveries?state=canceled",
        "new delivery": "/admin/stock/deliveries/new",
        "new transfer": "/admin/stock/deliveries/new?kind=transfer",
        "delivery": f"{expected}?q={sku}",
        "transfer": draft,
        "count": f"/admin/stock/counts?location={location}",
        "imports": "/admin/imports/products",
        "imports of customers": "/admin/imports/customers",
        "import": imported,
        "price lists": "/admin/price-lists",
        "new price list": "/admin/price-lists/new",
        "price list": price_list,
        "entries": f"{price_list}/entries",
        "list's customers": f"{price_list}/customers",
        "preview": f"/admin/price-lists/preview?email={email}&q={sku}&quantity=12",
        "groups": "/admin/customer-groups",
        "group": group,
    }


async def visit_paths(page: Page, paths_by_name: dict[str, str]) -> AsyncIterator[str]:
    for name, path in paths_by_name.items():
        await page.goto(path)
        yield name


async def catalog_pages(page: Page, dashboard: Dashboard, db: Any, email: str) -> AsyncIterator[str]:
    """Visits the catalog pages: empty, with records, and after refused forms."""
    sections = ("products", "stock", "price-lists", "promotions", "customer-groups", "taxons")
    async for name in visit_paths(page, {f"{section}, empty": f"/admin/{section}" for section in sections}):
        yield name
    paths = await fill_catalog(dashboard, db, email)
    async for name in visit_paths(page, paths):
        yield name
    await page.goto(paths["prices"])
    await page.get_by_label("Price of").first.fill("1.999")
    await page.get_by_role("button", name="Save prices").click()
    yield "prices, refused"
    await page.goto(paths["bulk"])
    await page.get_by_label("Number").fill("5")
    await page.get_by_role("button", name="Preview").click()
    yield "bulk, preview"
    await page.goto(paths["product"])
    await db.execute("update products set name = 'Meanwhile' where id::text = $1", paths["product"].rpartition("/")[2])
    await page.get_by_role("button", name="Save").click()
    yield "product, conflict"
    await page.goto(paths["entries"])
    await page.get_by_label("Lines").fill("nonsense")
    await page.get_by_role("button", name="Save lines").click()
    yield "entries, refused"
    await page.goto(f"{paths['product']}/variants")
    await page.get_by_role("button", name="Create variants").click()
    yield "variants, refused"


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


async def webhook_pages(page: Page, dashboard: Dashboard, db: Any) -> AsyncIterator[str]:
    """Visits the webhook pages: empty, with an endpoint in each state, and after refused forms."""
    await page.goto(WEBHOOKS)
    yield "webhooks, empty"
    long_path = "a-rather-long-path/of-the-warehouse"
    first, failing, gone = [
        await create_endpoint(dashboard, f"https://{name}.example/{long_path}", "order.*", "zone.*", fields="state")
        for name in ("works", "failing", "gone")
    ]
    await db.execute(FAILING, failing.id)
    await db.execute(DISABLED, gone.id)
    delivery = new_id()
    await db.execute(DELIVERY, delivery, first.id)
    await db.execute(ATTEMPT, delivery)
    paths_by_name = {
        "webhooks": WEBHOOKS,
        "new endpoint": f"{WEBHOOKS}/new",
        "endpoint": first.path,
        "endpoint, failing": failing.path,
        "endpoint, disabled": gone.path,
        "endpoint, edit": f"{first.path}/edit",
        "endpoint, delete": f"{first.path}/delete",
        "deliveries, none": f"{first.path}/deliveries?state=succeeded",
        "deliveries": f"{first.path}/deliveries",
        "delivery": f"{first.path}/deliveries/{delivery}",
        "replay": f"{first.path}/replay",
        "replay, disabled": f"{gone.path}/replay",
    }
    async for name in visit_paths(page, paths_by_name):
        yield name
    await page.goto(f"{first.path}/replay")
    await page.get_by_role("button", name="Replay").click()
    yield "replay, refused"
    await page.goto(f"{WEBHOOKS}/new")
    await page.get_by_label("URL", exact=True).fill("ftp://x")
    await page.get_by_role("button", name="Create endpoint").click()
    yield "new endpoint, refused"
    await page.goto(first.path)
    await page.get_by_role("button", name="Rotate secret").click()
    yield "endpoint's secret"


async def mail_pages(page: Page) -> AsyncIterator[str]:
    """Visits the pages of the e-mails to customers: as they are, after a refused form, and with an edited text."""
    mails = "/admin/settings/mails"
    await page.goto(f"{mails}/order_shipped")
    yield "e-mail"
    await page.get_by_label("Subject").fill("{{ nothing }}")
    await page.get_by_role("button", name="Save").click()
    yield "e-mail, refused"
    await page.get_by_label("Subject").fill("Order {{ number }} is on its way")
    await page.get_by_role("button", name="Save").click()
    yield "e-mail, edited"
    await page.goto(mails)
    yield "e-mails"


async def signed_in_pages(page: Page, dashboard: Dashboard, db: Any) -> AsyncIterator[str]:
    """Visits the pages of a signed-in operator, by path and by form."""
    ids = await fill_shop(dashboard, db)
    async for name in catalog_pages(page, dashboard, db, ids["email"]):
        yield name
    paths_by_name = {
        "overview": "/admin",
        "reports": "/admin/reports",
        "sales": "/admin/reports/sales",
        "sales by country": "/admin/reports/countries?period=90",
        "stock value": "/admin/reports/stock",
        "orders": "/admin/orders",
        "orders, none": "/admin/orders?q=R0000",
        "approvals": "/admin/approvals",
        "order": f"/admin/orders/{ids['order']}",
        "order, edit": f"/admin/orders/{ids['order']}/edit",
        "order, cancel items": f"/admin/orders/{ids['order']}/cancel-items",
        "customers": "/admin/customers",
        "customers, none": "/admin/customers?q=zzzz",
        "customer": f"/admin/customers/{ids['customer']}",
        "customer, edit": f"/admin/customers/{ids['customer']}/edit",
        "customer, orders": f"/admin/customers/{ids['customer']}/orders",
        "customer, new address": f"/admin/customers/{ids['customer']}/addresses/new",
        "new customer": "/admin/customers/new",
        "customer, merge": f"/admin/customers/{ids['customer']}/merge",
        "customer, erase": f"/admin/customers/{ids['customer']}/erase",
        "applications": API,
        "application": f"{API}/{ids['application']}",
        "revoke": f"{API}/{ids['application']}/revoke",
        "new application": f"{API}/new",
        "shop": "/admin/settings/shop?done=saved",
        "documents": "/admin/settings/documents",
        "invoice, not issued": f"/admin/orders/{ids['order']}/invoice",
        "packing slip": f"/admin/orders/{ids['order']}/packing-slip",
        "pick list, no orders": "/admin/documents/pick-list",
        "pick list": f"/admin/documents/pick-list?numbers={ids['order']}",
        "website": "/admin/settings/website?done=saved",
        "operators": "/admin/settings/operators",
        "invite": "/admin/settings/operators/new",
        "roles": "/admin/settings/roles",
        "new role": "/admin/settings/roles/new",
        "role": f"/admin/settings/roles/{OWNER_ID}",
        "events": "/admin/events",
        "events, none": "/admin/events?type=nothing.happened",
        "event": f"/admin/events/{ids['event']}",
        "audit": "/admin/audit",
        "audit, none": "/admin/audit?type=nothing",
        "account": "/admin/account",
        "password": "/admin/account/password",
        "authenticator": "/admin/account/authenticator",
        "new passkey": "/admin/account/passkeys/new",
        "customer, not found": f"/admin/customers/{UNKNOWN_ID}",
    }
    async for name in visit_paths(page, paths_by_name):
        yield name
    await fill_application_form(page, "Accounting", "Read")
    yield "review"
    await page.get_by_role("button", name="Create application").click()
    yield "secret"
    await page.goto("/admin/settings/operators/new")
    await page.get_by_label("E-mail address").fill("grace@operators.example")
    await page.get_by_label("Role").select_option("Owner")
    await page.get_by_role("button", name="Invite").click()
    yield "operator's link"
    await page.goto(f"/admin/orders/{ids['order']}/invoice")
    await page.get_by_role("button", name="Issue invoice").click()
    yield "invoice"
    await page.goto("/admin/settings/documents")
    await page.get_by_label("Digits").fill("0")
    await page.get_by_role("button", name="Save").click()
    yield "documents, refused"
    await page.goto("/admin/settings/shop")
    await page.get_by_label("Currencies").fill("doubloons")
    await page.get_by_role("button", name="Save").click()
    yield "shop, refused"
    async for name in mail_pages(page):
        yield name
    async for name in webhook_pages(page, dashboard, db):
        yield name
    async for name in second_factor_pages(page):
        yield name
    await backdate_session(db, dashboard, "authenticated_at", "11 minutes")
    await page.goto(f"{API}/new")
    yield "confirm"


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
    dashboard = await new_dashboard(empty_client, empty_db)
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
            check_pages(signed_in_pages(signed_in_page, dashboard, empty_db), signed_in_page),
        )

    assert {name: messages for name, messages in problems.items() if messages} == {}
    assert len(problems) >= 105
