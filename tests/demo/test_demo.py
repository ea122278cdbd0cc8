"""The demo shop: complete, consistent in every table of lists and prices, and created once or not at all."""

import asyncio
import json
import os
import pty
import re
import signal
import subprocess
from collections.abc import AsyncIterator, Iterator
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import asyncpg
import msgspec
import psutil
import pytest

from shop.cli.server.banner import banner
from shop.demo import shop
from shop.demo.artwork import draw_group, draw_hero, draw_moon, draw_product
from shop.demo.load import load_demo
from shop.demo.products import STOCK, combinations
from shop.demo.shop import CONTRACT, COUPON, DEPARTMENTS, MOONS, NAME, PLAIN, SHOPPERS, WHOLESALE, all_products
from shop.demo.website import FEATURED_PRODUCTS, FEATURED_TAXONS
from shop.models.setup.website import WebsiteSettings
from shop.queries.catalog import prices, product_index, stock
from shop.rules.setup.website import accent_error
from shop.site.docs_entries import example_of
from shop.storefront.routes import ROUTES
from tests.accounts import ask_for_code, exchange_code, mailed_code, sign_in
from tests.checkout_builders import ADDRESS
from tests.cluster import Cluster
from tests.image_files import open_image
from tests.platform.client import operator_context
from tests.promotion_builders import promotions_of
from tests.service import KEYS, SHOP, Service, clean_environ
from tests.shopper import Answer
from tests.test_docs import paste

CREATED_MESSAGE = re.compile(rf"Created the demo shop {NAME} in ([0-9.]+) s\.")
PRODUCTS = [product for _, product in all_products()]
OTHER_IMAGES = len(DEPARTMENTS) + len(MOONS) + 1
"""One of each department and each moon phase, and the one of the home page."""
IMAGES = (
    sum(1 + len(combinations(product)) for product in PRODUCTS) + sum(map(len, DEPARTMENTS.values())) + OTHER_IMAGES
)
"""Also one of each product, of each variant, and of each section of a department."""
TABLES = (
    "products",
    "variants",
    "prices",
    "images",
    "stock_items",
    "stock_movements",
    "listings",
    "users",
    "taxons",
    "promotions",
    "store_credits",
    "cms_pages",
    "policies",
    "menu_items",
)


def environ_of(url: str, data_dir: Path) -> dict[str, str]:
    return {
        "SHOP_DATA_DIR": str(data_dir),
        "SHOP_DATABASE_URL": url,
        "SHOP_SECRET_KEYS": KEYS,
        "SHOP_MAILBOX": "on",
        "SHOP_DRAIN_SECONDS": "0",
    }


@pytest.fixture(scope="module")
def demo_dir(cluster: Cluster, worker_name: str) -> Iterator[tuple[Path, str]]:
    """A data directory with an empty database, and the database's URL."""
    with cluster.data_dir(f"demo_{worker_name}") as pair:
        yield pair


@pytest.fixture(scope="module")
def demo_url(demo_dir: tuple[Path, str]) -> str:
    return demo_dir[1]


@pytest.fixture(scope="module")
def demo(demo_dir: tuple[Path, str]) -> Iterator[Service]:
    """A try-out served with --demo on an empty database."""
    service = Service("--demo", SHOP_DATA_DIR=str(demo_dir[0]), SHOP_SECRET_KEYS=KEYS, SHOP_DRAIN_SECONDS="0")
    yield service
    service.stop()


@pytest.fixture
async def demo_db(demo: Service, demo_url: str) -> AsyncIterator[Any]:
    connection = await asyncpg.connect(demo_url)
    yield connection
    await connection.close()


async def read_tables(connection: Any) -> dict[str, list[Any]]:
    return {table: await connection.fetch(f"select t::text from {table} t order by 1") for table in TABLES}


@pytest.mark.torture
def test_the_readme_checkout_commands_complete_an_order(demo: Service) -> None:
    cart, with_promotions, with_address, rates, with_payment, missing, status = paste(2, demo)

    assert cart["data"]["attributes"]["item_count"] == 2
    discounts = {each["attributes"]["name"]: each["attributes"]["amount"] for each in with_promotions["included"]}
    assert discounts["Moonrise"] == "-5.0"
    assert (with_address["data"]["attributes"]["state"], with_payment["data"]["attributes"]["state"]) == (
        "address",
        "payment",
    )
    assert {rate["attributes"]["name"] for rate in rates["included"] if rate["type"] == "shipping_rate"} == {
        "Post",
        "Courier",
    }
    assert missing == {"state": "payment", "is_complete": True, "missing": [], "held_until": None}
    order = status["data"]["attributes"]
    assert (order["state"], order["payment_state"], order["shipment_state"]) == ("complete", "paid", "ready")


