"""What operators do with trees of taxons by small steps."""

from uuid import UUID

from shop.actions.catalog import taxons
from shop.actions.context import Context
from shop.base.errors import NotFound
from shop.models.catalog.taxons import Taxon
from shop.queries.catalog import taxons as queries


async def get_taxon(ctx: Context, taxon_id: UUID) -> Taxon:
    found = await queries.find_taxon(ctx.db, taxon_id)
    if found is None:
        raise NotFound()
    return found


async def shift(ctx: Context, taxon_id: UUID, steps: int) -> None:
    """Up or down among those under the same parent; the first goes no further up, the last no further down."""
    taxon = await get_taxon(ctx, taxon_id)
    if taxon.parent_id is None:
        raise NotFound()
    tree = await queries.list_tree(ctx.db, taxon.taxonomy_id)
    beside = sorted((other for other in tree if other.parent_id == taxon.parent_id), key=lambda other: other.lft)
    place = [other.id for other in beside].index(taxon_id)
    wanted = min(max(place + steps, 0), len(beside) - 1)
    if wanted != place:
        await taxons.reposition(ctx, taxon_id, taxon.parent_id, wanted)
