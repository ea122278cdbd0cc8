"""Changes menus and their item trees. Each action except a move runs in the caller's transaction."""

from collections.abc import Mapping
from uuid import UUID

import msgspec

from shop.actions.audit import audit_change
from shop.actions.content.pages import check_fields
from shop.actions.context import Context
from shop.actions.event_subjects import MENU_ITEM
from shop.actions.events import note_change, note_rows
from shop.base.errors import Invalid, NotFound
from shop.base.ids import new_id
from shop.models.content.inputs import MenuInput, MenuItemInput
from shop.models.content.menus import LINKED_TYPES, MenuItem, PlatformMenuItem, menu_items, menus
from shop.queries import writes
from shop.queries.content import menus as queries
from shop.rules.content.menus import (
    MAX_ITEMS,
    TOO_DEEP,
    TOO_MANY,
    Placement,
    is_below,
    is_too_deep,
    move_item,
    number_items,
)
from shop.rules.content.pages import linked_type

Tree = Mapping[UUID, MenuItem]
LAST = 2**31
"""Sorts after all siblings."""
_PLACE_AND_LINK = ("parent_id", "linked_resource_type", "linked_resource_id")


async def create_menu(ctx: Context, values: MenuInput) -> UUID:
    """Creates a menu with its root item."""
    check_fields(values)
    menu_id = new_id()
    await writes.insert_record(ctx.db, menus, menu_id, {"locale": ctx.shared.shop.default_locale, **values})
    root = {"menu_id": menu_id, "name": values["name"], "item_type": "Container", "lft": 1, "rgt": 2}
    root_id = new_id()
    note_change(ctx, MENU_ITEM, root_id)
    await writes.insert_record(ctx.db, menu_items, root_id, root)
    return menu_id


async def update_menu(ctx: Context, menu_id: UUID, values: MenuInput) -> None:
    check_fields(values)
    await writes.update_record(ctx.db, menus, menu_id, values)
    if "name" in values:
        root = _root_of(await _load_tree(ctx, menu_id))
        note_change(ctx, MENU_ITEM, root.id, root)
        await writes.update_record(ctx.db, menu_items, root.id, {"name": values["name"]})


async def delete_menu(ctx: Context, menu_id: UUID) -> None:
    """Deletes a menu with its items."""
    await writes.delete_record(ctx.db, menus, menu_id)


async def create_item(ctx: Context, values: MenuItemInput) -> UUID:
    """Creates an item under its parent or the root, after its siblings."""
    check_fields(values)
    if await queries.lock_menu(ctx.db, values["menu_id"]) is None:
        raise Invalid({"menu_id": ["is not a menu"]})
    tree = await _load_tree(ctx, values["menu_id"])
    if len(tree) > MAX_ITEMS:
        raise Invalid({"menu_id": [TOO_MANY]})
    parent_id = values.get("parent_id")
    parent = tree.get(parent_id) if parent_id else _root_of(tree)
    if parent is None:
        raise Invalid({"parent_id": ["is not an item of this menu"]})
    item_id = new_id()
    placements = _number({**tree, item_id: msgspec.structs.replace(parent, id=item_id)}, item_id, parent.id, LAST)
    fields = {**_own(values), **await _link_fields(ctx, values), "parent_id": parent.id}
    await writes.insert_record(ctx.db, menu_items, item_id, fields)
    await queries.place_items(ctx.db, placements)
    return item_id


async def update_item(ctx: Context, item_id: UUID, values: MenuItemInput) -> None:
    check_fields(values)
    item = await _get(ctx, item_id)
    fields = _own(values)
    if "linked_resource_type" in values or "linked_resource_id" in values:
        fields |= await _link_fields(ctx, values, item)
    if fields:
        await writes.update_record(ctx.db, menu_items, item_id, fields)
    parent_id = values.get("parent_id", item.parent_id)
    if parent_id != item.parent_id:
        await _move(ctx, await _load_tree(ctx, item.menu_id), item, parent_id, LAST)


