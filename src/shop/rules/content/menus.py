"""Numbers menu trees: derives nested sets and depths from parents and positions."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from uuid import UUID

import msgspec

from shop.models.content.menus import MenuItem, PublicMenuItem

MAX_ITEMS = 200
MAX_LEVELS = 5
"""Levels below the root."""
TOO_MANY = f"has {MAX_ITEMS} items, which is the maximum"
TOO_DEEP = f"would be nested more than {MAX_LEVELS} levels deep"


class Placement(msgspec.Struct, frozen=True):
    """Numbers derived from the position of an item in its menu."""

    lft: int
    rgt: int
    depth: int
    position: int


def number_items(items: Iterable[MenuItem]) -> dict[UUID, Placement]:
    """Returns the placement of each item. Siblings are sorted by position, then by id."""
    children: dict[UUID | None, list[MenuItem]] = {}
    for item in sorted(items, key=_order):
        children.setdefault(item.parent_id, []).append(item)
    placements: dict[UUID, Placement] = {}
    for root in children.get(None, []):
        _number(root, Placement(1, 0, 0, 0), children, placements)
    return placements


def _number(
    item: MenuItem,
    start: Placement,
    children: Mapping[UUID | None, Sequence[MenuItem]],
    placements: dict[UUID, Placement],
) -> int:
    """Numbers an item and its descendants; returns the last number used."""
    last = start.lft
    for position, child in enumerate(children.get(item.id, ())):
        last = _number(child, Placement(last + 1, 0, start.depth + 1, position), children, placements)
    placements[item.id] = msgspec.structs.replace(start, rgt=last + 1)
    return last + 1


def move_item(items: Iterable[MenuItem], item_id: UUID, parent_id: UUID, index: int) -> list[MenuItem]:
    """Returns the items with one moved to an index among the children of a parent."""
    items_by_id = {item.id: item for item in items}
    target = msgspec.structs.replace(items_by_id.pop(item_id), parent_id=parent_id)
    siblings = sorted((item for item in items_by_id.values() if item.parent_id == parent_id), key=_order)
    siblings.insert(max(0, index), target)
    new_siblings = {item.id: msgspec.structs.replace(item, position=position) for position, item in enumerate(siblings)}
    return list((items_by_id | new_siblings).values())


def is_below(items: Mapping[UUID, MenuItem], item_id: UUID, ancestor_id: UUID) -> bool:
    """Returns whether an item is the other one or a descendant of it."""
    here: UUID | None = item_id
    while here is not None:
        if here == ancestor_id:
            return True
        here = items[here].parent_id
    return False


def visible_items(items: Iterable[PublicMenuItem]) -> list[PublicMenuItem]:
    """Returns the items that shoppers see, renumbered without the hidden ones.

    A hidden item hides its descendants. Items must be in tree order.
    """
    visible: dict[UUID, PublicMenuItem] = {}
    for item in items:
        if item.is_shown and (item.parent_id is None or item.parent_id in visible):
            visible[item.id] = item
    placements = number_items(visible.values())
    return [
        msgspec.structs.replace(item, lft=placements[item.id].lft, rgt=placements[item.id].rgt)
        for item in visible.values()
    ]


def is_too_deep(placements: Collection[Placement]) -> bool:
    return any(placement.depth > MAX_LEVELS for placement in placements)


def _order(item: MenuItem) -> tuple[int, UUID]:
    return item.position, item.id