def test_the_demo_has_60_products_with_up_to_six_variants() -> None:
    assert len(PRODUCTS) == len({product.name for product in PRODUCTS}) == 60
    assert max(len(combinations(product)) for product in PRODUCTS) == 6
    assert {product.stock for product in PRODUCTS} == set(STOCK)
    assert sum(1 for product in PRODUCTS if product.compare_at_price) >= 8
    assert sum(1 for product in PRODUCTS if product.options) >= 35


async def test_every_product_is_listed_and_has_a_price_in_each_currency(demo_db: Any) -> None:
    listings = await demo_db.fetch(
        "select p.name, cardinality(l.image_ids) as images, cardinality(l.taxon_ids) as taxons,"
        " cardinality(l.variant_ids) as variants, cardinality(l.property_ids) > 0 as has_facts,"
        " (select array_agg(currency order by currency) from prices where variant_id = l.default_variant_id) as priced"
        " from products p join listings l on l.product_id = p.id where l.is_active and p.status = 'active'"
    )

    assert {row["name"]: row["variants"] for row in listings} == {
        product.name: len(combinations(product)) for product in PRODUCTS
    }
    # One of the product, and one of each variant.
    assert {(row["images"] - row["variants"], row["taxons"], row["has_facts"]) for row in listings} == {(1, 2, True)}
    assert {tuple(row["priced"]) for row in listings} == {("EUR", "GBP", "JPY", "USD")}
    for table in ("variants", "products"):
        assert await demo_db.fetchval(f"select count(*) from {table} where deleted_at is not null") == 0
    assert (
        await demo_db.fetchval(
            "select count(*) from variants v where (select count(*) from prices where variant_id = v.id) <> 4"
        )
        == 0
    )
    assert await demo_db.fetchval("select name from shops") == NAME


async def test_products_are_in_two_taxonomies(demo_db: Any) -> None:
    trees = await demo_db.fetch("select y.name, t.pretty_name from taxons t join taxonomies y on y.id = t.taxonomy_id")

    sections = {
        f"Departments -> {name} -> {catalog_section}"
        for name, section_names in DEPARTMENTS.items()
        for catalog_section in section_names
    }
    assert sections | {f"By the moon -> {moon}" for moon in MOONS} <= {row["pretty_name"] for row in trees}
    assert {row["name"] for row in trees} == {"Departments", "By the moon"}
    images = await demo_db.fetch("select t.pretty_name from images i join taxons t on t.id = i.taxon_id")
    departments = {f"Departments -> {name}" for name in DEPARTMENTS}
    assert {row["pretty_name"] for row in images} == sections | departments | {
        f"By the moon -> {moon}" for moon in MOONS
    }


async def test_the_demo_has_pages_policies_and_menus(demo: Service) -> None:
    async with demo.client() as http:
        store = "/api/v2/storefront"
        menus = (await http.get(f"{store}/menus?include=menu_items")).json()
        links = {item["attributes"]["name"]: item["attributes"]["link"] for item in menus["included"]}
        pages = [(await http.get(f"{store}/cms_pages/{slug}")).json() for slug in ("about-us", "shipping-and-returns")]
        names = [item["attributes"]["name"] for item in (await http.get(f"{store}/policies")).json()["data"]]
        policies = [await http.get(f"{store}{links[name]}") for name in names]

    assert {menu["attributes"]["location"] for menu in menus["data"]} == {"footer", "header"}
    assert all(catalog_section in links for sections in DEPARTMENTS.values() for catalog_section in sections)
    assert links["Lanterns"] == "/t/departments/light/lanterns"
    assert all("<h2>" in page["data"]["attributes"]["content"] for page in pages)
    assert names == ["Terms of service", "Privacy policy", "Returns policy", "Shipping policy"]
    assert [answer.status_code for answer in policies] == [200] * 4


