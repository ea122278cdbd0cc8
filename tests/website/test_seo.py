"""Search engines and feeds: robots.txt, sitemaps, the merchant feed, icon, manifest, and the head of content pages."""

import json
import re
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4
from xml.etree import ElementTree

import httpx2
import pytest

from tests.builders import Make
from tests.service import Service

SITEMAP = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
GOOGLE = "{http://base.google.com/ns/1.0}"
DATA = re.compile(r'<script type="application/ld\+json">(.*?)</script>')


async def read_xml(http: httpx2.AsyncClient, path: str) -> ElementTree.Element:
    response = await http.get(path)
    assert (response.status_code, response.headers["content-type"]) == (200, "application/xml; charset=utf-8")
    return ElementTree.fromstring(response.content)


async def read_sitemap(http: httpx2.AsyncClient, service: Service, name: str) -> dict[str, str | None]:
    """The paths of a sitemap file, each with its time of change."""
    root = await read_xml(http, f"/sitemaps/{name}")
    assert root.tag == f"{SITEMAP}urlset"
    addresses = [entry.findtext(f"{SITEMAP}loc") or "" for entry in root]
    assert len(set(addresses)) == len(addresses)
    assert all(address.startswith(f"{service.url}/") for address in addresses)
    times = [entry.findtext(f"{SITEMAP}lastmod") for entry in root]
    return dict(zip([address.removeprefix(service.url) for address in addresses], times, strict=True))


async def list_files(http: httpx2.AsyncClient) -> list[str]:
    root = await read_xml(http, "/sitemap.xml")
    assert root.tag == f"{SITEMAP}sitemapindex"
    return [(entry.findtext(f"{SITEMAP}loc") or "").rpartition("/")[2] for entry in root]


async def read_feed(http: httpx2.AsyncClient) -> dict[str, dict[str, str]]:
    """The offers of the merchant feed by id."""
    root = await read_xml(http, "/feeds/google.xml")
    assert (root.tag, root.get("version")) == ("rss", "2.0")
    items = [{part.tag.removeprefix(GOOGLE): part.text or "" for part in item} for item in root.iter("item")]
    assert len({item["id"] for item in items}) == len(items)
    return {item["id"]: item for item in items}


async def read_head(http: httpx2.AsyncClient, path: str) -> tuple[dict[str, str], list[Any]]:
    """The descriptions and the canonical address of a page by name, and its structured data."""
    text = (await http.get(path)).text
    values = dict(re.findall(r'<meta (?:name|property)="([^"]+)" content="([^"]*)">', text))
    values |= dict(re.findall(r'<link rel="(canonical)" href="([^"]*)">', text))
    return values, [
        json.loads(data) for data in re.findall(r'<script type="application/ld\+json">(.*?)</script>', text)
    ]


async def test_robots_names_the_private_pages_and_the_sitemap(http: httpx2.AsyncClient, service: Service) -> None:
    response = await http.get("/robots.txt")

    lines = response.text.splitlines()
    assert lines[0] == "User-agent: *"
    private_paths = ("/cart", "/checkout", "/account", "/order-status", "/order-payment")
    assert {f"Disallow: {path}" for path in private_paths} <= set(lines)
    assert "Disallow: /" not in lines
    assert lines[-1] == f"Sitemap: {service.url}/sitemap.xml"
    assert response.headers["content-type"] == "text/plain; charset=utf-8"


async def test_a_sitemap_has_each_public_product_once_with_the_time_of_its_change(
    make: Make, http: httpx2.AsyncClient, service: Service, db: Any
) -> None:
    mug = await make.product("Mug")
    draft = await make.product("Mug", status="draft")
    old = await make.product("Mug", discontinue_on="2020-01-01T00:00:00Z")
    later = await make.product("Mug", available_on="2999-01-01T00:00:00Z")
    gone = await make.product("Mug")
    await make.remove("products", gone.id)

    entries = await read_sitemap(http, service, "products.xml")

    updated_at = await db.fetchval("select updated_at from products where id = $1", mug.id)
    assert datetime.fromisoformat(entries[f"/products/{mug.slug}"] or "") == updated_at.astimezone(UTC).replace(
        microsecond=0
    )
    assert not {f"/products/{each.slug}" for each in (draft, old, later, gone)} & entries.keys()


