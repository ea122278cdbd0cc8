"""The number of database statements of a dashboard page: bounded, and independent of the number of rows."""

from typing import Any

import httpx2
import pytest

from shop.admin.listing import SIZE
from shop.app.routes import all_routes
from shop.queries.dashboard import COUNT_LIMIT
from tests.admin.dashboard import Dashboard, new_dashboard
from tests.admin.order_builders import ORDERS, buy
from tests.admin.orders.order_lists import wait_for_index
from tests.admin.page_records import fill_pages
from tests.builders import Make
from tests.checkout_builders import Buyer, new_checkout_setup
from tests.platform.client import Machine
from tests.service import Service

MANY_CUSTOMERS = """insert into users (id, email, email_key, created_at, updated_at)
    select gen_random_uuid(), email, email, now(), now()
    from (select 'many-' || n || '@example.org' as email from generate_series(1, $1::int) n) of_customers"""
MOST = 11
MOST_OF_RECORD = 25
"""An order or a draft has many parts."""
MOST_OF_ORDER = 17
"""An order with a payment and a shipment."""
MOST_OF_OVERVIEW = 15
"""The overview has the figures of two periods and all open work."""


def list_paths() -> list[str]:
    """Returns the paths of all pages without parameters."""
    routes = all_routes((), lambda: None)  # type: ignore[arg-type,return-value]
    return sorted(
        route.path
        for route in routes
        if route.method == "GET"
        and route.path.startswith("/admin")
        and "{" not in route.path
        # A file has as many statements as batches.
        and not route.path.endswith(".csv")
        and route.who == "operator"
    )


async def count_statements(service: Service, dashboard: Dashboard, path: str) -> int:
    page = await dashboard.get(path)
    assert page.status_code < 400, (path, page.status_code)
    return int(service.request_line(page.headers["x-request-id"])["statements"])


async def test_every_page_makes_few_statements(service: Service, dashboard: Dashboard) -> None:
    counts = {path: await count_statements(service, dashboard, path) for path in list_paths()}

    assert counts.pop("/admin") <= MOST_OF_OVERVIEW
    assert {path: count for path, count in counts.items() if count > MOST} == {}


@pytest.mark.torture
async def test_every_page_of_a_record_makes_few_statements(
    service: Service, dashboard: Dashboard, other_dashboard: Dashboard, db: Any
) -> None:
    paths = await fill_pages(dashboard, other_dashboard, db)

    counts = {name: await count_statements(service, dashboard, path) for name, path in paths.items()}

    assert {name: count for name, count in counts.items() if count > MOST_OF_RECORD} == {}


@pytest.mark.torture
async def test_more_orders_need_no_more_statements(
    service: Service, dashboard: Dashboard, writer: Machine, db: Any
) -> None:
    checkout_setup = await new_checkout_setup(Make(writer))
    paths = [f"{ORDERS}?sort=-placed", "/admin", "/admin/customers", "/admin/products", "/admin/stock"]

    async def count_all() -> list[int]:
        await wait_for_index(db)
        return [await count_statements(service, dashboard, path) for path in paths]

    # A list that is longer than a page counts its rows: all lists of products and stock are, from the first count on.
    for _ in range(SIZE + 1):
        await checkout_setup.product()
    order, _ = await buy(Buyer(dashboard.http, checkout_setup))
    counts = await count_all()
    assert await count_statements(service, dashboard, f"{ORDERS}/{order['number']}") <= MOST_OF_ORDER
    for _ in range(3):
        await buy(Buyer(dashboard.http, checkout_setup))

    assert await count_all() == counts


@pytest.mark.torture
async def test_a_long_list_is_not_counted_for_every_page(
    empty_service: Service, empty_client: httpx2.AsyncClient, empty_db: Any
) -> None:
    dashboard = await new_dashboard(empty_client, empty_db)
    await empty_db.execute(MANY_CUSTOMERS, COUNT_LIMIT + 1)
    try:
        page = (await dashboard.get("/admin/customers")).text
        counts, filtered_counts = [
            [await count_statements(empty_service, dashboard, path) for _ in range(8)]
            for path in ("/admin/customers", "/admin/customers?blocked=no")
        ]
    finally:
        await empty_db.execute("delete from users where email like 'many-%'")

    assert f"More than {COUNT_LIMIT:,} customers" in page
    assert (min(counts), len(set(filtered_counts))) == (filtered_counts[0] - 1, 1)


async def test_an_order_with_more_lines_needs_no_more_statements(
    service: Service, dashboard: Dashboard, writer: Machine
) -> None:
    checkout_setup = await new_checkout_setup(Make(writer))

    async def count_of(line_count: int) -> int:
        buyer = Buyer(dashboard.http, checkout_setup)
        for _ in range(line_count):
            await buyer.add_items((await checkout_setup.product(), 1))
        await buyer.enter_address()
        await buyer.pay(method=checkout_setup.card)
        order = await buyer.complete()
        return await count_statements(service, dashboard, f"{ORDERS}/{order['number']}")

    assert await count_of(1) == await count_of(4) <= 25