async def test_the_product_index_equals_a_new_computation(demo_db: Any, demo_url: str) -> None:
    # The count of sales is not computed from other tables.
    query = "select (to_jsonb(t) - 'sold_count')::text from {} t order by 1"
    before = [await demo_db.fetch(query.format(table)) for table in ("listings", "listing_facets")]
    ids = [row["id"] for row in await demo_db.fetch("select id from products")]

    async with operator_context(demo_url) as ctx:
        await demo_db.execute("delete from listings")
        await demo_db.execute("delete from listing_facets")
        async with ctx.db.transaction():
            await product_index.refresh(ctx.db, ids)

    after = [await demo_db.fetch(query.format(table)) for table in ("listings", "listing_facets")]
    assert len(before[0]) == 60
    assert len(before[1]) > 100
    assert before == after


async def test_stock_counts_are_consistent_and_some_products_are_sold_out(demo_db: Any, demo_url: str) -> None:
    async with operator_context(demo_url) as ctx:
        wrong = await stock.list_wrong_counts(ctx.db)

    counts = await demo_db.fetch(
        "select l.name, sum(count_on_hand) from stock_items join stock_locations l"
        " on l.id = stock_location_id group by 1"
    )
    sold_out = await demo_db.fetchval("select count(*) from listings where not in_stock and not backorderable")
    to_order = await demo_db.fetchval("select count(*) from listings where not in_stock and backorderable")
    assert wrong == []
    assert len(counts) == 2
    assert all(row["sum"] > 100 for row in counts)
    assert sold_out == sum(1 for product in PRODUCTS if product.stock == "gone") > 0
    assert to_order == sum(1 for product in PRODUCTS if product.stock == "to order") > 0


async def test_each_demo_customer_pays_the_prices_of_the_banner(demo_db: Any, demo_url: str) -> None:
    async def price_of(email: str, name: str, quantity: int = 1) -> int | None:
        user_id = await demo_db.fetchval("select id from users where email = $1", email)
        variant_id = await demo_db.fetchval(
            "select default_variant_id from listings join products p on p.id = product_id where p.name = $1", name
        )
        async with operator_context(demo_url) as ctx:
            terms = await prices.find_pricing(ctx.db, user_id, "USD")
            return (await prices.resolve(ctx.db, terms, [variant_id], quantity))[variant_id].amount

    plain = SHOPPERS[2]
    assert [await price_of(person.email, "Widow's Trowel") for person in (plain, WHOLESALE, CONTRACT)] == [
        2400,
        1920,
        2160,
    ]
    assert [await price_of(CONTRACT.email, "Widow's Trowel", count) for count in (9, 10, 50)] == [2160, 1920, 1680]
    assert await price_of(CONTRACT.email, "Heron Coat", 50) == await price_of(plain.email, "Heron Coat") == 18500


@pytest.mark.parametrize("person", SHOPPERS, ids=lambda person: person.first_name)
async def test_the_demo_customers_can_sign_in(demo: Service, person: Any) -> None:
    async with demo.client() as http:
        await ask_for_code(http, person.email)
        answer = await exchange_code(http, person.email, await mailed_code(http, person.email))

    assert answer.status == 200
    assert person.email in "".join(demo.lines)


async def test_the_demo_promotions_and_store_credit_match_the_banner(demo_db: Any, demo: Service) -> None:
    products = await demo_db.fetch("select id, name from products where name in ('Moonflower Seeds', 'Heron Coat')")
    product_ids = {row["name"]: str(row["id"]) for row in products}
    async with demo.client() as http:
        tess = await sign_in(http, PLAIN.email)
        credit = (await tess.get("/account"))["store_credits"]
        await tess.post("/cart")

        async def add_to_cart(name: str) -> Answer:
            product = await tess.get(f"/products/{product_ids[name]}")
            variant = product.json["data"]["relationships"]["default_variant"]["data"]["id"]
            return await tess.post("/cart/add_item", variant_id=variant)

        seeds = await add_to_cart("Moonflower Seeds")
        refusal = await tess.patch("/cart/apply_coupon_code", coupon_code=COUPON)
        coat = await add_to_cart("Heron Coat")
        await tess.patch("/checkout", order={"bill_address_attributes": ADDRESS, "use_billing": True})
        await tess.get("/checkout/shipping_rates")
        await tess.patch("/cart/apply_coupon_code", coupon_code=COUPON)
        cart = await tess.get("/cart?include=promotions")
        with_credit = await tess.post("/checkout/add_store_credit")

    assert (seeds["promo_total"], coat["promo_total"]) == ("-0.42", "-0.42")
    assert (refusal.status, refusal.code) == (422, "coupon_not_eligible")
    assert promotions_of(cart) == {
        "Sowing season": ("-0.42", None),
        "The carrier is on us": ("-4.9", None),
        "Moonrise": ("-5.0", "moonrise"),
    }
    assert credit == "25.0"
    assert Decimal(with_credit["total"]) - Decimal(with_credit["total_minus_store_credits"]) == 25
    output = "".join(demo.lines)
    assert f"{COUPON}, 5 dollars off an order of 20 or more." in output
    assert "Tess, pays regular prices, and has 25 dollars of store credit" in output


