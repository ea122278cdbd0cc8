"""What is done with trees of taxons: grown, moved, cut; numbers and permalinks follow. Each runs inside the caller's
transaction.
"""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from shop.actions.audit import audit
from shop.actions.catalog import refresh
from shop.actions.context import Context
from shop.base.errors import Invalid, NotFound
from shop.base.ids import new_id
from shop.base.texts import slug_of
from shop.models.taxons import Taxon, taxonomies, taxons
from shop.queries import changes
from shop.queries import taxons as queries
from shop.rules.taxons import is_within, number_tree

Values = Mapping[str, Any]
LAST = 2**31
"""Behind all others; the numbering makes a small number of it."""


async def create_taxonomy(ctx: Context, values: Values) -> UUID:
    """With the root that its taxons stand under."""
    taxonomy_id = new_id()
    await changes.insert_record(ctx.db, taxonomies, taxonomy_id, values)
    root = {"taxonomy_id": taxonomy_id, "name": values["name"], "slug": _slug(values["name"], taxonomy_id)}
    await changes.insert_record(ctx.db, taxons, new_id(), root)
    await _number(ctx, taxonomy_id)
    return taxonomy_id


async def update_taxonomy(ctx: Context, taxonomy_id: UUID, values: Values) -> None:
    await changes.update_record(ctx.db, taxonomies, taxonomy_id, values)
    root = await queries.find_root(ctx.db, taxonomy_id)
    if "name" in values and root:
        named = {"name": values["name"], "slug": _slug(values["name"], taxonomy_id)}
        await changes.update_record(ctx.db, taxons, root.id, named)
        await _number(ctx, taxonomy_id)


async def delete_taxonomy(ctx: Context, taxonomy_id: UUID) -> None:
    root = await queries.find_root(ctx.db, taxonomy_id)
    shown = await queries.list_products_in(ctx.db, taxonomy_id)
    if root:
        await changes.delete_record(ctx.db, taxons, root.id)
    await changes.delete_record(ctx.db, taxonomies, taxonomy_id)
    await refresh(ctx, shown)


async def create_taxon(ctx: Context, values: Values) -> UUID:
    """Under its parent, or under the root of its taxonomy; last there unless a position is given."""
    parent = await queries.find_taxon(ctx.db, values["parent_id"]) if values.get("parent_id") else None
    if values.get("parent_id") and parent is None:
        raise Invalid({"parent_id": ["is not a taxon"]})
    if parent is None and values.get("taxonomy_id"):
        parent = await queries.find_root(ctx.db, values["taxonomy_id"])
    if parent is None or values.get("taxonomy_id") not in {None, parent.taxonomy_id}:
        raise Invalid({"taxonomy_id": ["must be the taxonomy of the parent, or any with a root"]})
    await queries.lock_taxonomy(ctx.db, parent.taxonomy_id)
    taxon_id = new_id()
    fields = {
        "position": LAST,
        **values,
        "taxonomy_id": parent.taxonomy_id,
        "parent_id": parent.id,
        "slug": _slug(values.get("slug") or values["name"], taxon_id),
    }
    await changes.insert_record(ctx.db, taxons, taxon_id, fields)
    await _number(ctx, parent.taxonomy_id)
    return taxon_id


async def update_taxon(ctx: Context, taxon_id: UUID, values: Values) -> None:
    taxon = await _get(ctx, taxon_id)
    fields = dict(values)
    if "slug" in values:
        fields["slug"] = _slug(values["slug"] or taxon.name, taxon_id)
    if "parent_id" in values:
        await _check_parent(ctx, taxon, values["parent_id"])
    await changes.update_record(ctx.db, taxons, taxon_id, fields)
    await _number(ctx, taxon.taxonomy_id)


async def delete_taxon(ctx: Context, taxon_id: UUID) -> None:
    """With all that stands below it; products lose the place and stay."""
    taxon = await _get(ctx, taxon_id)
    if taxon.parent_id is None:
        raise Invalid({"base": ["is the root of its taxonomy; remove the taxonomy instead"]})
    shown = await queries.list_products_in(ctx.db, taxon.taxonomy_id)
    await changes.delete_record(ctx.db, taxons, taxon_id)
    await _number(ctx, taxon.taxonomy_id)
    await refresh(ctx, shown)


async def reposition(ctx: Context, taxon_id: UUID, parent_id: UUID, index: int) -> None:
    """Moves a taxon to a place among those under its new parent."""
    async with ctx.transaction() as once:
        if once.done:
            return
        taxon = await _get(ctx, taxon_id)
        await _check_parent(ctx, taxon, parent_id)
        siblings = [
            other
            for other in await queries.list_tree(ctx.db, taxon.taxonomy_id)
            if other.parent_id == parent_id and other.id != taxon_id
        ]
        order = [other.id for other in sorted(siblings, key=lambda other: (other.position, other.name))]
        order.insert(max(0, index), taxon_id)
        for position, other_id in enumerate(order):
            moved = {"position": position} | ({"parent_id": parent_id} if other_id == taxon_id else {})
            await changes.update_record(ctx.db, taxons, other_id, moved)
        await _number(ctx, taxon.taxonomy_id)
        detail = {"parent_id": str(parent_id), "position": index}
        await audit(ctx, "taxon_repositioned", "done", subject_id=taxon_id, detail=detail)
        once.made(taxon_id)


async def _get(ctx: Context, taxon_id: UUID) -> Taxon:
    taxon = await queries.find_taxon(ctx.db, taxon_id)
    if taxon is None:
        raise NotFound()
    await queries.lock_taxonomy(ctx.db, taxon.taxonomy_id)
    return taxon


async def _check_parent(ctx: Context, taxon: Taxon, parent_id: UUID | None) -> None:
    tree = {other.id: other for other in await queries.list_tree(ctx.db, taxon.taxonomy_id)}
    if taxon.parent_id is None:
        raise Invalid({"parent_id": ["cannot be given to the root of a taxonomy"]})
    if parent_id is None or parent_id not in tree:
        raise NotFound()
    if is_within(tree, parent_id, taxon.id):
        raise Invalid({"parent_id": ["stands below this taxon"]})


async def _number(ctx: Context, taxonomy_id: UUID) -> None:
    places = number_tree(await queries.list_tree(ctx.db, taxonomy_id))
    if await queries.place_taxons(ctx.db, places):
        await refresh(ctx, await queries.list_products_in(ctx.db, taxonomy_id))


def _slug(name: str, record_id: UUID) -> str:
    return slug_of(name) or str(record_id)
