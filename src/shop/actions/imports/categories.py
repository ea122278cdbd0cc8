"""Finds the categories that product files name by their path, and creates those that are missing."""

from collections.abc import Sequence
from typing import cast
from uuid import UUID

from msgspec import UNSET
from msgspec.structs import replace

from shop.actions.catalog.resources import TAXONOMY
from shop.actions.catalog.taxons import create_taxon, create_taxonomy
from shop.actions.context import Context
from shop.actions.events import note_change
from shop.models.catalog.taxons import Taxon
from shop.queries.catalog import taxons as queries
from shop.queries.imports.categories import find_categories
from shop.rules.imports.categories import SEPARATOR, Path, guess_permalink, list_paths
from shop.rules.imports.rows import ProductLine


async def add_categories(ctx: Context, lines: Sequence[ProductLine]) -> list[ProductLine]:
    """Returns the lines with the permalinks of their categories, in the caller's transaction.

    Runs before the products are locked: a taxonomy is locked before its products.
    """
    paths = list_paths(path for line in lines for path in line.category_paths)
    if not paths:
        return list(lines)
    permalinks = await _find_or_create(ctx, paths)
    return [_with_taxons(line, [permalinks[tuple(path)] for path in line.category_paths]) for line in lines]


def _with_taxons(line: ProductLine, permalinks: Sequence[str]) -> ProductLine:
    if not permalinks:
        return line
    taxons = () if line.taxons is UNSET else line.taxons
    unique = list(dict.fromkeys((*taxons, *permalinks)))
    return replace(line, taxons=unique, has_all_taxons=line.taxons is not UNSET)


async def _find_or_create(ctx: Context, paths: Sequence[Path]) -> dict[Path, str]:
    """Returns the permalinks of categories by path. Two names with the same permalink are one category."""
    names = {path: SEPARATOR.join(path) for path in paths}
    guesses = {path: guess_permalink(path) for path in paths}
    existing = await find_categories(ctx.db, list(names.values()), list(guesses.values()))
    by_name = {taxon.pretty_name: taxon for taxon in existing}
    by_permalink = {taxon.permalink: taxon for taxon in existing}
    categories: dict[Path, Taxon] = {}
    for path in paths:
        taxon = by_name.get(names[path]) or by_permalink.get(guesses[path])
        if taxon is None:
            taxon = await _create(ctx, path, categories.get(path[:-1]))
            by_permalink[taxon.permalink] = taxon
        categories[path] = taxon
    return {path: taxon.permalink for path, taxon in categories.items()}


async def _create(ctx: Context, path: Path, parent: Taxon | None) -> Taxon:
    if parent is None:
        taxonomy_id = await create_taxonomy(ctx, {"name": path[-1]})
        note_change(ctx, TAXONOMY.subject, taxonomy_id)
        return cast(Taxon, await queries.find_root(ctx.db, taxonomy_id))
    taxon_id: UUID = await create_taxon(ctx, {"parent_id": parent.id, "name": path[-1]})
    return cast(Taxon, await queries.find_taxon(ctx.db, taxon_id))
