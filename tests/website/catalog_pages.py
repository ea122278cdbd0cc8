"""Reads the catalog pages of the website, and makes what they show."""

import html
import json
import re
from typing import Any
from urllib.parse import urlencode

import msgspec

from tests.builders import Make, ProductIds
from tests.image_files import png
from tests.service import Service
from tests.storefront.product_lists import word
from tests.website.visitor import VisitedPage, Visitor

HOSTILE = "<script>alert(1)</script>"


class CatalogPage(VisitedPage):
    """A catalog page, read with regular expressions."""

    @property
    def main(self) -> str:
        return self.text[self.text.index("<main") : self.text.index("</main>")]

    @property
    def card_names(self) -> list[str]:
        return [html.unescape(name) for name in re.findall(r'<span class="card-name">(.*?)</span>', self.main)]

    @property
    def chips(self) -> dict[str, str]:
        """Addresses of chips by their text."""
        pairs = re.findall(r'<a class="chip[^"]*" href="([^"]*)">(.*?)</a>', self.main)
        return {_plain(text).removeprefix("Remove filter "): html.unescape(url) for url, text in pairs}

    @property
    def breadcrumbs(self) -> list[str]:
        (trail,) = re.findall(r'<nav class="breadcrumbs".*?</nav>', self.text, re.DOTALL)
        return [_plain(item) for item in re.findall(r"<li.*?</li>", trail)]

    @property
    def structured_data(self) -> dict[str, Any]:
        """The structured data by type."""
        blocks = re.findall(r'<script type="application/ld\+json">(.*?)</script>', self.text)
        return {data["@type"]: data for data in map(json.loads, blocks)}

    @property
    def variants(self) -> list[dict[str, Any]]:
        (data,) = re.findall(r'<script type="application/json" data-variants>(.*?)</script>', self.text)
        variants: list[dict[str, Any]] = json.loads(data)
        return variants

    @property
    def is_indexed(self) -> bool:
        return 'name="robots" content="noindex"' not in self.text

    def find(self, pattern: str) -> str:
        """The only match of a pattern, as plain text."""
        (match,) = re.findall(pattern, self.text, re.DOTALL)
        return _plain(match)

    @property
    def canonical(self) -> str:
        return self.find(r'<link rel="canonical" href="([^"]*)"')

    @property
    def price(self) -> str:
        return self.find(r"<p data-price[^>]*>(.*?)</p>")

    @property
    def stock(self) -> str:
        return self.find(r"<p [^>]*data-stock[^>]*>(.*?)</p>")

    @property
    def options(self) -> dict[str, str]:
        """The options of a product page: `selected`, `sold out` or nothing."""
        labels = re.findall(r'<label class="(option[^"]*)"><input ([^>]*)><span>(.*?)<span', self.main)
        return {
            text: "sold out" if "unavailable" in kind else "selected" if "checked" in fields else ""
            for kind, fields, text in labels
        }


def _plain(text: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]*>", "", text)).split())


class CatalogVisitor(Visitor):
    """A visitor who looks at the catalog."""

    async def show(self, path: str, **params: str) -> CatalogPage:
        page = await self.get(f"{path}?{urlencode(params)}" if params else path)
        return CatalogPage(page.response)

    async def product(self, product: ProductIds, **params: str) -> CatalogPage:
        page = await self.show(f"/products/{product.slug}", **params)
        assert page.status == 200, page
        return page


class Section(msgspec.Struct, frozen=True):
    """A category for the products of one test."""

    root: str
    path: str


async def new_section(make: Make) -> Section:
    name = word()
    _, root = await make.taxonomy(name)
    return Section(root, f"/t/{name}")


async def add_image(make: Make, variant_id: str, alt: str = "", width: int = 600) -> str:
    files = {"attachment": ("a.png", png(width, width))}
    image = await make.machine.ask("POST", "/images", files=files, data={"variant_id": variant_id, "alt": alt})
    assert image.status == 201, image
    return image.id


async def new_rich_product(make: Make, section: Section) -> ProductIds:
    """A product with options, a property and an image."""
    options: Any = {word(): ["s", "m"]}
    product = await make.product(word(), on_hand=20, options=options, properties={word(): "Oak"}, taxons=[section.root])
    await add_image(make, product.master)
    return product


def count_statements(service: Service, page: CatalogPage) -> int:
    return int(service.request_line(page.headers["x-request-id"])["statements"])
