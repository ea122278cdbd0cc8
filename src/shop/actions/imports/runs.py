"""How products and prices are brought in: compared with what is there, and only the differences written."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any
from uuid import UUID

import msgspec

from shop.actions.catalog.products import refresh
from shop.actions.context import Context
from shop.actions.imports.batch_runner import Imported, Line, Outcomes, do_lines
from shop.base.errors import Invalid
from shop.base.ids import new_id
from shop.queries import bulk
from shop.queries.catalog import full_products
from shop.queries.imports import runs as imports
from shop.rules.imports.errors import line_errors
from shop.rules.imports.prices import PriceBook, PriceLine
from shop.rules.imports.products import changes_of
from shop.rules.imports.rows import Changes, Names, ProductLine, missing_names, wanted_names

# In this order nothing is written before what it refers to.
_TABLES = (
    "products",
    "variants",
    "product_option_types",
    "product_properties",
    "classifications",
    "variant_option_values",
    "prices",
    "price_list_entries",
    "stock_items",
)


async def import_products(ctx: Context, lines: AsyncIterator[Line[ProductLine]], *, dry_run: bool) -> Imported:
    return await do_lines(ctx, lines, _do_products, "products_imported", dry_run=dry_run)


async def import_prices(ctx: Context, lines: AsyncIterator[Line[PriceLine]], *, dry_run: bool) -> Imported:
    return await do_lines(ctx, lines, _do_prices, "prices_imported", dry_run=dry_run, may_repeat=True)


async def _do_products(ctx: Context, lines: Sequence[ProductLine]) -> Outcomes:
    # The names first: the sku of a product that another import makes between the two would seem to be a stranger's.
    names = await imports.find_names(ctx.db, wanted_names(lines))
    present = {
        found.row.slug: found for found in await full_products.lock_products(ctx.db, [line.slug for line in lines])
    }
    outcomes: Outcomes = []
    good: list[ProductLine] = []
    for line in lines:
        errors = line_errors(line, present.get(line.slug), names)
        outcomes.append(errors or "good")
        good += [] if errors else [line]
    names = await _with_missing(ctx, good, names)
    every, changed = Changes(), []
    for place, line in enumerate(lines):
        if outcomes[place] == "good":
            found = present.get(line.slug)
            changes = changes_of(line, found, names, new_id)
            outcomes[place] = ("updated" if found else "created") if changes else "unchanged"
            if changes:
                changed.append(found.row.id if found else changes.inserts["products"][0]["id"])
                every.add(changes)
    await imports.free_slugs(ctx.db, [row["slug"] for row in every.inserts.get("products", ())])
    await _write(ctx, every)
    if changed:
        await refresh(ctx, changed)
    return outcomes


async def _with_missing(ctx: Context, lines: Sequence[ProductLine], names: Names) -> Names:
    """The same with what lines name and nobody had: a spreadsheet's new colour is a new colour."""
    types, values, properties = missing_names(lines, names)
    if not (types or values or properties):
        return names
    fresh = [{"id": new_id(), "name": name, "presentation": name} for name in types]
    await bulk.insert_missing(ctx.db, "option_types", fresh)
    facts = [{"id": new_id(), "name": name, "presentation": name} for name in properties]
    await bulk.insert_missing(ctx.db, "properties", facts)
    wanted = wanted_names(lines)
    if types:
        names = await imports.find_names(ctx.db, wanted)
    pairs = [
        {"id": new_id(), "option_type_id": names.option_types[kind], "name": name, "presentation": name}
        for kind, name in values
    ]
    await bulk.insert_missing(ctx.db, "option_values", pairs)
    found = await imports.find_names(ctx.db, wanted)
    return msgspec.structs.replace(
        found,
        skus=names.skus,
        taxons=names.taxons,
        locations=names.locations,
        tax_categories=names.tax_categories,
        shipping_categories=names.shipping_categories,
    )


async def _do_prices(ctx: Context, lines: Sequence[PriceLine]) -> Outcomes:
    found = await imports.lock_priced(
        ctx.db,
        {line.sku for line in lines if line.sku},
        {line.variant_id for line in lines if line.variant_id},
        {line.price_list for line in lines if line.price_list},
    )
    book = PriceBook(found)
    outcomes: Outcomes = []
    for line in lines:
        try:
            outcomes.append(book.apply(line))
        except Invalid as error:
            outcomes.append({name: list(sentences) for name, sentences in error.errors.items()})
    await _write(ctx, book.changes(new_id))
    touched = book.touched_products()
    if touched:
        await refresh(ctx, touched)
    return outcomes


async def _write(ctx: Context, changes: Changes) -> None:
    for table, ids in changes.deletes.items():
        await bulk.delete_rows(ctx.db, table, ids)
    await bulk.remove_variants(ctx.db, changes.removed_variants)
    for table in _TABLES:
        await bulk.update_rows(ctx.db, table, changes.updates.get(table, ()))
        rows = changes.inserts.get(table, [])
        await bulk.insert_rows(ctx.db, table, sorted(rows, key=_place))
    await bulk.recount(ctx.db, changes.recounts)
    await bulk.insert_rows(ctx.db, "stock_movements", [_movement(ctx, *moved) for moved in changes.moved])


def _place(row: Mapping[str, Any]) -> str:
    """New rows are made in one order by everybody, so that two imports wait for each other in one direction only."""
    return str(row.get("slug") or row.get("sku") or "")


def _movement(ctx: Context, item_id: UUID, quantity: int, reason: str) -> dict[str, Any]:
    actor = {"actor_kind": ctx.actor.kind, "actor_id": ctx.actor.id}
    return {"id": new_id(), "stock_item_id": item_id, "quantity": quantity, "reason": reason, **actor}
