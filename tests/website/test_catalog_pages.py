"""Catalog pages of the website: home, categories, search and suggestions; their costs and their accessibility."""

import json
import re
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote

import httpx2
import pytest

from tests.browser import LAPTOP, PHONE, Browser, accessibility_violations, scrolls_sideways, visit
from tests.builders import Make
from tests.db.processes import until
from tests.promotion_builders import TENTH, create_promotion, for_products, new_code
from tests.service import Service
from tests.storefront.product_lists import word
from tests.website.catalog_pages import (
    HOSTILE,
    CatalogVisitor,
    Section,
    add_image,
    count_statements,
    new_rich_product,
)


async def test_the_home_page_shows_the_newest_products(make: Make, visitor: CatalogVisitor, section: Section) -> None:
    product = await make.product(word(), taxons=[section.root])
    image = await add_image(make, product.master)

    page = await visitor.show("/")

    assert product.slug == page.card_names[0]
    assert f"/media/{image}/480.webp" in page.main
    assert page.text.count("<h1>") == 1
    assert page.text.count('fetchpriority="high"') == 1
    assert page.is_indexed


async def test_the_home_page_describes_the_shop_and_its_search_to_search_engines(
    visitor: CatalogVisitor, service: Service
) -> None:
    data = (await visitor.show("/")).structured_data

    assert (data["Organization"]["name"], data["Organization"]["url"]) == ("Tested", f"{service.url}/")
    target = data["WebSite"]["potentialAction"]["target"]["urlTemplate"]
    assert target == f"{service.url}/search?q={{search_term_string}}"


@pytest.fixture
async def settings(db: Any) -> AsyncIterator[Any]:
    """Saves website settings, and restores the former ones."""
    save = "update shops set website = $1::text::jsonb, version = version + 1"
    before = await db.fetchval("select website::text from shops")

    async def save_settings(**values: Any) -> None:
        await db.execute(save, json.dumps(values))

    yield save_settings
    await db.execute(save, before)


async def test_the_home_page_shows_what_the_settings_feature(
    make: Make, visitor: CatalogVisitor, section: Section, settings: Any
) -> None:
    lamps = await make.taxon("Lamps", section.root)
    first, second = [await make.product(word(), taxons=[lamps]) for _ in range(2)]
    gone = await make.product(word(), status="draft")
    image = await add_image(make, second.master, width=1000)
    title = f"Light {word()}"

    await settings(
        hero_title=title,
        hero_text=f"Made by hand {HOSTILE}",
        hero_taxon_id=lamps,
        hero_image_id=image,
        featured_taxon_ids=[lamps],
        featured_product_ids=[second.id, gone.id, first.id],
    )

    async def is_shown() -> bool:
        return title in (await visitor.show("/")).text

    await until(is_shown)
    page = await visitor.show("/")
    assert page.card_names == [second.slug, first.slug]
    assert page.find(r"<h1>(.*?)</h1>") == title
    assert HOSTILE not in page.text
    assert re.findall(r'<a class="tile" href="(.*?)">', page.main) == [f"{section.path}/lamps"]
    assert re.findall(r'<a class="button" href="(.*?)">(.*?)</a>', page.main) == [
        (f"{section.path}/lamps", "Shop Lamps")
    ]
    assert f'src="/media/{image}/960.webp"' in page.main


async def test_a_banner_shows_an_advertised_promotion_while_it_runs(make: Make, visitor: CatalogVisitor) -> None:
    code, name = new_code(), f"Deal {word()}"
    promotion = await create_promotion(
        make, TENTH, name=name, description=HOSTILE, code=code, advertise=True, starts_at="2020-01-01T00:00:00Z"
    )

    async def is_shown() -> bool:
        return name in (await visitor.show("/")).text

    async def is_hidden() -> bool:
        return not await is_shown()

    try:
        await until(is_shown)
        page = await visitor.show("/")
        assert code.upper() in page.find(r'<section class="banner".*?</section>')
        assert HOSTILE not in page.text
        await make.change("promotions", promotion.id, "promotion", expires_at="2020-01-02T00:00:00Z")
        await until(is_hidden)
    finally:
        await make.remove("promotions", promotion.id)