async def test_every_image_is_served(demo_db: Any, demo: Service) -> None:
    ids = [row["id"] for row in await demo_db.fetch("select id from images")]

    async with demo.client() as http:
        responses = [await http.get(f"/media/{image_id}/480.webp") for image_id in ids]

    assert {answer.status_code for answer in responses} == {200}
    assert len(ids) == IMAGES
    # A product has its image and one in each of its colors.
    images_of_products = sum(1 + len(product.options.get("colour", ())) for product in PRODUCTS)
    images_of_sections = sum(map(len, DEPARTMENTS.values()))
    assert len({answer.content for answer in responses}) == images_of_products + images_of_sections + OTHER_IMAGES
    assert await demo_db.fetchval("select count(*) from loose_files") == 0


def _example(path: str, match: re.Match[str]) -> str:
    return example_of(match[1], path)


async def test_the_records_of_the_reference_examples_exist(demo: Service) -> None:
    """The examples of the catalog, which is public; the others need data of the reader."""
    public = [route.path for route in ROUTES if route.is_cacheable]
    paths = [re.sub(r"{([a-z]+)[*]?}", partial(_example, path), path) for path in public]
    async with demo.client() as http:
        statuses = {path: (await http.get(path)).status_code for path in paths}

    assert len(statuses) > 12
    assert [path for path, status in statuses.items() if status != 200] == []


@pytest.mark.torture
async def test_starting_the_demo_again_changes_nothing(demo_db: Any, demo: Service) -> None:
    before = await read_tables(demo_db)

    again = Service("--demo", **{name: text for name, text in demo.environ.items() if name.startswith("SHOP_")})
    again.stop()

    assert await read_tables(demo_db) == before
    assert [sum("Created the demo shop" in line for line in service.lines) for service in (demo, again)] == [1, 0]
    assert WHOLESALE.email in "".join(again.lines)


@pytest.mark.torture
async def test_a_shop_with_data_is_not_changed(own_database: Any, tmp_path: Path) -> None:
    url = own_database()
    connection = await asyncpg.connect(url)
    await connection.execute(
        "insert into products (id, name, slug, created_at, updated_at)"
        " values (gen_random_uuid(), 'Mine', 'mine', now(), now())"
    )
    before = await read_tables(connection)

    service = Service("--demo", **environ_of(url, tmp_path))
    service.stop()

    assert await read_tables(connection) == before
    assert await connection.fetchval("select name from shops") == "Shop"
    assert WHOLESALE.email not in "".join(service.lines)
    assert not (tmp_path / "media").exists()
    await connection.close()


async def count_lock_waiters(connection: Any, table: str) -> int:
    """The number of sessions that wait for a lock on a table."""
    count = "select count(*) from pg_locks where relation = $1::regclass and not granted"
    return int(await connection.fetchval(count, table))


def start_demo(environ: dict[str, str], terminal: int) -> "subprocess.Popen[bytes]":
    process = subprocess.Popen([SHOP, "serve", "--demo", "--port", "0"], env=environ, stderr=terminal)
    os.close(terminal)
    return process


