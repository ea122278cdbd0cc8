"""Creates, moves and deletes taxons and taxonomies; renumbers the tree and updates permalinks.

Each action except a move runs in the caller's transaction.
"""

from collections.abc import Awaitable
from uuid import UUID

from shop.actions.audit import audit_change
from shop.actions.catalog.products import refresh_products
from shop.actions.context import Context
from shop.actions.event_subjects import IMAGE, TAXON
from shop.actions.events import note_change, note_deletion, note_rows
from shop.base.errors import Invalid, NotFound
from shop.base.ids import new_id
from shop.base.texts import slug_of
from shop.db.pool import ConstraintViolation
from shop.models.catalog.inputs import TaxonInput, TaxonomyInput
from shop.models.catalog.taxons import Taxon, taxonomies, taxons
from shop.queries import writes
from shop.queries.catalog import images
from shop.queries.catalog import taxons as queries
from shop.rules.catalog.taxons import is_within, move_to_index, number_tree

MAX_PERMALINK_LENGTH = 1000
LAST = 2**31
"""Sorts after all siblings; numbering replaces it with the real position."""


async def create_taxonomy(ctx: Context, values: TaxonomyInput) -> UUID:
    """Creates a taxonomy with its root taxon."""
    taxonomy_id = new_id()
    await writes.insert_record(ctx.db, taxonomies, taxonomy_id, values)
    root = {"taxonomy_id": taxonomy_id, "name": values["name"], "slug": _slug(values["name"], taxonomy_id)}
    root_id = new_id()
    note_change(ctx, TAXON, root_id)
    await _name_root(writes.insert_record(ctx.db, taxons, root_id, root))
    await _number(ctx, taxonomy_id)
    return taxonomy_id


async def update_taxonomy(ctx: Context, taxonomy_id: UUID, values: TaxonomyInput) -> None:
    await writes.update_record(ctx.db, taxonomies, taxonomy_id, values)
    root = await queries.find_root(ctx.db, taxonomy_id)
    if "name" in values and root:
        note_change(ctx, TAXON, root.id, root)
        root_fields = {"name": values["name"], "slug": _slug(values["name"], taxonomy_id)}
        await _name_root(writes.update_record(ctx.db, taxons, root.id, root_fields))
        await _number(ctx, taxonomy_id)


async def _name_root(change: Awaitable[None]) -> None:
    """Applies a change of a root taxon. Raises Invalid if its permalink exists: two names can share one."""
    try:
        await change
    except ConstraintViolation:
        raise Invalid({"name": ["is too similar to another taxonomy's name"]}) from None


async def delete_taxonomy(ctx: Context, taxonomy_id: UUID) -> None:
    root = await queries.find_root(ctx.db, taxonomy_id)
    product_ids = await queries.list_products_in(ctx.db, taxonomy_id)
    if root:
        await _note_deletions(ctx, root)
        await images.record_subtree_loose_files(ctx.db, root)
        await writes.delete_record(ctx.db, taxons, root.id)
    await writes.delete_record(ctx.db, taxonomies, taxonomy_id)
    await refresh_products(ctx, product_ids)


async def create_taxon(ctx: Context, values: TaxonInput) -> UUID:
    """Creates a taxon under its parent or the root of its taxonomy, last unless a position is given."""
    parent_id, taxonomy_id = values.get("parent_id"), values.get("taxonomy_id")
    parent = await queries.find_taxon(ctx.db, parent_id) if parent_id else None
    if parent_id and parent is None:
        raise Invalid({"parent_id": ["is not a taxon"]})
    if parent is None and taxonomy_id:
        parent = await queries.find_root(ctx.db, taxonomy_id)
    if parent is None or taxonomy_id not in {None, parent.taxonomy_id}:
        raise Invalid({"taxonomy_id": ["must be the parent's taxonomy, or an existing one"]})
    await queries.lock_taxonomy(ctx.db, parent.taxonomy_id)
    taxon_id = new_id()
    fields: dict[str, object] = {
        **values,
        "position": LAST,
        "taxonomy_id": parent.taxonomy_id,
        "parent_id": parent.id,
        "slug": _slug(values.get("slug") or values["name"], taxon_id),
    }
    note_change(ctx, TAXON, taxon_id)
    await writes.insert_record(ctx.db, taxons, taxon_id, fields)
    moved = (taxon_id, values.get("position", LAST))
    # The last of its siblings changes nothing about the products of other taxons.
    await _number(ctx, parent.taxonomy_id, moved=moved, refreshes_products="position" in values)
    return taxon_id


async def update_taxon(ctx: Context, taxon_id: UUID, values: TaxonInput) -> None:
    taxon = await _get(ctx, taxon_id)
    fields: dict[str, object] = {**values}
    if "slug" in values:
        fields["slug"] = _slug(values["slug"] or taxon.name, taxon_id)
    if "parent_id" in values and await _find_parent(ctx, taxon, values["parent_id"]) is None:
        raise Invalid({"parent_id": ["is not a taxon of the same taxonomy"]})
    if "parent_id" in values:
        fields["position"] = LAST
    await writes.update_record(ctx.db, taxons, taxon_id, fields)
    await _number(ctx, taxon.taxonomy_id, moved=(taxon_id, values["position"]) if "position" in values else None)


