"""Columns, rows and cells of the grid of products."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, tzinfo
from typing import Any
from uuid import UUID

import msgspec

from shop.actions.context import Context
from shop.admin.catalog.products import STATUSES
from shop.admin.pages import PageContext
from shop.base.times import input_time, parse_local_time, parse_time
from shop.models.catalog_bulk.cells import CellColumn, ProductCells
from shop.queries.catalog_bulk import cells as queries
from shop.rules.access.permissions import SELF
from shop.rules.catalog_bulk.cells import SIZES, cell_text, is_product_column, parse_column
from shop.rules.catalog_bulk.operations import list_sold
from shop.rules.setup.units import label_sizes

KINDS = {
    "price": "decimal",
    "compare": "decimal",
    "cost": "decimal",
    "stock": "numeric",
    **dict.fromkeys(SIZES, "decimal"),
    "status": "choice",
    "tax_category": "choice",
    "shipping_category": "choice",
    "available_on": "moment",
}
MAX_VARIANTS = 100
"""The variants of one product that the grid shows."""
_PERMISSIONS = {"cost": "costs:read", "stock": "stock:write"}
"""The permissions of columns that need another one than that to change products."""


class GridColumn(msgspec.Struct, frozen=True):
    """A column of the grid with its label, the kind of its input and, for a list of choices, the texts by value."""

    column: CellColumn
    label: str
    options: Mapping[str, str] = {}
    zone: tzinfo = UTC
    """The zone in which the inputs of times are."""

    @property
    def key(self) -> str:
        return self.column.key

    @property
    def short_label(self) -> str:
        """The label below a heading that names what all its columns are."""
        return self.label.removeprefix("Stock: ")

    @property
    def kind(self) -> str:
        return KINDS.get(self.column.name, "text")

    def input_text(self, text: str) -> str:
        """Returns a value, in which times are UTC, as its input shows it."""
        return local_text(text, self.zone) if self.kind == "moment" else text


class GridCell(msgspec.Struct, frozen=True):
    """One input: its text, and the value that the operator saw, of a time in UTC."""

    owner_id: UUID
    column: GridColumn
    text: str
    original: str
    label: str
    message: str = ""
    hint: str = ""
    """What differs from the head of the column."""

    @property
    def id(self) -> str:
        return f"{self.owner_id}-{self.column.key}"

    @property
    def original_text(self) -> str:
        """The value that the operator saw, as the input shows it."""
        return self.column.input_text(self.original)


class GridRow(msgspec.Struct, frozen=True):
    """A variant with its cells; those of the product are in its first row, and None in the others."""

    product_id: UUID
    variant_id: UUID
    product_name: str
    is_first: bool
    label: str
    cells: Sequence[GridCell | None]
    hidden_count: int = 0
    """The variants of the product that the page leaves out, after its last row."""


async def list_columns(ctx: Context, page_context: PageContext) -> dict[str, GridColumn]:
    """Returns the columns that the operator may see and change by key, in their order."""
    tax_names, shipping_names = await queries.list_categories(ctx.db)
    columns = [GridColumn(CellColumn("sku"), "SKU")]
    for code in page_context.shop.currencies:
        columns += [
            GridColumn(CellColumn("price", code), f"Price ({code})"),
            GridColumn(CellColumn("compare", code), f"Compare-at price ({code})"),
        ]
    columns.append(GridColumn(CellColumn("cost"), f"Cost ({page_context.shop.currencies[0]})"))
    for location in await queries.list_locations(ctx.db):
        columns.append(GridColumn(CellColumn("stock", str(location.id)), f"Stock: {location.name}"))
    shop = page_context.shop
    size_labels = label_sizes(shop.weight_unit, shop.dimension_unit)
    columns += [GridColumn(CellColumn(name), label) for name, label in size_labels.items()]
    columns += [
        GridColumn(CellColumn("status"), "Status", {name: name.capitalize() for name in STATUSES}),
        GridColumn(CellColumn("available_on"), f"Available from ({shop.zone})", zone=shop.zone),
        GridColumn(CellColumn("tax_category"), "Tax category", {"": "Default", **tax_names}),
        GridColumn(CellColumn("shipping_category"), "Shipping category", {"": "Default", **shipping_names}),
    ]
    return {column.key: column for column in columns if can_edit(page_context, column.column)}


def can_edit(page_context: PageContext, column: CellColumn) -> bool:
    """Returns whether the operator may see and change a column; all have the permission to change products."""
    return page_context.can(_PERMISSIONS.get(column.name, SELF))


def default_keys(columns: Mapping[str, GridColumn]) -> list[str]:
    """Returns the columns that a new grid shows: SKU, two prices, the first location and the status."""
    keys = [key for key, column in columns.items() if column.column.name in {"sku", "price", "status"}]
    firsts = [next((key for key in columns if key.startswith(f"{name}-")), "") for name in ("compare", "stock")]
    return [key for key in columns if key in {*keys[:3], "status", *firsts}]


def build_rows(
    cells: ProductCells,
    product_ids: Sequence[UUID],
    columns: Sequence[GridColumn],
    state: "GridState",
    most: int = MAX_VARIANTS,
) -> list[GridRow]:
    """Returns the rows of products, at most so many of each."""
    rows = []
    for product_id in product_ids:
        product = cells.products.get(product_id)
        variants = list_sold(cells, product_id)
        for number, variant in enumerate(variants[:most] if product else ()):
            label = variant.options_text or ("" if variant.is_master else "No options")
            owners = [product_id if is_product_column(column.column) else variant.id for column in columns]
            row_cells = [
                _build_cell(cells, owner_id, column, state, label or variant.sku or name_of(cells, product_id))
                if owner_id == variant.id or number == 0
                else None
                for owner_id, column in zip(owners, columns, strict=True)
            ]
            hidden_count = max(len(variants) - most, 0) if number == min(len(variants), most) - 1 else 0
            row = GridRow(
                product_id, variant.id, name_of(cells, product_id), number == 0, label, row_cells, hidden_count
            )
            rows.append(row)
    return rows


class GridState(msgspec.Struct, frozen=True):
    """What a refused form had: the entered texts, and messages, by owner and column."""

    texts: Mapping[tuple[UUID, str], str] = {}
    messages: Mapping[tuple[UUID, str], str] = {}


def _build_cell(cells: ProductCells, owner_id: UUID, column: GridColumn, state: GridState, row_label: str) -> GridCell:
    current = cell_text(cells, owner_id, column.column) or ""
    key = owner_id, column.key
    name = name_of(cells, owner_id)
    label = f"{column.label} of {name}" + (f", {row_label}" if row_label not in {"", name} else "")
    text = column.input_text(state.texts.get(key, current))
    return GridCell(owner_id, column, text, current, label, state.messages.get(key, ""), _hint_of(cells, key))


def _hint_of(cells: ProductCells, key: tuple[UUID, str]) -> str:
    """Returns the currency of a cost that is not in the shop's first one."""
    variant = cells.variants.get(key[0]) if key[1] == "cost" else None
    currency = (variant and variant.cost_currency) or cells.default_currency
    return "" if currency == cells.default_currency else f"in {currency}"


