"""The list of orders: found by any of their words, filtered, sorted, counted and exported."""

import csv
import re
from collections.abc import Callable
from io import StringIO
from itertools import product
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import pytest

from shop.queries.orders import order_list
from shop.queries.orders.order_list import SORTS
from tests.admin.catalog_forms import saved_message, unique_word
from tests.admin.dashboard import Dashboard
from tests.admin.order_builders import buy, payment_of, shipment_of
from tests.admin.orders.order_lists import ORDERS, list_numbers, listing_of, wait_for_index
from tests.checkout_builders import Buyer
from tests.shopper import Answer


async def place(buyer: Buyer, **address: Any) -> tuple[Answer, str]:
    """Places an order of a product with a name of its own; returns the order and that name."""
    word = unique_word()
    new_product = await buyer.checkout_setup.product(name=f"Kettle {word}", sku=f"KT-{word}-9")
    await buyer.add_items((new_product, 1))
    await buyer.enter_address(**address)
    await buyer.pay()
    order = await buyer.complete()
    assert order.status == 200, order
    return order, word


async def test_an_order_is_found_by_the_start_of_any_of_its_words(dashboard: Dashboard, buyer: Buyer, db: Any) -> None:
    last = unique_word().capitalize()
    phone = str(uuid4().int)[:10]
    order, word = await place(buyer, firstname="Zoë", lastname=last, phone=f"+1 ({phone[:3]}) {phone[3:6]}-{phone[6:]}")
    shipment = await shipment_of(db, order)
    tracking = f"1Z-{unique_word()}"
    saved_message(await dashboard.post(f"{shipment}/ship", tracking=tracking))
    await wait_for_index(db)
    number = order["number"]
    shipment_number = await db.fetchval("select number from shipments where order_id = $1", UUID(order.id))

    for text in (
        last,
        last[:6].lower(),
        f"zoe {last}",
        f"{last}, Zoë",
        f"ada@example.org {last}",
        f"example {last}",
        number,
        number.lower(),
        number[1:],
        number[1:8] + f" {last}",
        phone,
        f"1{phone}",
        f"{phone[3:6]}-{phone[6:]} {last}",
        f"kt-{word}",
        f"{word} kettle",
        tracking,
        tracking.lower(),
        shipment_number,
    ):
        assert await list_numbers(dashboard, q=text) == [number], text
    for text in (f"{last}x", f"{last} nobody", last[1:], "%", "_", "'", "&", "!:*", f"{number}%'--"):
        assert number not in await list_numbers(dashboard, q=text) or text.strip("%'-") == number, text


async def test_a_search_is_text_and_never_a_query(dashboard: Dashboard) -> None:
    for text in ("a & | ! ( ) : * <-> b", "\\", "'':*", "\u0000", "a" * 300, "🦊", "\ud7ff", "' or 1=1"):
        page = await dashboard.http.get(ORDERS, params={"q": text}, headers=dashboard.cookie)
        assert page.status_code in {200, 400}, text


async def test_filters_and_tabs_select_orders(dashboard: Dashboard, buyer: Buyer, db: Any) -> None:
    name = unique_word().capitalize()
    order, _ = await place(buyer, lastname=name)
    number = order["number"]
    await wait_for_index(db)
    row = await listing_of(db, order.id)
    day = row["placed_at"].date().isoformat()
    matching = [
        {},
        {"tab": "to_ship"},
        {"tab": "open"},
        {"payment": "paid"},
        {"fulfilment": "ready"},
        {"country": "US"},
        {"currency": "USD"},
        {"channel": "shop"},
        {"since": day, "until": day},
        {"product": str(row["product_ids"][0])},
        {"product": await db.fetchval("select sku from line_items where order_id = $1", UUID(order.id))},
        {"payment": "nonsense", "since": "yesterday", "before": "x_y", "size": "7", "sort": "best", "tab": "none"},
    ]
    others = [
        {"tab": "unpaid"},
        {"payment": "balance_due"},
        {"fulfilment": "shipped"},
        {"country": "CA"},
        {"currency": "EUR"},
        {"channel": "phone"},
        {"tag": "gift"},
        {"since": "2999-01-01"},
        {"until": "1999-01-01"},
        {"product": str(uuid4())},
        {"product": "nonsense"},
        {"promotion": str(uuid4())},
    ]

    for params in matching:
        assert await list_numbers(dashboard, q=name, **params) == [number], params
    for params in others:
        assert await list_numbers(dashboard, q=name, **params) == [], params


@pytest.mark.torture
async def test_an_order_leaves_its_tabs_when_the_work_is_done(dashboard: Dashboard, buyer: Buyer, db: Any) -> None:
    order, _ = await buy(buyer, pays="check")

    async def tabs() -> set[str]:
        await wait_for_index(db)
        row = await listing_of(db, order.id)
        return {name for name in ("to_ship", "unpaid", "open") if row[f"is_{name}"]}

    assert await tabs() == {"unpaid", "open"}
    saved_message(await dashboard.post(f"{await payment_of(db, order)}/capture"))
    assert await tabs() == {"to_ship", "open"}
    saved_message(await dashboard.post(f"{await shipment_of(db, order)}/ship"))
    assert await tabs() == set()


