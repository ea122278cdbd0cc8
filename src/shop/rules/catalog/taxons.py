"""How a taxonomy's tree is numbered: nested sets, depths and permalinks follow from who stands under whom."""

from collections.abc import Iterable, Mapping
from uuid import UUID

import msgspec

from shop.models.catalog.taxons import Taxon


class Place(msgspec.Struct, frozen=True):
    """What follows from a taxon's place in its tree."""

    lft: int
    rgt: int
    depth: int
    position: int
    permalink: str
    pretty_name: str


def number_tree(taxons: Iterable[Taxon]) -> dict[UUID, Place]:
    """Each taxon's place. Those under one taxon stand by their positions, then by name.

    root 1..8
    ├── shirts 2..5
    │   └── polo 3..4
    └── mugs 6..7
    """
    children: dict[UUID | None, list[Taxon]] = {}
    for taxon in sorted(taxons, key=_order):
        children.setdefault(taxon.parent_id, []).append(taxon)
    places: dict[UUID, Place] = {}
    at = 0
    for position, root in enumerate(children.get(None, [])):
        at = _number(root, position, at + 1, None, children, places)
    return places


def _number(
    taxon: Taxon,
    position: int,
    lft: int,
    parent: Place | None,
    children: Mapping[UUID | None, list[Taxon]],
    places: dict[UUID, Place],
) -> int:
    """Gives the taxon and all below it their places; says the last number used."""
    here = Place(
        lft,
        0,
        parent.depth + 1 if parent else 0,
        position,
        f"{parent.permalink}/{taxon.slug}" if parent else taxon.slug,
        f"{parent.pretty_name} -> {taxon.name}" if parent else taxon.name,
    )
    at = lft
    for place, child in enumerate(children.get(taxon.id, [])):
        at = _number(child, place, at + 1, here, children, places)
    places[taxon.id] = msgspec.structs.replace(here, rgt=at + 1)
    return at + 1


def put_at(taxons: Iterable[Taxon], taxon_id: UUID, index: int) -> list[Taxon]:
    """The same taxons, with one at an index among those under its parent."""
    others = list(taxons)
    (moved,) = [taxon for taxon in others if taxon.id == taxon_id]
    siblings = sorted((taxon for taxon in others if taxon.parent_id == moved.parent_id), key=_order)
    siblings.remove(moved)
    siblings.insert(max(0, index), moved)
    placed = [msgspec.structs.replace(taxon, position=place) for place, taxon in enumerate(siblings)]
    return [taxon for taxon in others if taxon.parent_id != moved.parent_id] + placed


def _order(taxon: Taxon) -> tuple[int, str, UUID]:
    return taxon.position, taxon.name, taxon.id


def is_within(taxons: Mapping[UUID, Taxon], taxon_id: UUID, ancestor_id: UUID) -> bool:
    """Whether a taxon is the other or stands below it: a branch cannot be hung onto itself."""
    here: UUID | None = taxon_id
    while here is not None:
        if here == ancestor_id:
            return True
        here = taxons[here].parent_id if here in taxons else None
    return False
