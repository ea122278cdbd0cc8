"""Decides the identifiers and attributes of an offer in a merchant feed."""

import re

from shop.models.content.public_urls import FeedOffer

MAX_ID_LENGTH = 50
_GTIN = re.compile(r"[0-9]{8}|[0-9]{12,14}", re.ASCII)
_ATTRIBUTES = {
    "color": "color",
    "colour": "color",
    "size": "size",
    "material": "material",
    "pattern": "pattern",
    "gender": "gender",
}
"""The attributes of the feed by the name of an option type."""


def offer_id(offer: FeedOffer) -> str:
    """Returns the SKU, or the id of a variant without a usable one."""
    return offer.sku if 0 < len(offer.sku) <= MAX_ID_LENGTH else str(offer.id)


def find_gtin(barcode: str | None) -> str | None:
    """Returns a barcode that is a GTIN with a correct check digit; a feed with a wrong one is rejected."""
    digits = (barcode or "").replace(" ", "").replace("-", "")
    if not _GTIN.fullmatch(digits):
        return None
    weighted = sum(int(digit) * (1 if index % 2 else 3) for index, digit in enumerate(reversed(digits[:-1])))
    return digits if (weighted + int(digits[-1])) % 10 == 0 else None


def availability(offer: FeedOffer) -> str:
    if offer.in_stock:
        return "in_stock"
    return "backorder" if offer.backorderable else "out_of_stock"


def option_attributes(offer: FeedOffer) -> dict[str, str]:
    """Returns the options that a feed has an attribute for."""
    return {_ATTRIBUTES[name.lower()]: value for name, value in offer.options if name.lower() in _ATTRIBUTES}
