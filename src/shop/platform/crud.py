"""The CRUD routes of every declared resource: list, show, create, update, delete."""

from collections.abc import Awaitable, Mapping, Sequence
from typing import Any
from uuid import UUID

from shop.actions import records
from shop.actions.access import oauth
from shop.actions.archive.views import read_any
from shop.actions.context import Context
from shop.actions.eventual_reads import prefer_replica
from shop.base.errors import Invalid, Malformed, NotFound
from shop.base.listing import Keyset, ListQuery, Page, Sort
from shop.base.values import read_id
from shop.jsonapi.document import RenderOptions, document, list_document
from shop.jsonapi.filtering import Filterable, read_conditions
from shop.jsonapi.paging import Total, cursor, keyset_extras, page_extras, read_keyset, read_page, read_sorts
from shop.jsonapi.query import deprecations, read_document_query
from shop.jsonapi.resource import RenderContext
from shop.platform.collection import Collection, all_filters
from shop.platform.current_values import current_values
from shop.platform.field_values import members_of, read_values
from shop.platform.inputs import build_body_struct
from shop.platform.permissions import check_list, check_settable, limit_query
from shop.platform.resources.registry import COLLECTIONS, RESOURCES
from shop.web.endpoint import Handler, Route
from shop.web.image_urls import ImageOptions, read_size
from shop.web.input.request import Request
from shop.web.reply import NO_CONTENT, Reply, document_reply

_BASE = "/api/v2/platform"
_READ = (400, 401, 403)
_WRITE = (400, 401, 403, 409, 413, 415, 422)
_DELETE = (400, 401, 403, 404, 413, 415, 422)


def build_routes(collection: Collection) -> tuple[Route, ...]:
    """Returns the routes of one resource, only for the actions it supports."""
    path, one = f"{_BASE}/{collection.path}", f"{_BASE}/{collection.path}/{{id}}"
    type_name, actions = collection.resource.type, collection.actions
    word = _with_article(type_name.replace("_", " "))
    plural_name = collection.path.replace("_", " ")
    sorts, filters = collection.all_sorts, all_filters(collection, COLLECTIONS)
    listing = _list(collection, filters), _MAY_READ, f"List {plural_name}", f"{type_name}[]", 200, _READ
    rows = [
        Route("GET", path, *listing, sorts=sorts, filters=filters, asks=("consistency",)),
        Route("GET", one, _show(collection), _MAY_READ, f"Show {word}", type_name, 200, (*_READ, 404)),
    ]
    if actions.create:
        body = build_body_struct(collection, is_new=True)
        make = _create(collection), _MAY_WRITE, f"Create {word}", type_name, 201, _WRITE
        rows.append(Route("POST", path, *make, takes=body, codes=collection.codes))
    if actions.update:
        body = build_body_struct(collection, is_new=False)
        change = _update(collection), _MAY_WRITE, f"Update {word}", type_name, 200, (*_WRITE, 404)
        rows += [Route(method, one, *change, takes=body, codes=collection.codes) for method in ("PATCH", "PUT")]
    if actions.delete:
        remove = (
            _delete(collection),
            _MAY_WRITE,
            f"Delete {word}",
            None,
            204,
            (*_DELETE, *(set(collection.codes) & {409})),
        )
        rows.append(Route("DELETE", one, *remove, codes=collection.codes))
    return tuple(rows)


def _with_article(noun: str) -> str:
    is_vowel = noun[0] in "aeio" or (noun.startswith("u") and not noun.startswith("us"))
    return f"{'an' if is_vowel else 'a'} {noun}"


_MAY_READ, _MAY_WRITE = "application: read", "application: write"


def _list(collection: Collection, filters: Mapping[str, Filterable]) -> Handler:
    # Computed once: these properties evaluate type annotations on each access.
    sorts, kinds, order = collection.all_sorts, collection.columns, _order(collection)
    brief, full = collection.listed, collection.resource

    async def answer(request: Request, ctx: Context) -> Reply:
        await oauth.authorize(ctx, "read")
        params = request.params
        options = read_render_options(request, ctx, collection)
        sort, *then = _resolve_sorts(collection, read_sorts(params, sorts)) or (order,)
        page = read_keyset(params, kinds[sort.name]) or read_page(params)
        if then and isinstance(page, Keyset):
            raise Malformed("page[after] allows one sort field.", code="bad_page")
        conditions, matches_any = read_conditions(params, filters)
        check_list(ctx, collection, conditions, (sort, *then))
        criteria = ListQuery(sort, page, conditions, matches_any, tuple(then))
        include = options.query.include or {}
        resource = full if any(name in include for name in collection.alone) else brief
        if _is_eventual(params):
            await prefer_replica(ctx)
        listing = await records.list_page(ctx, collection.actions, criteria, include, resource.relations)
        extras = _extras(request, ctx, listing, page)
        return document_reply(list_document(resource, listing.records, options, extras))

    return answer


