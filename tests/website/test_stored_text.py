"""Text that operators, applications and imports have stored is text on every page and in every file of the website."""

import json
from typing import Any
from uuid import uuid4
from xml.etree import ElementTree

import httpx2
import pytest

from tests.builders import Make
from tests.sampling import first
from tests.website.hostile_pages import MARKUP, PROBE, find_markup

FORBIDDEN_ADDRESSES = ("javascript:alert(1)", "//evil.example", "data:text/html,x", "/\\evil.example", "http://evil")


async def list_hostile_pages(make: Make, markup: str) -> list[str]:
    """Stores the markup in every text that a public page shows; returns the paths of the pages."""
    key = uuid4().hex
    _, root = await make.taxonomy(f"Tree {key} {markup}")
    taxon = await make.taxon(f"Lamps {markup}", root, description=markup, meta_title=markup)
    product = await make.product(
        f"Lamp {key} {markup}",
        slug=f"lamp-{key}",
        description=f"{markup}\n\n{markup}",
        meta_description=markup,
        on_hand=9,
        taxons=[taxon],
        options={f"shade-{key}": [f"red {markup}", "blue"]},
        properties={f"wood-{key}": markup},
    )
    page = await make.new("cms_pages", "cms_page", title=markup, slug=f"page-{key}", content=f"# {markup}\n\n{markup}")
    policy = await make.new("policies", "policy", name=markup, slug=f"policy-{key}", body=markup)
    permalink = (await make.machine.get(f"/taxons/{taxon}"))["permalink"]
    return [
        "/",
        f"/search?q={key}",
        f"/t/{permalink}",
        f"/products/{product.slug}",
        f"/pages/{page['slug']}",
        f"/policies/{policy['slug']}",
    ]


@pytest.mark.security("W-06", "W-07")
@pytest.mark.parametrize("number", first(3, range(len(MARKUP))))
async def test_stored_markup_is_text_on_every_page(make: Make, http: httpx2.AsyncClient, number: int) -> None:
    markup = MARKUP[number]
    paths = await list_hostile_pages(make, markup)

    pages = [await http.get(path) for path in paths]

    assert [page.status_code for page in pages] == [200] * len(paths)
    assert {path: find_markup(page.text) for path, page in zip(paths, pages, strict=True)} == {
        path: [] for path in paths
    }
    assert all(PROBE in page.text for page in pages)


@pytest.mark.security("W-07")
async def test_stored_markup_ends_no_element_of_a_file(make: Make, http: httpx2.AsyncClient) -> None:
    await list_hostile_pages(make, "]]>".join(MARKUP[:3]))

    files = [await http.get(path) for path in ("/sitemap.xml", "/sitemaps/products.xml", "/feeds/google.xml")]
    suggestions = await http.get("/suggest", params={"q": "lamp"})

    tags = {element.tag.rpartition("}")[2] for file in files for element in ElementTree.fromstring(file.content).iter()}
    assert {"loc", "title", "price"} <= tags
    assert not {PROBE, "script"} & tags
    assert suggestions.headers["content-type"].startswith("application/json")
    assert all(set(each) == {"name", "url", "image", "price"} for each in json.loads(suggestions.text))


@pytest.mark.security("W-06")
async def test_no_link_of_a_menu_or_of_a_content_page_runs_code_or_hides_its_site(
    make: Make, http: httpx2.AsyncClient
) -> None:
    links = "\n\n".join(f"[link {number}](<{address}>)" for number, address in enumerate(FORBIDDEN_ADDRESSES[:3]))
    page = await make.new("cms_pages", "cms_page", title=f"Links {uuid4().hex}", content=links)
    menu = await make.new("menus", "menu", name="Links", location=f"x{uuid4().hex}", locale="en")
    items = [
        await make.machine.post(
            "/menu_items",
            {"menu_item": {"menu_id": menu.id, "name": "Link", "item_type": "Link", "destination": address}},
        )
        for address in FORBIDDEN_ADDRESSES
    ]

    text = (await http.get(f"/pages/{page['slug']}")).text

    assert find_markup(text) == []
    assert "evil.example" not in text
    assert "link 1" in text
    assert [item.status for item in items] == [422] * len(items)
    errors: list[Any] = [list(item.json["errors"]) for item in items]
    assert errors == [["destination"]] * len(items)
