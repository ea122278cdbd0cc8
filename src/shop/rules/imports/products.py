"""What an imported product would change: its line compared with what is there. Nothing of a line that is as the shop
has it already.

    absent from the line     stays as it is
    present                  replaces what was there: lists, prices, options and properties whole
    stock                    of the locations that are named
    variants                 those that are named, unless they are all said to be there
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from msgspec import UNSET

from shop.models.catalog.full_products import WholeProduct
from shop.models.catalog.stock import StockItem, StockLocation
from shop.rules.catalog.products import property_fields
from shop.rules.imports.rows import Changes, Names, Pair, ProductLine, Recount, StockLine, VariantLine, paired, removed

NewId = Callable[[], UUID]


def same(one: Any, other: Any) -> bool:
    """As JSON sees it: true is not 1, while 1 and 1.0 are one number."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float) and isinstance(other, int):
        # The database writes 1e300 out in digits, of which no float has so many.
        return one == float(other)
    return bool(one == other)


def changes_of(line: ProductLine, present: WholeProduct | None, names: Names, new_id: NewId) -> Changes:
    changes = Changes()
    product_id = present.row.id if present else new_id()
    fields = _with_tax(line, names)
    if line.shipping_category is not UNSET:
        fields["shipping_category_id"] = _named(line.shipping_category, names.shipping_categories)
    if present is None:
        changes.insert("products", id=product_id, slug=line.slug, **fields)
    else:
        changes.update("products", product_id, _different(fields, present.row))
    pairs = paired(line, present)
    if present is None and line.master is None:
        pairs.insert(0, Pair(VariantLine(at="master"), None))
    place = max((variant.row.position for variant in present.variants), default=0) if present else 0
    used: dict[str, None] = {}
    for pair in pairs:
        is_master = pair.line.at == "master"
        place += 0 if is_master or pair.present else 1
        start = {"product_id": product_id, "is_master": is_master, "position": 0 if is_master else place}
        used |= _change_variant(changes, pair, start, names, new_id)
    changes.removed_variants += [variant.row.id for variant in removed(line, present)]
    _change_option_types(changes, product_id, _wanted_types(line, present, used), present, names, new_id)
    _change_taxons(changes, product_id, line, present, names, new_id)
    _change_properties(changes, product_id, line, present, names, new_id)
    return changes


def _with_tax(line: ProductLine | VariantLine, names: Names) -> dict[str, Any]:
    if line.tax_category is UNSET:
        return dict(line.fields)
    return {**line.fields, "tax_category_id": _named(line.tax_category, names.tax_categories)}


def _named(name: str | None, ids: Mapping[str, UUID]) -> UUID | None:
    return None if name is None else ids[name]


def _different(fields: Mapping[str, Any], row: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if not same(value, getattr(row, name))}


def _change_variant(
    changes: Changes, pair: Pair, start: dict[str, Any], names: Names, new_id: NewId
) -> dict[str, None]:
    """The option types that it has new values of."""
    line, present = pair.line, pair.present
    fields = _with_tax(line, names) | ({"sku": line.sku} if line.sku is not None else {})
    variant_id = present.row.id if present else new_id()
    if present is None:
        changes.insert("variants", id=variant_id, **start | fields)
    else:
        changes.update("variants", variant_id, _different(fields, present.row))
    _change_prices(changes, variant_id, pair, new_id)
    for name, wanted in line.stock.items():
        item = present.stock.get(name) if present else None
        _change_stock(changes, variant_id, item, wanted, names.locations[name], new_id)
    return _change_options(changes, variant_id, pair, names, new_id)


def _change_prices(changes: Changes, variant_id: UUID, pair: Pair, new_id: NewId) -> None:
    if pair.line.prices is UNSET:
        return
    before = pair.present.prices if pair.present else {}
    for currency, (amount, compare_at) in pair.line.prices.items():
        values = {"amount": amount, "compare_at_amount": compare_at}
        if currency in before:
            changes.update("prices", before[currency].id, _different(values, before[currency]))
        else:
            changes.insert("prices", id=new_id(), variant_id=variant_id, currency=currency, **values)
    for currency, price in before.items():
        if currency not in pair.line.prices:
            changes.delete("prices", price.id)


