"""Themes: a directory that replaces templates and static files, and is checked before the shop starts."""

import re
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import httpx2
import pytest

from tests.browser import Browser, accessibility_violations, scrolls_sideways, visit
from tests.cli.command import Command, external, sentence
from tests.cluster import execute
from tests.service import Service

ROOT = Path(__file__).parents[2]
ALMANAC = ROOT / "themes" / "almanac"


def serve_theme(url: str, data_dir: Path, theme: Path) -> Service:
    settings = external(url, SHOP_DATA_DIR=str(data_dir), SHOP_DRAIN_SECONDS="0", SHOP_THEME_DIR=str(theme))
    return Service(**settings)


def new_theme(tmp_path: Path, **files: str) -> Path:
    """A theme with these files; `__` in a name separates folder and file, `_` stands for the dot."""
    for name, text in files.items():
        folder, file_name = name.split("__")
        path = tmp_path / folder / ".".join(file_name.rsplit("_", 1))
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return tmp_path


@pytest.mark.torture
async def test_the_theme_that_is_shipped_looks_different_and_is_accessible(
    own_database: Callable[..., str], tmp_path: Path, browser: Browser
) -> None:
    service = serve_theme(own_database(), tmp_path, ALMANAC)
    try:
        for size, is_dark in (((1280, 900), False), ((390, 844), True)):
            async with visit(browser, service.url, size, is_dark=is_dark) as page:
                header = page.locator("header.masthead")
                color = await header.evaluate("node => getComputedStyle(node).backgroundColor")
                font = await page.locator("h1").first.evaluate("node => getComputedStyle(node).fontFamily")
                radius = await page.evaluate("getComputedStyle(document.body).getPropertyValue('--radius')")
                assert color == ("rgb(12, 14, 16)" if is_dark else "rgb(32, 38, 43)")
                assert "Iowan Old Style" in font
                assert radius.strip() == "0px"
                assert not await scrolls_sideways(page)
                assert await accessibility_violations(page) == []
    finally:
        service.stop()


@pytest.mark.security("W-13")
def test_a_theme_extends_a_template_and_replaces_a_file_of_the_same_name(
    own_database: Callable[..., str], tmp_path: Path
) -> None:
    theme = new_theme(
        tmp_path,
        templates__layout_html='{% extends "base/layout.html" %}{% block body_class %}mine{% endblock %}',
        templates__footer_html='<footer>{% include "base/footer.html" %}<p>Made by us</p></footer>',
        static__website_css='body { background: url("paper.svg"), url(other.svg) }',
        static__paper_svg="<svg/>",
        static__secret_env="no asset",
    )
    service = serve_theme(own_database(), tmp_path / "data", theme)
    try:
        text = service.get("/").text
        path = re.findall(r"/website/website\.[0-9a-f]{16}\.css", text)[0]
        stylesheet = service.get(path).text
        paper = service.get(re.findall(r"url\((/website/paper\.[0-9a-f]{16}\.svg)\)", stylesheet)[0]).text
    finally:
        service.stop()

    assert '<body class="mine">' in text
    assert "<p>Made by us</p>" in text
    assert 'class="site-footer"' in text
    assert paper == "<svg/>"
    assert stylesheet.endswith("url(other.svg) }")


@pytest.mark.security("W-07")
def test_the_name_and_the_brand_of_a_shop_are_escaped(own_database: Callable[..., str], tmp_path: Path) -> None:
    url = own_database()
    execute(url, "update shops set name = '<script>alert(1)</script> & Co', website = '{\"accent\": \"#ffee00\"}'")
    service = serve_theme(url, tmp_path, ALMANAC)
    try:
        icon, page = service.get("/favicon.svg").text, service.get("/").text
        manifest, feed = service.get("/manifest.webmanifest").json(), service.get("/feeds/google.xml").content
        stylesheet = service.get(re.findall(r"/website/website\.[0-9a-f]{16}\.css", page)[0]).text
    finally:
        service.stop()

    assert [part.text for part in ElementTree.fromstring(icon)] == [None, "<"]
    assert "<script>alert" not in page
    assert manifest["name"] == "<script>alert(1)</script> & Co"
    assert ElementTree.fromstring(feed).findtext("channel/title") == manifest["name"]
    assert stylesheet.endswith(":root:root{--brand:#ffee00}")
    assert 'fill="#000000"' in icon


@pytest.mark.security("W-13")
async def test_no_request_chooses_a_theme_a_template_or_a_color(http: httpx2.AsyncClient) -> None:
    page = await http.get("/")
    words = {"theme": "almanac", "template": "error.html", "accent": "#ff0000", "preview": "1"}

    by_query = await http.get("/", params=words)
    by_cookie = await http.get("/", headers={"Cookie": "; ".join(f"{name}={value}" for name, value in words.items())})
    files = [await http.get(f"/website/{name}") for name in ("..%2F..%2Fthemes%2Falmanac%2Fstatic%2Falmanac.css",)]

    assert by_query.text == by_cookie.text == page.text
    assert [file.status_code for file in files] == [404]


def test_a_shop_without_a_website_has_a_landing_page_and_no_sitemap(
    own_database: Callable[..., str], tmp_path: Path
) -> None:
    settings = external(own_database(), SHOP_DATA_DIR=str(tmp_path), SHOP_DRAIN_SECONDS="0", SHOP_WEBSITE="off")
    service = Service(**settings)
    try:
        landing, sitemap = service.get("/"), service.get("/sitemap.xml")
    finally:
        service.stop()

    assert 'href="/admin"' in landing.text
    assert sitemap.status_code == 404


def test_a_theme_that_does_not_exist_is_named_at_the_start(shop: Command, database_url: str) -> None:
    message = sentence(shop.serve(**external(database_url), SHOP_THEME_DIR="/nowhere"))

    assert message == "SHOP_THEME_DIR cannot be read: /nowhere is not a directory."


def test_a_directory_that_is_no_theme_is_refused(shop: Command, database_url: str, tmp_path: Path) -> None:
    message = sentence(shop.serve(**external(database_url), SHOP_THEME_DIR=str(tmp_path)))

    assert message == f"SHOP_THEME_DIR cannot be read: {tmp_path} contains neither templates nor static."


def test_a_template_that_cannot_be_compiled_is_named_with_its_line(
    shop: Command, database_url: str, tmp_path: Path
) -> None:
    theme = new_theme(tmp_path, templates__header_html="<header>\n{% if %}\n</header>")

    message = sentence(shop.serve(**external(database_url), SHOP_THEME_DIR=str(theme)))

    assert message.startswith("SHOP_THEME_DIR: templates/header.html, line 2: ")


@pytest.mark.parametrize("name", ["header.html", "layout.html"])
def test_the_theme_that_is_shipped_has_every_part_that_the_script_uses(name: str) -> None:
    own, theme = ROOT / "src/shop/website/templates" / name, ALMANAC / "templates" / name
    used = re.compile(r"data-[a-z-]+|toolname=\"[a-z_]+\"|href=\"/[a-z]*\"|action=\"[^\"]*\"")

    if "extends" not in theme.read_text():
        assert set(used.findall(own.read_text())) == set(used.findall(theme.read_text()))