def _is_eventual(params: Mapping[str, Any]) -> bool:
    consistency = params.get("consistency", "strong")
    if consistency not in ("eventual", "strong"):
        raise Malformed("consistency is eventual or strong.")
    return bool(consistency == "eventual")


def _show(collection: Collection) -> Handler:
    async def answer(request: Request, ctx: Context) -> Reply:
        await oauth.authorize(ctx, "read")
        options = read_render_options(request, ctx, collection)
        key = request.path_params["id"]
        by, value = _key(collection, key)

        def read() -> Awaitable[Reply]:
            return build_document_reply(ctx, collection, options, by, value)

        return await (read_any(ctx, key, read) if collection.resource.type == "order" else read())

    return answer


def _create(collection: Collection) -> Handler:
    async def answer(request: Request, ctx: Context) -> Reply:
        await oauth.authorize(ctx, "write")
        options = read_render_options(request, ctx, collection)
        members = members_of(request, collection)
        check_settable(ctx, collection, members)
        values = read_values(members, collection, is_new=True)
        record_id = await records.create(ctx, collection.actions, values)
        return await build_document_reply(ctx, collection, options, "id", record_id, status=201, is_revealed=True)

    return answer


def _update(collection: Collection) -> Handler:
    async def answer(request: Request, ctx: Context) -> Reply:
        await oauth.authorize(ctx, "write")
        options = read_render_options(request, ctx, collection)
        record_id = await get_record_id(ctx, collection, request.path_params["id"])
        values = await _read_changes(request, ctx, collection, options, record_id)
        await records.update(ctx, collection.actions, record_id, values)
        return await build_document_reply(ctx, collection, options, "id", record_id)

    return answer


async def _read_changes(
    request: Request, ctx: Context, collection: Collection, options: RenderOptions, record_id: UUID
) -> dict[str, Any]:
    """Reads the values to update. Loads the record only to compare members that are not writable."""
    members = members_of(request, collection)
    check_settable(ctx, collection, members)
    try:
        return read_values(members, collection, is_new=False)
    except Invalid:
        nested = [name for name in collection.nested if name in members.get(collection.resource.type, members)]
        current = await current_values(ctx, collection, options.render_context, record_id, nested)
        return read_values(members, collection, is_new=False, current=current)


def _delete(collection: Collection) -> Handler:
    async def answer(request: Request, ctx: Context) -> Reply:
        await oauth.authorize(ctx, "write")
        await records.delete(ctx, collection.actions, await get_record_id(ctx, collection, request.path_params["id"]))
        return NO_CONTENT

    return answer


async def build_document_reply(
    ctx: Context,
    collection: Collection,
    options: RenderOptions,
    by: str,
    value: Any,
    *,
    status: int = 200,
    is_revealed: bool = False,
) -> Reply:
    record = await records.get(ctx, collection.actions, by, value, options.query.include or {})
    if is_revealed and collection.reveal:
        record = await collection.reveal(ctx, record)
    return document_reply(document(collection.resource, record, options), status)


async def get_record_id(ctx: Context, collection: Collection, text: str) -> UUID:
    by, value = _key(collection, text)
    if by == "id":
        return UUID(str(value))
    record = await records.get(ctx, collection.actions, by, value, {})
    return UUID(str(record.row.id))


def _key(collection: Collection, text: str) -> tuple[str, Any]:
    """Returns the key column and value: an id, or a readable key such as a number or slug."""
    try:
        return "id", read_id(text)
    except ValueError:
        others = [name for name in collection.find_by if name != "id"]
    if not others:
        raise NotFound()
    return others[0], text


def read_render_options(request: Request, ctx: Context, collection: Collection) -> RenderOptions:
    query = limit_query(ctx, collection, read_document_query(request.params, collection.resource, RESOURCES))
    request.deprecations += deprecations(query, RESOURCES)
    image_options = ImageOptions(request.origin(ctx.shared.settings.public_url), read_size(request.params))
    return RenderOptions(RESOURCES, RenderContext(ctx.shared.shop.default_locale, image_options), query)


def _resolve_sorts(collection: Collection, sorts: Sequence[Sort]) -> list[Sort]:
    return [Sort(collection.sorted_as.get(sort.name, sort.name), sort.is_descending) for sort in sorts]


def _order(collection: Collection) -> Sort:
    return Sort(collection.order.removeprefix("-"), collection.order.startswith("-"))


def _extras(request: Request, ctx: Context, listing: records.RecordPage, page: Page | Keyset) -> Any:
    url, params = request.url(ctx.shared.settings.public_url), request.params
    if isinstance(page, Page):
        total = Total(listing.total, listing.is_estimate)
        return page_extras(page, total, len(listing.records), url, params)
    after = cursor(*listing.next_cursor) if listing.next_cursor else None
    return keyset_extras(len(listing.records), after, url, params)
