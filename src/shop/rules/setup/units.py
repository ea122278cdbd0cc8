"""The units of weights and dimensions, and conversions between them."""

from collections.abc import Mapping
from decimal import Decimal

WEIGHT_UNITS = {"kg": "Kilograms (kg)", "g": "Grams (g)", "lb": "Pounds (lb)", "oz": "Ounces (oz)"}
DIMENSION_UNITS = {"cm": "Centimeters (cm)", "m": "Meters (m)", "in": "Inches (in)", "ft": "Feet (ft)"}
_GRAMS = {"kg": Decimal(1000), "g": Decimal(1), "lb": Decimal("453.59237"), "oz": Decimal("28.349523125")}
_CENTIMETERS = {
    "cm": Decimal(1),
    "mm": Decimal("0.1"),
    "m": Decimal(100),
    "in": Decimal("2.54"),
    "ft": Decimal("30.48"),
}
SIZES: Mapping[str, Mapping[str, Decimal]] = {"weight": _GRAMS} | dict.fromkeys(
    ("height", "width", "depth"), _CENTIMETERS
)
"""The units of each size, in grams or centimeters."""
_PRECISION = Decimal("0.0001")


def label_sizes(weight_unit: str, dimension_unit: str) -> dict[str, str]:
    """Returns the labels of weight and dimensions with their units, by column."""
    names = {name: name.capitalize() for name in SIZES}
    return {name: f"{label} ({weight_unit if name == 'weight' else dimension_unit})" for name, label in names.items()}


def convert_size(name: str, value: Decimal, unit: str, shop_unit: str) -> Decimal:
    """Converts a weight or dimension, with four decimals; KeyError for an unknown unit."""
    sizes = SIZES[name]
    if unit == shop_unit:
        return value
    return (value * sizes[unit] / sizes[shop_unit]).quantize(_PRECISION).normalize()
