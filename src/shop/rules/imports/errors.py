"""Validates parsed import lines against existing products and resolved names."""

from collections.abc import Iterable
from typing import cast
from uuid import UUID

from msgspec import UNSET

from shop.models.catalog.full_products import FullProduct, FullVariant
from shop.models.catalog.inputs import ProductInput
from shop.rules.catalog.products import product_errors
from shop.rules.imports.rows import (
    Errors,
    ProductLine,
    RecordsByName,
    StockLine,
    VariantPair,
    list_removed_variants,
    pair_variants,
)

MAX_COUNT = 10**9


def line_errors(line: ProductLine, existing: FullProduct | None, names: RecordsByName) -> Errors:
    errors = product_errors(cast(ProductInput, line.fields), existing.row if existing else None)
    if existing is None:
        errors |= product_errors({"slug": line.slug})
        if "name" not in line.fields:
            errors["name"] = ["is required for a new product"]
    errors |= _unknown_name_errors(line, names)
    pairs = pair_variants(line, existing)
    for pair in pairs:
        errors |= _variant_errors(pair, names)
    return errors | _sku_errors(line, pairs, existing, names) | _option_errors(line, pairs, existing)


def _unknown_name_errors(line: ProductLine, names: RecordsByName) -> Errors:
    """Reports unknown names of records that an import cannot create."""
    errors: Errors = {}
    missing = [] if line.taxons is UNSET else [name for name in line.taxons if name not in names.taxons]
    if missing:
        errors["taxons"] = [f"include unknown taxons: {_format_names(missing)}"]
    tax_categories = {
        "": line.tax_category,
        **{f"{variant.at}.": variant.tax_category for variant in line.all_variants},
    }
    for at, name in tax_categories.items():
        if isinstance(name, str) and name not in names.tax_categories:
            errors[f"{at}tax_category"] = [f"is not a tax category: {_format_names([name])}"]
    shipping_category = line.shipping_category
    if isinstance(shipping_category, str) and shipping_category not in names.shipping_categories:
        errors["shipping_category"] = [f"is not a shipping category: {_format_names([shipping_category])}"]
    for variant in line.all_variants:
        missing_locations = [name for name in variant.stock if name not in names.locations]
        if missing_locations:
            errors[f"{variant.at}.stock"] = [f"includes unknown stock locations: {_format_names(missing_locations)}"]
    nameless = [*({} if line.properties is UNSET else line.properties), *_option_type_names(line)]
    if any(not name.strip() and name not in names.properties and name not in names.option_types for name in nameless):
        errors["base"] = ["has a property, an option or a value without a name"]
    return errors


def _option_type_names(line: ProductLine) -> Iterable[str]:
    """Yields the names of option types; values may have any name."""
    yield from () if line.option_types is UNSET else line.option_types
    for variant in line.all_variants:
        yield from () if variant.options is UNSET else variant.options


def _variant_errors(pair: VariantPair, names: RecordsByName) -> Errors:
    line = pair.line
    errors: Errors = {}
    if line.id and pair.present is None:
        errors[f"{line.at}.id"] = ["is not a variant of this product"]
    for name, stock_line in line.stock.items():
        if name in names.locations:
            item = pair.present.stock.get(name) if pair.present else None
            current = StockLine(item.count_on_hand, item.backorderable) if item else None
            default = current or StockLine(0, names.locations[name].backorderable_default)
            errors |= _stock_errors(f"{line.at}.stock.{name}", stock_line, default)
    return errors


def _stock_errors(at: str, stock_line: StockLine, default: StockLine) -> Errors:
    count = default.count_on_hand if stock_line.count_on_hand is None else stock_line.count_on_hand
    is_backorderable = default.backorderable if stock_line.backorderable is None else stock_line.backorderable
    if abs(count or 0) > MAX_COUNT:
        return {f"{at}.count_on_hand": ["must have at most nine digits"]}
    if (count or 0) < 0 and not is_backorderable:
        return {f"{at}.count_on_hand": ["is less than 0, and the item is not backorderable"]}
    return {}


def _sku_errors(
    line: ProductLine, pairs: list[VariantPair], existing: FullProduct | None, names: RecordsByName
) -> Errors:
    errors: Errors = {}
    removed_ids = {variant.row.id for variant in list_removed_variants(line, existing)}
    matched_variant_ids = {pair.present.row.id for pair in pairs if pair.present}
    sku_owners: dict[str, str] = {
        variant.row.sku: "another variant"
        for variant in _all_variants(existing)
        if variant.row.sku and variant.row.id not in removed_ids | matched_variant_ids
    }
    previous_ids: set[UUID] = set()
    for pair in pairs:
        sku = pair.line.sku if pair.line.sku is not None else pair.present.row.sku if pair.present else ""
        owner = names.skus.get(sku)
        if sku and (sku in sku_owners or (owner and (existing is None or owner != existing.row.id))):
            errors[f"{pair.line.at}.sku"] = ["is taken"]
        if pair.present and pair.present.row.id in previous_ids:
            errors[f"{pair.line.at}.sku"] = ["is used by another variant in this line"]
        sku_owners[sku] = pair.line.at
        previous_ids |= {pair.present.row.id} if pair.present else set()
    return errors


def _option_errors(line: ProductLine, pairs: list[VariantPair], existing: FullProduct | None) -> Errors:
    """Rejects two variants of a product with the same options, unless they already had them."""
    errors: Errors = {}
    removed_ids = {variant.row.id for variant in list_removed_variants(line, existing)}
    current_options = {
        variant.row.id: frozenset((kind, value) for kind, (_, value) in variant.options.items())
        for variant in _all_variants(existing)
        if variant.row.id not in removed_ids
    }
    option_changes: list[tuple[str, frozenset[tuple[str, str]]]] = []
    for pair in pairs:
        if pair.line.options is UNSET:
            continue
        options = frozenset(pair.line.options.items())
        previous = current_options.get(pair.present.row.id) if pair.present else None
        if options != previous:
            option_changes.append((pair.line.at, options))
            current_options.pop(pair.present.row.id if pair.present else UUID(int=0), None)
    options_in_use = set(current_options.values())
    for at, options in option_changes:
        if options and options in options_in_use:
            errors[f"{at}.options"] = ["are those of another variant of this product"]
        options_in_use.add(options)
    return errors


def _all_variants(existing: FullProduct | None) -> list[FullVariant]:
    return [existing.master, *existing.variants] if existing else []


def _format_names(names: list[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(name[:100] for name in names[:3]) + more
