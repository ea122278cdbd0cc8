"""What can be done to records of the platform beyond the five addresses of each."""

from typing import Annotated
from uuid import UUID

import msgspec
from msgspec import Meta

from shop.actions import oauth, taxons
from shop.actions.context import Context
from shop.base.errors import Invalid, Malformed
from shop.platform.crud import check_body, document_of, found_id, read_drawing
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


async def reposition(request: Request, ctx: Context) -> Reply:
    await oauth.admit(ctx, "write")
    drawing = read_drawing(request, ctx, TAXONS)
    taxon_id = await found_id(ctx, TAXONS, request.path_params["id"])
    await check_body(request, ctx, TAXONS, drawing, taxon_id, NewPlace)
    place = _place(request)
    await taxons.reposition(ctx, taxon_id, place.new_parent_id, place.new_position_idx)
    return await document_of(ctx, TAXONS, drawing, "id", taxon_id)


def _place(request: Request) -> NewPlace:
    given = request.params.get("taxon", request.params)
    if not isinstance(given, dict):
        raise Malformed('The body must have an object "taxon".')
    errors: dict[str, list[str]] = {}
    values = {}
    for name, kind in {"new_parent_id": UUID, "new_position_idx": int}.items():
        try:
            values[name] = read_kind(given.get(name), kind)
        except ValueError as error:
            errors[name] = [str(error)]
    if errors:
        raise Invalid(errors)
    return NewPlace(**values)