def name_of(cells: ProductCells, owner_id: UUID) -> str:
    """Returns the name of the product of a product or variant."""
    variant = cells.variants.get(owner_id)
    product = cells.products.get(variant.product_id if variant else owner_id)
    return product.name if product else ""


def describe_owner(cells: ProductCells, owner_id: UUID) -> str:
    """Returns the name of a row: the product and, of a variant, its options."""
    variant = cells.variants.get(owner_id)
    name = name_of(cells, owner_id) or "A product that no longer exists"
    return f"{name}, {variant.options_text}" if variant and variant.options_text else name


def value_text(columns: Mapping[str, GridColumn], key: str, text: str) -> str:
    """Returns a value for people to read."""
    column = columns.get(key)
    return column.options.get(text, column.input_text(text)) if column else text


def local_text(text: str, zone: tzinfo) -> str:
    """Returns the UTC time of a cell as a time of the zone; other texts as they are."""
    with suppress(ValueError):
        return input_time(parse_time(text), zone)
    return text


def utc_text(text: str, zone: tzinfo) -> str:
    """Returns the entered time of the zone in UTC; other texts as they are, which the check of the cell refuses."""
    with suppress(ValueError):
        return input_time(parse_local_time(text, zone), UTC)
    return text


def read_columns(values: Any, columns: Mapping[str, GridColumn]) -> list[GridColumn]:
    """Returns the chosen columns, or the default ones."""
    keys = values if isinstance(values, list) else []
    chosen_keys = [key for key in columns if key in keys and parse_column(key)] or default_keys(columns)
    return [columns[key] for key in chosen_keys]
