"""Numbers taxonomy trees: derives nested sets, depths and permalinks from parents and positions."""

from collections.abc import Iterable, Mapping
from uuid import UUID

import msgspec

from shop.models.catalog.taxons import Taxon


class TreePosition(msgspec.Struct, frozen=True):
    """Values derived from the position of a taxon in its tree."""

    lft: int
    rgt: int
    depth: int
    position: int
    permalink: str
    pretty_name: str


def number_tree(taxons: Iterable[Taxon]) -> dict[UUID, TreePosition]:
    """Returns the tree position of each taxon. Siblings are sorted by position, then by name.

    root 1..8
    ├── shirts 2..5
    │   └── polo 3..4
    └── mugs 6..7
    """
    children: dict[UUID | None, list[Taxon]] = {}
    for taxon in sorted(taxons, key=_order):
        children.setdefault(taxon.parent_id, []).append(taxon)
    places: dict[UUID, TreePosition] = {}
    at = 0
    for position, root in enumerate(children.get(None, [])):
        at = _number(root, position, at + 1, None, children, places)
    return places


def _number(
    taxon: Taxon,
    position: int,
    lft: int,
    parent: TreePosition | None,
    children: Mapping[UUID | None, list[Taxon]],
    places: dict[UUID, TreePosition],
) -> int:
    """Numbers a taxon and its descendants; returns the last number used."""
    here = TreePosition(
        lft,
        0,
        parent.depth + 1 if parent else 0,
        position,
        f"{parent.permalink}/{taxon.slug}" if parent else taxon.slug,
        f"{parent.pretty_name} -> {taxon.name}" if parent else taxon.name,
    )
    at = lft
    for index, child in enumerate(children.get(taxon.id, [])):
        at = _number(child, index, at + 1, here, children, places)
    places[taxon.id] = msgspec.structs.replace(here, rgt=at + 1)
    return at + 1


def move_to_index(taxons: Iterable[Taxon], taxon_id: UUID, index: int) -> list[Taxon]:
    """Returns the taxons with one moved to an index among its siblings."""
    others = list(taxons)
    (target,) = [taxon for taxon in others if taxon.id == taxon_id]
    siblings = sorted((taxon for taxon in others if taxon.parent_id == target.parent_id), key=_order)
    siblings.remove(target)
    siblings.insert(max(0, index), target)
    new_siblings = [msgspec.structs.replace(taxon, position=position) for position, taxon in enumerate(siblings)]
    return [taxon for taxon in others if taxon.parent_id != target.parent_id] + new_siblings


def _order(taxon: Taxon) -> tuple[int, str, UUID]:
    return taxon.position, taxon.name, taxon.id


def is_within(taxons: Mapping[UUID, Taxon], taxon_id: UUID, ancestor_id: UUID) -> bool:
    """Returns whether a taxon is the other one or a descendant of it; a taxon cannot move below itself."""
    here: UUID | None = taxon_id
    while here is not None:
        if here == ancestor_id:
            return True
        here = taxons[here].parent_id if here in taxons else None
    return False
