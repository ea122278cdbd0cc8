"""Pages that need a second permission for a part of what they show or do: costs, stock, customers and refunds."""

from typing import Any
from uuid import uuid4

import httpx2
import pytest

from shop.base.ids import new_id
from shop.rules.access.permissions import BUILT_IN
from tests.accounts import sign_in
from tests.admin.catalog_forms import id_of, new_location, new_product, unique_word, upload
from tests.admin.dashboard import Dashboard, new_dashboard, new_role
from tests.admin.drafts.builders import DraftClient, new_draft
from tests.admin.imports.test_csv_imports import check as check_csv
from tests.admin.imports.test_csv_imports import mapping_of
from tests.checkout_builders import ADDRESS

GRID = "/admin/products/grid"


@pytest.fixture
async def editor(http: httpx2.AsyncClient, db: Any) -> Dashboard:
    """An operator who may change products only."""
    return await new_dashboard(http, db, role_id=await new_role(db, "products:read", "products:write"))


@pytest.mark.security("D-15")
async def test_the_grid_has_no_costs_and_stock_for_an_editor_of_products(
    dashboard: Dashboard, editor: Dashboard, db: Any
) -> None:
    word = unique_word()
    product = await new_product(dashboard, name=f"Lamp {word}")
    variant = await db.fetchval("select id from variants where product_id = $1", id_of(product))
    query = f"{GRID}?q={word}&columns[]=cost&columns[]=sku"
    cells = {f"seen[{variant}][cost]": "", f"cell[{variant}][cost]": "3.00", "step": "save"}

    pages = [(await each.get(query)).text for each in (dashboard, editor)]
    await editor.post(query, **cells)
    cost = await db.fetchval("select cost_price from variants where id = $1", variant)
    await dashboard.post(query, **cells)

    assert [f"cell[{variant}][cost]" in page for page in pages] == [True, False]
    assert cost is None
    assert await db.fetchval("select cost_price from variants where id = $1", variant) == 300


@pytest.mark.security("D-15")
async def test_files_need_the_permissions_of_what_they_contain(editor: Dashboard) -> None:
    answer = await upload(editor, "/admin/imports/stock", b"sku,count_on_hand\n")

    assert answer.status_code == 403
    stock = await editor.get("/admin/exports/stock.csv")
    assert (stock.status_code, "stock:read" in stock.text) == (403, True)
    products = await editor.get("/admin/exports/products.csv")
    assert (products.status_code, "price_USD" in products.text, "cost" in products.text) == (200, True, False)


@pytest.mark.security("D-15")
async def test_support_cannot_erase_a_customer(http: httpx2.AsyncClient, db: Any) -> None:
    support = await new_dashboard(http, db, role_id=BUILT_IN["support"].id)
    path = f"/admin/customers/{new_id()}/erase"

    assert (await support.get(path)).status_code == 403
    assert (await support.post(path, email="x")).status_code == 403


@pytest.mark.security("D-15")
async def test_an_editor_of_products_creates_one_without_cost_and_stock(
    dashboard: Dashboard, editor: Dashboard, db: Any
) -> None:
    location = await new_location(dashboard, db)
    name = f"Lamp {unique_word()}"
    fields = {"name": name, "price-USD": "20.00", "status": "draft", "cost": "3.00", f"stock-{location}": "7"}

    page = (await editor.get("/admin/products/new")).text
    answer = await upload(editor, "/admin/products/new", **fields)
    await upload(dashboard, "/admin/products/new", **{**fields, "name": f"{name} of an owner"})

    query = """select v.cost_price, s.count_on_hand from products p join variants v on v.product_id = p.id
        left join stock_items s on s.variant_id = v.id and s.count_on_hand > 0 where p.name = $1"""
    assert answer.status_code == 303
    assert 'name="cost"' not in page
    assert tuple(await db.fetchrow(query, name)) == (None, None)
    assert tuple(await db.fetchrow(query, f"{name} of an owner")) == (300, 7)


@pytest.mark.security("D-15")
async def test_an_editor_of_products_cannot_start_the_stock_import_of_an_owner(
    dashboard: Dashboard, editor: Dashboard, db: Any
) -> None:
    location, product = await new_location(dashboard, db), await new_product(dashboard, name=f"Lamp {unique_word()}")
    sku = f"S-{unique_word()}"
    await db.execute("update variants set sku = $2 where product_id = $1", id_of(product), sku)
    name = await db.fetchval("select name from stock_locations where id::text = $1", location)
    path, row = await check_csv(dashboard, db, f"sku,location,count_on_hand\n{sku},{name},9\n", "stock")
    assert row["state"] == "checked", row

    answers = [
        await editor.get(path),
        *[await editor.post(f"{path}/{form}") for form in ("check", "start", "delete")],
    ]

    assert [answer.status_code for answer in answers] == [403] * 4
    assert "stock:write" in answers[2].text
    assert path not in (await editor.get("/admin/imports")).text
    assert await db.fetchval("select state from csv_imports where id::text = $1", path[-36:]) == "checked"


