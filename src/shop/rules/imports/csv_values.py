"""Converts the cells of product files of Shopify and Spree to our units and words."""

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation

Row = Mapping[str, str]
_KILOGRAMS = {
    "kg": Decimal(1),
    "g": Decimal("0.001"),
    "lb": Decimal("0.45359237"),
    "oz": Decimal("0.028349523125"),
}
_CENTIMETERS = {
    "cm": Decimal(1),
    "mm": Decimal("0.1"),
    "m": Decimal(100),
    "in": Decimal("2.54"),
    "ft": Decimal("30.48"),
}
_SIZES = ("width", "height", "depth")
_YES, _NO = ("true", "yes", "1"), ("false", "no", "0")
_POLICIES = {"continue": "true", "deny": "false"}
_ENDLESS = "∞"
"""The count of a variant in Spree that is not tracked."""
_NO_CATEGORY = "Uncategorized"


def convert_row(row: Row, file_format: str, *, has_tracker: bool = False) -> dict[str, str]:
    """Returns the cells of a row in our units; `has_tracker` if the file says which variants are tracked."""
    cells = dict(row)
    _convert_sizes(cells)
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


def _convert_sizes(cells: dict[str, str]) -> None:
    """Converts weights to kilograms and sizes to centimeters; leaves what is not a number or has an unknown unit."""
    if "grams" in cells:
        cells["weight"], cells["weight_unit"] = cells.pop("grams"), "g"
    units = {"weight": (cells.pop("weight_unit", ""), _KILOGRAMS)}
    dimensions_unit = cells.pop("dimensions_unit", "")
    units |= dict.fromkeys(_SIZES, (dimensions_unit, _CENTIMETERS))
    for name, (unit, factors) in units.items():
        factor = factors.get(unit.lower())
        if name in cells and factor is not None:
            cells[name] = _multiply(cells[name], factor)


def _multiply(text: str, factor: Decimal) -> str:
    try:
        number = Decimal(text)
    except InvalidOperation:
        return text
    if not number.is_finite() or abs(number.adjusted()) > 20:
        return text
    return f"{(number * factor).quantize(Decimal('0.0001')).normalize():f}"
