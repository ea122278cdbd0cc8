"""Computes the changes of an imported product: the differences between its line and the existing product.

absent field     stays unchanged
present field    replaces the existing value; lists, prices, options and properties are replaced as a whole
stock            changes at the named locations only
variants         only named variants change, unless the line is marked as complete
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from msgspec import UNSET

from shop.models.catalog.full_products import FullProduct
from shop.models.catalog.stock import StockItem, StockLocation
from shop.rules.catalog.products import property_fields
from shop.rules.imports.rows import (
    Changes,
    ProductLine,
    RecordsByName,
    Recount,
    StockLine,
    VariantLine,
    VariantPair,
    list_removed_variants,
    pair_variants,
)

NewId = Callable[[], UUID]


def same(one: Any, other: Any) -> bool:
    """Compares values as JSON does: true differs from 1, but 1 equals 1.0."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float) and isinstance(other, int):
        # The database expands 1e300 to more digits than a float can hold.
        return one == float(other)
    return bool(one == other)


def build_changes(line: ProductLine, existing: FullProduct | None, names: RecordsByName, new_id: NewId) -> Changes:
    changes = Changes()
    product_id = existing.row.id if existing else new_id()
    fields = _with_tax_category(line, names)
    if line.shipping_category is not UNSET:
        fields["shipping_category_id"] = _lookup_id(line.shipping_category, names.shipping_categories)
    if existing is None:
        changes.insert("products", id=product_id, slug=line.slug, **fields)
    else:
        changes.update("products", product_id, _changed_fields(fields, existing.row))
    pairs = pair_variants(line, existing)
    if existing is None and line.master is None:
        pairs.insert(0, VariantPair(VariantLine(at="master"), None))
    position = max((variant.row.position for variant in existing.variants), default=0) if existing else 0
    variant_types: dict[str, None] = {}
    for pair in pairs:
        is_master = pair.line.at == "master"
        position += 0 if is_master or pair.present else 1
        start = {"product_id": product_id, "is_master": is_master, "position": 0 if is_master else position}
        variant_types |= _change_variant(changes, pair, start, names, new_id)
    changes.removed_variants += [variant.row.id for variant in list_removed_variants(line, existing)]
    _change_option_types(
        changes, product_id, _target_option_types(line, existing, variant_types), existing, names, new_id
    )
    _change_taxons(changes, product_id, line, existing, names, new_id)
    _change_properties(changes, product_id, line, existing, names, new_id)
    return changes


def _with_tax_category(line: ProductLine | VariantLine, names: RecordsByName) -> dict[str, Any]:
    if line.tax_category is UNSET:
        return dict(line.fields)
    return {**line.fields, "tax_category_id": _lookup_id(line.tax_category, names.tax_categories)}


def _lookup_id(name: str | None, ids: Mapping[str, UUID]) -> UUID | None:
    return None if name is None else ids[name]


def _changed_fields(fields: Mapping[str, Any], row: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if not same(value, getattr(row, name))}


def _change_variant(
    changes: Changes, pair: VariantPair, start: dict[str, Any], names: RecordsByName, new_id: NewId
) -> dict[str, None]:
    """Changes a variant; returns the option types for which it has new values."""
    line, existing = pair.line, pair.present
    fields = _with_tax_category(line, names) | ({"sku": line.sku} if line.sku is not None else {})
    variant_id = existing.row.id if existing else new_id()
    if existing is None:
        changes.insert("variants", id=variant_id, **start | fields)
    else:
        changes.update("variants", variant_id, _changed_fields(fields, existing.row))
    _change_prices(changes, variant_id, pair, new_id)
    for name, stock_line in line.stock.items():
        item = existing.stock.get(name) if existing else None
        _change_stock(changes, variant_id, item, stock_line, names.locations[name], new_id)
    return _change_options(changes, variant_id, pair, names, new_id)


def _change_prices(changes: Changes, variant_id: UUID, pair: VariantPair, new_id: NewId) -> None:
    if pair.line.prices is UNSET:
        return
    before = pair.present.prices if pair.present else {}
    for currency, (amount, compare_at) in pair.line.prices.items():
        values = {"amount": amount, "compare_at_amount": compare_at}
        if currency in before:
            changes.update("prices", before[currency].id, _changed_fields(values, before[currency]))
        else:
            changes.insert("prices", id=new_id(), variant_id=variant_id, currency=currency, **values)
    for currency, price in before.items():
        if pair.line.has_all_prices and currency not in pair.line.prices:
            changes.delete("prices", price.id)


