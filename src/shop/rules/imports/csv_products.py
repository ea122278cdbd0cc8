"""Converts rows of a CSV file to the lines of an import: rows with the same slug are one product, and an empty cell
changes nothing.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from shop.base.csv_cells import read_cell
from shop.base.texts import fold_text
from shop.rules.imports.csv_columns import (
    CATEGORY_COLUMNS,
    MAX_OPTIONS,
    PRODUCT_TEXTS,
    PROPERTIES,
    VARIANT_TEXTS,
)
from shop.rules.imports.csv_values import Row, Units, convert_row

MAX_IMAGES = 250
MAX_ROWS = 5000
"""Of one product."""
_LAST = 10**9
_NO_OPTION = "Default Title"
"""The option value of a Shopify product without variants."""
_PRICE = re.compile(r"(compare_at_price|price)_([A-Z]{3})")


class CsvDefaults(msgspec.Struct, frozen=True):
    """The currency of prices and the location of stock in files that name none, and the units of the shop."""

    currency: str
    location: str | None
    units: Units
    file_format: str = "own"
    has_tracker: bool = False
    """Whether the file says which variants are tracked."""


class CsvImage(msgspec.Struct, frozen=True):
    """A link to an image, of the product or of the variant with this SKU."""

    url: str
    alt: str = ""
    sku: str | None = None


class CsvRecord(msgspec.Struct, frozen=True):
    """A record of a file: the number of its first line and the object that an import reads."""

    line: int
    value: dict[str, Any]
    images: Sequence[CsvImage] = ()


def map_rows(rows: Iterable[tuple[int, list[str]]], mapping: Mapping[str, str]) -> Iterator[tuple[int, Row]]:
    """Yields the cells that are not empty by our columns."""
    columns = [(int(number), column) for number, column in mapping.items()]
    for line, cells in rows:
        row = {column: read_cell(cells[number].strip()) for number, column in columns if number < len(cells)}
        yield line, {column: text for column, text in row.items() if text}


def build_products(rows: Iterable[tuple[int, Row]], defaults: CsvDefaults) -> Iterator[CsvRecord]:
    """Yields the products; raises ValueError if one has too many rows."""
    group: list[tuple[int, Row]] = []
    for line, cells in rows:
        row = convert_row(cells, defaults.file_format, defaults.units, has_tracker=defaults.has_tracker)
        if group and row.get("slug", "") != group[0][1].get("slug", ""):
            yield _build_product(group, defaults)
            group = []
        elif len(group) == MAX_ROWS:
            raise ValueError(f"has more than {MAX_ROWS:,} rows for one product at line {line}")
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
    images: list[_RowImage] = []
    for _, row in group:
        _add_product_cells(product, row)
        # Shopify names the options in the first row of a product only.
        option_names |= {
            number: row[f"option{number}_name"] for number in range(1, MAX_OPTIONS + 1) if f"option{number}_name" in row
        }
        options = _read_options(row, option_names)
        variant = _build_variant(row, defaults)
        sku = None
        if options:
            sku = variant.get("sku") or _build_sku(product["slug"], options)
            variants.append({**variant, "sku": sku, "options": options})
        elif variant:
            product["master"] = {**product.get("master", {}), **variant}
        images += _list_row_images(row, sku, is_of_variant=defaults.file_format == "spree")
    if "status" in product:
        product["status"] = product["status"].lower()
    value = {**product, "variants": variants} if variants else product
    return CsvRecord(group[0][0], value, _merge_images(images))


def _add_product_cells(product: dict[str, Any], row: Row) -> None:
    product |= {name: row[name] for name in PRODUCT_TEXTS if name in row}
    if "tags" in row:
        product["tags"] = [tag.strip() for tag in row["tags"].split(",") if tag.strip()]
    if "categories" in row:
        product["taxons"] = [name.strip() for name in row["categories"].split(";") if name.strip()]
    if paths := [row[column] for column in CATEGORY_COLUMNS if column in row]:
        product["category_paths"] = [*product.get("category_paths", ()), *paths]
    if properties := {name: row[column] for column, name in PROPERTIES.items() if column in row}:
        product["properties"] = {**product.get("properties", {}), **properties}


class _RowImage(msgspec.Struct, frozen=True):
    """A link of a row, with the number by which the images are sorted."""

    image: CsvImage
    position: int = _LAST


def _list_row_images(row: Row, sku: str | None, *, is_of_variant: bool) -> Iterator[_RowImage]:
    """Yields the links of a row; `is_of_variant` if all links of a variant's row are its own."""
    position = row.get("image1_position", "")
    first = int(position) if position.isascii() and position.isdigit() and len(position) < 7 else _LAST
    for number in (1, 2, 3):
        if f"image{number}_src" in row:
            alt = row.get(f"image{number}_alt", "")[:250]
            image = CsvImage(row[f"image{number}_src"], alt, sku if is_of_variant else None)
            yield _RowImage(image, first if number == 1 else _LAST)
    if "variant_image_src" in row:
        yield _RowImage(CsvImage(row["variant_image_src"], "", sku))


def _merge_images(row_images: Iterable[_RowImage]) -> list[CsvImage]:
    """Returns the links in their order, each once. One that variants name too belongs to each of them instead."""
    by_url: dict[str, list[_RowImage]] = {}
    for each in sorted(row_images, key=lambda each: each.position):
        by_url.setdefault(each.image.url, []).append(each)
    images: list[CsvImage] = []
    for url, same in by_url.items():
        alt = next((each.image.alt for each in same if each.image.alt), "")
        skus = list(dict.fromkeys(each.image.sku for each in same))
        images += [CsvImage(url, alt, sku) for sku in skus if sku or len(skus) == 1]
    return images


def _read_options(row: Row, names: Mapping[int, str]) -> dict[str, str]:
    values = {number: row.get(f"option{number}_value", "") for number in range(1, MAX_OPTIONS + 1)}
    return {
        names.get(number, f"option{number}"): value for number, value in values.items() if value and value != _NO_OPTION
    }


def _build_variant(row: Row, defaults: CsvDefaults) -> dict[str, Any]:
    variant: dict[str, Any] = {name: row[name] for name in ("sku", "track_inventory", *VARIANT_TEXTS) if name in row}
    if "cost_price" in variant:
        variant.setdefault("cost_currency", defaults.currency)
    elif "cost_currency" in variant:
        del variant["cost_currency"]
    if prices := _read_prices(row, defaults):
        variant["prices"] = prices
    names = {"count_on_hand": "stock", "backorderable": "backorderable"}
    stock = {name: row[column] for name, column in names.items() if column in row}
    if stock and defaults.location:
        variant["stock"] = {defaults.location: stock}
    return variant


def _read_prices(row: Row, defaults: CsvDefaults) -> dict[str, dict[str, str]]:
    prices: dict[str, dict[str, str]] = {}
    names = {"price": "amount", "compare_at_price": "compare_at"}
    for column, text in row.items():
        match = _PRICE.fullmatch(column)
        name, currency = match.groups() if match else (column, row.get("currency", defaults.currency).upper())
        # Spree and Shopify write 0 for none.
        if name in names and not (name == "compare_at_price" and not text.strip("0.")):
            prices.setdefault(currency, {})[names[name]] = text
    # A compare-at price belongs to a price.
    return {currency: price for currency, price in prices.items() if "amount" in price}


def _build_sku(slug: str, options: Mapping[str, str]) -> str:
    """Returns the SKU of a variant that has none: the same one each time that the file is imported."""
    text = fold_text("-".join((slug, *options.values())))
    return re.sub(r"[^a-z0-9]+", "-", text).strip("-").upper()[:100]
