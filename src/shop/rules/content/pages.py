"""Validates pages, policies and menus: types, locales, locations and link destinations."""

import re
from collections.abc import Mapping
from typing import Any

from shop.base.texts import is_line
from shop.models.content.menus import ITEM_TYPES, LINKED_TYPES
from shop.models.content.pages import PAGE_TYPES
from shop.rules.content.markdown import MAX_MARKDOWN_BYTES

Errors = dict[str, list[str]]
MAX_LINE_LENGTH = 255
MAX_ADDRESS_LENGTH = 2_000
TOO_LONG = f"must be text of at most {MAX_MARKDOWN_BYTES // 1024} KiB"
TOO_MUCH_HTML = "would be too large as HTML; use fewer or shorter links"
_LOCALE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}")
_LOCATION = re.compile(r"[a-z0-9][a-z0-9_-]{0,49}")
_DESTINATION = re.compile(r"https://[!-\[\]-~]+|mailto:[!-\[\]-~]+|/(?!/)[!-\[\]-~]*|#[!-\[\]-~]*")
_LINES = ("title", "name", "subtitle", "code", "meta_title")
_SPREE_PAGES = {
    "Spree::Cms::Pages::StandardPage": "standard",
    "Spree::Cms::Pages::Homepage": "homepage",
    "Spree::Cms::Pages::FeaturePage": "feature",
    "home": "homepage",
}
_SPREE_LINKS = {
    "Spree::Taxon": "taxon",
    "Spree::Product": "product",
    "Spree::CmsPage": "cms_page",
    "Spree::Linkable::Uri": "url",
    "URL": "url",
}


def page_type(name: str) -> str:
    """Returns the page type for a name; accepts Spree class names."""
    return _SPREE_PAGES.get(name, name)


def linked_type(name: str) -> str:
    """Returns the linked resource type for a name; accepts Spree class names."""
    return _SPREE_LINKS.get(name, name)


def page_errors(values: Mapping[str, Any]) -> Errors:
    """Validates the given fields of a page, policy, menu or menu item."""
    checks = {
        "type": (page_type(str(values.get("type"))) in PAGE_TYPES, f"must be one of {', '.join(PAGE_TYPES)}"),
        "item_type": (values.get("item_type") in ITEM_TYPES, f"must be one of {', '.join(ITEM_TYPES)}"),
        "linked_resource_type": (
            linked_type(str(values.get("linked_resource_type"))) in (*LINKED_TYPES, "url"),
            f"must be one of {', '.join(LINKED_TYPES)}, url",
        ),
        "locale": (_fits(_LOCALE, values.get("locale")), "must be a language like en or en-US"),
        "location": (
            _fits(_LOCATION, values.get("location")),
            "must consist of a-z, 0-9, _ and -, like header or footer",
        ),
        "destination": (
            _is_destination(values.get("destination")),
            f"must be an https or mailto address or a path, of at most {MAX_ADDRESS_LENGTH} characters",
        ),
    }
    errors = {name: [message] for name, (is_valid, message) in checks.items() if name in values and not is_valid}
    lines = {name: values[name] for name in _LINES if values.get(name)}
    return errors | {
        name: [f"must be one line of at most {MAX_LINE_LENGTH} characters"]
        for name, text in lines.items()
        if len(text) > MAX_LINE_LENGTH or not is_line(text)
    }


def _fits(pattern: re.Pattern[str], value: Any) -> bool:
    return isinstance(value, str) and pattern.fullmatch(value) is not None


def _is_destination(value: str | None) -> bool:
    return not value or (len(value) <= MAX_ADDRESS_LENGTH and _fits(_DESTINATION, value))
