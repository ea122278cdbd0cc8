"""Pages that need a second permission for a part of what they show or do: costs, stock and refunds."""

from typing import Any
from uuid import UUID

import httpx2
import pytest

from shop.base.ids import new_id
from shop.rules.access.permissions import BUILT_IN
from tests.admin.catalog_forms import id_of, new_location, new_product, unique_word, upload
from tests.admin.dashboard import Dashboard, new_dashboard

GRID = "/admin/products/grid"


async def new_role(db: Any, *permissions: str) -> UUID:
    role_id = new_id()
    await db.execute(
        "insert into roles (id, name, permissions, created_at, updated_at) values ($1, $2, $3, now(), now())",
        role_id,
        f"Role {role_id}",
        list(permissions),
    )
    return role_id


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
    for kind, permission in {"products": "costs:read", "stock": "stock:read"}.items():
        page = await editor.get(f"/admin/exports/{kind}.csv")
        assert page.status_code == 403
        assert permission in page.text


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
