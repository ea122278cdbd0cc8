"""Public pages are rendered once for each version of the catalog, and never served when they are stale."""

from collections.abc import Awaitable, Callable
from typing import Any

import asyncpg
import httpx2
import pytest
from sqlalchemy import Table

from shop.base.caches.response_cache import CachedResponse, ResponseCache
from shop.queries.catalog import columns as catalog_columns
from shop.queries.catalog import priced_products, product_filters, product_lists, storefront, taxons
from shop.queries.catalog import prices as price_queries
from shop.queries.content import menus, pages
from tests.accounts import sign_in
from tests.builders import Make, ProductIds
from tests.checkout_builders import set_stock
from tests.db.processes import until
from tests.service import Service
from tests.shopper import Answer, Shopper
from tests.storefront.product_lists import CatalogSection, names, prices, word

WHOLE = "default_variant,variants.option_values,images,taxons,product_properties,option_types"
PERSONAL = {"price_list_users", "price_list_groups", "customer_group_members", "users", "sessions", "access_tokens"}
"""Tables about customers and their price lists: every request reads them."""
Act = Callable[[Make, Any, ProductIds], Awaitable[Any]]


def statements_of(service: Service, answer: Answer) -> int:
    return int(service.request_line(answer.request_id)["statements"])


async def create_stocked_product(make: Make, catalog_section: CatalogSection, on_hand: int = 5) -> ProductIds:
    fields: Any = {"options": {word(): ["m"]}, "properties": {word(): "Clay"}}
    return await make.product(taxons=[catalog_section.root], on_hand=on_hand, **fields)


@pytest.fixture
async def no_pending_changes(db: Any) -> None:
    """Waits until no product, for example of another test, is about to appear or disappear at a scheduled time."""

    async def has_no_pending_changes() -> bool:
        soon = "select not exists (select from listings where next_look_at < now() + interval '3 s')"
        return bool(await db.fetchval(soon))

    await until(has_no_pending_changes)


@pytest.mark.usefixtures("no_pending_changes")
async def test_a_page_is_rendered_once_and_then_costs_one_statement(
    make: Make, service: Service, catalog_section: CatalogSection
) -> None:
    await create_stocked_product(make, catalog_section)

    first, again = await catalog_section.get(include=WHOLE), await catalog_section.get(include=WHOLE)

    assert (statements_of(service, first) > 3, statements_of(service, again)) == (True, 1)
    assert again.json == first.json
    assert [again.headers[name] for name in ("etag", "cache-control", "vary")] == [
        first.headers[name] for name in ("etag", "cache-control", "vary")
    ]


@pytest.mark.usefixtures("no_pending_changes")
async def test_a_product_is_read_in_one_statement_and_then_follows_its_changes(
    make: Make, service: Service, catalog_section: CatalogSection, db: Any
) -> None:
    product = await create_stocked_product(make, catalog_section)
    path = f"/products/{product.slug}"

    answers = [await catalog_section.guest.get(path) for _ in range(2)]
    await db.execute("update products set name = 'Cup' where id = $1", product.id)
    answers.append(await catalog_section.guest.get(path))

    assert [statements_of(service, answer) for answer in answers] == [1, 1, 2]
    assert [answer["name"] for answer in answers] == ["Mug", "Mug", "Cup"]


async def test_host_and_currency_are_part_of_the_cache_key(
    make: Make, service: Service, catalog_section: CatalogSection
) -> None:
    await make.product(taxons=[catalog_section.root], prices={"EUR": "8.00"})
    await catalog_section.get()

    elsewhere = await catalog_section.guest.get(
        "/products", headers={"Host": "other.example"}, **{"filter[taxons]": catalog_section.root}
    )

    assert elsewhere.json["links"]["self"].startswith("http://other.example/")
    assert prices(await catalog_section.get(currency="EUR")) == ["8.0"]


