"""Static files of the website: their size, their caching, and what the strict Content-Security-Policy needs."""

import gzip
import json
import re

import httpx2
import pytest

from shop.models.setup.website import WebsiteSettings
from shop.website.assets import STATIC, brand_css
from shop.website.pages import TEMPLATES
from tests.builders import Make
from tests.website.full_account import PAGES, is_personal

ASSET = re.compile(r"/website/([a-z]+)\.[0-9a-f]{16}\.([a-z]+)")
MOST_BYTES = {"website.css": 20_000, "website.js": 15_000}
FORBIDDEN = {
    "a style attribute": re.compile(r"<[^>]*\sstyle="),
    "a style element": re.compile(r"<style"),
    "a script with code": re.compile(r"<script(?![^>]*\ssrc=)(?![^>]*application/(?:ld\+)?json)"),
    "an event handler": re.compile(r"<[^>]*\son[a-z]+="),
    "a link with code": re.compile(r"javascript:"),
}


async def find_assets(http: httpx2.AsyncClient) -> dict[str, str]:
    """The paths of the static files of the home page by file name."""
    text = (await http.get("/")).text
    return {f"{match[1]}.{match[2]}": match[0] for match in ASSET.finditer(text)}


@pytest.mark.parametrize(("name", "most_bytes"), MOST_BYTES.items())
async def test_a_file_is_small_when_compressed(http: httpx2.AsyncClient, name: str, most_bytes: int) -> None:
    path = (await find_assets(http))[name]

    async with http.stream("GET", path, headers={"accept-encoding": "gzip"}) as response:
        content = b"".join([chunk async for chunk in response.aiter_raw()])

    assert response.headers["content-encoding"] == "gzip"
    assert len(content) <= most_bytes
    assert gzip.decompress(content) == (STATIC / name).read_bytes()


async def test_a_file_is_named_by_its_content_and_cached_for_ever(http: httpx2.AsyncClient) -> None:
    path = (await find_assets(http))["website.js"]

    response = await http.get(path)

    assert response.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert response.headers["content-type"] == "text/javascript; charset=utf-8"
    assert response.headers["vary"] == "Accept-Encoding"


@pytest.mark.security("W-13")
@pytest.mark.parametrize("name", ["website.js", "website.0000000000000000.js", "..%2Fassets.py", "website."])
async def test_a_file_of_another_name_or_content_is_not_found(http: httpx2.AsyncClient, name: str) -> None:
    assert (await http.get(f"/website/{name}")).status_code == 404


async def test_pages_name_the_links_that_a_browser_may_prefetch(http: httpx2.AsyncClient) -> None:
    header = (await http.get("/")).headers["speculation-rules"]

    response = await http.get(header.strip('"'))

    assert response.headers["content-type"] == "application/speculationrules+json"
    (rule,) = response.json()["prefetch"]
    assert rule["eagerness"] == "moderate"
    excluded = rule["where"]["and"][1]["not"]["href_matches"]
    assert {"/cart*", "/checkout*", "/account*", "/sign-in*", "/order*", "/admin*", "/api*", "/mailbox*"} < set(
        excluded
    )


@pytest.mark.security("W-15")
def test_a_browser_prefetches_no_page_of_one_shopper() -> None:
    (rule,) = json.loads((STATIC / "speculation.json").read_text())["prefetch"]
    excluded = tuple(pattern.rstrip("*") for pattern in rule["where"]["and"][1]["not"]["href_matches"])

    # A shared wishlist is the same for everyone who has its address.
    personal_paths = [route.path for route in PAGES if is_personal(route) and route.path != "/wishlists/{token}"]
    assert len(personal_paths) > 20
    assert [path for path in personal_paths if not path.startswith(excluded)] == []


async def test_only_pages_have_speculation_rules(make: Make, http: httpx2.AsyncClient) -> None:
    await make.product("Mug")
    paths = ("/suggest?q=mug", "/robots.txt", "/sitemap.xml", "/cart")

    assert [path for path in paths if "speculation-rules" in (await http.get(path)).headers] == []


@pytest.mark.security("W-03")
@pytest.mark.parametrize("fault", FORBIDDEN)
def test_no_template_contains_what_the_policy_forbids(fault: str) -> None:
    templates = sorted(TEMPLATES.rglob("*.html"))
    faults = {str(path.relative_to(TEMPLATES)): FORBIDDEN[fault].findall(path.read_text()) for path in templates}

    assert {name: texts for name, texts in faults.items() if texts} == {}
    assert faults


@pytest.mark.security("W-03")
def test_the_script_imports_nothing_and_evaluates_nothing() -> None:
    script = (STATIC / "website.js").read_text()

    assert (
        re.findall(r"\bimport\b|\beval\b|new Function|innerHTML|outerHTML|insertAdjacentHTML|document\.write", script)
        == []
    )


def test_a_brand_changes_only_the_properties_that_were_set() -> None:
    assert brand_css(WebsiteSettings(hero_title="Welcome")) == ""
    assert brand_css(WebsiteSettings(accent="#aa0000")) == ":root:root{--brand:#aa0000}"
    assert brand_css(WebsiteSettings(radius=0, font="serif")).startswith(":root:root{--radius:0px;--font:ui-serif")
