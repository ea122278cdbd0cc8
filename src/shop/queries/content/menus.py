"""Statements for menus and their items."""

from collections.abc import Mapping, Sequence
from typing import Any, cast
from uuid import UUID

from sqlalchemy import BigInteger, ColumnElement, and_, bindparam, case, column, func, or_, select, update
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.db.pool import DatabaseSession
from shop.db.statements import any_of, into, statement
from shop.models.catalog.product_index import listings
from shop.models.catalog.products import products
from shop.models.catalog.taxons import taxons
from shop.models.content.menus import Menu, MenuItem, PlatformMenuItem, PublicMenuItem, menu_items, menus
from shop.models.content.pages import cms_pages
from shop.queries.catalog.priced_products import IS_LISTED_NOW
from shop.queries.content.pages import PublicList, equals
from shop.rules.content.menus import Placement

_ID = PG_UUID(as_uuid=True)
_items = menu_items.c
_TREE_COLUMNS = ("lft", "rgt", "depth", "position")
MENUS = PublicList(
    select(menus),
    menus,
    Menu,
    {name: equals(menus.c[name], name) for name in ("name", "location", "locale")},
)


def _text_of(text: Any, table: Any, owner: Any) -> ColumnElement[Any]:
    return select(text).where(table.c.id == owner).correlate(menu_items).scalar_subquery()


_page_path = case((cms_pages.c.type == "homepage", "/"), else_="/pages/" + cms_pages.c.slug)
LINKED_COLUMNS: dict[str, ColumnElement[Any]] = {
    "linked_resource_id": func.coalesce(_items.taxon_id, _items.product_id, _items.cms_page_id),
    "link": case(
        (_items.linked_resource_type == "taxon", "/t/" + _text_of(taxons.c.permalink, taxons, _items.taxon_id)),
        (
            _items.linked_resource_type == "product",
            "/products/" + _text_of(products.c.slug, products, _items.product_id),
        ),
        (_items.linked_resource_type == "cms_page", _text_of(_page_path, cms_pages, _items.cms_page_id)),
        else_=_items.destination,
    ),
}
"""The target of a menu item: the id of the record, and the path or URL."""
_sees_product = select(listings.c.product_id).where(listings.c.product_id == _items.product_id, IS_LISTED_NOW).exists()
_sees_page = select(cms_pages.c.id).where(cms_pages.c.id == _items.cms_page_id, cms_pages.c.visible).exists()
_is_shown = or_(
    _items.linked_resource_type == "url",
    _items.taxon_id.is_not(None),
    and_(_items.product_id.is_not(None), _sees_product),
    and_(_items.cms_page_id.is_not(None), _sees_page),
)
_item_columns: tuple[Any, ...] = (menu_items, *(made.label(name) for name, made in LINKED_COLUMNS.items()))
_SHOWN_ITEMS = statement(
    select(*_item_columns, _is_shown.label("is_shown"))
    .where(_items.menu_id == any_of("menu_ids", _ID))
    .order_by(_items.menu_id, _items.lft),
    into(PublicMenuItem),
)
_LOCK_MENU = statement(select(menus).where(menus.c.id == bindparam("id", type_=_ID)).with_for_update(), into(Menu))
_TREE = statement(select(menu_items).where(_items.menu_id == bindparam("id", type_=_ID)), into(MenuItem))
_ITEM = statement(select(*_item_columns).where(_items.id == bindparam("id", type_=_ID)), into(PlatformMenuItem))
_placements = (
    func.unnest(
        bindparam("ids", type_=ARRAY(_ID)),
        *(bindparam(f"{name}s", type_=ARRAY(BigInteger())) for name in _TREE_COLUMNS),
    )
    .table_valued(column("id", _ID), *(column(name, BigInteger()) for name in _TREE_COLUMNS), name="given")
    .render_derived()
)
_PLACE = statement(
    update(menu_items)
    .where(_items.id == _placements.c.id, or_(*(_items[name] != _placements.c[name] for name in _TREE_COLUMNS)))
    .values({name: _placements.c[name] for name in _TREE_COLUMNS} | {"updated_at": func.now()})
    .returning(_items.id),
    lambda record: cast(UUID, record[0]),
)
_LINKABLE = {
    "taxon": select(taxons.c.id).where(equals(taxons.c.id, "id")),
    "product": select(products.c.id).where(equals(products.c.id, "id"), products.c.deleted_at.is_(None)),
    "cms_page": select(cms_pages.c.id).where(equals(cms_pages.c.id, "id")),
}
_LINKABLES = {name: statement(clause, lambda record: cast(UUID, record[0])) for name, clause in _LINKABLE.items()}


async def list_shown_items(db: DatabaseSession, menu_ids: Sequence[UUID]) -> list[PublicMenuItem]:
    """Returns all items of these menus in tree order."""
    return await db.all(_SHOWN_ITEMS, menu_ids=list(menu_ids)) if menu_ids else []


async def lock_menu(db: DatabaseSession, menu_id: UUID) -> Menu | None:
    """Locks a menu, so that concurrent changes to one tree are serialized."""
    return await db.one(_LOCK_MENU, id=menu_id)


async def list_tree(db: DatabaseSession, menu_id: UUID) -> list[MenuItem]:
    return await db.all(_TREE, id=menu_id)


async def find_item(db: DatabaseSession, item_id: UUID) -> PlatformMenuItem | None:
    return await db.one(_ITEM, id=item_id)


async def place_items(db: DatabaseSession, placements: Mapping[UUID, Placement]) -> None:
    columns = {f"{name}s": [getattr(placement, name) for placement in placements.values()] for name in _TREE_COLUMNS}
    await db.all(_PLACE, ids=list(placements), **columns)


async def can_link_to(db: DatabaseSession, linked_type: str, record_id: UUID) -> bool:
    return await db.one(_LINKABLES[linked_type], id=record_id) is not None