ACTS: dict[str, Act] = {
    "a product is renamed": lambda make, _, product: make.change("products", product.id, "product", name="Renamed"),
    "a price is changed": lambda make, _, product: make.change(
        "variants", product.variant_id, "variant", price="11.00"
    ),
    "a price is changed in the database": lambda _, db, product: db.execute(
        "update prices set amount = amount + 1 where variant_id = $1", product.variant_id
    ),
    "the last one is sold, in the database": lambda _, db, product: set_stock(db, product.variant_id, 0),
    "the presentation of an option value is changed": lambda _, db, product: db.execute(
        "update option_values set presentation = presentation || '!' where id in "
        "(select option_value_id from variant_option_values where variant_id = $1)",
        product.variant_id,
    ),
    "a property is changed": lambda _, db, product: db.execute(
        "update product_properties set value = 'Wood' where product_id = $1", product.id
    ),
    "a variant is added": lambda make, _, product: make.variant(product.id, {word(): "xl"}),
    "the product is deleted": lambda make, _, product: make.remove("products", product.id),
}


@pytest.mark.parametrize("act", ACTS)
async def test_the_next_page_is_up_to_date_when(make: Make, catalog_section: CatalogSection, db: Any, act: str) -> None:
    product = await create_stocked_product(make, catalog_section)
    before = await catalog_section.get(include=WHOLE)

    await ACTS[act](make, db, product)

    after = await catalog_section.get(include=WHOLE)
    assert after.json != before.json
    assert after.headers["etag"] != before.headers["etag"]


async def test_an_uncommitted_change_is_not_shown_and_a_committed_one_at_once(
    make: Make, catalog_section: CatalogSection, db: Any
) -> None:
    product = await create_stocked_product(make, catalog_section)
    async with db.transaction():
        await db.execute("update products set name = 'Tomorrow' where id = $1", product.id)
        assert names(await catalog_section.get()) == ["Mug"]

    assert names(await catalog_section.get()) == ["Tomorrow"]


async def test_a_scheduled_change_takes_effect_before_the_worker_records_it(
    make: Make, catalog_section: CatalogSection, db: Any
) -> None:
    product = await create_stocked_product(make, catalog_section)
    await db.execute(
        "update listings set discontinue_on = clock_timestamp() + interval '300 ms', "
        "next_look_at = clock_timestamp() + interval '300 ms' where product_id = $1",
        product.id,
    )
    async with db.transaction():
        # The lock keeps the worker from updating the listing.
        await db.execute("select from listings where product_id = $1 for update", product.id)
        assert names(await catalog_section.get()) == ["Mug"]
        await db.execute("select pg_sleep(0.4)")

        assert names(await catalog_section.get()) == []


@pytest.mark.usefixtures("no_pending_changes")
async def test_a_sale_that_leaves_stock_does_not_invalidate_pages(
    make: Make, catalog_section: CatalogSection, db: Any
) -> None:
    product = await create_stocked_product(make, catalog_section)
    version = "select sum(version) from catalog_versions"
    async with db.transaction(isolation="repeatable_read"):
        before = await db.fetchval(version)

        await set_stock(db, product.variant_id, 4)
        await db.execute("update listings set sold_count = sold_count + 1 where product_id = $1", product.id)

        assert await db.fetchval(version) == before
        await set_stock(db, product.variant_id, 0)
        assert await db.fetchval(version) != before


async def test_concurrent_writers_do_not_wait_for_each_other(
    make: Make, catalog_section: CatalogSection, db: Any, database_url: str
) -> None:
    one, other = (
        await create_stocked_product(make, catalog_section),
        await create_stocked_product(make, catalog_section),
    )
    second = await asyncpg.connect(database_url, server_settings={"lock_timeout": "100ms"})
    change = "update products set name = $2 where id = $1"
    try:
        async with db.transaction():
            await db.execute(change, one.id, "First")
            await second.execute(change, other.id, "Second")
            await catalog_section.get()
            # Not even while all rows that count versions are locked.
            await db.execute("select from catalog_versions for update")
            await second.execute(change, other.id, "Third")
            assert sorted(names(await catalog_section.get())) == ["Mug", "Third"]
    finally:
        await second.close()

    assert sorted(names(await catalog_section.get())) == ["First", "Third"]


