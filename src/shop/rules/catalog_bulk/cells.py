"""Reads and validates cells of the product grid, and converts edits to the rows to write."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any
from uuid import UUID

import msgspec

from shop.base.ids import as_uuid
from shop.base.money import is_currency, minor_units
from shop.base.times import in_utc
from shop.base.values import read_line, read_time
from shop.models.catalog.products import STATUSES
from shop.models.catalog_bulk.cells import CellColumn, CellEdit, CellProblem, CellVariant, ProductCells
from shop.rules.form_values import amount_text, number_text, read_amount, read_number, read_whole
from shop.rules.imports.rows import Recount

PRODUCT_COLUMNS = ("status", "available_on", "tax_category", "shipping_category", "taxon")
SIZES = ("weight", "height", "width", "depth")
VARIANT_COLUMNS = ("sku", "price", "compare", "cost", "stock", *SIZES)
_MAX_SIZE = 10**9
_CATEGORIES = ("tax_category", "shipping_category")
_WITH_ID = ("stock", "taxon")
_WITH_CURRENCY = ("price", "compare")
MAX_SKU_LENGTH = 100
GONE = "no longer exists"
CHANGED = "was changed meanwhile"


class CellWrites(msgspec.Struct):
    """The rows to write for some edits, by table."""

    products: dict[UUID, dict[str, Any]] = {}
    variants: dict[UUID, dict[str, Any]] = {}
    prices: dict[tuple[UUID, str], dict[str, int | None]] = {}
    counts: dict[tuple[UUID, UUID], int] = {}
    """The new counts of variants at locations."""
    taxons: dict[tuple[UUID, UUID], bool] = {}
    """Whether products are in taxons."""


def parse_column(key: str) -> CellColumn | None:
    """Returns a column by its key; None for one that does not exist."""
    name, _, argument = key.partition("-")
    if name in _WITH_ID:
        return CellColumn(name, argument) if as_uuid(argument) else None
    if name in _WITH_CURRENCY:
        return CellColumn(name, argument) if is_currency(argument) else None
    is_plain = not argument and name in {*PRODUCT_COLUMNS, *VARIANT_COLUMNS}
    return CellColumn(name) if is_plain else None


def is_product_column(column: CellColumn) -> bool:
    return column.name in PRODUCT_COLUMNS


def cell_text(cells: ProductCells, owner_id: UUID, column: CellColumn) -> str | None:
    """Returns the text of a cell; None if its product or variant does not exist."""
    if is_product_column(column):
        return _product_text(cells, owner_id, column)
    variant = cells.variants.get(owner_id)
    return None if variant is None else _variant_text(cells, variant, column)


def _variant_text(cells: ProductCells, variant: CellVariant, column: CellColumn) -> str:
    if column.name == "sku":
        return variant.sku
    if column.name == "cost":
        return amount_text(variant.cost_price, variant.cost_currency or cells.default_currency)
    if column.name == "stock":
        item = cells.stock_items.get((variant.id, UUID(column.argument)))
        return str(item.count_on_hand) if item else ""
    if column.name in SIZES:
        return number_text(getattr(variant, column.name))
    price = cells.prices.get((variant.id, column.argument))
    if price is None:
        return ""
    return amount_text(price.amount if column.name == "price" else price.compare_at_amount, column.argument)


def _product_text(cells: ProductCells, product_id: UUID, column: CellColumn) -> str | None:
    product = cells.products.get(product_id)
    if product is None:
        return None
    match column.name:
        case "status":
            return product.status
        case "available_on":
            return f"{in_utc(product.available_on):%Y-%m-%dT%H:%M}" if product.available_on else ""
        case "taxon":
            return "1" if (product_id, UUID(column.argument)) in cells.classification_ids else ""
    return str(getattr(product, f"{column.name}_id") or "")


def normalize_text(cells: ProductCells, owner_id: UUID, column: CellColumn, text: str) -> str:
    """Returns the text of a cell in the form of `cell_text`; ValueError if it is not a value of the column."""
    text = text.strip()
    if column.name in {"status", "taxon", *_CATEGORIES}:
        return _choice(column, text)
    if column.name == "sku":
        return read_line(text, MAX_SKU_LENGTH)
    if not text:
        return ""
    if reader := _READERS.get(column.name):
        return reader(text)
    return _amount(text, column.argument or _cost_currency(cells, owner_id))


def _choice(column: CellColumn, text: str) -> str:
    if column.name == "status" and text not in STATUSES:
        raise ValueError(f"must be one of {', '.join(STATUSES)}")
    if (column.name == "taxon" and text not in {"", "1"}) or (
        column.name in _CATEGORIES and text and not as_uuid(text)
    ):
        raise ValueError("is not a valid choice")
    return text


def _amount(text: str, currency: str) -> str:
    return amount_text(minor_units(read_amount(text, currency), currency), currency)


def _size(text: str) -> str:
    number = read_number(text)
    if number >= _MAX_SIZE:
        raise ValueError(f"must be from 0 to {_MAX_SIZE - 1}")
    return number_text(number)


def _moment(text: str) -> str:
    moment = read_time(text)
    if moment.year < 1900:
        raise ValueError("must be a date and time, like 2026-11-15T09:30")
    return f"{in_utc(moment):%Y-%m-%dT%H:%M}"


_READERS: dict[str, Callable[[str], str]] = {
    "stock": lambda text: str(read_whole(text)),
    "available_on": _moment,
    **dict.fromkeys(SIZES, _size),
}


def _cost_currency(cells: ProductCells, variant_id: UUID) -> str:
    return cells.variants[variant_id].cost_currency or cells.default_currency


def check_edit(cells: ProductCells, edit: CellEdit) -> CellEdit | CellProblem | None:
    """Returns the edit in normal form, its problem, or None if the cell has this value already."""
    column = parse_column(edit.column)
    current = None if column is None else cell_text(cells, edit.owner_id, column)
    if column is None or current is None:
        return CellProblem(edit, GONE)
    try:
        after = normalize_text(cells, edit.owner_id, column, edit.after)
    except ValueError as error:
        return CellProblem(edit, str(error))
    if after == current:
        return None
    if edit.before != current:
        return CellProblem(edit, CHANGED, current)
    return CellEdit(edit.owner_id, edit.column, current, after)


def find_problems(
    cells: ProductCells,
    edits: Sequence[CellEdit],
    sku_owners: Mapping[str, UUID],
    known_ids: Mapping[str, Collection[str]],
) -> list[CellProblem]:
    """Returns the problems of edits that are valid one by one: with other cells, other variants or missing records.

    `known_ids` has the ids of the categories, locations and taxons that exist, by name of their column.
    """
    values = {(edit.owner_id, edit.column): edit.after for edit in edits}
    new_skus = [edit.after for edit in edits if edit.column == "sku"]
    problems = []
    for edit in edits:
        column = parse_column(edit.column)
        if column and (message := _find_problem(cells, edit, column, values)):
            problems.append(CellProblem(edit, message))
        elif edit.column == "sku" and edit.after:
            owner_id = sku_owners.get(edit.after, edit.owner_id)
            is_released = values.get((owner_id, "sku"), edit.after) != edit.after
            if (owner_id != edit.owner_id and not is_released) or new_skus.count(edit.after) > 1:
                problems.append(CellProblem(edit, "is taken"))
        elif column and column.name in known_ids:
            record_id = edit.after if column.name in _CATEGORIES else column.argument
            if edit.after and record_id not in known_ids[column.name]:
                problems.append(CellProblem(edit, "is not a valid choice"))
    return problems


def _find_problem(
    cells: ProductCells, edit: CellEdit, column: CellColumn, values: Mapping[tuple[UUID, str], str]
) -> str | None:
    if column.name in _WITH_CURRENCY:
        price, compare = (CellColumn(name, column.argument) for name in _WITH_CURRENCY)
        texts = [
            values.get((edit.owner_id, each.key), cell_text(cells, edit.owner_id, each)) for each in (price, compare)
        ]
        if texts[1] and not texts[0]:
            return "is required with a compare-at price" if column.name == "price" else "needs a price"
    if column.name == "stock":
        item = cells.stock_items.get((edit.owner_id, UUID(column.argument)))
        if not edit.after:
            return "must be a whole number"
        if int(edit.after) < 0 and not (item and item.backorderable):
            return "must be 0 or more: the item is not backorderable"
    if column.name == "available_on" and edit.after:
        ends = cells.products[edit.owner_id].discontinue_on
        if ends and ends <= read_time(edit.after):
            return "must be before the product is discontinued"
    return None


def build_writes(cells: ProductCells, edits: Sequence[CellEdit]) -> CellWrites:
    """Returns the rows to write for valid edits."""
    writes = CellWrites()
    for edit in edits:
        column = parse_column(edit.column)
        if column is not None:
            _WRITERS[column.name](writes, cells, edit, column)
    return writes


def _write_product(writes: CellWrites, _cells: ProductCells, edit: CellEdit, column: CellColumn) -> None:
    row = writes.products.setdefault(edit.owner_id, {"id": edit.owner_id})
    match column.name:
        case "status":
            row["status"] = edit.after
        case "available_on":
            row["available_on"] = read_time(edit.after) if edit.after else None
        case _:
            row[f"{column.name}_id"] = edit.after or None


def _write_variant(writes: CellWrites, cells: ProductCells, edit: CellEdit, column: CellColumn) -> None:
    row = writes.variants.setdefault(edit.owner_id, {"id": edit.owner_id})
    if column.name == "sku":
        row["sku"] = edit.after
        return
    if column.name in SIZES:
        row[column.name] = edit.after or None
        return
    currency = _cost_currency(cells, edit.owner_id)
    row["cost_price"] = minor_units(read_amount(edit.after, currency), currency) if edit.after else None
    row["cost_currency"] = currency


def _write_price(writes: CellWrites, cells: ProductCells, edit: CellEdit, column: CellColumn) -> None:
    currency = column.argument
    price = cells.prices.get((edit.owner_id, currency))
    current = {
        "amount": price.amount if price else None,
        "compare_at_amount": price.compare_at_amount if price else None,
    }
    row = writes.prices.setdefault((edit.owner_id, currency), current)
    amount = minor_units(read_amount(edit.after, currency), currency) if edit.after else None
    row["amount" if column.name == "price" else "compare_at_amount"] = amount


def _write_count(writes: CellWrites, _cells: ProductCells, edit: CellEdit, column: CellColumn) -> None:
    writes.counts[edit.owner_id, UUID(column.argument)] = int(edit.after)


def _write_taxon(writes: CellWrites, _cells: ProductCells, edit: CellEdit, column: CellColumn) -> None:
    writes.taxons[edit.owner_id, UUID(column.argument)] = bool(edit.after)


_WRITERS: dict[str, Callable[[CellWrites, ProductCells, CellEdit, CellColumn], None]] = {
    **dict.fromkeys(("status", "available_on", *_CATEGORIES), _write_product),
    **dict.fromkeys(("sku", "cost", *SIZES), _write_variant),
    **dict.fromkeys(_WITH_CURRENCY, _write_price),
    "stock": _write_count,
    "taxon": _write_taxon,
}


def list_recounts(cells: ProductCells, counts: Mapping[tuple[UUID, UUID], int]) -> list[Recount]:
    """Returns the recounts of existing stock items."""
    return [
        Recount(item.id, item.count_on_hand, count, item.backorderable)
        for key, count in counts.items()
        if (item := cells.stock_items.get(key))
    ]
