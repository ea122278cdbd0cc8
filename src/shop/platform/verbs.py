"""Operations on taxons and menu items beyond CRUD."""

from typing import Annotated
from uuid import UUID

import msgspec
from msgspec import Meta

from shop.actions.access import oauth
from shop.actions.catalog import taxons
from shop.actions.content import menus
from shop.actions.context import Context
from shop.base.errors import Invalid, Malformed
from shop.platform.crud import build_document_reply, check_body, get_record_id, read_render_options
from shop.platform.field_values import read_kind
from shop.platform.resources.pages import MENU_ITEMS
from shop.platform.resources.taxons import TAXONS
from shop.web.reply import Reply
from shop.web.request import Request


class TaxonPosition(msgspec.Struct):
    """The new parent of a taxon, and its index among the parent's children."""

    new_parent_id: UUID
    new_position_idx: Annotated[int, Meta(description="Counted from 0; a larger index means last.")]


class TaxonPositionInput(msgspec.Struct):
    """The new position of a taxon."""

    taxon: TaxonPosition


class NewItemPlace(msgspec.Struct):
    """The parent of a menu item, and its index among the parent's children."""

    new_parent_id: Annotated[UUID, Meta(description="An item of the same menu, such as its root.")]
    new_position_idx: Annotated[int, Meta(description="Counted from 0; a larger index means last.")]


class MenuItemReposition(msgspec.Struct):
    """The new position of a menu item."""

    menu_item: NewItemPlace


async def reposition(request: Request, ctx: Context) -> Reply:
    await oauth.admit(ctx, "write")
    drawing = read_render_options(request, ctx, TAXONS)
    taxon_id = await get_record_id(ctx, TAXONS, request.path_params["id"])
    await check_body(request, ctx, TAXONS, drawing, taxon_id, TaxonPosition)
    place = _read_position(request, "taxon")
    await taxons.move_taxon(ctx, taxon_id, place.new_parent_id, place.new_position_idx)
    return await build_document_reply(ctx, TAXONS, drawing, "id", taxon_id)


async def reposition_menu_item(request: Request, ctx: Context) -> Reply:
    await oauth.admit(ctx, "write")
    drawing = read_render_options(request, ctx, MENU_ITEMS)
    item_id = await get_record_id(ctx, MENU_ITEMS, request.path_params["id"])
    await check_body(request, ctx, MENU_ITEMS, drawing, item_id, NewItemPlace)
    place = _read_position(request, "menu_item")
    await menus.move(ctx, item_id, place.new_parent_id, place.new_position_idx)
    return await build_document_reply(ctx, MENU_ITEMS, drawing, "id", item_id)


def _read_position(request: Request, name: str) -> TaxonPosition:
    body = request.params.get(name, request.params)
    if not isinstance(body, dict):
        raise Malformed(f'The body must have an object "{name}".')
    errors: dict[str, list[str]] = {}
    values = {}
    for field, kind in {"new_parent_id": UUID, "new_position_idx": int}.items():
        try:
            values[field] = read_kind(body.get(field), kind)
        except ValueError as error:
            errors[field] = [str(error)]
    if errors:
        raise Invalid(errors)
    return TaxonPosition(**values)