async def test_a_canceled_order_waits_for_nothing(dashboard: Dashboard, buyer: Buyer, db: Any) -> None:
    order, _ = await buy(buyer)
    saved_message(await dashboard.post(f"{ORDERS}/{order['number']}/cancel"))
    await wait_for_index(db)

    row = await listing_of(db, order.id)

    assert (row["is_to_ship"], row["is_unpaid"], row["is_open"]) == (False, False, False)


async def test_the_page_counts_the_work_and_shows_the_current_state(
    dashboard: Dashboard, buyer: Buyer, db: Any
) -> None:
    name = unique_word().capitalize()
    order, _ = await place(buyer, lastname=name)
    await wait_for_index(db)
    counts = {
        tab: await db.fetchval(f"select least(count(*), 1001) from order_listings where {condition}")
        for tab, condition in {"To ship": "is_to_ship", "Unpaid": "is_unpaid", "Open": "is_open", "All": "true"}.items()
    }

    page = (await dashboard.http.get(ORDERS, params={"q": name}, headers=dashboard.cookie)).text

    for tab, count in counts.items():
        shown = str(count) if count <= 1000 else "1000+"
        assert f'{tab} <span class="tag">{shown}<' in page, (tab, count)
    for words in (f"Ada {name}", "ada<wbr>@example.org", "Paid", "Ready", "$15.00"):
        assert words in page
    await db.execute("update orders set payment_state = 'failed' where id = $1", UUID(order.id))
    again = (await dashboard.http.get(ORDERS, params={"q": name}, headers=dashboard.cookie)).text
    assert "Failed</span>" in again


async def test_pages_follow_each_other_in_every_sort_order(dashboard: Dashboard, db: Any) -> None:
    word = unique_word()
    numbers = await insert_listings(db, word, 30)

    for sort, expected in {
        "": numbers[::-1],
        "oldest": numbers,
        "highest": numbers[::-1],
        "lowest": numbers,
    }.items():
        first = await dashboard.http.get(ORDERS, params={"q": word, "sort": sort}, headers=dashboard.cookie)
        link = re.search(r'href="([^"]+)" rel="next"', first.text)
        assert link
        second = await dashboard.get(link[1].replace("&amp;", "&"))
        back = re.search(r'href="([^"]+)" rel="prev"', second.text)
        assert back
        again = await dashboard.get(back[1].replace("&amp;", "&"))
        rows = [
            re.findall(r'class="through nowrap" href="/admin/orders/([^"]+)"', page.text)
            for page in (first, second, again)
        ]
        assert rows == [expected[:25], expected[25:], expected[:25]], sort
        assert all("<p data-total>More than 25 orders</p>" in page.text for page in (first, second, again))
    assert len(await list_numbers(dashboard, q=word, size="50")) == 30


async def insert_listings(db: Any, word: str, count: int) -> list[str]:
    """Inserts orders with their rows in the index; the later ones are newer and have higher totals."""
    rows = await db.fetch(
        """with placed as (
            insert into orders (id, number, currency, state, item_total, total, created_at, updated_at, completed_at)
            select gen_random_uuid(), 'R' || $1 || lpad(n::text, 6, '0'), 'USD', 'complete', n * 100, n * 100,
                now(), now(), timestamptz '2001-01-01' + n * interval '1 hour'
            from generate_series(1, $2) n returning *
        ), listed as (
            insert into order_listings (order_id, placed_at, currency, total, search)
            select id, completed_at, currency, total, to_tsvector('simple', lower($1)) from placed
        ) select number from placed order by number""",
        word,
        count,
    )
    return [row[0] for row in rows]


async def test_the_filtered_list_is_exported_without_formulas(dashboard: Dashboard, buyer: Buyer, db: Any) -> None:
    name = unique_word().capitalize()
    order, _ = await place(buyer, firstname="=1+1", lastname=name)
    await wait_for_index(db)

    reply = await dashboard.http.get(f"{ORDERS}/export.csv", params={"q": name}, headers=dashboard.cookie)

    assert reply.headers["content-type"] == "text/csv; charset=utf-8"
    assert reply.headers["content-disposition"] == 'attachment; filename="orders.csv"'
    heads, row = csv.reader(StringIO(reply.text))
    cells = dict(zip(heads, row, strict=True))
    assert cells["Number"] == order["number"]
    assert cells["Name"] == f"'=1+1 {name}"
    assert (cells["Total"], cells["Currency"], cells["Payment"], cells["Country"]) == ("15.00", "USD", "paid", "US")


