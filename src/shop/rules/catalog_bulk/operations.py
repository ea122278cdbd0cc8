"""Bulk operations on products: the edits that an operation makes, and what it says of itself."""

from collections.abc import Mapping, Sequence
from decimal import ROUND_FLOOR, ROUND_HALF_UP, Decimal
from uuid import UUID

import msgspec

from shop.base.money import MAX_AMOUNT, currency_digits
from shop.models.catalog_bulk.cells import CellColumn, CellEdit, CellVariant, ProductCells
from shop.rules.catalog_bulk.cells import cell_text
from shop.rules.form_values import amount_text

ROUNDINGS = {"none": "do not round", "95": "to .95", "99": "to .99", "whole": "to whole amounts"}
_ENDINGS = {"95": Decimal("0.95"), "99": Decimal("0.99"), "whole": Decimal(0)}
_MAX_PERCENT = Decimal(1000)


class BulkOperation(msgspec.Struct, frozen=True):
    """An operation: `price`, `compare`, `clear_compare`, or a column whose value is set.

    A price is changed by `number`, which is negative if it is lowered: percent, or an amount of the currency.
    """

    kind: str
    value: str = ""
    """The new value: a status, or the id of a category."""
    currency: str = ""
    number: Decimal = Decimal(0)
    is_percent: bool = True
    rounding: str = "none"


def list_sold(cells: ProductCells, product_id: UUID) -> list[CellVariant]:
    """Returns the variants of a product that are for sale: its master only if it has no others."""
    variants = [variant for variant in cells.variants.values() if variant.product_id == product_id]
    return [variant for variant in variants if not variant.is_master] or variants


def list_edits(cells: ProductCells, product_ids: Sequence[UUID], operation: BulkOperation) -> list[CellEdit]:
    """Returns the edits that an operation makes; none for values that stay the same."""
    edits = []
    for product_id in product_ids:
        if product_id not in cells.products:
            continue
        if operation.kind in {"price", "compare", "clear_compare"}:
            for variant in list_sold(cells, product_id):
                edits += _list_price_edits(cells, variant.id, operation)
        else:
            edits += _list_product_edits(cells, product_id, operation)
    return edits


def _list_product_edits(cells: ProductCells, product_id: UUID, operation: BulkOperation) -> list[CellEdit]:
    column, value = CellColumn(operation.kind), operation.value
    if operation.kind in {"add_taxon", "remove_taxon"}:
        column, value = CellColumn("taxon", operation.value), "1" if operation.kind == "add_taxon" else ""
    before = cell_text(cells, product_id, column)
    return [] if before is None or before == value else [CellEdit(product_id, column.key, before, value)]


def _list_price_edits(cells: ProductCells, variant_id: UUID, operation: BulkOperation) -> list[CellEdit]:
    currency = operation.currency
    price = cells.prices.get((variant_id, currency))
    if price is None:
        return []
    column = CellColumn("price" if operation.kind == "price" else "compare", currency)
    if operation.kind == "price":
        amount: int | None = change_amount(price.amount, operation)
    else:
        amount = price.amount if operation.kind == "compare" else None
    before, after = cell_text(cells, variant_id, column) or "", amount_text(amount, currency)
    return [] if before == after else [CellEdit(variant_id, column.key, before, after)]


def change_amount(minor: int, operation: BulkOperation) -> int:
    """Returns a changed price in minor units. A price that would be zero, negative or too large stays the same."""
    unit = Decimal(10) ** currency_digits(operation.currency)
    amount = Decimal(minor)
    new = amount * (100 + operation.number) / 100 if operation.is_percent else amount + operation.number * unit
    new = _round_amount(new, unit, operation.rounding)
    return int(new) if 0 < new < MAX_AMOUNT else minor


def _round_amount(amount: Decimal, unit: Decimal, rounding: str) -> Decimal:
    """Rounds to the nearest amount with the ending; currencies without decimals have whole amounts only."""
    if rounding in _ENDINGS and unit > 1:
        ending = _ENDINGS[rounding] * unit
        steps = ((amount - ending) / unit).to_integral_value(ROUND_HALF_UP)
        rounded = steps * unit + ending
        return rounded if rounded > 0 else rounded + unit
    return amount.to_integral_value(ROUND_HALF_UP if amount >= 0 else ROUND_FLOOR)


def check_number(operation: BulkOperation) -> str | None:
    """Returns why the number of a price change is not acceptable."""
    if operation.number == 0:
        return "must not be zero"
    if operation.is_percent and not -100 < operation.number <= _MAX_PERCENT:
        return "must be less than 100 to lower prices, and at most 1000 to raise them"
    return None


def describe_operation(operation: BulkOperation, names: Mapping[str, str]) -> str:
    """Returns the operation in words; `names` has the names of categories by id."""
    name = names.get(operation.value, operation.value) or "the default"
    match operation.kind:
        case "price":
            verb, number = ("Raise" if operation.number > 0 else "Lower"), abs(operation.number).normalize()
            by = f"{number:f}%" if operation.is_percent else f"{number:f} {operation.currency}"
            rounding = "" if operation.rounding == "none" else f", round {ROUNDINGS[operation.rounding]}"
            return f"{verb} prices in {operation.currency} by {by}{rounding}"
        case "compare":
            return f"Set the compare-at price in {operation.currency} to the price"
        case "clear_compare":
            return f"Remove the compare-at price in {operation.currency}"
        case "add_taxon":
            return f"Add to {name}"
        case "remove_taxon":
            return f"Remove from {name}"
    return f"Set the {operation.kind.replace('_', ' ')} to {name}"
