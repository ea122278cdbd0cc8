"""Builds the rows of exported CSV files, in our own columns."""

from collections.abc import Iterator, Sequence
from typing import Any

from shop.models.catalog.full_products import FullProduct
from shop.models.setup.shop import Shop
from shop.rules.imports.csv_columns import MAX_OPTIONS, PRODUCT_TEXTS, PROPERTIES, VARIANT_TEXTS
from shop.rules.imports.exports import product_line


def product_rows(product: FullProduct, shop: Shop, columns: Sequence[str]) -> Iterator[list[str]]:
    """Yields a row for the product and its master, and one for each variant that has options."""
    line = product_line(product)
    fields = {name: _text(line[name]) for name in PRODUCT_TEXTS}
    fields |= {"tags": ", ".join(line["tags"]), "categories": "; ".join(line["taxons"])}
    fields |= {column: line["properties"].get(name, "") for column, name in PROPERTIES.items()}
    first = {**fields, **_variant_cells(line["master"], shop), "slug": line["slug"]}
    yield [first.get(column, "") for column in columns]
    for variant in line["variants"]:
        # Without options or a SKU, an import could not tell the variant from others.
        if variant["sku"] and 0 < len(variant["options"]) <= MAX_OPTIONS:
            cells = {**_variant_cells(variant, shop), "slug": line["slug"]}
            yield [cells.get(column, "") for column in columns]


def _variant_cells(variant: dict[str, Any], shop: Shop) -> dict[str, str]:
    cells = {name: _text(variant[name]) for name in ("sku", *VARIANT_TEXTS)}
    if cells["weight"]:
        cells["weight_unit"] = shop.weight_unit
    if cells["height"] or cells["width"] or cells["depth"]:
        cells["dimension_unit"] = shop.dimension_unit
    for number, (name, value) in enumerate(variant["options"].items(), 1):
        cells |= {f"option{number}_name": name, f"option{number}_value": value}
    for currency, price in variant["prices"].items():
        cells[f"price_{currency}"] = _text(price["amount"])
        cells[f"compare_at_price_{currency}"] = _text(price["compare_at"])
    return cells


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
