"""The matches of a search, or of a choice of taxons and options, are kept until what decides them changes."""

from typing import Any
from uuid import UUID

import msgspec
import pytest

from shop.actions.context import MATCH_BYTES
from shop.base.caches.sized_cache import SizedCache
from shop.base.listing import Page
from shop.models.catalog.storefront import ProductMatches
from tests.builders import Make, ProductIds
from tests.storefront.catalog_workers import Worker
from tests.storefront.product_lists import CatalogSection, word

_OWN = "where product_id = $1"
CHANGES = {
    "a text": f"update listings set search = to_tsvector('simple', 'other') {_OWN}",
    "the text again": f"update listings set search = to_tsvector('simple', 'searched') {_OWN}",
    "a taxon": f"update listings set within_taxon_ids = '{{}}' {_OWN}",
    "the taxon again": f"update listings set within_taxon_ids = taxon_ids {_OWN}",
    "an option": f"update listings set facet_ids = '{{}}' {_OWN}",
    "the options again": "update listings set facet_ids = (select other.facet_ids from listings other "
    "where other.taxon_ids = listings.taxon_ids and cardinality(other.facet_ids) > 0 limit 1) where product_id = $1",
    "a currency": f"update listings set currencies = '{{EUR}}' {_OWN}",
    "the currency again": f"update listings set currencies = '{{USD}}' {_OWN}",
    "it becomes a draft": f"update listings set is_active = false {_OWN}",
    "it is active again": f"update listings set is_active = true {_OWN}",
    "it appears later": f"update listings set available_on = now() + interval '1 day' {_OWN}",
    "it has appeared": f"update listings set available_on = null {_OWN}",
    "it has ended": f"update listings set discontinue_on = now() - interval '1 day' {_OWN}",
    "it does not end": f"update listings set discontinue_on = null {_OWN}",
    "it is deleted": f"delete from listings {_OWN}",
}
"""Changes by other programs: no action of the shop takes part in any of them."""


async def new_products(make: Make, section: CatalogSection, count: int) -> tuple[list[ProductIds], dict[str, str]]:
    """Makes products of a taxon; returns them with a search, by text, taxon and option, that all of them match."""
    taxon, kind, text = await make.taxon(word(), section.root), word(), word()
    products = [
        await make.product(f"Searched {text} {number}", taxons=[taxon], options={kind: ["s"]})
        for number in range(count)
    ]
    return products, {"filter[taxons]": taxon, f"filter[options][{kind}]": "s", "q": "searched"}


def ids_of(body: bytes) -> list[str]:
    return [record["id"] for record in msgspec.json.decode(body)["data"]]


def total_of(body: bytes) -> int:
    return int(msgspec.json.decode(body)["meta"]["total_count"])


async def test_every_change_of_the_matches_is_in_the_next_response_of_every_worker(
    make: Make, catalog_section: CatalogSection, workers: list[Worker], db: Any
) -> None:
    (first, second), search = await new_products(make, catalog_section, 2)
    for worker in workers:
        assert set(ids_of(await worker.get(search))) == {first.id, second.id}

    for number, (name, change) in enumerate(CHANGES.items()):
        await db.execute(change, UUID(first.id))
        bodies = [await worker.get(search) for worker in workers]
        expected = {second.id} if number % 2 == 0 else {first.id, second.id}
        assert [set(ids_of(body)) for body in bodies] == [expected, expected], name
        assert [total_of(body) for body in bodies] == [len(expected)] * 2, name


async def test_a_new_product_is_in_the_next_response_of_every_worker(
    make: Make, catalog_section: CatalogSection, workers: list[Worker]
) -> None:
    search = {"filter[taxons]": catalog_section.root, "q": word()}
    assert [ids_of(await worker.get(search)) for worker in workers] == [[], []]

    product = await make.product(search["q"], taxons=[catalog_section.root])

    assert [ids_of(await worker.get(search)) for worker in workers] == [[product.id]] * 2


async def test_a_new_position_is_in_the_next_response_of_every_worker(
    make: Make, catalog_section: CatalogSection, workers: list[Worker], db: Any
) -> None:
    (first, second), search = await new_products(make, catalog_section, 2)
    category = {"filter[taxons]": search["filter[taxons]"], "sort": "position"}

    for position, expected in ((9, [second.id, first.id]), (-9, [first.id, second.id])):
        await db.execute(f"update classifications set position = {position} where product_id = $1", UUID(first.id))
        assert [ids_of(await worker.get(category)) for worker in workers] == [expected, expected]