async def test_the_tabs_keep_the_search_and_the_filters(dashboard: Dashboard) -> None:
    page = (await dashboard.get(f"{ORDERS}?tab=unpaid&q=ada+lov&country=DE&sort=oldest")).text

    assert f'href="{ORDERS}?tab=to_ship&amp;q=ada+lov&amp;country=DE&amp;sort=oldest"' in page
    assert f'href="{ORDERS}?q=ada+lov&amp;country=DE&amp;sort=oldest"' in page


@pytest.mark.parametrize("sort", ["", "lowest"])
async def test_an_export_has_every_row_once(dashboard: Dashboard, db: Any, sort: str) -> None:
    word = unique_word()
    numbers = await insert_listings(db, word, 1001)

    reply = await dashboard.http.get(f"{ORDERS}/export.csv", params={"q": word, "sort": sort}, headers=dashboard.cookie)

    rows = [row[0] for row in csv.reader(StringIO(reply.text))][1:]
    assert rows == (numbers if sort else numbers[::-1])


@pytest.mark.torture
async def test_every_page_of_a_long_list_uses_an_index_and_its_count_ends(own_database: Callable[..., str]) -> None:
    db = await asyncpg.connect(own_database())
    await insert_listings(db, "x", 20000)
    await db.execute("analyze orders, order_listings")
    values: dict[str, Any] = {"at_": None, "id_": None, "most": 26, "numbers": []}
    plans = {}

    for tab, sort, direction in product((None, "to_ship"), SORTS, (None, "before", "after")):
        if tab and SORTS[sort].field == "total":
            continue
        statement = order_list._list_statement(order_list._ListKind((), tab, sort, direction))
        lines = await db.fetch(f"explain {statement.sql}", *statement.arguments(values))
        plans[tab, sort, direction] = [row[0] for row in lines]
    counts = {
        tab: await db.fetchval(count.sql)
        for tab in (None, "to_ship")
        if (count := order_list._count_statement((), tab))
    }
    await db.close()

    assert counts == {None: 10_001, "to_ship": 0}
    for key, plan in plans.items():
        assert not any("->  Sort" in line for line in plan), (key, plan)
        assert any("Index Scan" in line and "order_listings" in line for line in plan), (key, plan)


async def test_an_order_is_found_with_and_without_a_longer_prefix(dashboard: Dashboard, buyer: Buyer, db: Any) -> None:
    await buyer.add_items((await buyer.checkout_setup.product(), 1))
    digits = str(uuid4().int)[:12]
    cart = await buyer.get("/cart")
    await db.execute("update orders set number = $1 where id = $2", f"EU2X{digits}", UUID(cart.id))
    await buyer.enter_address()
    await buyer.pay()
    assert (await buyer.complete())["number"] == f"EU2X{digits}"
    await wait_for_index(db)

    for text in (f"EU2X{digits}", f"eu2x{digits[:8]}", digits, digits[:9]):
        assert await list_numbers(dashboard, q=text) == [f"EU2X{digits}"], text
    assert (await dashboard.get(f"{ORDERS}/EU2X{digits}")).status_code == 200


async def test_carts_have_a_page_of_their_own(dashboard: Dashboard, buyer: Buyer, db: Any) -> None:
    new_product = await buyer.checkout_setup.product()
    cart = await buyer.add_items((new_product, 2))
    empty = (await Buyer(buyer.http, buyer.checkout_setup).post("/cart"))["number"]
    email = f"{unique_word()}@carts.example"
    await buyer.update_checkout(email=email)
    number = cart["number"]

    assert (await list_numbers(dashboard, "/admin/carts"))[0] == number
    assert await list_numbers(dashboard, "/admin/carts", q=number[:11].lower()) == [number]
    assert await list_numbers(dashboard, "/admin/carts", q=email) == [number]
    assert await list_numbers(dashboard, "/admin/carts", q=number, kind="email") == [number]
    assert await list_numbers(dashboard, "/admin/carts", q=number, kind="abandoned") == []
    assert await list_numbers(dashboard, "/admin/carts", q=empty) == []
    assert await list_numbers(dashboard, "/admin/carts", q="%") == []
    assert await list_numbers(dashboard, q=number) == []
    await db.execute("insert into abandoned_carts values ($1, now())", UUID(cart.id))
    assert await list_numbers(dashboard, "/admin/carts", q=number, kind="abandoned") == [number]


async def test_an_old_promotion_stays_chosen_in_the_filter(dashboard: Dashboard, db: Any) -> None:
    word = unique_word()
    insert = """insert into promotions (id, name, created_at, updated_at)
        select gen_random_uuid(), $1 || n, now() - n * interval '1 day', now() from generate_series(0, 100) n
        returning id, name"""
    rows = await db.fetch(insert, word)
    try:
        (oldest,) = [row for row in rows if row["name"] == f"{word}100"]
        page = (await dashboard.get(f"{ORDERS}?promotion={oldest['id']}")).text
        others = (await dashboard.get(ORDERS)).text
    finally:
        await db.execute("delete from promotions where name like $1", f"{word}%")

    assert f'<option value="{oldest["id"]}" selected>{word}100</option>' in page
    assert f"{word}100" not in others