async def delete_item(ctx: Context, item_id: UUID) -> None:
    """Deletes an item with its descendants."""
    item = await _get(ctx, item_id)
    if item.parent_id is None:
        raise Invalid({"base": ["is the root of its menu; delete the menu instead"]})
    descendants = [each.id for each in (await _load_tree(ctx, item.menu_id)).values() if item.lft < each.lft < item.rgt]
    await note_rows(ctx, MENU_ITEM, descendants, is_deleted=True)
    await writes.delete_record(ctx.db, menu_items, item_id)
    await queries.place_items(ctx.db, number_items(await queries.list_tree(ctx.db, item.menu_id)))


async def move(ctx: Context, item_id: UUID, parent_id: UUID, index: int) -> None:
    """Moves an item to an index among the children of a parent in the same menu."""
    async with ctx.transaction() as idempotency:
        if idempotency.existing_id:
            return
        item = await _get(ctx, item_id)
        tree = await _load_tree(ctx, item.menu_id)
        if parent_id not in tree:
            raise NotFound()
        note_change(ctx, MENU_ITEM, item_id, item)
        await _move(ctx, tree, item, parent_id, index)
        changes = {
            "new_parent_id": (str(item.parent_id), str(parent_id)),
            "new_position_idx": (item.position, index),
        }
        audit_change(ctx, "menu_item_repositioned", MENU_ITEM.type, item_id, changes=changes)
        idempotency.record(item_id)


async def lock_menu_of(ctx: Context, item_id: UUID) -> None:
    """Locks the menu of an item; every tree change writes to many of its items."""
    await _get(ctx, item_id)


async def _get(ctx: Context, item_id: UUID) -> PlatformMenuItem:
    existing = await queries.find_item(ctx.db, item_id)
    if existing is None:
        raise NotFound()
    await queries.lock_menu(ctx.db, existing.menu_id)
    # Read again: it may have moved or been deleted while waiting for the lock.
    item = await queries.find_item(ctx.db, item_id)
    if item is None:
        raise NotFound()
    return item


async def _load_tree(ctx: Context, menu_id: UUID) -> Tree:
    return {item.id: item for item in await queries.list_tree(ctx.db, menu_id)}


def _root_of(tree: Tree) -> MenuItem:
    return next(item for item in tree.values() if item.parent_id is None)


async def _move(ctx: Context, tree: Tree, item: MenuItem, parent_id: UUID | None, index: int) -> None:
    if item.parent_id is None:
        raise Invalid({"parent_id": ["cannot be set for the root of a menu"]})
    if parent_id is None or parent_id not in tree:
        raise Invalid({"parent_id": ["is not an item of this menu"]})
    if is_below(tree, parent_id, item.id):
        raise Invalid({"parent_id": ["is a descendant of this item"]})
    placements = _number(tree, item.id, parent_id, index)
    await writes.update_record(ctx.db, menu_items, item.id, {"parent_id": parent_id})
    await queries.place_items(ctx.db, placements)


def _number(tree: Tree, item_id: UUID, parent_id: UUID, index: int) -> dict[UUID, Placement]:
    """Returns the placements of all items after one moves to an index under a parent."""
    placements = number_items(move_item(tree.values(), item_id, parent_id, index))
    if is_too_deep(placements.values()):
        raise Invalid({"parent_id": [TOO_DEEP]})
    return placements


def _own(values: MenuItemInput) -> dict[str, object]:
    return {name: value for name, value in values.items() if name not in _PLACE_AND_LINK}


async def _link_fields(ctx: Context, values: MenuItemInput, item: PlatformMenuItem | None = None) -> dict[str, object]:
    """Returns the link type and the id columns; only the column of the linked record is set."""
    kind = linked_type(values.get("linked_resource_type", item.linked_resource_type if item else "url"))
    is_same = item is not None and item.linked_resource_type == kind
    record_id = values.get("linked_resource_id", item.linked_resource_id if item and is_same else None)
    if kind == "url":
        if record_id is not None:
            raise Invalid({"linked_resource_id": ["cannot be combined with a URL; choose a linked_resource_type"]})
    elif record_id is None:
        raise Invalid({"linked_resource_id": ["is required with this linked_resource_type"]})
    elif not await queries.can_link_to(ctx.db, kind, record_id):
        raise Invalid({"linked_resource_id": [f"is not a {kind.replace('_', ' ')}"]})
    columns = {f"{name}_id": record_id if name == kind else None for name in LINKED_TYPES}
    return {"linked_resource_type": kind, **columns}