async def test_a_sitemap_has_the_categories_that_have_products(
    make: Make, http: httpx2.AsyncClient, service: Service
) -> None:
    _, root_id = await make.taxonomy()
    cups, plates = await make.taxon("Cups", root_id), await make.taxon("Plates", root_id)
    await make.product("Mug", taxons=[cups])

    entries = await read_sitemap(http, service, "categories.xml")

    permalinks = {each: (await make.machine.get(f"/taxons/{each}"))["permalink"] for each in (root_id, cups, plates)}
    assert f"/t/{permalinks[cups]}" in entries
    assert f"/t/{permalinks[plates]}" not in entries
    assert f"/t/{permalinks[root_id]}" not in entries


async def test_a_sitemap_has_the_home_page_visible_pages_and_policies(
    make: Make, http: httpx2.AsyncClient, service: Service
) -> None:
    about = await make.new("cms_pages", "cms_page", title=f"About {uuid4().hex}")
    hidden = await make.new("cms_pages", "cms_page", title=f"Hidden {uuid4().hex}", visible=False)
    home = await make.new("cms_pages", "cms_page", title=f"Home {uuid4().hex}", type="homepage")
    terms = await make.new("policies", "policy", name=f"Terms {uuid4().hex}")

    pages = await read_sitemap(http, service, "pages.xml")
    policies = await read_sitemap(http, service, "policies.xml")

    assert next(iter(pages)) == "/"
    assert f"/pages/{about['slug']}" in pages
    assert not {f"/pages/{hidden['slug']}", f"/pages/{home['slug']}"} & pages.keys()
    assert policies[f"/policies/{terms['slug']}"]


async def test_more_records_than_a_file_may_have_are_split_without_gap_or_overlap(
    http: httpx2.AsyncClient, service: Service, db: Any
) -> None:
    before = await read_sitemap(http, service, "policies.xml") if await db.fetchval("select 1 from policies") else {}
    await db.execute(
        "insert into policies (id, name, slug, created_at, updated_at)"
        " select gen_random_uuid(), 'Many', 'many-' || n, now(), now() from generate_series(1, 10001) n"
    )
    try:
        names = [name for name in await list_files(http) if name.startswith("policies")]
        files = [await read_sitemap(http, service, name) for name in names]
    finally:
        await db.execute("delete from policies where name = 'Many'")

    sizes = [len(entries) for entries in files]
    assert sizes[:-1] == [5000, 5000]
    assert sum(sizes) == len(set().union(*files)) == 10_001 + len(before)


async def test_a_sitemap_is_read_in_batches_of_one_statement_each(
    http: httpx2.AsyncClient, service: Service, db: Any
) -> None:
    await db.execute(
        "insert into policies (id, name, slug, created_at, updated_at)"
        " select gen_random_uuid(), 'Some', 'some-' || n, now(), now() from generate_series(1, 5000) n"
    )
    try:
        response = await http.get("/sitemaps/policies.xml")
    finally:
        await db.execute("delete from policies where name = 'Some'")

    assert service.request_line(response.headers["x-request-id"])["statements"] == 5


@pytest.mark.parametrize("name", ["users.xml", "products", "products-1.xml", f"products-{'f' * 32}.xml"])
async def test_a_sitemap_that_does_not_exist_is_a_page_that_says_so(http: httpx2.AsyncClient, name: str) -> None:
    response = await http.get(f"/sitemaps/{name}")

    assert response.status_code == 404
    assert "We cannot find this page" in response.text


