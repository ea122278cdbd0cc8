"""Parsed import lines, the names that they refer to, and the resulting changes."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

import msgspec
from msgspec import UNSET, UnsetType

from shop.models.catalog.full_products import FullProduct, FullVariant
from shop.models.catalog.stock import StockLocation

Errors = dict[str, list[str]]


class StockLine(msgspec.Struct, frozen=True):
    """The stock of a variant at a location, as given in a line."""

    count_on_hand: int | None = None
    backorderable: bool | None = None


class VariantLine(msgspec.Struct, frozen=True, kw_only=True):
    """A variant or the master, as given in a line."""

    at: str
    """Path in the line, for errors: `master`, `variants.0`."""
    id: UUID | None = None
    """Identifies a variant without a SKU."""
    sku: str | None = None
    fields: Mapping[str, Any] = {}
    tax_category: str | UnsetType | None = UNSET
    options: Mapping[str, str] | UnsetType = UNSET
    prices: Mapping[str, tuple[int, int | None]] | UnsetType = UNSET
    """By currency, in minor units: the amount and the compare-at amount."""
    has_all_prices: bool = True
    """Whether prices in other currencies are removed."""
    stock: Mapping[str, StockLine] = {}


class ProductLine(msgspec.Struct, frozen=True, kw_only=True):
    """A parsed line; fields that were absent are UNSET."""

    slug: str
    fields: Mapping[str, Any] = {}
    tax_category: str | UnsetType | None = UNSET
    shipping_category: str | UnsetType | None = UNSET
    taxons: Sequence[str] | UnsetType = UNSET
    has_all_taxons: bool = True
    """Whether the product is removed from other taxons."""
    category_paths: Sequence[Sequence[str]] = ()
    """Further categories by the names from the root; an import creates those that are missing."""
    option_types: Sequence[str] | UnsetType = UNSET
    properties: Mapping[str, str] | UnsetType = UNSET
    has_all_properties: bool = True
    """Whether other properties are removed."""
    master: VariantLine | None = None
    variants: Sequence[VariantLine] = ()
    variants_complete: bool = False

    @property
    def all_variants(self) -> list[VariantLine]:
        return [*([self.master] if self.master else []), *self.variants]


class ReferencedNames(msgspec.Struct, frozen=True, kw_only=True):
    """The names that lines refer to."""

    tax_categories: set[str]
    shipping_categories: set[str]
    taxons: set[str]
    locations: set[str]
    option_types: set[str]
    option_values: set[str]
    properties: set[str]
    skus: set[str]


class RecordsByName(msgspec.Struct, frozen=True, kw_only=True):
    """The records that names in lines refer to; unknown names are absent."""

    tax_categories: Mapping[str, UUID] = {}
    shipping_categories: Mapping[str, UUID] = {}
    taxons: Mapping[str, UUID] = {}
    locations: Mapping[str, StockLocation] = {}
    option_types: Mapping[str, UUID] = {}
    option_values: Mapping[tuple[str, str], UUID] = {}
    properties: Mapping[str, UUID] = {}
    skus: Mapping[str, UUID] = {}
    """Product ids by the SKU of a variant."""


class Recount(msgspec.Struct, frozen=True):
    """The count of a stock item before and after, and its new backorderable flag."""

    item_id: UUID
    before: int
    after: int
    backorderable: bool


class Changes(msgspec.Struct):
    """Rows to write, by table; empty for a line that changes nothing."""

    inserts: dict[str, list[dict[str, Any]]] = {}
    updates: dict[str, list[dict[str, Any]]] = {}
    deletes: dict[str, list[UUID]] = {}
    removed_variants: list[UUID] = []
    recounts: list[Recount] = []
    moved: list[tuple[UUID, int, str]] = []
    """Stock item, quantity, reason."""

    def __bool__(self) -> bool:
        return bool(self.inserts or self.updates or self.deletes or self.removed_variants or self.recounts)

    def insert(self, table: str, **values: Any) -> None:
        self.inserts.setdefault(table, []).append(values)

    def update(self, table: str, record_id: UUID, values: Mapping[str, Any]) -> None:
        if values:
            self.updates.setdefault(table, []).append({"id": record_id, **values})

    def delete(self, table: str, record_id: UUID) -> None:
        self.deletes.setdefault(table, []).append(record_id)

    def add(self, other: "Changes") -> None:
        for target, source in ((self.inserts, other.inserts), (self.updates, other.updates)):
            for table, rows in source.items():
                target.setdefault(table, []).extend(rows)
        for table, ids in other.deletes.items():
            self.deletes.setdefault(table, []).extend(ids)
        self.removed_variants += other.removed_variants
        self.recounts += other.recounts
        self.moved += other.moved


class VariantPair(msgspec.Struct, frozen=True):
    """A variant line and the existing variant."""

    line: VariantLine
    present: FullVariant | None


def pair_variants(line: ProductLine, existing: FullProduct | None) -> list[VariantPair]:
    """Matches the variants of a line with existing variants, by id or else by SKU."""
    by_id = {variant.row.id: variant for variant in existing.variants} if existing else {}
    by_sku = {variant.row.sku: variant for variant in by_id.values() if variant.row.sku}
    pairs = [VariantPair(line.master, existing.master if existing else None)] if line.master else []
    return pairs + [
        VariantPair(variant, by_id.get(variant.id) if variant.id else by_sku.get(variant.sku or ""))
        for variant in line.variants
    ]


def list_removed_variants(line: ProductLine, existing: FullProduct | None) -> list[FullVariant]:
    if existing is None or not line.variants_complete:
        return []
    remaining_ids = {pair.present.row.id for pair in pair_variants(line, existing) if pair.present}
    return [variant for variant in existing.variants if variant.row.id not in remaining_ids]


def collect_names(lines: Iterable[ProductLine]) -> ReferencedNames:
    names = ReferencedNames(**{field: set() for field in ReferencedNames.__struct_fields__})
    for line in lines:
        names.taxons.update(line.taxons or ())
        names.properties.update(line.properties or ())
        names.option_types.update(line.option_types or ())
        names.tax_categories.update([line.tax_category] if line.tax_category else [])
        names.shipping_categories.update([line.shipping_category] if line.shipping_category else [])
        for variant in line.all_variants:
            names.tax_categories.update([variant.tax_category] if variant.tax_category else [])
            names.locations.update(variant.stock)
            names.skus.update([variant.sku] if variant.sku else [])
            names.option_types.update(variant.options or ())
            names.option_values.update((variant.options or {}).values())
    return names


def missing_names(
    lines: Iterable[ProductLine], names: RecordsByName
) -> tuple[list[str], list[tuple[str, str]], list[str]]:
    """Returns the missing option types, option values and properties, in the same order for every import."""
    types: set[str] = set()
    values: set[tuple[str, str]] = set()
    properties: set[str] = set()
    for line in lines:
        properties.update(line.properties or ())
        types.update(line.option_types or ())
        for variant in line.all_variants:
            types.update(variant.options or ())
            values.update((variant.options or {}).items())
    return (
        sorted(types - names.option_types.keys()),
        sorted(values - names.option_values.keys()),
        sorted(properties - names.properties.keys()),
    )