async def test_every_table_that_a_public_page_reads_has_a_change_trigger(service: Service, db: Any) -> None:
    # A query module imports the tables that it reads.
    modules = (
        storefront,
        priced_products,
        catalog_columns,
        product_filters,
        menus,
        pages,
        price_queries,
        product_lists,
        taxons,
    )
    table_names = {table.name for module in modules for table in vars(module).values() if isinstance(table, Table)}
    triggers = await db.fetch(
        "select tgrelid::regclass::text as name from pg_trigger where tgname = 'catalog_has_changed'"
    )

    assert {"products", "variants", "taxons", "images", "stock_items", "option_values", "menu_items"} <= table_names
    # A sale alone changes no page.
    others = {"catalog_versions", "product_versions", "listing_sales"}
    assert (table_names | {"shops", "countries", "states"}) - PERSONAL - others <= {row["name"] for row in triggers}


@pytest.mark.usefixtures("no_pending_changes")
async def test_only_customers_with_the_same_price_lists_share_a_cached_page(
    make: Make, service: Service, catalog_section: CatalogSection, http: httpx2.AsyncClient
) -> None:
    product = await make.product(price="10", taxons=[catalog_section.root])
    one, same, less, none = [await sign_in(http) for _ in range(4)]
    half = await make.price_list(users=[await one.id(), await same.id(), await less.id()], percent_off="50")
    fixed_list = await make.price_list(users=[await one.id(), await same.id()], priority=9)
    await make.entry(fixed_list, product.master, "3")

    pages = [await catalog_section.of(shopper) for shopper in (one, same, less, none, catalog_section.guest)]

    assert [prices(answer) for answer in pages] == [["3.0"], ["3.0"], ["5.0"], ["10.0"], ["10.0"]]
    # Only the first page of each kind takes more than one statement.
    assert [statements_of(service, answer) == 1 for answer in pages] == [False, True, False, False, True]
    await make.change("price_lists", half, "price_list", percent_off="10")
    assert [prices(await catalog_section.of(shopper)) for shopper in (same, less)] == [["3.0"], ["9.0"]]
    await make.remove("price_lists", fixed_list)
    assert [prices(await catalog_section.of(shopper)) for shopper in (same, less)] == [["9.0"], ["9.0"]]


async def test_a_404_is_not_cached(make: Make, guest: Shopper) -> None:
    slug = "will-be-there-in-a-moment"
    assert (await guest.get(f"/products/{slug}")).status == 404

    await make.product(slug=slug)

    assert (await guest.get(f"/products/{slug}")).status == 200


def test_the_response_cache_is_bounded_and_evicts_the_least_recently_used() -> None:
    cache = ResponseCache()
    size = ResponseCache.MAX_BYTES // 20 - ResponseCache.ENTRY_BYTES - 2
    for number in range(20):
        cache.save(number, CachedResponse(1, bytes(size), b""))
    assert cache.find(0, 1)

    cache.save(20, CachedResponse(1, bytes(size), b""))
    cache.save(21, CachedResponse(1, bytes(ResponseCache.MAX_BYTES // 10), b""))

    cached_numbers = [number for number in range(22) if cache.find(number, 1)]
    assert cached_numbers == [0, *range(2, 21)]
    assert cache.find(5, 2) is None
    cache.save(22, CachedResponse(1, bytes(size), b""))
    assert cache.find(0, 1)


@pytest.mark.security("H-11")
def test_the_addresses_of_cached_responses_count_too() -> None:
    """Any caller can request one small page with thousands of long addresses."""
    cache = ResponseCache()
    addresses = [f"/suggest?q=a&x={number:08}{'y' * 8000}" for number in range(2000)]

    for address in addresses:
        cache.save(("page", address), CachedResponse(1, b"[]", b""))

    cached_addresses = [address for address in addresses if ("page", address) in cache]
    assert 500 < len(cached_addresses) < ResponseCache.MAX_BYTES / 8000
    assert cached_addresses == addresses[-len(cached_addresses) :]
