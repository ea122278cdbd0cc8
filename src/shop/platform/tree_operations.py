"""Operations on taxons and menu items beyond CRUD."""

from uuid import UUID

from shop.actions.catalog import taxons
from shop.actions.content import menus
from shop.actions.context import Context
from shop.models.catalog.inputs import TaxonPosition
from shop.models.content.inputs import NewItemPlace
from shop.platform.operations import operation_handler
from shop.platform.resources.pages import MENU_ITEMS
from shop.platform.resources.taxons import TAXONS
from shop.web.input.request import Request


async def _move_taxon(ctx: Context, taxon_id: UUID, body: TaxonPosition, _request: Request) -> None:
    await taxons.move_taxon(ctx, taxon_id, body.new_parent_id, body.new_position_idx)


async def _move_menu_item(ctx: Context, item_id: UUID, body: NewItemPlace, _request: Request) -> None:
    await menus.move(ctx, item_id, body.new_parent_id, body.new_position_idx)


reposition = operation_handler(TAXONS, TaxonPosition, _move_taxon)
reposition_menu_item = operation_handler(MENU_ITEMS, NewItemPlace, _move_menu_item)
