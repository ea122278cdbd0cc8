"""Builds the handlers of operations beyond CRUD: each reads its struct, acts on one record and shows it."""

from collections.abc import Awaitable, Callable
from typing import TypeVar
from uuid import UUID

import msgspec

from shop.actions.access import oauth
from shop.actions.context import Context
from shop.jsonapi.document import RenderOptions
from shop.platform.collection import Collection
from shop.platform.crud import build_document_reply, get_record_id, read_render_options
from shop.platform.current_values import current_values
from shop.platform.field_values import body_members, check_members, operation_params
from shop.web.endpoint import Handler
from shop.web.input.inputs import read_input
from shop.web.input.request import Request
from shop.web.reply import Reply

S = TypeVar("S", bound=msgspec.Struct)
Operation = Callable[[Context, UUID, S, Request], Awaitable[object]]


def operation_handler(collection: Collection, takes: type[S], act: Operation[S]) -> Handler:
    async def answer(request: Request, ctx: Context) -> Reply:
        await oauth.authorize(ctx, "write")
        options = read_render_options(request, ctx, collection)
        record_id = await get_record_id(ctx, collection, request.path_params["id"])
        body = await read_operation(request, ctx, collection, options, record_id, takes)
        await act(ctx, record_id, body, request)
        return await build_document_reply(ctx, collection, options, "id", record_id)

    return answer


async def read_operation(
    request: Request,
    ctx: Context,
    collection: Collection,
    options: RenderOptions,
    record_id: UUID | None,
    takes: type[S],
) -> S:
    """Reads the body of an operation, bare or wrapped in the resource name. Raises for members that it does not accept,
    unless they have their current value.
    """
    members, names = body_members(request, collection), takes.__struct_fields__
    if members.keys() - set(names):
        current = await current_values(ctx, collection, options.render_context, record_id) if record_id else {}
        check_members(members, names, current)
    return read_input(takes, operation_params(request, collection))