async def test_the_promotion_of_the_settings_comes_before_advertised_ones(
    make: Make, visitor: CatalogVisitor, settings: Any
) -> None:
    product, names = await make.product(), [f"Deal {word()}" for _ in range(2)]
    chosen = await create_promotion(make, TENTH, name=names[0], conditions=[for_products(product)])
    other = await create_promotion(make, TENTH, name=names[1], conditions=[for_products(product)], advertise=True)

    await settings(promotion_id=chosen.id)

    async def is_shown() -> bool:
        return names[0] in (await visitor.show("/")).text

    await until(is_shown)
    assert names[1] not in (await visitor.show("/")).text
    for promotion in (chosen, other):
        await make.remove("promotions", promotion.id)


async def test_a_category_shows_its_way_its_subcategories_and_its_products(
    make: Make, visitor: CatalogVisitor, section: Section, service: Service
) -> None:
    lamps = await make.taxon("Lamps", section.root, description=f"All that glows {HOSTILE}")
    small = await make.taxon("Small ones", lamps)
    await make.taxon("Empty ones", lamps)
    names = [await make.product(word(), taxons=[taxon]) for taxon in (lamps, small)]

    page = await visitor.show(f"{section.path}/lamps")

    assert page.breadcrumbs == ["Home", "Lamps"]
    assert page.find(r"<h1>(.*?)</h1>") == "Lamps"
    assert page.chips == {"Small ones": f"{section.path}/lamps/small-ones"}
    assert sorted(page.card_names) == sorted(product.slug for product in names)
    assert "2 products" in page.main
    assert HOSTILE not in page.text
    assert page.canonical == f"{service.url}{section.path}/lamps"
    steps = page.structured_data["BreadcrumbList"]["itemListElement"]
    assert [(step["name"], step["item"]) for step in steps] == [
        ("Home", f"{service.url}/"),
        ("Lamps", f"{service.url}{section.path}/lamps"),
    ]
    below = await visitor.show(f"{section.path}/lamps/small-ones")
    assert below.breadcrumbs == ["Home", "Lamps", "Small ones"]


@pytest.mark.parametrize("path", ["/t/there-is-no-such-category", "/t/" + "a/" * 60 + "a", "/products/no-such-product"])
async def test_an_unknown_address_is_a_page_that_says_so(visitor: CatalogVisitor, path: str) -> None:
    page = await visitor.show(path)

    assert page.status == 404
    assert page.find(r"<h1>(.*?)</h1>") == "We cannot find this page"


async def test_the_order_of_a_category_can_be_changed(make: Make, visitor: CatalogVisitor, section: Section) -> None:
    for name, price in (("Beta", "3"), ("Alpha", "2"), ("Gamma", "1")):
        await make.product(name, price=price, taxons=[section.root])

    async def names(sort: str) -> list[str]:
        return (await visitor.show(section.path, sort=sort)).card_names

    assert await names("default") == ["Beta", "Alpha", "Gamma"]
    assert await names("newest") == ["Gamma", "Alpha", "Beta"]
    assert await names("price-low") == ["Gamma", "Alpha", "Beta"]
    assert await names("price-high") == ["Beta", "Alpha", "Gamma"]
    assert await names("name") == ["Alpha", "Beta", "Gamma"]
    assert len(await names("best-selling")) == 3


async def test_filters_narrow_a_category_and_can_be_removed_one_by_one(
    make: Make, visitor: CatalogVisitor, section: Section
) -> None:
    size, material = word(), word()
    common: Any = {"taxons": [section.root]}
    await make.product(
        "Cup", price="5", on_hand=3, options={size: ["small", "large"]}, properties={material: "Red clay"}, **common
    )
    await make.product(
        "Bowl", price="15", on_hand=0, options={size: ["large"]}, properties={material: "Glass"}, **common
    )

    async def names(**params: str) -> list[str]:
        return sorted((await visitor.show(section.path, **params)).card_names)

    assert await names() == ["Bowl", "Cup"]
    assert await names(**{f"o[{size}]": "small"}) == ["Cup"]
    assert await names(**{f"o[{size}]": "large"}) == ["Bowl", "Cup"]
    assert await names(**{f"p[{material}]": "glass"}) == ["Bowl"]
    assert await names(in_stock="1") == ["Cup"]
    assert await names(price_min="5.01") == ["Bowl"]
    assert await names(price_max="5") == ["Cup"]
    assert await names(price_min="20", price_max="10") == ["Bowl"]

    page = await visitor.show(
        section.path, **{f"o[{size}]": "small", f"p[{material}]": "red-clay", "price_max": "9.50"}
    )
    assert page.card_names == ["Cup"]
    label = size.capitalize()
    assert list(page.chips) == [f"{label}: Small", f"{material.capitalize()}: Red clay", "Up to $9.50", "Clear all"]
    assert not page.is_indexed
    without_size = await visitor.show(page.chips[f"{label}: Small"])
    assert list(without_size.chips) == [f"{material.capitalize()}: Red clay", "Up to $9.50", "Clear all"]
    assert (await visitor.show(page.chips["Clear all"])).chips == {}


