"""Parses records of CSV files into typed import rows, with the readers of JSON lines."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from msgspec.structs import replace

from shop.actions.customers.customers import MAX_NOTE_LENGTH, MAX_PHONE_LENGTH
from shop.actions.imports.batch_runner import ImportLine
from shop.base.email import read_email
from shop.base.texts import is_line
from shop.base.values import NOT_EMAIL, read_line, read_text
from shop.platform.imports.import_rows import product_line
from shop.rules.customers.csv_customers import ADDRESS_FIELDS, CustomerRow
from shop.rules.form_values import split_words
from shop.rules.imports.categories import read_category_path
from shop.rules.imports.csv_products import CsvRecord
from shop.rules.imports.rows import Errors, ProductLine
from shop.rules.imports.stock import StockRow
from shop.web.input.inputs import read_value
from shop.web.input.ndjson import RawLine

_STOCK = {"sku": str, "location": str, "count_on_hand": int, "backorderable": bool}
_CUSTOMER: Mapping[str, Callable[[str], str]] = {
    "first_name": read_line,
    "last_name": read_line,
    "phone": partial(read_line, longest=MAX_PHONE_LENGTH),
    "note": lambda text: read_text(text.replace("\r\n", "\n"), MAX_NOTE_LENGTH),
}


def parse_record(kind: str, record: CsvRecord) -> ImportLine[Any]:
    return _PARSERS[kind](record)


def _parse_product(record: CsvRecord) -> ImportLine[ProductLine]:
    size = sum(len(str(value)) for value in record.value.values())
    value = {name: each for name, each in record.value.items() if name != "category_paths"}
    line = product_line(RawLine(record.line, size, value))
    if line.value is None:
        return line
    try:
        paths = [read_category_path(text) for text in record.value.get("category_paths", ())]
    except ValueError as error:
        return replace(line, value=None, errors={"category": [str(error)]})
    # A file may lack some currencies and has two properties only; other prices and properties remain.
    master = line.value.master and replace(line.value.master, has_all_prices=False)
    variants = [replace(variant, has_all_prices=False) for variant in line.value.variants]
    parts = {"master": master, "variants": variants, "category_paths": paths}
    return replace(line, value=replace(line.value, **parts, has_all_properties=False))


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


def _parse_customer(record: CsvRecord) -> ImportLine[CustomerRow]:
    cells, errors, texts = record.value, dict[str, list[str]](), dict[str, str]()
    for name in _CUSTOMER.keys() & cells.keys():
        try:
            texts[name] = _CUSTOMER[name](cells[name])
        except ValueError as error:
            errors[name] = [str(error)]
    email, tags = read_email(cells.get("email", "")), split_words(cells.get("tags", ""))
    if email is None:
        errors["email"] = [NOT_EMAIL]
    if not all(map(is_line, tags)):
        errors["tags"] = ["must be words on one line, separated by commas"]
    size = sum(map(len, cells.values()))
    if errors or email is None:
        return ImportLine(record.line, size, cells.get("email", "")[:200], None, errors)
    address = {field: cells[column] for column, field in ADDRESS_FIELDS.items() if column in cells}
    row = CustomerRow(email.address, email.key, texts, tags or None, address)
    return ImportLine(record.line, size, email.key, row)


_PARSERS: Mapping[str, Callable[[CsvRecord], ImportLine[Any]]] = {
    "products": _parse_product,
    "stock": _parse_stock,
    "customers": _parse_customer,
}