@pytest.mark.torture
async def test_creating_the_demo_shows_progress_and_takes_less_than_15_seconds(
    own_database: Any, tmp_path: Path
) -> None:
    terminal, child_terminal = pty.openpty()
    environ = clean_environ(**environ_of(own_database(), tmp_path), TERM="xterm", COLUMNS="100")
    process = start_demo(environ, child_terminal)

    output = await asyncio.to_thread(_read_until, terminal, CREATED_MESSAGE)
    process.terminate()
    await asyncio.to_thread(_read_all, terminal)
    process.wait(20)

    match = CREATED_MESSAGE.search(output)
    assert match, output
    assert float(match[1]) < 15
    shares = [int(share) for share in re.findall(rf"Creating {NAME}[^%]*?([0-9]+)%", output)]
    assert len(set(shares)) > 2
    assert shares == sorted(shares)
    assert 0 <= shares[0] < shares[-1] <= 100


@pytest.mark.torture
async def test_a_killed_demo_creation_leaves_no_data_and_can_be_repeated(own_database: Any, tmp_path: Path) -> None:
    url = own_database()
    connection, locker = await asyncpg.connect(url), await asyncpg.connect(url)
    terminal, child_terminal = pty.openpty()
    environ = clean_environ(**environ_of(url, tmp_path), TERM="xterm", COLUMNS="100")
    async with locker.transaction():
        # Price lists come last: a process that waits for them has created all products.
        await locker.execute("lock table price_lists in share mode")
        process = start_demo(environ, child_terminal)
        while not await count_lock_waiters(connection, "price_lists"):
            assert process.poll() is None
        process.kill()
        process.wait(10)
    output = await asyncio.to_thread(_read_all, terminal)

    assert f"Creating {NAME}" in output
    assert [await connection.fetchval(f"select count(*) from {table}") for table in ("products", "users")] == [0, 0]
    assert await connection.fetchval("select name from shops") == "Shop"
    assert await connection.fetchval("select count(*) from loose_files") == IMAGES

    async with operator_context(url, data_dir=tmp_path) as ctx:
        assert await load_demo(ctx, lambda _step, _steps: None)
    assert await connection.fetchval("select count(*) from products") == 60
    await connection.close()
    await locker.close()


@pytest.mark.torture
@pytest.mark.parametrize("signal_number", [signal.SIGTERM, signal.SIGKILL])
async def test_a_signal_during_the_demo_creation_ends_it_and_a_crash_is_reported(
    own_database: Any, tmp_path: Path, signal_number: signal.Signals
) -> None:
    """Only the shop gets SIGTERM, or only the process that creates the demo is killed."""
    url = own_database()
    connection, locker = await asyncpg.connect(url), await asyncpg.connect(url)
    terminal, child_terminal = pty.openpty()
    async with locker.transaction():
        await locker.execute("lock table price_lists in share mode")
        process = start_demo(clean_environ(**environ_of(url, tmp_path), TERM="xterm", COLUMNS="100"), child_terminal)
        # Read continuously: a full terminal would block the shop.
        reading = asyncio.create_task(asyncio.to_thread(_read_all, terminal))
        while not await count_lock_waiters(connection, "price_lists"):
            assert process.poll() is None
        (loader,) = psutil.Process(process.pid).children()
        loader.suspend()  # A suspended process does not end by itself.
        (loader if signal_number == signal.SIGKILL else process).send_signal(signal_number)
        status = await asyncio.to_thread(process.wait, 10)
    output = await reading

    assert not psutil.pid_exists(loader.pid)
    assert status != 0
    assert "Traceback" not in output
    assert (signal_number == signal.SIGKILL) == ("could not be created" in output)
    assert await connection.fetchval("select count(*) from products") == 0
    await connection.close()
    await locker.close()