async def test_the_values_of_a_filter_are_sorted_by_their_numbers(
    make: Make, visitor: CatalogVisitor, section: Section
) -> None:
    duration = word()
    for value in ("12 hours", "9 hours", "170 hours"):
        await make.product(taxons=[section.root], properties={duration: value})

    page = await visitor.show(section.path)

    assert re.findall(r"<span>(\d+ hours)</span>", page.main) == ["9 hours", "12 hours", "170 hours"]


async def test_a_filter_that_nothing_matches_can_be_removed(
    make: Make, visitor: CatalogVisitor, section: Section
) -> None:
    await make.product(taxons=[section.root])

    page = await visitor.show(section.path, **{"o[colour]": HOSTILE})

    assert page.card_names == []
    assert "No products match" in page.main
    assert HOSTILE not in page.text
    assert (await visitor.show(page.chips[f"colour: {HOSTILE}"])).card_names == ["Mug"]


@pytest.mark.parametrize(
    "query",
    [
        "page=abc",
        "page=-1",
        "page[after]=x",
        "sort=sideways",
        "sort[]=name",
        "price_min=cheap&price_max=1e99",
        "price_min=-5",
        "price_max=" + "9" * 28,
        "in_stock=maybe",
        "o=red",
        "o[colour][]=red",
        "o[colour][deep]=red",
        "p[]=x",
        "q=%FF",
        "q=%00",
        "a=1&a[b]=2",
        "&".join(f"o[{number}]=" for number in range(30)),
    ],
)
async def test_a_value_that_cannot_be_used_is_ignored(
    make: Make, visitor: CatalogVisitor, section: Section, query: str
) -> None:
    await make.product(taxons=[section.root])

    page = await visitor.show(f"{section.path}?{query}")

    assert (page.status, page.card_names) == (200, ["Mug"])


async def test_a_long_category_has_pages_with_links(
    make: Make, visitor: CatalogVisitor, section: Section, service: Service
) -> None:
    for number in range(25):
        await make.product(f"Mug {number:02}", taxons=[section.root], price=str(1 + number))

    first, second = await visitor.show(section.path), await visitor.show(section.path, page="2")

    assert [len(first.card_names), second.card_names] == [24, ["Mug 24"]]
    assert f'<a href="{section.path}?page=2" rel="next">' in first.main
    assert 'rel="prev"' not in first.main
    assert f'<a href="{section.path}" rel="prev">' in second.main
    assert 'rel="next"' not in second.main
    assert second.canonical == f"{service.url}{section.path}?page=2"
    assert "25 products" in second.main
    assert [(await visitor.show(section.path, page=number)).status for number in ("3", "99999999999")] == [404, 404]
    filtered = await visitor.show(section.path, price_min="1", sort="name")
    assert f'href="{section.path}?price_min=1&amp;sort=name&amp;page=2" rel="next"' in filtered.main


async def test_a_search_finds_products_by_their_words(make: Make, visitor: CatalogVisitor) -> None:
    text = word()
    await make.product(f"Lantern {text}")
    await make.product("Kettle", description=f"Goes with the {text}")

    page = await visitor.show("/search", q=text)

    assert page.card_names == [f"Lantern {text}", "Kettle"]
    assert page.find(r"<h1>(.*?)</h1>") == f"Results for “{text}”"
    assert not page.is_indexed
    assert (await visitor.show("/search", q=text, sort="name")).card_names == ["Kettle", f"Lantern {text}"]


async def test_a_search_without_results_offers_categories(
    make: Make, visitor: CatalogVisitor, section: Section
) -> None:
    lamps = await make.taxon(word(), section.root)
    await make.product(taxons=[lamps])

    pages = [await visitor.show("/search", q=text) for text in (f"{HOSTILE} {word()}", "!!!")]

    for page in pages:
        assert page.status == 200
        assert "Browse the categories" in page.main
        assert page.chips
        assert HOSTILE not in page.text


