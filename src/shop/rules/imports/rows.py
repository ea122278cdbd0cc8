"""What the lines of an import say once they could be read, what their names stand for, and what comes of them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

import msgspec
from msgspec import UNSET, UnsetType

from shop.models.catalog.full_products import WholeProduct, WholeVariant
from shop.models.catalog.stock import StockLocation

Errors = dict[str, list[str]]


class StockLine(msgspec.Struct, frozen=True):
    """What a line says of a variant at a location."""

    count_on_hand: int | None = None
    backorderable: bool | None = None


class VariantLine(msgspec.Struct, frozen=True, kw_only=True):
    """What a line says of a variant or of the master."""

    at: str
    """Its place in the line, for errors: `master`, `variants.0`."""
    id: UUID | None = None
    """Of a variant that has no sku to be known by."""
    sku: str | None = None
    fields: Mapping[str, Any] = {}
    tax_category: str | UnsetType | None = UNSET
    options: Mapping[str, str] | UnsetType = UNSET
    prices: Mapping[str, tuple[int, int | None]] | UnsetType = UNSET
    """By currency, in its minor units: the amount, and what it was before."""
    stock: Mapping[str, StockLine] = {}


class ProductLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line that could be read. What is unset was not in it."""

    slug: str
    fields: Mapping[str, Any] = {}
    tax_category: str | UnsetType | None = UNSET
    shipping_category: str | UnsetType | None = UNSET
    taxons: Sequence[str] | UnsetType = UNSET
    option_types: Sequence[str] | UnsetType = UNSET
    properties: Mapping[str, str] | UnsetType = UNSET
    master: VariantLine | None = None
    variants: Sequence[VariantLine] = ()
    variants_complete: bool = False

    @property
    def all_variants(self) -> list[VariantLine]:
        return [*([self.master] if self.master else []), *self.variants]


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """The names that some lines use."""

    tax_categories: set[str]
    shipping_categories: set[str]
    taxons: set[str]
    locations: set[str]
    option_types: set[str]
    option_values: set[str]
    properties: set[str]
    skus: set[str]


class Names(msgspec.Struct, frozen=True, kw_only=True):
    """What the names in some lines stand for; a name that stands for nothing is missing."""

    tax_categories: Mapping[str, UUID] = {}
    shipping_categories: Mapping[str, UUID] = {}
    taxons: Mapping[str, UUID] = {}
    locations: Mapping[str, StockLocation] = {}
    option_types: Mapping[str, UUID] = {}
    option_values: Mapping[tuple[str, str], UUID] = {}
    properties: Mapping[str, UUID] = {}
    skus: Mapping[str, UUID] = {}
    """The product that has a variant with this sku."""


class Recount(msgspec.Struct, frozen=True):
    """A stock item as it was and as it shall be."""

    item_id: UUID
    before: int
    after: int
    backorderable: bool


class Changes(msgspec.Struct):
    """What is to be written, by table; for a line that changes nothing, nothing."""

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
        for mine, theirs in ((self.inserts, other.inserts), (self.updates, other.updates)):
            for table, rows in theirs.items():
                mine.setdefault(table, []).extend(rows)
        for table, ids in other.deletes.items():
            self.deletes.setdefault(table, []).extend(ids)
        self.removed_variants += other.removed_variants
        self.recounts += other.recounts
        self.moved += other.moved


class Pair(msgspec.Struct, frozen=True):
    """A variant as a line wants it, beside what is there."""

    line: VariantLine
    present: WholeVariant | None


def paired(line: ProductLine, present: WholeProduct | None) -> list[Pair]:
    """The variants of a line with those they speak of: by id, else by sku."""
    by_id = {variant.row.id: variant for variant in present.variants} if present else {}
    by_sku = {variant.row.sku: variant for variant in by_id.values() if variant.row.sku}
    pairs = [Pair(line.master, present.master if present else None)] if line.master else []
    return pairs + [
        Pair(variant, by_id.get(variant.id) if variant.id else by_sku.get(variant.sku or ""))
        for variant in line.variants
    ]


def removed(line: ProductLine, present: WholeProduct | None) -> list[WholeVariant]:
    if present is None or not line.variants_complete:
        return []
    kept = {pair.present.row.id for pair in paired(line, present) if pair.present}
    return [variant for variant in present.variants if variant.row.id not in kept]


def wanted_names(lines: Iterable[ProductLine]) -> Wanted:
    wanted = Wanted(**{field: set() for field in Wanted.__struct_fields__})
    for line in lines:
        wanted.taxons.update(line.taxons or ())
        wanted.properties.update(line.properties or ())
        wanted.option_types.update(line.option_types or ())
        wanted.tax_categories.update([line.tax_category] if line.tax_category else [])
        wanted.shipping_categories.update([line.shipping_category] if line.shipping_category else [])
        for variant in line.all_variants:
            wanted.tax_categories.update([variant.tax_category] if variant.tax_category else [])
            wanted.locations.update(variant.stock)
            wanted.skus.update([variant.sku] if variant.sku else [])
            wanted.option_types.update(variant.options or ())
            wanted.option_values.update((variant.options or {}).values())
    return wanted


def missing_names(lines: Iterable[ProductLine], names: Names) -> tuple[list[str], list[tuple[str, str]], list[str]]:
    """Option types, values of option types, and properties that are not there yet; in one order for everybody."""
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
