"""Cells of the product grid: columns, current values and edits."""

from collections.abc import Mapping, Sequence
from uuid import UUID

import msgspec

from shop.models.catalog.prices import Price
from shop.models.catalog.products import Product, Variant
from shop.models.catalog.stock import StockItem


class CellColumn(msgspec.Struct, frozen=True):
    """A column: the kind of its values and, of a price, the currency; of stock, the location; of a category, the
    taxon.
    """

    name: str
    argument: str = ""

    @property
    def key(self) -> str:
        return f"{self.name}-{self.argument}" if self.argument else self.name


class CellVariant(Variant, frozen=True, kw_only=True):
    """A variant with its options as text."""

    options_text: str


class ProductCells(msgspec.Struct, frozen=True):
    """The current values of some products and their variants."""

    products: Mapping[UUID, Product]
    variants: Mapping[UUID, CellVariant]
    prices: Mapping[tuple[UUID, str], Price]
    """By variant and currency."""
    stock_items: Mapping[tuple[UUID, UUID], StockItem]
    """By variant and location."""
    classification_ids: Mapping[tuple[UUID, UUID], UUID]
    """By product and taxon."""
    default_currency: str


class CellEdit(msgspec.Struct, frozen=True):
    """The new value of a cell of a product or variant, and the value that the operator saw. Values are texts as in a
    form; an empty text is no value.
    """

    owner_id: UUID
    column: str
    before: str
    after: str

    @property
    def cell_id(self) -> str:
        """The name of the cell among all cells of a page."""
        return f"{self.owner_id}-{self.column}"


class CellProblem(msgspec.Struct, frozen=True):
    """Why an edit was not saved; `current` is the value that someone else saved meanwhile."""

    edit: CellEdit
    message: str
    current: str | None = None


class EditResult(msgspec.Struct, frozen=True):
    """The edits that were saved, and the problems of others. A row with a problem is not saved at all."""

    changes: Sequence[CellEdit]
    problems: Sequence[CellProblem]
