"""What the columns of CSV files are called for those who choose them."""

import re
from collections.abc import Mapping

_NAMES: Mapping[str, str] = {
    "slug": "URL name (slug)",
    "sku": "SKU",
    "count_on_hand": "Stock on hand",
    "stock": "Stock on hand",
    "available_on": "Available from",
    "discontinue_on": "Discontinue on",
    "meta_title": "Title for search engines",
    "meta_description": "Description for search engines",
    "meta_keywords": "Keywords for search engines",
    "track_inventory": "Track stock",
    "grams": "Weight in grams",
    "currency": "Currency of the price",
    "compare_at_price": "Compare-at price",
    "cost_price": "Cost",
    "cost_currency": "Currency of the cost",
    "dimension_unit": "Unit of dimensions",
    "weight_unit": "Unit of weight",
    "variant_image_src": "Variant image: URL",
    "email": "E-mail",
    "address_first_name": "Address: first name",
    "address_last_name": "Address: last name",
    "address_phone": "Address: phone",
    "address1": "Street and number",
    "address2": "Additional line",
    "state": "State or province",
    "zipcode": "Postal code",
}
_PARTS: Mapping[str, str] = {"src": "URL", "alt": "description"}
_NUMBERED_NAME = re.compile(r"(image|option|category)([0-9])(?:_([a-z]+))?")


def name_column(column: str) -> str:
    """Returns the name of a column, like `Price (USD)` of `price_USD`."""
    if match := _NUMBERED_NAME.fullmatch(column):
        kind, number, part = match.groups()
        return f"{kind.capitalize()} {number}" + (f": {_PARTS.get(part, part)}" if part else "")
    name, _, currency = column.rpartition("_")
    if currency.isupper():
        return f"{name_column(name)} ({currency})"
    return _NAMES.get(column, column.replace("_", " ").capitalize())
