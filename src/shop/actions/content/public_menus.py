"""Menus as shoppers see them, without items that link to hidden records."""

from collections.abc import Mapping, Sequence
from uuid import UUID

import msgspec

from shop.actions.catalog import storefront
from shop.actions.catalog.prices import resolve_pricing
from shop.actions.catalog.storefront import RowWithId, Tree
from shop.actions.context import Context
from shop.base.errors import NotFound
from shop.base.listing import Keyset, ListedRows, Page
from shop.base.record import Link, Record, Reference
from shop.models.content.filters import MenuFilters
from shop.models.content.menus import Menu, PublicMenuItem
from shop.queries.catalog import priced_products, taxons
from shop.queries.content import menus as queries
from shop.queries.content import pages
from shop.rules.content.menus import visible_items

Targets = Mapping[UUID, Record]


async def list_menus(
    ctx: Context, filters: MenuFilters, page: Page | Keyset, include: Tree, currency: str
) -> ListedRows:
    """Lists menus; the rows of the result are loaded records."""
    result = await pages.list_public(ctx.db, queries.MENUS, filters.active, page)
    return msgspec.structs.replace(result, rows=await _load(ctx, result.rows, include, currency))


async def get_menu(ctx: Context, menu_id: UUID, include: Tree, currency: str) -> Record:
    row = await pages.find_public(ctx.db, queries.MENUS, menu_id)
    if row is None:
        raise NotFound()
    return (await _load(ctx, [row], include, currency))[0]


async def _load(ctx: Context, rows: Sequence[Menu], include: Tree, currency: str) -> list[Record]:
    """Reads the items of all menus in one statement, and linked records only if they are included."""
    items = visible_items(await queries.list_shown_items(ctx.db, [row.id for row in rows]))
    targets = await _load_targets(ctx, items, currency) if _includes_targets(include) else {}
    menus: dict[UUID, tuple[Record, list[Record]]] = {}
    for row in rows:
        records: list[Record] = []
        menus[row.id] = Record(row, {"menu_items": records}), records
    for record in _link_items(items, menus, targets):
        menus[record.row.menu_id][1].append(record)
    return [menu for menu, _ in menus.values()]


def _link_items(
    items: Sequence[PublicMenuItem], menus: Mapping[UUID, tuple[Record, list[Record]]], targets: Targets
) -> list[Record]:
    """Links items to their parents, children and menus; parents must come before their children."""
    records: dict[UUID, Record] = {}
    children: dict[UUID, list[Record]] = {item.id: [] for item in items}
    for item in items:
        links: dict[str, Link] = {
            "menu": menus[item.menu_id][0],
            "parent": records.get(item.parent_id) if item.parent_id else None,
            "children": children[item.id],
            "linked_resource": _target(item, targets),
            "icon": None,
        }
        records[item.id] = Record(item, links)
        if item.parent_id:
            children[item.parent_id].append(records[item.id])
    return list(records.values())


def _target(item: PublicMenuItem, targets: Targets) -> Record | None:
    if item.linked_resource_id is None:
        return None
    target = targets.get(item.linked_resource_id)
    return target or Record(Reference(item.linked_resource_id), type=item.linked_resource_type)


def _includes_targets(include: Tree) -> bool:
    return any(
        name == "linked_resource" or _includes_targets(nested_include) for name, nested_include in include.items()
    )


async def _load_targets(ctx: Context, items: Sequence[PublicMenuItem], currency: str) -> Targets:
    pricing = await resolve_pricing(ctx, currency)
    rows: dict[str, Sequence[RowWithId]] = {
        "taxon": await taxons.list_taxons_of(ctx.db, _ids(items, "taxon_id")),
        "product": await priced_products.list_products_of(ctx.db, _ids(items, "product_id"), pricing),
        "cms_page": await pages.list_pages_of(ctx.db, _ids(items, "cms_page_id")),
    }
    targets: dict[UUID, Record] = {}
    for kind, target_rows in rows.items():
        for record in await storefront.load(ctx, kind, target_rows, {}, pricing):
            links = record.links or {"cms_sections": []}
            targets[record.row.id] = Record(record.row, links, kind)
    return targets


def _ids(items: Sequence[PublicMenuItem], name: str) -> list[UUID]:
    return list(dict.fromkeys(record_id for item in items if (record_id := getattr(item, name))))