@pytest.mark.torture
async def test_an_interrupted_demo_creation_leaves_no_data_and_can_be_repeated(
    own_database: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    some_products = all_products()[::10]
    monkeypatch.setattr(shop, "all_products", lambda: some_products)
    url = own_database()
    connection = await asyncpg.connect(url)

    def interrupt(step: int, steps: int) -> None:
        if step == steps:
            raise KeyboardInterrupt

    async with operator_context(url, data_dir=tmp_path) as ctx:
        with pytest.raises(KeyboardInterrupt):
            await load_demo(ctx, interrupt)
        row_counts = [await connection.fetchval(f"select count(*) from {table}") for table in ("products", "users")]
        shop_name = await connection.fetchval("select name from shops")
        loose = await connection.fetchval("select count(*) from loose_files")
        assert await load_demo(ctx, lambda _step, _steps: None)

    image_count = sum(1 + len(combinations(product)) for _, product in some_products)
    assert (row_counts, shop_name, loose) == (
        [0, 0],
        "Shop",
        image_count + len({catalog_section for catalog_section, _ in some_products}) + OTHER_IMAGES,
    )
    assert await connection.fetchval("select count(*) from products") == 6
    await connection.close()


def _read_until(terminal: int, word: re.Pattern[str]) -> str:
    output = ""
    while not word.search(output):
        output += os.read(terminal, 65536).decode(errors="replace")
    return output


def _read_all(terminal: int) -> str:
    output = b""
    try:
        while part := os.read(terminal, 65536):
            output += part
    except OSError:
        pass  # Reading a pseudo-terminal without a writer is an error.
    os.close(terminal)
    return output.decode(errors="replace")


@pytest.mark.torture
async def test_of_two_concurrent_demo_creations_one_succeeds(
    own_database: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    some_products = all_products()[::10]
    monkeypatch.setattr(shop, "all_products", lambda: some_products)
    url = own_database()
    progress: list[tuple[int, int]] = []
    async with operator_context(url, data_dir=tmp_path) as one, operator_context(url, data_dir=tmp_path) as other:
        results = await asyncio.gather(
            load_demo(one, lambda *steps: progress.append(steps)), load_demo(other, lambda *_steps: None)
        )

    connection = await asyncpg.connect(url)
    assert sorted(results) == [False, True]
    assert await connection.fetchval("select count(*) from products") == 6
    assert (progress[0], {steps for _, steps in progress}) == ((1, 12), {12})
    await connection.close()


def test_product_images_are_deterministic_and_distinct() -> None:
    first = [
        draw_product(catalog_section, product.name, product.moon) for catalog_section, product in all_products()[:12]
    ]
    second = [
        draw_product(catalog_section, product.name, product.moon) for catalog_section, product in all_products()[:12]
    ]

    assert first == second
    assert len(set(first)) == 12
    assert open_image(first[0]).size == (480, 480)


def test_an_image_of_a_category_is_always_drawn_alike_and_no_two_are_the_same() -> None:
    def draw() -> list[bytes]:
        departments = [draw_group(name, list(sections)) for name, sections in DEPARTMENTS.items()]
        return [*departments, *map(draw_moon, MOONS), draw_hero()]

    first = draw()

    assert first == draw()
    assert len(set(first)) == OTHER_IMAGES
    assert [open_image(first[0]).size, open_image(first[-1]).size] == [(480, 360), (1600, 900)]


async def test_the_home_page_shows_products_that_can_be_bought(demo_db: Any) -> None:
    settings = msgspec.convert(json.loads(await demo_db.fetchval("select website from shops")), WebsiteSettings)
    featured = await demo_db.fetchval(
        "select count(*) from listings where product_id = any($1) and in_stock", list(settings.featured_product_ids)
    )
    free_shipping = next(promotion for promotion in shop.PROMOTIONS if promotion.benefit == "free_shipping")

    assert featured == len(settings.featured_product_ids) == len(FEATURED_PRODUCTS)
    assert len(settings.featured_taxon_ids) == len(FEATURED_TAXONS)
    assert f"${free_shipping.minimum_totals['USD']} or more" in settings.announcement
    assert accent_error(settings.accent) is None
    assert settings.hero_image
    assert await demo_db.fetchval("select shop_id from images where id = $1", settings.hero_image.id) == 1


def test_the_banner_lists_demo_customers_and_where_to_read_the_login_code() -> None:
    with_demo = banner("127.0.0.1", 8000, cors_origins=(), has_mailbox=True, has_demo=True)
    without_demo = banner("127.0.0.1", 8000, cors_origins=(), has_mailbox=True)

    for person in SHOPPERS:
        assert f"{person.email}" in with_demo
        assert person.email not in without_demo
    assert (COUPON in with_demo, COUPON in without_demo) == (True, False)
    assert "http://127.0.0.1:8000/mailbox:" in with_demo.replace("\n", " ")
    assert "SHOP_CORS_ORIGINS=" in without_demo
    origin = "https://store.example.com"
    assert f"browsers may call from {origin}" in banner("127.0.0.1", 8000, cors_origins=(origin,), has_mailbox=True)
    assert "their e-mail address" in banner("127.0.0.1", 8000, cors_origins=(), has_mailbox=False, has_demo=True)
