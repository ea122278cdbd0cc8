"""Taxon forms: move a taxon among its siblings."""

from uuid import UUID

from shop.actions.catalog import taxons
from shop.actions.context import Context
from shop.base.errors import NotFound
from shop.models.catalog.taxons import Taxon
from shop.queries.catalog import taxons as queries


async def get_taxon(ctx: Context, taxon_id: UUID) -> Taxon:
    taxon = await queries.find_taxon(ctx.db, taxon_id)
    if taxon is None:
        raise NotFound()
    return taxon


async def shift(ctx: Context, taxon_id: UUID, steps: int) -> None:
    """Moves a taxon up or down among its siblings; stops at the first and the last position."""
    taxon = await get_taxon(ctx, taxon_id)
    if taxon.parent_id is None:
        raise NotFound()
    tree = await queries.list_tree(ctx.db, taxon.taxonomy_id)
    siblings = sorted((other for other in tree if other.parent_id == taxon.parent_id), key=lambda other: other.lft)
    position = [other.id for other in siblings].index(taxon_id)
    index = min(max(position + steps, 0), len(siblings) - 1)
    if index != position:
        await taxons.move_taxon(ctx, taxon_id, taxon.parent_id, index)