async def test_suggestions_are_the_best_products_with_image_and_price(
    make: Make, visitor: CatalogVisitor, http: httpx2.AsyncClient
) -> None:
    text = word()
    products = [await make.product(f"Mug {text} {number}", price="12.50") for number in range(7)]
    image = await add_image(make, products[0].master)

    response = await http.get("/suggest", params={"q": text})

    assert response.headers["content-type"] == "application/json; charset=utf-8"
    suggestions = {item["url"]: item for item in response.json()}
    assert len(suggestions) == 6
    known = {f"/products/{product.slug}" for product in products}
    assert set(suggestions) <= known
    assert {item["price"] for item in suggestions.values()} == {"$12.50"}
    one = (await http.get("/suggest", params={"q": f"Mug {text} 0"})).json()
    assert one == [
        {
            "name": f"Mug {text} 0",
            "url": f"/products/{products[0].slug}",
            "image": f"/media/{image}/160.webp",
            "price": "$12.50",
        }
    ]


@pytest.mark.parametrize("query", ["", "q=", "q=a", "q=%20a%20", "q=!!!", "q[]=ab", "q=%FF"])
async def test_too_little_text_has_no_suggestions(http: httpx2.AsyncClient, query: str) -> None:
    assert (await http.get(f"/suggest?{query}")).json() == []


@pytest.mark.usefixtures("no_pending_changes")
async def test_a_page_costs_the_same_statements_for_any_number_of_products(
    make: Make, visitor: CatalogVisitor, section: Section, service: Service, settings: Any
) -> None:
    product = await new_rich_product(make, section)
    paths = {"home": "/", "category": section.path, "product": f"/products/{product.slug}"}
    await settings(featured_taxon_ids=[section.root])

    async def is_featured() -> bool:
        return f'<a class="tile" href="{section.path}">' in (await visitor.show("/")).text

    async def count_all(number: int) -> dict[str, int]:
        # The first page after a change also loads the links of the header and the footer.
        await visitor.show("/search", q=word())
        pages = {name: await visitor.show(path, n=str(number)) for name, path in paths.items()}
        return {name: count_statements(service, page) for name, page in pages.items()}

    await until(is_featured)
    few = await count_all(1)
    for _ in range(5):
        await new_rich_product(make, section)
    many = await count_all(2)

    # The first page after a change also finds the products of the category, in their order.
    assert few == many == {"home": 6, "category": 6, "product": 11}


@pytest.mark.usefixtures("no_pending_changes")
async def test_an_unchanged_page_costs_one_statement_and_is_confirmed_by_its_tag(
    make: Make, visitor: CatalogVisitor, section: Section, service: Service, http: httpx2.AsyncClient
) -> None:
    product = await make.product(taxons=[section.root], on_hand=50)
    for path in (section.path, f"/products/{product.slug}", f"/suggest?q={product.slug}"):
        first, *others = [await visitor.show(path) for _ in range(4)]

        # The worker may change the catalog in between, such as the stock of an order that failed.
        assert count_statements(service, first) > 1
        assert min(count_statements(service, each) for each in others) == 1
        tag = others[-1].headers["etag"]
        assert (await http.get(path, headers={"If-None-Match": tag})).status_code == 304
    await make.change("products", product.id, "product", name="Renamed")
    assert (await visitor.show(section.path)).card_names == ["Renamed"]


@pytest.mark.torture
@pytest.mark.parametrize("is_dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("size", [LAPTOP, PHONE], ids=["laptop", "phone"])
async def test_catalog_pages_are_accessible_and_fit_the_screen(
    make: Make, section: Section, service: Service, browser: Browser, size: tuple[int, int], is_dark: bool
) -> None:
    name = word()
    product = await make.product(
        name, price="10", compare_at_price="12", on_hand=0, options={word(): ["one", "two"]}, taxons=[section.root]
    )
    await add_image(make, product.master)
    await new_rich_product(make, section)
    for path in (
        "/",
        section.path,
        f"{section.path}?in_stock=1&price_min=1",
        f"/search?q={quote(name)}",
        "/search?q=nothingatall",
        f"/products/{product.slug}",
    ):
        async with visit(browser, service.url + path, size, is_dark=is_dark) as page:
            assert await accessibility_violations(page) == [], path
            assert not await scrolls_sideways(page), path
