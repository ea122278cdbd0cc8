"""What can be done to records of the platform beyond the five addresses of each."""

from typing import Annotated
from uuid import UUID

import msgspec
from msgspec import Meta

from shop.actions.access import oauth
from shop.actions.catalog import taxons
from shop.actions.content import menus
from shop.actions.context import Context
from shop.base.errors import Invalid, Malformed
from shop.platform.crud import check_body, document_of, found_id, read_drawing
from shop.platform.resources.pages import MENU_ITEMS
from shop.platform.resources.taxons import TAXONS
from shop.platform.values import read_kind
from shop.web.reply import Reply
from shop.web.request import Request


class NewPlace(msgspec.Struct):
    """Where a taxon is to stand: under which other, and at which place there, from 0 on."""

    new_parent_id: UUID
    new_position_idx: Annotated[int, Meta(description="Counted from 0; beyond the last it is the last.")]


class Reposition(msgspec.Struct):
    """The place, wrapped in the record's name."""

    taxon: NewPlace


class NewItemPlace(msgspec.Struct):
    """The parent of a menu item, and its index among the parent's children."""

    new_parent_id: Annotated[UUID, Meta(description="An item of the same menu, such as its root.")]
    new_position_idx: Annotated[int, Meta(description="Counted from 0; beyond the last it is the last.")]


class MenuItemReposition(msgspec.Struct):
    """The place of a menu item, wrapped in the record's name."""

    menu_item: NewItemPlace


async def reposition(request: Request, ctx: Context) -> Reply:
    await oauth.admit(ctx, "write")
    drawing = read_drawing(request, ctx, TAXONS)
    taxon_id = await found_id(ctx, TAXONS, request.path_params["id"])
    await check_body(request, ctx, TAXONS, drawing, taxon_id, NewPlace)
    place = _place(request, "taxon")
    await taxons.reposition(ctx, taxon_id, place.new_parent_id, place.new_position_idx)
    return await document_of(ctx, TAXONS, drawing, "id", taxon_id)


async def reposition_menu_item(request: Request, ctx: Context) -> Reply:
    await oauth.admit(ctx, "write")
    drawing = read_drawing(request, ctx, MENU_ITEMS)
    item_id = await found_id(ctx, MENU_ITEMS, request.path_params["id"])
    await check_body(request, ctx, MENU_ITEMS, drawing, item_id, NewItemPlace)
    place = _place(request, "menu_item")
    await menus.move(ctx, item_id, place.new_parent_id, place.new_position_idx)
    return await document_of(ctx, MENU_ITEMS, drawing, "id", item_id)


def _place(request: Request, name: str) -> NewPlace:
    given = request.params.get(name, request.params)
    if not isinstance(given, dict):
        raise Malformed(f'The body must have an object "{name}".')
    errors: dict[str, list[str]] = {}
    values = {}
    for field, kind in {"new_parent_id": UUID, "new_position_idx": int}.items():
        try:
            values[field] = read_kind(given.get(field), kind)
        except ValueError as error:
            errors[field] = [str(error)]
    if errors:
        raise Invalid(errors)
    return NewPlace(**values)
