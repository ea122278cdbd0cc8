"""Why a line that could be read is not acceptable: by what is there, and by what its names stand for."""

from collections.abc import Iterable
from uuid import UUID

from msgspec import UNSET

from shop.models.catalog.full_products import WholeProduct, WholeVariant
from shop.rules.catalog.products import product_errors
from shop.rules.imports.rows import Errors, Names, Pair, ProductLine, StockLine, paired, removed

LARGEST_COUNT = 10**9


def line_errors(line: ProductLine, present: WholeProduct | None, names: Names) -> Errors:
    errors = product_errors(line.fields, present.row if present else None)
    if present is None:
        errors |= product_errors({"slug": line.slug})
        if "name" not in line.fields:
            errors["name"] = ["must be given for a new product"]
    errors |= _unknown(line, names)
    pairs = paired(line, present)
    for pair in pairs:
        errors |= _variant_errors(pair, names)
    return errors | _sku_errors(line, pairs, present, names) | _option_errors(line, pairs, present)


def _unknown(line: ProductLine, names: Names) -> Errors:
    """What must be there already: nobody can tell from its name alone what it should be."""
    errors: Errors = {}
    missing = [] if line.taxons is UNSET else [name for name in line.taxons if name not in names.taxons]
    if missing:
        errors["taxons"] = [f"name no taxon: {_shown(missing)}"]
    taxed = {"": line.tax_category, **{f"{variant.at}.": variant.tax_category for variant in line.all_variants}}
    for at, name in taxed.items():
        if isinstance(name, str) and name not in names.tax_categories:
            errors[f"{at}tax_category"] = [f"is no tax category: {_shown([name])}"]
    sent = line.shipping_category
    if isinstance(sent, str) and sent not in names.shipping_categories:
        errors["shipping_category"] = [f"is no shipping category: {_shown([sent])}"]
    for variant in line.all_variants:
        places = [name for name in variant.stock if name not in names.locations]
        if places:
            errors[f"{variant.at}.stock"] = [f"names no stock location: {_shown(places)}"]
    nameless = [*({} if line.properties is UNSET else line.properties), *_option_words(line)]
    if any(not name.strip() and name not in names.properties and name not in names.option_types for name in nameless):
        errors["base"] = ["has a property, an option or a value without a name"]
    return errors


def _option_words(line: ProductLine) -> Iterable[str]:
    """The names of option types; a value that is there may have any."""
    yield from () if line.option_types is UNSET else line.option_types
    for variant in line.all_variants:
        yield from () if variant.options is UNSET else variant.options


def _variant_errors(pair: Pair, names: Names) -> Errors:
    line = pair.line
    errors: Errors = {}
    if line.id and pair.present is None:
        errors[f"{line.at}.id"] = ["is not a variant of this product"]
    for name, wanted in line.stock.items():
        if name in names.locations:
            item = pair.present.stock.get(name) if pair.present else None
            was = StockLine(item.count_on_hand, item.backorderable) if item else None
            default = was or StockLine(0, names.locations[name].backorderable_default)
            errors |= _stock_errors(f"{line.at}.stock.{name}", wanted, default)
    return errors


def _stock_errors(at: str, wanted: StockLine, default: StockLine) -> Errors:
    count = default.count_on_hand if wanted.count_on_hand is None else wanted.count_on_hand
    may = default.backorderable if wanted.backorderable is None else wanted.backorderable
    if abs(count or 0) > LARGEST_COUNT:
        return {f"{at}.count_on_hand": ["must have at most nine digits"]}
    if (count or 0) < 0 and not may:
        return {f"{at}.count_on_hand": ["is less than nothing, and the item is not backorderable"]}
    return {}


def _sku_errors(line: ProductLine, pairs: list[Pair], present: WholeProduct | None, names: Names) -> Errors:
    errors: Errors = {}
    gone = {variant.row.id for variant in removed(line, present)}
    others = {pair.present.row.id for pair in pairs if pair.present}
    taken: dict[str, str] = {
        variant.row.sku: "another variant"
        for variant in _all(present)
        if variant.row.sku and variant.row.id not in gone | others
    }
    mentioned: set[UUID] = set()
    for pair in pairs:
        sku = pair.line.sku if pair.line.sku is not None else pair.present.row.sku if pair.present else ""
        owner = names.skus.get(sku)
        if sku and (sku in taken or (owner and (present is None or owner != present.row.id))):
            errors[f"{pair.line.at}.sku"] = ["is taken"]
        if pair.present and pair.present.row.id in mentioned:
            errors[f"{pair.line.at}.sku"] = ["is that of a variant named before in this line"]
        taken[sku] = pair.line.at
        mentioned |= {pair.present.row.id} if pair.present else set()
    return errors


def _option_errors(line: ProductLine, pairs: list[Pair], present: WholeProduct | None) -> Errors:
    """No two variants of a product have the same options, unless they had before."""
    errors: Errors = {}
    gone = {variant.row.id for variant in removed(line, present)}
    theirs = {
        variant.row.id: frozenset((kind, value) for kind, (_, value) in variant.options.items())
        for variant in _all(present)
        if variant.row.id not in gone
    }
    changed: list[tuple[str, frozenset[tuple[str, str]]]] = []
    for pair in pairs:
        if pair.line.options is UNSET:
            continue
        wanted = frozenset(pair.line.options.items())
        was = theirs.get(pair.present.row.id) if pair.present else None
        if wanted != was:
            changed.append((pair.line.at, wanted))
            theirs.pop(pair.present.row.id if pair.present else UUID(int=0), None)
    taken = set(theirs.values())
    for at, wanted in changed:
        if wanted and wanted in taken:
            errors[f"{at}.options"] = ["are those of another variant of this product"]
        taken.add(wanted)
    return errors


def _all(present: WholeProduct | None) -> list[WholeVariant]:
    return [present.master, *present.variants] if present else []


def _shown(names: list[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(name[:100] for name in names[:3]) + more