async def test_streams_are_compressed_and_cached_for_an_hour(http: httpx2.AsyncClient, make: Make) -> None:
    await make.product("Mug")
    for path in ("/sitemap.xml", "/sitemaps/products.xml", "/feeds/google.xml"):
        plain = await http.get(path, headers={"accept-encoding": "identity"})
        compressed = await http.get(path, headers={"accept-encoding": "gzip"})

        assert compressed.headers["content-encoding"] == "gzip"
        assert "content-encoding" not in plain.headers
        assert compressed.text == plain.text
        assert plain.headers["cache-control"] == "public, max-age=3600"
        assert plain.headers["vary"] == "Accept-Encoding"


async def test_the_feed_has_the_price_of_an_offer_and_its_sale_price(make: Make, http: httpx2.AsyncClient) -> None:
    sku, sale_sku = uuid4().hex, uuid4().hex
    mug = await make.product("Mug", price="12.50", on_hand=3, sku=sku, description="<p>For tea &amp; coffee</p>")
    await make.product("Cup", price="8.00", compare_at_price="10.00", sku=sale_sku)

    feed = await read_feed(http)

    offer = feed[sku]
    assert (offer["title"], offer["description"]) == ("Mug", "For tea & coffee")
    assert offer["link"].endswith(f"/products/{mug.slug}")
    assert (offer["price"], offer["availability"], offer["condition"]) == ("12.50 USD", "in_stock", "new")
    assert "sale_price" not in offer
    assert (feed[sale_sku]["price"], feed[sale_sku]["sale_price"]) == ("10.00 USD", "8.00 USD")
    assert feed[sale_sku]["availability"] == "out_of_stock"


async def test_the_feed_has_every_variant_but_not_the_master(make: Make, http: httpx2.AsyncClient) -> None:
    shirt = await make.product("Shirt", options={"size": ["s", "m"]}, properties={"Brand": "Acme"})
    small, medium = shirt.variants
    await make.stock(small, 0, backorderable=True)
    await make.change("variants", medium, "variant", discontinue_on="2020-01-01T00:00:00Z")

    feed = await read_feed(http)

    assert shirt.master not in feed
    assert medium not in feed
    offer = feed[small]
    assert (offer["title"], offer["size"], offer["brand"]) == ("Shirt (S)", "S", "Acme")
    assert (offer["item_group_id"], offer["availability"]) == (shirt.id, "backorder")
    assert offer["link"].endswith(f"/products/{shirt.slug}?variant={small}")


async def test_the_feed_has_only_what_a_shopper_can_see_and_pay(make: Make, http: httpx2.AsyncClient) -> None:
    draft = await make.product("Mug", status="draft")
    unpriced = await make.product("Mug", price=None, prices={"EUR": "5.00"})
    gone = await make.product("Mug")
    await make.remove("products", gone.id)

    feed = await read_feed(http)

    assert not {draft.master, unpriced.master, gone.master} & feed.keys()


@pytest.mark.parametrize(
    ("barcode", "gtin"),
    [("4006381333931", "4006381333931"), ("96385074", "96385074"), ("4006381333932", None), ("shelf 7", None)],
)
async def test_only_a_barcode_with_a_correct_check_digit_is_a_gtin(
    make: Make, http: httpx2.AsyncClient, barcode: str, gtin: str | None
) -> None:
    mug = await make.product("Mug", barcode=barcode)

    offer = (await read_feed(http))[mug.master]

    assert (offer.get("gtin"), offer.get("identifier_exists")) == (gtin, None if gtin else "no")


@pytest.mark.security("W-07")
async def test_names_in_the_feed_are_escaped(make: Make, http: httpx2.AsyncClient) -> None:
    name = "Mug <b>&\"'</b> ]]> ☕"
    mug = await make.product(name, description="1 < 2 & 3 > 2")

    offer = (await read_feed(http))[mug.master]

    assert (offer["title"], offer["description"]) == (name, "1 < 2 & 3 > 2")


async def test_the_icon_is_the_initial_of_the_shop(http: httpx2.AsyncClient) -> None:
    response = await http.get("/favicon.svg")

    root = ElementTree.fromstring(response.text)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert [part.text for part in root if part.text] == ["T"]
    assert response.headers["content-type"] == "image/svg+xml"