def _change_stock(
    changes: Changes, variant_id: UUID, item: StockItem | None, wanted: StockLine, at: StockLocation, new_id: NewId
) -> None:
    backorderable = wanted.backorderable
    if item is None:
        item_id, count = new_id(), wanted.count_on_hand or 0
        changes.insert(
            "stock_items",
            id=item_id,
            variant_id=variant_id,
            stock_location_id=at.id,
            count_on_hand=count,
            backorderable=at.backorderable_default if backorderable is None else backorderable,
        )
        if count:
            changes.moved.append((item_id, count, "received"))
        return
    count = item.count_on_hand if wanted.count_on_hand is None else wanted.count_on_hand
    backorderable = item.backorderable if backorderable is None else backorderable
    if (count, backorderable) != (item.count_on_hand, item.backorderable):
        changes.recounts.append(Recount(item.id, item.count_on_hand, count, backorderable))
    if count != item.count_on_hand:
        changes.moved.append((item.id, count - item.count_on_hand, "recounted"))


def _change_options(changes: Changes, variant_id: UUID, pair: Pair, names: Names, new_id: NewId) -> dict[str, None]:
    if pair.line.options is UNSET:
        return {}
    before = pair.present.options if pair.present else {}
    wanted = pair.line.options
    for kind, (link_id, value) in before.items():
        if wanted.get(kind) != value:
            changes.delete("variant_option_values", link_id)
    new = {kind: value for kind, value in wanted.items() if kind not in before or before[kind][1] != value}
    for kind, value in new.items():
        value_id = names.option_values[kind, value]
        changes.insert("variant_option_values", id=new_id(), variant_id=variant_id, option_value_id=value_id)
    return dict.fromkeys(new)


def _wanted_types(line: ProductLine, present: WholeProduct | None, used: Iterable[str]) -> Sequence[str]:
    """As the line says; where it says nothing, those that are there and those that a variant now needs."""
    if line.option_types is not UNSET:
        return line.option_types
    return list(dict.fromkeys((*(present.option_types if present else ()), *used)))


def _change_option_types(
    changes: Changes,
    product_id: UUID,
    wanted: Sequence[str],
    present: WholeProduct | None,
    names: Names,
    new_id: NewId,
) -> None:
    before = present.option_types if present else {}
    if list(before) == list(wanted):
        return
    for name, link in before.items():
        if name not in wanted:
            changes.delete("product_option_types", link.id)
    for position, name in enumerate(wanted, 1):
        if name in before:
            changes.update("product_option_types", before[name].id, _different({"position": position}, before[name]))
        else:
            type_id = names.option_types[name]
            values = {"product_id": product_id, "option_type_id": type_id, "position": position}
            changes.insert("product_option_types", id=new_id(), **values)


def _change_taxons(
    changes: Changes, product_id: UUID, line: ProductLine, present: WholeProduct | None, names: Names, new_id: NewId
) -> None:
    if line.taxons is UNSET:
        return
    before = present.taxons if present else {}
    for permalink, link_id in before.items():
        if permalink not in line.taxons:
            changes.delete("classifications", link_id)
    for permalink in line.taxons:
        if permalink not in before:
            taxon_id = names.taxons[permalink]
            changes.insert("classifications", id=new_id(), product_id=product_id, taxon_id=taxon_id)


def _change_properties(
    changes: Changes, product_id: UUID, line: ProductLine, present: WholeProduct | None, names: Names, new_id: NewId
) -> None:
    if line.properties is UNSET:
        return
    before = present.properties if present else {}
    for name, fact in before.items():
        if name not in line.properties:
            changes.delete("product_properties", fact.id)
    for position, (name, value) in enumerate(line.properties.items(), 1):
        if name not in before:
            facts = property_fields(names.properties[name], value)
            known = {"product_id": product_id, "property_id": names.properties[name], "position": position}
            changes.insert("product_properties", id=new_id(), **known, **facts)
        elif before[name].value != value:
            changes.update("product_properties", before[name].id, property_fields(before[name].property_id, value))
