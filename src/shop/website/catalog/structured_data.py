"""Structured data for search engines (JSON-LD, schema.org)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from shop.base.money import major_units
from shop.models.catalog.taxons import StorefrontTaxon
from shop.models.setup.shop import Shop

CONTEXT = "https://schema.org"
Data = Mapping[str, Any]
Trail = Sequence[tuple[str, str | None]]
"""Breadcrumbs: pairs of name and path; the current page has no path."""


def build_organization(shop: Shop, origin: str) -> Data:
    site = shop.website_settings
    data = {"@context": CONTEXT, "@type": "Organization", "name": shop.name, "url": f"{origin}/"}
    if site.description:
        data["description"] = site.description
    if site.logo_id:
        data["logo"] = f"{origin}/media/{site.logo_id}/160.webp"
    return data


def build_website(shop: Shop, origin: str) -> Data:
    """Describes the website with its search."""
    return {
        "@context": CONTEXT,
        "@type": "WebSite",
        "name": shop.name,
        "url": f"{origin}/",
        "potentialAction": {
            "@type": "SearchAction",
            "target": {"@type": "EntryPoint", "urlTemplate": f"{origin}/search?q={{search_term_string}}"},
            "query-input": "required name=search_term_string",
        },
    }


def build_trail(taxons: Iterable[StorefrontTaxon]) -> list[tuple[str, str | None]]:
    """Returns breadcrumbs without the root of the taxonomy, which is above every category."""
    return [(taxon.name, f"/t/{taxon.permalink}") for taxon in taxons if taxon.depth > 0]


def build_breadcrumbs(origin: str, trail: Trail) -> Data:
    steps = [("Home", "/"), *trail]
    return {
        "@context": CONTEXT,
        "@type": "BreadcrumbList",
        "itemListElement": [
            {
                "@type": "ListItem",
                "position": position,
                "name": name,
                **({"item": f"{origin}{path}"} if path else {}),
            }
            for position, (name, path) in enumerate(steps, 1)
        ],
    }


def price_text(amount: int, currency: str) -> str:
    """Formats an amount for machines: `19.90`."""
    return f"{major_units(amount, currency):f}"