async def test_the_manifest_names_the_shop_its_color_and_its_icon(http: httpx2.AsyncClient) -> None:
    response = await http.get("/manifest.webmanifest")

    manifest = response.json()
    assert (manifest["name"], manifest["start_url"], manifest["theme_color"]) == ("Tested", "/", "#1d5c48")
    assert [(await http.get(icon["src"])).headers["content-type"] for icon in manifest["icons"]] == ["image/svg+xml"]
    assert response.headers["content-type"] == "application/manifest+json"


@pytest.mark.parametrize("path", ["/robots.txt", "/favicon.svg", "/manifest.webmanifest"])
async def test_small_files_are_revalidated_by_their_tag(http: httpx2.AsyncClient, path: str) -> None:
    tag = (await http.get(path)).headers["etag"]

    response = await http.get(path, headers={"if-none-match": tag})

    assert (response.status_code, response.content) == (304, b"")


async def test_a_content_page_has_its_description_address_and_breadcrumbs(
    make: Make, http: httpx2.AsyncClient, service: Service
) -> None:
    text = "We sell **lanterns** & pots.\n\n" + "And much more of it. " * 20
    page = await make.new("cms_pages", "cms_page", title=f"About {uuid4().hex}", content=text)
    address = f"{service.url}/pages/{page['slug']}"

    head, (breadcrumbs,) = await read_head(http, f"/pages/{page['slug']}")

    assert head["description"].startswith("We sell lanterns &amp; pots. And much more")
    assert len(head["description"]) <= 165
    assert head["description"].endswith("…")
    assert (head["canonical"], head["og:url"], head["og:title"]) == (address, address, page["title"])
    assert "robots" not in head
    assert [item["item"] for item in breadcrumbs["itemListElement"]] == [f"{service.url}/", address]


async def test_a_content_page_prefers_the_descriptions_of_its_author(make: Make, http: httpx2.AsyncClient) -> None:
    fields = {"meta_title": "Our story", "meta_description": "Read it", "content": "Text"}
    page = await make.new("cms_pages", "cms_page", title=f"About {uuid4().hex}", **fields)

    response = await http.get(f"/pages/{page['slug']}")

    assert "<title>Our story " in response.text
    assert '<meta name="description" content="Read it">' in response.text
    assert f"<h1>{page['title']}</h1>" in response.text


async def test_a_page_that_is_found_by_its_id_names_its_slug_as_its_address(
    make: Make, http: httpx2.AsyncClient, service: Service
) -> None:
    policy = await make.new("policies", "policy", name=f"Terms {uuid4().hex}", body="Be kind.")

    head, _ = await read_head(http, f"/policies/{policy.id}")

    assert head["canonical"] == f"{service.url}/policies/{policy['slug']}"
    assert head["description"] == "Be kind."


async def test_a_page_has_one_main_heading_whatever_its_text_has(make: Make, http: httpx2.AsyncClient) -> None:
    text = "# Hello\n\n## Below\n\n`<h1>`"
    page = await make.new("cms_pages", "cms_page", title="<Welcome>", slug=f"p{uuid4().hex}", content=text)

    body = (await http.get(f"/pages/{page['slug']}")).text

    assert re.findall(r"<h[1-6]>.*?</h[1-6]>", body) == [
        "<h1>&lt;Welcome&gt;</h1>",
        "<h2>Hello</h2>",
        "<h3>Below</h3>",
    ]
    assert "<code>&lt;h1&gt;</code>" in body


async def test_a_hidden_page_is_not_found(make: Make, http: httpx2.AsyncClient) -> None:
    page = await make.new("cms_pages", "cms_page", title=f"Draft {uuid4().hex}", visible=False)

    response = await http.get(f"/pages/{page['slug']}")

    assert response.status_code == 404
    assert '<meta name="robots" content="noindex">' in response.text
