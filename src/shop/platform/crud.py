"""The five addresses of every declared resource: list, show, create, update, delete."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import msgspec

from shop.actions import records
from shop.actions.access import oauth
from shop.actions.context import Context
from shop.base.errors import Invalid, Malformed, NotFound
from shop.base.listing import Keyset, Page, Sort, Wishes
from shop.jsonapi.document import Drawing, document, list_document
from shop.jsonapi.filtering import Filterable, read_conditions
from shop.jsonapi.paging import Total, cursor, keyset_extras, page_extras, read_keyset, read_page, read_sorts
from shop.jsonapi.query import deprecations, read_document_query
from shop.jsonapi.resource import Scene
from shop.platform.collection import Collection, all_filters
from shop.platform.current_values import current_values, drop_current_members
from shop.platform.inputs import body_of
from shop.platform.resources.known import COLLECTIONS, RESOURCES
from shop.platform.values import body_members, check_members, members_of, read_values
from shop.web.endpoint import Handler, Route
from shop.web.pictures import Look, read_size
from shop.web.reply import NO_CONTENT, Reply, document_reply
from shop.web.request import Request

_BASE = "/api/v2/platform"
_READ = (400, 401, 403)
_WRITE = (400, 401, 403, 409, 413, 415, 422)


def routes_of(collection: Collection) -> tuple[Route, ...]:
    """The rows of one resource; only for what can be done to it."""
    path, one = f"{_BASE}/{collection.path}", f"{_BASE}/{collection.path}/{{id}}"
    shown, noun = collection.resource.type, collection.noun
    word = _with_article(shown.replace("_", " "))
    things = collection.path.replace("_", " ")
    sorts, filters = collection.all_sorts, all_filters(collection, COLLECTIONS)
    listing = _list(collection, filters), _MAY_READ, f"List {things}", f"{shown}[]", 200, _READ
    rows = [
        Route("GET", path, *listing, sorts=sorts, filters=filters),
        Route("GET", one, _show(collection), _MAY_READ, f"Show {word}", shown, 200, (*_READ, 404)),
    ]
    if noun.create:
        body = body_of(collection, is_new=True)
        make = _create(collection), _MAY_WRITE, f"Create {word}", shown, 201, _WRITE
        rows.append(Route("POST", path, *make, takes=body, codes=collection.codes))
    if noun.update:
        body = body_of(collection, is_new=False)
        change = _update(collection), _MAY_WRITE, f"Update {word}", shown, 200, (*_WRITE, 404)
        rows += [Route(method, one, *change, takes=body, codes=collection.codes) for method in ("PATCH", "PUT")]
    if noun.delete:
        errors = (400, 401, 403, 404, 413, 415, 422)
        rows.append(Route("DELETE", one, _delete(collection), _MAY_WRITE, f"Delete {word}", None, 204, errors))
    return tuple(rows)


def _with_article(noun: str) -> str:
    is_vowel = noun[0] in "aeio" or (noun.startswith("u") and not noun.startswith("us"))
    return f"{'an' if is_vowel else 'a'} {noun}"


_MAY_READ, _MAY_WRITE = "application: read", "application: write"


def _list(collection: Collection, filters: Mapping[str, Filterable]) -> Handler:
    # Worked out once: a declaration reads its annotations each time it is asked.
    sorts, kinds, order = collection.all_sorts, collection.columns, _order(collection)
    brief, full = collection.listed, collection.resource

    async def answer(request: Request, ctx: Context) -> Reply:
        await oauth.admit(ctx, "read")
        params = request.params
        drawing = read_drawing(request, ctx, collection)
        sort, *then = _renamed(collection, read_sorts(params, sorts)) or (order,)
        page = read_keyset(params, kinds[sort.name]) or read_page(params)
        if then and isinstance(page, Keyset):
            raise Malformed("With page[after] a list is sorted by one field.", code="bad_page")
        conditions, fits_any = read_conditions(params, filters)
        wishes = Wishes(sort, page, conditions, fits_any, tuple(then))
        include = drawing.query.include or {}
        shown = full if any(name in include for name in collection.alone) else brief
        found = await records.list_page(ctx, collection.noun, wishes, include, shown.relations)
        extras = _extras(request, ctx, found, page)
        return document_reply(list_document(shown, found.records, drawing, extras))

    return answer


def _show(collection: Collection) -> Handler:
    async def answer(request: Request, ctx: Context) -> Reply:
        await oauth.admit(ctx, "read")
        drawing = read_drawing(request, ctx, collection)
        by, value = _key(collection, request.path_params["id"])
        return await document_of(ctx, collection, drawing, by, value)

    return answer


def _create(collection: Collection) -> Handler:
    async def answer(request: Request, ctx: Context) -> Reply:
        await oauth.admit(ctx, "write")
        drawing = read_drawing(request, ctx, collection)
        values = read_values(members_of(request, collection), collection, is_new=True)
        record_id = await records.create(ctx, collection.noun, values)
        return await document_of(ctx, collection, drawing, "id", record_id, status=201)

    return answer


def _update(collection: Collection) -> Handler:
    async def answer(request: Request, ctx: Context) -> Reply:
        await oauth.admit(ctx, "write")
        drawing = read_drawing(request, ctx, collection)
        record_id = await found_id(ctx, collection, request.path_params["id"])
        read = await _read_changes(request, ctx, collection, drawing, record_id)
        values = await drop_current_members(ctx, collection, drawing.scene, record_id, read)
        await records.update(ctx, collection.noun, record_id, values)
        return await document_of(ctx, collection, drawing, "id", record_id)

    return answer


async def _read_changes(
    request: Request, ctx: Context, collection: Collection, drawing: Drawing, record_id: UUID
) -> dict[str, Any]:
    """The record is read only where something cannot be set: it may be what the record shows."""
    members = members_of(request, collection)
    try:
        return read_values(members, collection, is_new=False)
    except Invalid:
        shown = await current_values(ctx, collection, drawing.scene, record_id)
        return read_values(members, collection, is_new=False, shown=shown)


def _delete(collection: Collection) -> Handler:
    async def answer(request: Request, ctx: Context) -> Reply:
        await oauth.admit(ctx, "write")
        await records.delete(ctx, collection.noun, await found_id(ctx, collection, request.path_params["id"]))
        return NO_CONTENT

    return answer


async def document_of(
    ctx: Context, collection: Collection, drawing: Drawing, by: str, value: Any, *, status: int = 200
) -> Reply:
    found = await records.get(ctx, collection.noun, by, value, drawing.query.include or {})
    return document_reply(document(collection.resource, found, drawing), status)


async def check_body(
    request: Request, ctx: Context, collection: Collection, drawing: Drawing, record_id: UUID | None, takes: Any
) -> None:
    """Raises for members of a body that an operation does not read, unless they are what the record shows."""
    members, known = body_members(request, collection), {field.name for field in msgspec.structs.fields(takes)}
    if members.keys() - known:
        shown = await current_values(ctx, collection, drawing.scene, record_id) if record_id else {}
        check_members(members, known, shown)


async def found_id(ctx: Context, collection: Collection, text: str) -> UUID:
    by, value = _key(collection, text)
    if by == "id":
        return UUID(str(value))
    found = await records.get(ctx, collection.noun, by, value, {})
    return UUID(str(found.row.id))


def _key(collection: Collection, text: str) -> tuple[str, Any]:
    """An id, or where the resource has one, a name that people use: a number, a code."""
    try:
        return "id", UUID(text)
    except ValueError:
        others = [name for name in collection.find_by if name != "id"]
    if not others:
        raise NotFound()
    return others[0], text


def read_drawing(request: Request, ctx: Context, collection: Collection) -> Drawing:
    query = read_document_query(request.params, collection.resource, RESOURCES)
    request.deprecations += deprecations(query, RESOURCES)
    look = Look(request.origin(ctx.shared.settings.public_url), read_size(request.params))
    return Drawing(RESOURCES, Scene(ctx.shared.shop.default_locale, look), query)


def _renamed(collection: Collection, sorts: Sequence[Sort]) -> list[Sort]:
    return [Sort(collection.sorted_as.get(sort.name, sort.name), sort.is_descending) for sort in sorts]


def _order(collection: Collection) -> Sort:
    return Sort(collection.order.removeprefix("-"), collection.order.startswith("-"))


def _extras(request: Request, ctx: Context, found: records.Listed, page: Page | Keyset) -> Any:
    url, params = request.url(ctx.shared.settings.public_url), request.params
    if isinstance(page, Page):
        total = Total(found.total, found.is_estimate)
        return page_extras(page, total, len(found.records), url, params)
    after = cursor(*found.next_place) if found.next_place else None
    return keyset_extras(len(found.records), after, url, params)
