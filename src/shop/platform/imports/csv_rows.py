"""Parses records of CSV files into typed import rows, with the readers of JSON lines."""

from typing import Any

from msgspec.structs import replace

from shop.actions.imports.batch_runner import ImportLine
from shop.platform.imports.import_rows import product_line
from shop.rules.imports.csv_products import CsvRecord
from shop.rules.imports.rows import Errors, ProductLine
from shop.rules.imports.stock import StockRow
from shop.web.input.inputs import read_value
from shop.web.input.ndjson import RawLine

_STOCK = {"sku": str, "location": str, "count_on_hand": int, "backorderable": bool}


def parse_record(kind: str, record: CsvRecord) -> ImportLine[Any]:
    return _parse_product(record) if kind == "products" else _parse_stock(record)


def _parse_product(record: CsvRecord) -> ImportLine[ProductLine]:
    size = sum(len(str(value)) for value in record.value.values())
    line = product_line(RawLine(record.line, size, record.value))
    if line.value is None:
        return line
    # A file may lack some currencies, and their prices remain.
    master = line.value.master and replace(line.value.master, has_all_prices=False)
    variants = [replace(variant, has_all_prices=False) for variant in line.value.variants]
    return replace(line, value=replace(line.value, master=master, variants=variants))


def _parse_stock(record: CsvRecord) -> ImportLine[StockRow]:
    values: dict[str, Any] = {}
    errors: Errors = {}
    for name, text in record.value.items():
        try:
            values[name] = read_value(text, _STOCK[name])
        except ValueError as error:
            errors[name] = [str(error)]
    if "sku" not in record.value:
        errors["sku"] = ["is required: it identifies the variant"]
    size, key = sum(map(len, record.value.values())), str(record.value.get("sku", ""))[:200]
    return ImportLine(record.line, size, key, None if errors else StockRow(**values), errors)
