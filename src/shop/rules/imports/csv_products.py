"""Converts rows of a CSV file to the lines of an import: rows with the same slug are one product, and an empty cell
changes nothing.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from shop.base.csv_cells import read_cell
from shop.base.texts import fold_text
from shop.rules.form_values import read_number
from shop.rules.imports.csv_columns import MAX_OPTIONS, PRODUCT_TEXTS, PROPERTIES, VARIANT_TEXTS
from shop.rules.setup.units import SIZES, convert_size

Row = Mapping[str, str]
MAX_IMAGES = 10
_NO_OPTION = "Default Title"
"""The option value of a Shopify product without variants."""
_PRICE = re.compile(r"(compare_at_price|price)_([A-Z]{3})")


class CsvDefaults(msgspec.Struct, frozen=True):
    """The currency of prices and the location of stock in files that name none, and the units of the shop."""

    currency: str
    location: str | None
    weight_unit: str = "kg"
    dimension_unit: str = "cm"


class CsvRecord(msgspec.Struct, frozen=True):
    """A record of a file: the number of its first line and the object that an import reads."""

    line: int
    value: dict[str, Any]
    images: Sequence[tuple[str, str]] = ()
    """The links to images, each with its description."""


def map_rows(rows: Iterable[tuple[int, list[str]]], mapping: Mapping[str, str]) -> Iterator[tuple[int, Row]]:
    """Yields the cells that are not empty by our columns."""
    columns = [(int(number), column) for number, column in mapping.items()]
    for line, cells in rows:
        row = {column: read_cell(cells[number].strip()) for number, column in columns if number < len(cells)}
        yield line, {column: text for column, text in row.items() if text}


def build_products(rows: Iterable[tuple[int, Row]], defaults: CsvDefaults) -> Iterator[CsvRecord]:
    group: list[tuple[int, Row]] = []
    for line, row in rows:
        if group and row.get("slug", "") != group[0][1].get("slug", ""):
            yield _build_product(group, defaults)
            group = []
        group.append((line, row))
    if group:
        yield _build_product(group, defaults)


def build_rows(rows: Iterable[tuple[int, Row]]) -> Iterator[CsvRecord]:
    """Yields the records of files in which each row is one: stock and customers."""
    for line, row in rows:
        yield CsvRecord(line, dict(row))


def _build_product(group: list[tuple[int, Row]], defaults: CsvDefaults) -> CsvRecord:
    product: dict[str, Any] = {"slug": group[0][1].get("slug", "")}
    option_names: dict[int, str] = {}
    variants: list[dict[str, Any]] = []
    for _, row in group:
        product |= {name: row[name] for name in PRODUCT_TEXTS if name in row}
        if "tags" in row:
            product["tags"] = [tag.strip() for tag in row["tags"].split(",") if tag.strip()]
        if "categories" in row:
            product["taxons"] = [name.strip() for name in row["categories"].split(";") if name.strip()]
        if properties := {name: row[column] for column, name in PROPERTIES.items() if column in row}:
            product["properties"] = {**product.get("properties", {}), **properties}
        # Shopify names the options in the first row of a product only.
        option_names |= {
            number: row[f"option{number}_name"] for number in range(1, MAX_OPTIONS + 1) if f"option{number}_name" in row
        }
        options = _read_options(row, option_names)
        variant = _build_variant(row, defaults)
        if options:
            sku = variant.get("sku") or _build_sku(product["slug"], options)
            variants.append({**variant, "sku": sku, "options": options})
        elif variant:
            product["master"] = {**product.get("master", {}), **variant}
    if "status" in product:
        product["status"] = product["status"].lower()
    value = {**product, "variants": variants} if variants else product
    return CsvRecord(group[0][0], value, _list_images(row for _, row in group))


def _list_images(rows: Iterable[Row]) -> list[tuple[str, str]]:
    """Returns the links of all rows, each once."""
    links: dict[str, str] = {}
    for row in rows:
        for number in (1, 2, 3):
            if f"image{number}_src" in row:
                links.setdefault(row[f"image{number}_src"], row.get(f"image{number}_alt", "")[:250])
    return list(links.items())[:MAX_IMAGES]


def _read_options(row: Row, names: Mapping[int, str]) -> dict[str, str]:
    values = {number: row.get(f"option{number}_value", "") for number in range(1, MAX_OPTIONS + 1)}
    return {
        names.get(number, f"option{number}"): value for number, value in values.items() if value and value != _NO_OPTION
    }


def _build_variant(row: Row, defaults: CsvDefaults) -> dict[str, Any]:
    variant: dict[str, Any] = {name: row[name] for name in ("sku", *VARIANT_TEXTS) if name in row}
    variant |= _convert_sizes(row, defaults)
    if "cost_price" in variant:
        variant.setdefault("cost_currency", defaults.currency)
    elif "cost_currency" in variant:
        del variant["cost_currency"]
    if prices := _read_prices(row, defaults):
        variant["prices"] = prices
    if "stock" in row and defaults.location:
        variant["stock"] = {defaults.location: row["stock"]}
    return variant


def _convert_sizes(row: Row, defaults: CsvDefaults) -> dict[str, str]:
    """Returns the sizes of a row that names their units, in the units of the shop."""
    sizes: dict[str, str] = {}
    texts = {name: row[name] for name in SIZES if name in row}
    units = dict.fromkeys(SIZES, row.get("dimension_unit", "")) | {"weight": row.get("weight_unit", "")}
    if "weight_grams" in row:
        texts["weight"], units["weight"] = row["weight_grams"], "g"
    for name, text in texts.items():
        unit = units[name].lower()
        shop_unit = defaults.weight_unit if name == "weight" else defaults.dimension_unit
        if unit:
            try:
                sizes[name] = f"{convert_size(name, read_number(text), unit, shop_unit):f}"
            except (ValueError, KeyError):
                # Refused with the line, since it is no number.
                sizes[name] = f"{text} {unit}"
    return sizes


def _read_prices(row: Row, defaults: CsvDefaults) -> dict[str, dict[str, str]]:
    prices: dict[str, dict[str, str]] = {}
    names = {"price": "amount", "compare_at_price": "compare_at"}
    for column, text in row.items():
        match = _PRICE.fullmatch(column)
        name, currency = match.groups() if match else (column, row.get("currency", defaults.currency).upper())
        if name in names:
            prices.setdefault(currency, {})[names[name]] = text
    # A compare-at price belongs to a price.
    return {currency: price for currency, price in prices.items() if "amount" in price}


def _build_sku(slug: str, options: Mapping[str, str]) -> str:
    """Returns the SKU of a variant that has none: the same one each time that the file is imported."""
    text = fold_text("-".join((slug, *options.values())))
    return re.sub(r"[^a-z0-9]+", "-", text).strip("-").upper()[:100]