def _change_stock(
    changes: Changes,
    variant_id: UUID,
    item: StockItem | None,
    stock_line: StockLine,
    location: StockLocation,
    new_id: NewId,
) -> None:
    backorderable = stock_line.backorderable
    if item is None:
        item_id, count = new_id(), stock_line.count_on_hand or 0
        changes.insert(
            "stock_items",
            id=item_id,
            variant_id=variant_id,
            stock_location_id=location.id,
            count_on_hand=count,
            backorderable=location.backorderable_default if backorderable is None else backorderable,
        )
        if count:
            changes.moved.append((item_id, count, "received"))
        return
    count = item.count_on_hand if stock_line.count_on_hand is None else stock_line.count_on_hand
    backorderable = item.backorderable if backorderable is None else backorderable
    if (count, backorderable) != (item.count_on_hand, item.backorderable):
        changes.recounts.append(Recount(item.id, item.count_on_hand, count, backorderable))
    if count != item.count_on_hand:
        changes.moved.append((item.id, count - item.count_on_hand, "recounted"))


def _change_options(
    changes: Changes, variant_id: UUID, pair: VariantPair, names: RecordsByName, new_id: NewId
) -> dict[str, None]:
    if pair.line.options is UNSET:
        return {}
    before = pair.present.options if pair.present else {}
    options = pair.line.options
    for kind, (link_id, value) in before.items():
        if options.get(kind) != value:
            changes.delete("variant_option_values", link_id)
    new = {kind: value for kind, value in options.items() if kind not in before or before[kind][1] != value}
    for kind, value in new.items():
        value_id = names.option_values[kind, value]
        changes.insert("variant_option_values", id=new_id(), variant_id=variant_id, option_value_id=value_id)
    return dict.fromkeys(new)


def _target_option_types(
    line: ProductLine, existing: FullProduct | None, variant_types: Iterable[str]
) -> Sequence[str]:
    """Returns the option types of the line or, if absent, the existing ones and those that variants now use."""
    if line.option_types is not UNSET:
        return line.option_types
    return list(dict.fromkeys((*(existing.option_types if existing else ()), *variant_types)))


def _change_option_types(
    changes: Changes,
    product_id: UUID,
    type_names: Sequence[str],
    existing: FullProduct | None,
    names: RecordsByName,
    new_id: NewId,
) -> None:
    before = existing.option_types if existing else {}
    if list(before) == list(type_names):
        return
    for name, link in before.items():
        if name not in type_names:
            changes.delete("product_option_types", link.id)
    for position, name in enumerate(type_names, 1):
        if name in before:
            changes.update(
                "product_option_types", before[name].id, _changed_fields({"position": position}, before[name])
            )
        else:
            type_id = names.option_types[name]
            values = {"product_id": product_id, "option_type_id": type_id, "position": position}
            changes.insert("product_option_types", id=new_id(), **values)


def _change_taxons(
    changes: Changes,
    product_id: UUID,
    line: ProductLine,
    existing: FullProduct | None,
    names: RecordsByName,
    new_id: NewId,
) -> None:
    if line.taxons is UNSET:
        return
    before = existing.taxons if existing else {}
    for permalink, link_id in before.items():
        if line.has_all_taxons and permalink not in line.taxons:
            changes.delete("classifications", link_id)
    for permalink in line.taxons:
        if permalink not in before:
            taxon_id = names.taxons[permalink]
            changes.insert("classifications", id=new_id(), product_id=product_id, taxon_id=taxon_id)


def _change_properties(
    changes: Changes,
    product_id: UUID,
    line: ProductLine,
    existing: FullProduct | None,
    names: RecordsByName,
    new_id: NewId,
) -> None:
    if line.properties is UNSET:
        return
    before = existing.properties if existing else {}
    for name, product_property in before.items():
        if line.has_all_properties and name not in line.properties:
            changes.delete("product_properties", product_property.id)
    for position, (name, value) in enumerate(
        line.properties.items(), 1 if line.has_all_properties else len(before) + 1
    ):
        if name not in before:
            value_fields = property_fields(names.properties[name], value)
            link_fields = {"product_id": product_id, "property_id": names.properties[name], "position": position}
            changes.insert("product_properties", id=new_id(), **link_fields, **value_fields)
        elif before[name].value != value:
            changes.update("product_properties", before[name].id, property_fields(before[name].property_id, value))