async def delete_taxon(ctx: Context, taxon_id: UUID) -> None:
    """Deletes a taxon with its descendants; its products remain."""
    taxon = await _get(ctx, taxon_id)
    if taxon.parent_id is None:
        raise Invalid({"base": ["is the root of its taxonomy; delete the taxonomy instead"]})
    product_ids = await queries.list_products_in(ctx.db, taxon.taxonomy_id)
    await _note_deletions(ctx, taxon)
    await images.record_subtree_loose_files(ctx.db, taxon)
    await writes.delete_record(ctx.db, taxons, taxon_id)
    await _number(ctx, taxon.taxonomy_id)
    await refresh_products(ctx, product_ids)


async def move_taxon(ctx: Context, taxon_id: UUID, parent_id: UUID, index: int) -> None:
    """Moves a taxon to an index among the children of a parent."""
    async with ctx.transaction() as idempotency:
        if idempotency.existing_id:
            return
        taxon = await _get(ctx, taxon_id)
        if await _find_parent(ctx, taxon, parent_id) is None:
            raise NotFound()
        note_change(ctx, TAXON, taxon_id, taxon)
        try:
            await writes.update_record(ctx.db, taxons, taxon_id, {"parent_id": parent_id})
        except ConstraintViolation:
            raise Invalid({"new_parent_id": ["has a taxon with the same slug"]}) from None
        await _number(ctx, taxon.taxonomy_id, moved=(taxon_id, index))
        changes = {
            "new_parent_id": (str(taxon.parent_id), str(parent_id)),
            "new_position_idx": (taxon.position, index),
        }
        audit_change(ctx, "taxon_repositioned", TAXON.type, taxon_id, changes=changes)
        idempotency.record(taxon_id)


async def _note_deletions(ctx: Context, taxon: Taxon) -> None:
    """Notes that a taxon of a locked tree is deleted with its descendants and their images."""
    tree = await queries.list_tree(ctx.db, taxon.taxonomy_id)
    taxon_ids = [each.id for each in tree if taxon.lft <= each.lft <= taxon.rgt]
    await note_rows(ctx, TAXON, taxon_ids, is_deleted=True)
    for taxon_id in taxon_ids:
        if image := await images.find_taxon_image(ctx.db, taxon_id):
            note_deletion(ctx, IMAGE, image)


async def lock_taxon_tree(ctx: Context, taxon_id: UUID) -> None:
    """Locks the taxonomy of a taxon; every tree change writes to many of its taxons."""
    await _get(ctx, taxon_id)


async def _get(ctx: Context, taxon_id: UUID) -> Taxon:
    existing = await queries.find_taxon(ctx.db, taxon_id)
    if existing is None:
        raise NotFound()
    await queries.lock_taxonomy(ctx.db, existing.taxonomy_id)
    # Read again: it may have moved or been deleted while waiting for the lock.
    taxon = await queries.find_taxon(ctx.db, taxon_id)
    if taxon is None:
        raise NotFound()
    return taxon


async def _find_parent(ctx: Context, taxon: Taxon, parent_id: UUID | None) -> Taxon | None:
    """Returns the new parent of a taxon, or None if it is not in the same tree."""
    tree = {other.id: other for other in await queries.list_tree(ctx.db, taxon.taxonomy_id)}
    if taxon.parent_id is None:
        raise Invalid({"parent_id": ["cannot be set for the root of a taxonomy"]})
    if parent_id is None or parent_id not in tree:
        return None
    if is_within(tree, parent_id, taxon.id):
        raise Invalid({"parent_id": ["is a descendant of this taxon"]})
    return tree[parent_id]


async def _number(
    ctx: Context, taxonomy_id: UUID, moved: tuple[UUID, int] | None = None, *, refreshes_products: bool = True
) -> None:
    """Renumbers a tree; `moved` is a taxon and its new index among its siblings."""
    tree = await queries.list_tree(ctx.db, taxonomy_id)
    positions = number_tree(move_to_index(tree, *moved) if moved else tree)
    if any(len(position.permalink) > MAX_PERMALINK_LENGTH for position in positions.values()):
        raise Invalid({"base": [f"would have a permalink of more than {MAX_PERMALINK_LENGTH} characters"]})
    for taxon in tree:
        # The position among siblings changes with every move; only the moved taxon has an event then.
        if (taxon.permalink, taxon.pretty_name) != (positions[taxon.id].permalink, positions[taxon.id].pretty_name):
            note_change(ctx, TAXON, taxon.id, taxon)
    if await queries.place_taxons(ctx.db, positions) and refreshes_products:
        await refresh_products(ctx, await queries.list_products_in(ctx.db, taxonomy_id))


def _slug(name: str, record_id: UUID) -> str:
    return slug_of(name) or str(record_id)
