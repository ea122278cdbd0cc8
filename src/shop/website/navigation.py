"""The links in the header and footer of every page: menus, or else the top categories and the policies."""

from collections.abc import Sequence

import msgspec

from shop.actions.catalog import storefront
from shop.actions.content import pages, public_menus
from shop.actions.context import Context
from shop.base.listing import Page
from shop.base.record import Record
from shop.models.catalog.filters import TaxonFilters
from shop.models.content.filters import MenuFilters
from shop.models.content.menus import PublicMenuItem

MAX_LINKS = 12


class NavigationLink(msgspec.Struct, frozen=True):
    """A link, or a heading with links below it."""

    name: str
    url: str | None
    links: tuple["NavigationLink", ...] = ()


class Navigation(msgspec.Struct, frozen=True):
    """The links of the header and the footer."""

    header: tuple[NavigationLink, ...]
    footer: tuple[NavigationLink, ...]


async def load_navigation(ctx: Context) -> Navigation:
    currency = ctx.shared.shop.currencies[0]
    menus = await public_menus.list_menus(ctx, MenuFilters(), Page(1, 20), {"menu_items": {}}, currency)
    header = _find_menu(menus.rows, "header") or await _top_categories(ctx)
    footer = _find_menu(menus.rows, "footer") or await _policies(ctx)
    return Navigation(header, footer)


def _find_menu(menus: Sequence[Record], location: str) -> tuple[NavigationLink, ...]:
    """Returns the links of the first menu at a location."""
    menu = next((record for record in menus if record.row.location == location), None)
    if menu is None:
        return ()
    items = _records(menu, "menu_items")
    root_id = next((record.row.id for record in items if record.row.parent_id is None), None)
    return tuple(_link(record) for record in items if record.row.parent_id == root_id)


def _link(record: Record) -> NavigationLink:
    item: PublicMenuItem = record.row
    return NavigationLink(item.name, item.link, tuple(_link(child) for child in _records(record, "children")))


def _records(record: Record, name: str) -> Sequence[Record]:
    links = record.links[name]
    return [each for each in links if isinstance(each, Record)] if isinstance(links, Sequence) else ()


async def _top_categories(ctx: Context) -> tuple[NavigationLink, ...]:
    taxons = await storefront.list_taxons(ctx, TaxonFilters(roots=False), Page(1, 100), {})
    rows = [record.row for record in taxons.records if record.row.depth == 1 and record.row.has_products]
    return tuple(NavigationLink(row.name, f"/t/{row.permalink}") for row in rows[:MAX_LINKS])


async def _policies(ctx: Context) -> tuple[NavigationLink, ...]:
    policies = await pages.list_policies(ctx, {}, Page(1, MAX_LINKS))
    return tuple(NavigationLink(row.name, f"/policies/{row.slug}") for row in policies.rows)
