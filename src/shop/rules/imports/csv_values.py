"""Converts the cells of product files of Shopify and Spree to our units and words."""

from collections.abc import Mapping

import msgspec

from shop.rules.form_values import read_number
from shop.rules.setup.units import SIZES, convert_size

Row = Mapping[str, str]
_YES, _NO = ("true", "yes", "1"), ("false", "no", "0")
_POLICIES = {"continue": "true", "deny": "false"}
_ENDLESS = "∞"
"""The count of a variant in Spree that is not tracked."""
_NO_CATEGORY = "Uncategorized"


class Units(msgspec.Struct, frozen=True):
    """The units of the shop."""

    weight: str
    dimension: str


def convert_row(row: Row, file_format: str, units: Units, *, has_tracker: bool = False) -> dict[str, str]:
    """Returns the cells of a row in the units of the shop; `has_tracker` if it says who counts the stock."""
    cells = dict(row)
    _convert_sizes(cells, units)
    if cells.get("category1") == _NO_CATEGORY:
        del cells["category1"]
    if (visibility := cells.pop("published", "").lower()) in (*_YES, *_NO):
        status = cells.get("status", "active")
        cells["status"] = "draft" if visibility in _NO and status.lower() == "active" else status
    if file_format == "shopify":
        _convert_shopify_stock(cells, has_tracker=has_tracker)
    elif cells.get("stock") == _ENDLESS:
        del cells["stock"]
        cells["track_inventory"] = "false"
    return cells


def _convert_shopify_stock(cells: dict[str, str], *, has_tracker: bool) -> None:
    # Shopify names who counts a variant; without a name, nobody does.
    if has_tracker and "price" in cells:
        cells["track_inventory"] = "true" if cells.get("track_inventory", "false").lower() not in _NO else "false"
    else:
        cells.pop("track_inventory", None)
    if "backorderable" in cells:
        cells["backorderable"] = _POLICIES.get(cells["backorderable"].lower(), cells["backorderable"])
    # Oversold stock is not on hand.
    if cells.get("stock", "").startswith("-"):
        cells["stock"] = "0"


def _convert_sizes(cells: dict[str, str], units: Units) -> None:
    """Converts sizes with a unit to those of the shop; those that cannot be converted are refused with their line."""
    row_units = dict.fromkeys(SIZES, cells.pop("dimension_unit", "")) | {"weight": cells.pop("weight_unit", "")}
    if "grams" in cells:
        cells["weight"], row_units["weight"] = cells.pop("grams"), "g"
    for name, unit in row_units.items():
        if name in cells and unit:
            shop_unit = units.weight if name == "weight" else units.dimension
            try:
                cells[name] = f"{convert_size(name, read_number(cells[name]), unit.lower(), shop_unit):f}"
            except (ValueError, KeyError):
                # Refused with the line, since it is no number.
                cells[name] = f"{cells[name]} {unit}"