async def test_a_price_and_a_sale_change_no_matches(
    make: Make, catalog_section: CatalogSection, workers: list[Worker], db: Any
) -> None:
    (product,), search = await new_products(make, catalog_section, 1)
    worker = workers[0]
    await worker.get(search)
    before = matches_of(worker)

    await db.execute("update prices set amount = 77 where variant_id = $1", UUID(product.variant_id))
    await db.execute("update stock_items set count_on_hand = 0 where variant_id = $1", UUID(product.variant_id))
    await db.execute("update listings set in_stock = false, image_ids = '{}' where product_id = $1", UUID(product.id))
    body = await worker.get(search)

    assert b'"price":"0.77"' in body
    assert len(before) == 1
    assert matches_of(worker) == before


def matches_of(worker: Worker) -> set[int]:
    """The identities of what the worker keeps."""
    values = [value for (_, value), _ in worker.shared.matches._entries.values()]
    return {id(value) for value in values if isinstance(value, ProductMatches)}


async def test_a_product_whose_end_has_come_is_gone_before_it_is_refreshed(
    make: Make, catalog_section: CatalogSection, workers: list[Worker], db: Any
) -> None:
    (first, second), search = await new_products(make, catalog_section, 2)
    async with db.transaction():
        soon = "clock_timestamp() + interval '400 ms'"
        change = f"update listings set discontinue_on = {soon}, next_look_at = {soon} where product_id = $1"
        await db.execute(change, UUID(first.id))
    async with db.transaction():
        # The lock keeps the worker from updating the listing.
        await db.execute("select from listings where product_id = $1 for update", UUID(first.id))
        before = await workers[0].get(search)
        await db.execute("select pg_sleep(0.5)")
        after = await workers[0].get(search)

    assert [set(ids_of(body)) for body in (before, after)] == [{first.id, second.id}, {second.id}]


async def test_the_pages_of_a_search_are_parts_of_one_order(
    make: Make, catalog_section: CatalogSection, workers: list[Worker]
) -> None:
    _, search = await new_products(make, catalog_section, 5)
    whole = await workers[0].get(search)

    pages = [await workers[0].get({**search, "per_page": "2", "page": str(number)}) for number in range(1, 5)]

    assert [product_id for page in pages for product_id in ids_of(page)] == ids_of(whole)
    assert [total_of(page) for page in pages] == [5] * 4


async def test_a_page_after_the_last_of_a_search_has_the_total(
    make: Make, catalog_section: CatalogSection, workers: list[Worker]
) -> None:
    _, search = await new_products(make, catalog_section, 3)
    # Prices are no part of the matches in memory.
    params = {**search, "filter[price]": "1,1000", "per_page": "2"}

    pages = [await workers[0].get({**params, "page": page}) for page in ("1", "3")]

    assert [(len(ids_of(page)), total_of(page)) for page in pages] == [(2, 3), (0, 3)]


@pytest.mark.parametrize(
    ("page", "places"),
    [(Page(1, 2), [0, 1]), (Page(2, 2), [2]), (Page(3, 2), []), (Page(1, 25), [0, 1, 2])],
)
def test_a_page_of_few_matches_ends_with_the_last(page: Page, places: list[int]) -> None:
    ids = [UUID(int=number) for number in range(3)]

    assert ProductMatches(b"".join(each.bytes for each in ids), 3).page(page) == [ids[place] for place in places]


def test_a_page_beyond_the_matches_that_were_read_is_unknown() -> None:
    matches = ProductMatches(bytes(16 * 10), 1000)

    assert matches.page(Page(5, 2)) == [UUID(int=0)] * 2
    assert matches.page(Page(6, 2)) is None


def test_the_matches_of_a_hundred_searches_are_kept_in_bounded_memory() -> None:
    cache = SizedCache(MATCH_BYTES)
    for number in range(1_000):
        cache.save(number, b"", 16 * 500 + 600)
        assert cache.size <= MATCH_BYTES

    assert len(cache) >= 100
