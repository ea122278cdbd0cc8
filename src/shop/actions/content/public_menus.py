"""Menus as shoppers see them: without the items that lead to something they cannot see."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import msgspec

from shop.actions.catalog import storefront
from shop.actions.catalog.prices import pricing_for
from shop.actions.catalog.storefront import Tree
from shop.actions.context import Context
from shop.base.errors import NotFound
from shop.base.listing import Keyset, ListedRows, Page
from shop.base.loaded import Link, Loaded, Named
from shop.models.content.menus import Menu, ShownItem
from shop.queries.catalog import prices_shown as catalog
from shop.queries.catalog import taxons
from shop.queries.content import menus as queries
from shop.queries.content import pages
from shop.rules.content.menus import visible_items

Targets = Mapping[UUID, Loaded]


async def list_menus(
    ctx: Context, filters: Mapping[str, Any], page: Page | Keyset, include: Tree, currency: str
) -> ListedRows:
    """Its rows are loaded records."""
    found = await pages.list_public(ctx.db, queries.MENUS, filters, page)
    return msgspec.structs.replace(found, rows=await _load(ctx, found.rows, include, currency))


async def get_menu(ctx: Context, menu_id: UUID, include: Tree, currency: str) -> Loaded:
    row = await pages.find_public(ctx.db, queries.MENUS, menu_id)
    if row is None:
        raise NotFound()
    return (await _load(ctx, [row], include, currency))[0]


async def _load(ctx: Context, rows: Sequence[Menu], include: Tree, currency: str) -> list[Loaded]:
    """All items of all menus are read with one statement; what they lead to only where it is included."""
    items = visible_items(await queries.list_shown_items(ctx.db, [row.id for row in rows]))
    targets = await _load_targets(ctx, items, currency) if _asks_for_targets(include) else {}
    menus: dict[UUID, tuple[Loaded, list[Loaded]]] = {}
    for row in rows:
        records: list[Loaded] = []
        menus[row.id] = Loaded(row, {"menu_items": records}), records
    for record in _link_items(items, menus, targets):
        menus[record.row.menu_id][1].append(record)
    return [menu for menu, _ in menus.values()]


def _link_items(
    items: Sequence[ShownItem], menus: Mapping[UUID, tuple[Loaded, list[Loaded]]], targets: Targets
) -> list[Loaded]:
    """Items with their parents, children and menus; parents come before their children."""
    records: dict[UUID, Loaded] = {}
    children: dict[UUID, list[Loaded]] = {item.id: [] for item in items}
    for item in items:
        links: dict[str, Link] = {
            "menu": menus[item.menu_id][0],
            "parent": records.get(item.parent_id) if item.parent_id else None,
            "children": children[item.id],
            "linked_resource": _target(item, targets),
            "icon": None,
        }
        records[item.id] = Loaded(item, links)
        if item.parent_id:
            children[item.parent_id].append(records[item.id])
    return list(records.values())


def _target(item: ShownItem, targets: Targets) -> Loaded | None:
    if item.linked_resource_id is None:
        return None
    known = targets.get(item.linked_resource_id)
    return known or Loaded(Named(item.linked_resource_id), type=item.linked_resource_type)


def _asks_for_targets(include: Tree) -> bool:
    return any(name == "linked_resource" or _asks_for_targets(deeper) for name, deeper in include.items())


async def _load_targets(ctx: Context, items: Sequence[ShownItem], currency: str) -> Targets:
    pricing = await pricing_for(ctx, currency)
    rows = {
        "taxon": await taxons.list_taxons_of(ctx.db, _ids(items, "taxon_id")),
        "product": await catalog.list_products_of(ctx.db, _ids(items, "product_id"), pricing),
        "cms_page": await pages.list_pages_of(ctx.db, _ids(items, "cms_page_id")),
    }
    targets: dict[UUID, Loaded] = {}
    for kind, found in rows.items():
        for record in await storefront.load(ctx, kind, found, {}, pricing):
            links = record.links or {"cms_sections": []}
            targets[record.row.id] = Loaded(record.row, links, kind)
    return targets


def _ids(items: Sequence[ShownItem], name: str) -> list[UUID]:
    return list(dict.fromkeys(found for item in items if (found := getattr(item, name))))