@pytest.mark.security("D-15")
async def test_columns_of_a_product_file_need_the_permissions_of_what_they_contain(
    dashboard: Dashboard, editor: Dashboard, db: Any
) -> None:
    slug = f"lamp-{unique_word()}"
    content = f"slug,name,price_USD,cost_price,cost_currency,stock\n{slug},Lamp,20.00,3.77,USD,5\n"
    path, row = await check_csv(dashboard, db, content)
    assert (row["state"], row["created"]) == ("checked", 1), row

    page = (await editor.get(path)).text
    mapping = mapping_of(page)
    refusals = [
        await editor.post(f"{path}/start"),
        await editor.post(f"{path}/check", **{**mapping, "mapping[3]": "cost_price"}),
        await editor.post(f"{path}/check", **{**mapping, "mapping[5]": "stock"}),
    ]
    own = await check_csv(editor, db, content)

    assert [answer.status_code for answer in refusals] == [403] * 3
    assert ["costs:read" in refusals[0].text, "stock:write" in refusals[2].text] == [True, True]
    assert [f"{path}/start" in page, "3.77" in page, "<option>cost_price" in page] == [False] * 3
    assert "3.77" in (await dashboard.get(path)).text
    assert own[1]["created"] == 1
    assert "cost_price" not in str(own[1]["mapping"])


@pytest.mark.security("D-15")
async def test_a_draft_creates_no_account_without_the_permission(http: httpx2.AsyncClient, db: Any) -> None:
    fulfilment = await new_dashboard(http, db, role_id=BUILT_IN["fulfilment"].id)
    draft, email = await new_draft(fulfilment), f"{uuid4().hex}@shoppers.example"

    page = await draft.page()
    refusal = await draft.send("email", email=email, creates_account="true")
    users = await db.fetchval("select count(*) from users where email = $1", email)
    await draft.save("email", email=email)

    assert "creates_account" not in page
    assert refusal.status_code == 403
    assert "customers:write" in refusal.text
    assert users == await db.fetchval("select count(*) from users where email = $1", email) == 0
    assert "(guest)" in await draft.page()


@pytest.mark.security("D-15")
async def test_customers_and_their_addresses_are_not_found_in_a_draft_without_the_permission(
    http: httpx2.AsyncClient, dashboard: Dashboard, db: Any
) -> None:
    clerk = await new_dashboard(http, db, role_id=await new_role(db, "orders:read", "orders:write"))
    member = await sign_in(http)
    street = f"{unique_word()} Street"
    for address1 in ("Default", street):
        address = await member.post("/account/addresses", address={**ADDRESS, "address1": address1})
    user_id = str(await member.id())
    owners_draft = await new_draft(dashboard, user_id=user_id)
    draft = DraftClient(clerk, owners_draft.number)

    pages = [
        text in (await each.get(f"{draft.path}?customer={member.email}")).text
        for each in (dashboard, clerk)
        for text in (f'value="{user_id}"', street, "Find customer")
    ]
    refusals = [
        await draft.send("customer", user_id=user_id),
        await draft.send("address-book", address_id=address.id, use="both"),
        await clerk.post("/admin/drafts", user_id=user_id),
    ]

    assert pages == [True] * 3 + [False] * 3
    assert [answer.status_code for answer in refusals] == [403] * 3
    assert all("customers:read" in answer.text for answer in refusals)


@pytest.mark.security("D-15")
async def test_recipients_of_failed_mails_are_shown_with_customers_only(http: httpx2.AsyncClient, db: Any) -> None:
    reader, other = [
        await new_dashboard(http, db, role_id=await new_role(db, "reports:read", *more))
        for more in ((), ("customers:read",))
    ]
    email = f"{uuid4().hex}@mails.example"
    await db.execute(
        """insert into outbox_mails (id, kind, recipient, ref_id, not_after, next_at, created_at, dead_at, last_error)
        values ($1, 'login_code', $2, $1, now(), now(), now(), now(), '550 <' || $2 || '>')""",
        uuid4(),
        email,
    )

    pages = [(await each.get("/admin")).text for each in (reader, other)]

    assert [page.count(email) for page in pages] == [0, 2]
    assert "Failed e-mails" in pages[0]


@pytest.mark.security("D-15")
async def test_an_event_shows_costs_with_the_permission_only(
    http: httpx2.AsyncClient, dashboard: Dashboard, db: Any
) -> None:
    reader = await new_dashboard(http, db, role_id=await new_role(db, "events:read"))
    product = await new_product(dashboard, name=f"Lamp {unique_word()}")
    variant = await db.fetchval("select id from variants where product_id = $1", id_of(product))
    cells = {f"seen[{variant}][cost]": "", f"cell[{variant}][cost]": "3.77", "step": "save"}
    await dashboard.post(f"{GRID}?columns[]=cost&columns[]=sku", **cells)
    event = await db.fetchval(
        "select id from events where subject_id = $1 and row->>'cost_price' = '377' limit 1", variant
    )

    pages = [(await each.get(f"/admin/events/{event}")).text for each in (dashboard, reader)]

    assert ["3.77" in page for page in pages] == [True, False]
