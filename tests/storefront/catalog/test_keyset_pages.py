"""Keyset pages with `page[after]`: each record once, whatever changes between two requests."""

from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import httpx2
import pytest

from tests.accounts import sign_in
from tests.builders import Make
from tests.checkout_builders import ADDRESS
from tests.shopper import Answer, Shopper
from tests.storefront.product_lists import CatalogSection, ids


async def walk_pages(get_page: Any, **params: str) -> list[str]:
    """The ids of the records on all pages, in order."""
    record_ids: list[str] = []
    after: str | None = ""
    while after is not None:
        page: Answer = await get_page(**params, **{"page[after]": after, "per_page": "2"})
        assert page.status == 200, page
        assert "total_count" not in page.json["meta"]
        record_ids += ids(page)
        following = page.json["links"].get("next")
        after = parse_qs(urlsplit(following).query)["page[after]"][0] if following else None
    return record_ids


SORTS = (
    "",
    "name",
    "-name",
    "price",
    "-price",
    "-updated_at",
    "available_on",
    "-available_on",
    "sku",
    "position",
    "id",
)


@pytest.fixture
async def five_product_ids(make: Make, catalog_section: CatalogSection) -> list[str]:
    """Two of them have the same name and price, and some have no date of availability."""
    days = [None, "2020-01-02", None, "2020-01-01", "2020-01-02"]
    names, prices = ["Mug", "Mug", "Pot", "Lamp", "Jug"], ["5.0", "5.0", "2.5", "9.0", "7.0"]
    return [
        (await make.product(name=name, price=price, taxons=[catalog_section.root], available_on=day)).id
        for name, price, day in zip(names, prices, days, strict=True)
    ]


@pytest.mark.parametrize("sort", SORTS)
async def test_keyset_pages_list_all_records_in_order(
    catalog_section: CatalogSection, five_product_ids: list[str], sort: str
) -> None:
    sort_params = {"sort": sort} if sort else {}

    whole = ids(await catalog_section.get(**sort_params, per_page="500"))

    assert sorted(whole) == sorted(five_product_ids)
    assert await walk_pages(catalog_section.get, **sort_params) == whole


@pytest.mark.parametrize("by", ["newest-first", "best-selling", "price-high-to-low", "manual"])
async def test_keyset_pages_support_sort_by(
    catalog_section: CatalogSection, five_product_ids: list[str], by: str
) -> None:
    whole = ids(await catalog_section.get(sort_by=by, per_page="500"))

    assert len(five_product_ids) == len(whole)
    assert await walk_pages(catalog_section.get, sort_by=by) == whole


async def test_a_product_created_between_two_pages_causes_no_duplicates(
    make: Make, catalog_section: CatalogSection, five_product_ids: list[str]
) -> None:
    first = await catalog_section.get(sort="name", per_page="2", **{"page[after]": ""})
    await make.product(name="Aa", price="1.0", taxons=[catalog_section.root])

    second = await catalog_section.guest.ask("GET", first.json["links"]["next"].partition("/api/v2/storefront")[2])

    whole = [*ids(first), *ids(second)]
    assert len(set(whole)) == len(whole) == 4


@pytest.mark.parametrize("query", ["page[after]=nonsense", "page[after]=&sort=name,price", "page[after]=&q=mug"])
async def test_an_invalid_cursor_is_malformed(guest: Shopper, query: str) -> None:
    refusal = await guest.get(f"/products?{query}")

    assert (refusal.status, refusal.code) == (400, "bad_page")


@pytest.mark.parametrize("path", ["/taxons", "/countries"])
async def test_public_lists_support_keyset_paging(guest: Shopper, make: Make, path: str) -> None:
    for _ in range(3):
        await make.taxonomy()
    whole = ids(await guest.get(path, per_page="500"))
    first = await guest.get(f"{path}?per_page=100&page[after]=")

    assert ids(first) == whole[:100]
    if len(whole) > 100:
        second = await guest.ask("GET", first.json["links"]["next"].partition("/api/v2/storefront")[2])
        assert ids(second) == whole[100:200]


async def test_keyset_pages_of_taxons_follow_the_order_of_their_trees(guest: Shopper, make: Make) -> None:
    taxonomy, root = await make.taxonomy()
    for name in ("One", "Two", "Three"):
        await make.taxon(name, root)
    whole = ids(await guest.get(f"/taxons?filter[taxonomy_id]={taxonomy}"))

    async def get_page(**params: str) -> Answer:
        return await guest.ask("GET", "/taxons", params={"filter[taxonomy_id]": taxonomy, **params})

    assert len(whole) == 4
    assert await walk_pages(get_page) == whole


async def test_account_lists_support_keyset_paging(http: httpx2.AsyncClient) -> None:
    member = await sign_in(http)
    address_ids = [(await member.post("/account/addresses", address=ADDRESS)).id for _ in range(3)]

    async def get_page(**params: str) -> Answer:
        return await member.ask("GET", "/account/addresses", params=params)

    assert sorted(await walk_pages(get_page)) == sorted(address_ids)
    for path in ("/account/orders", "/account/credit_cards", "/account/sessions", "/wishlists"):
        page = await member.ask("GET", path, params={"page[after]": "", "per_page": "1"})
        assert (page.status, "total_count" in page.json["meta"]) == (200, False), path


async def test_pages_policies_and_menus_support_keyset_paging(guest: Shopper, make: Make) -> None:
    fields = {"title": f"Page {uuid4().hex}"}, {"name": f"Menu {uuid4().hex}"}
    created_ids: dict[str, list[str]] = {"/cms_pages": [], "/menus": []}
    for number in range(3):
        created_ids["/cms_pages"].append(
            (await make.new("cms_pages", "cms_page", slug=f"p{uuid4().hex}", **fields[0])).id
        )
        location = f"footer-{3 - number}"
        created_ids["/menus"].append((await make.new("menus", "menu", location=location, **fields[1])).id)

    for (path, expected_ids), (name_filter,) in zip(
        created_ids.items(), (record_fields.items() for record_fields in fields), strict=True
    ):

        async def get_page(path: str = path, name_filter: tuple[str, str] = name_filter, **params: str) -> Answer:
            return await guest.ask("GET", path, params={f"filter[{name_filter[0]}]": name_filter[1], **params})

        assert await walk_pages(get_page) == expected_ids
    assert (await guest.get("/policies?page[after]=")).status == 200
