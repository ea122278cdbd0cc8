"""The description of the APIs, made from the routes and the declared wire types."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import msgspec

from shop.actions.context import Context
from shop.base.errors import (
    Conflict,
    Gone,
    InFlight,
    InsufficientScope,
    Invalid,
    InvalidToken,
    KeyReused,
    Malformed,
    NotFound,
    ShopError,
    TooLarge,
    TooMany,
    Unauthenticated,
    Unavailable,
    UnsupportedMedia,
    UriTooLong,
)
from shop.jsonapi.openapi import BODY_MEDIA, Api, Operation, openapi
from shop.jsonapi.query import Resources
from shop.jsonapi.schema import class_name
from shop.site import topics
from shop.site.operation_ids import operation_id
from shop.site.schema_names import SCHEMA_NAMES
from shop.web.endpoint import Handler, Route
from shop.web.reply import JSON, Reply, oauth_error_reply, oauth_word
from shop.web.request import LINES, PARAMETERS, Request
from shop.web.static_content import StaticContent, static_content, static_reply


class Door(msgspec.Struct, frozen=True):
    """One API: its routes, and the wire types they show."""

    name: str
    routes: Sequence[Route]
    resources: Resources


CREDENTIALS: Mapping[str, Mapping[str, Any]] = {
    "order_token": {
        "type": "apiKey",
        "in": "header",
        "name": "X-Shop-Order-Token",
        "description": "The key to one cart: `data.attributes.token` of the cart's document.",
    },
    "user_token": {
        "type": "http",
        "scheme": "bearer",
        "description": "The `access_token` of a signed-in shopper.",
    },
    "platform_token": {
        "type": "http",
        "scheme": "bearer",
        "description": "The `access_token` of an application; its scope says whether it may write.",
    },
    "client": {
        "type": "http",
        "scheme": "basic",
        "description": "An application's client id and client secret.",
    },
}
_Choices = Sequence[Mapping[str, Sequence[str]]]
# Who may call, in the words of the tables, and the credentials of which any will do, with the scope each must have.
_SECURITY: Mapping[str, _Choices] = {
    "anyone": (),
    "order token or user": ({"order_token": ()}, {"user_token": ()}),
    "user": ({"user_token": ()},),
    "application: read": ({"platform_token": ("read",)},),
    "application: write": ({"platform_token": ("write",)},),
}
# A public address of the storefront reads a credential all the same, and refuses one that is not valid.
_WELCOME: _Choices = ({}, {"order_token": ()}, {"user_token": ()})
# An application says who it is by HTTP Basic, or in the body.
_CLIENT: _Choices = ({}, {"client": ()})

_USUAL: Mapping[int, tuple[type[ShopError], ...]] = {
    error.status: (error,)
    for error in (
        Malformed,
        InsufficientScope,
        NotFound,
        Conflict,
        Gone,
        TooLarge,
        UnsupportedMedia,
        Invalid,
        TooMany,
        Unavailable,
        UriTooLong,
    )
}


def describe(doors: Iterable[Door]) -> dict[str, Any]:
    """The OpenAPI description as plain data."""
    doors = tuple(doors)
    operations: list[Operation] = []
    resources: dict[str, Any] = {}
    tags: dict[str, str] = {}
    for door in doors:
        names = _names(door, doors)
        resources |= {names[name]: resource for name, resource in door.resources.items()}
        for route in door.routes:
            topic, sentence = topics.topic_of(route.path)
            tag = f"{door.name}: {topic}"
            tags[tag] = tags.get(tag) or sentence
            operations.append(_operation(route, tag, names, door.resources))
    api = Api("Shop", "2", topics.ABOUT, tags, CREDENTIALS, topics.PARAMETERS, SCHEMA_NAMES)
    return openapi(api, operations, resources)


def _names(door: Door, doors: Sequence[Door]) -> Mapping[str, str]:
    """A schema's name by the wire type's. Two APIs show different things under one name: the last, which has most of
    them, has the plain one, and in the others its name tells it from that.
    """
    taken = doors[-1].resources if door is not doors[-1] else {}
    return {name: (door.name if name in taken else "") + class_name(name) for name in door.resources}


def _operation(route: Route, tag: str, names: Mapping[str, str], resources: Resources) -> Operation:
    is_oauth = route.draw_error is oauth_error_reply
    errors = {
        status: [*(error.code for error in _failures(route, status)), *route.codes.get(status, ())]
        # Any request may meet the limit of its source, or a database that is away.
        for status in dict.fromkeys((*route.errors, *_too_long(route), 429, 503))
    }
    if isinstance(route.shows, str):
        errors.get(400, []).extend(_misread(route))
    if is_oauth:
        errors = {status: sorted({oauth_word(status, code) for code in codes}) for status, codes in errors.items()}
    return Operation(
        id=operation_id(route),
        method=route.method,
        # OpenAPI has no word for a rest of the address; clients that know it percent-encode the slashes.
        path=route.path.replace("*}", "}"),
        summary=route.summary,
        deprecated=route.deprecated.sentence if route.deprecated else None,
        tag=tag,
        security=_security(route),
        takes=route.takes,
        reads=BODY_MEDIA if route.reads is PARAMETERS else route.reads[:1],
        shows=_shown(route.shows, names),
        status=route.status,
        errors=errors,
        error_body="OAuthErrorBody" if is_oauth else "ErrorBody",
        media=route.media.decode().partition(";")[0],
        shows_lines=route.sends_lines,
        flags=route.flags,
        is_paged=route.is_paged,
        sorts=route.sorts,
        filters=_filters(route),
        has_predicates=route.who.startswith("application"),
        asks={name: topics.ASKS[name] for name in (*route.asks, *_image_parameters(route, resources))},
        is_kept=route.is_kept,
        is_idempotent=_is_idempotent(route),
        may_be_empty=route.may_be_empty,
    )


def _too_long(route: Route) -> tuple[int, ...]:
    """All filters of a list together are longer than an address may be."""
    return (UriTooLong.status,) if isinstance(route.filters, Mapping) and route.filters else ()


def _image_parameters(route: Route, resources: Resources) -> tuple[str, ...]:
    """Where images can be included, with which `include` ever."""
    is_document = isinstance(route.shows, str)
    return ("image_transformation[size]",) if is_document and _reaches_images(route.shows, resources) else ()


def _reaches_images(shows: str, resources: Resources) -> bool:
    found, next_ones = set[str](), {shows.removesuffix("[]")}
    while next_ones - found:
        found |= next_ones
        relations = [
            relation for name in next_ones if name in resources for relation in resources[name].relations.values()
        ]
        next_ones = {type_ for relation in relations for type_ in relation.types}
    return "image" in found


def _shown(shows: Any, names: Mapping[str, str]) -> Any:
    if not isinstance(shows, str):
        return shows
    name = shows.removesuffix("[]")
    return names[name] + shows[len(name) :]


def _filters(route: Route) -> Mapping[str, Any]:
    if isinstance(route.filters, Mapping):
        return route.filters
    return {name: topics.FILTERS.get(name, str) for name in route.filters}


def _security(route: Route) -> _Choices:
    if route.draw_error is oauth_error_reply:
        return _CLIENT
    return _WELCOME if route.who == "anyone" and route.reads_claim else _SECURITY[route.who]


def _is_idempotent(route: Route) -> bool:
    return route.method in {"POST", "PATCH", "PUT"} and route.reads_claim and route.reads is not LINES


def _failures(route: Route, status: int) -> Iterable[type[ShopError]]:
    """The errors that a status of this route can stand for."""
    own = [error for error in route.fails if error.status == status]
    if status == 401 and not own:
        return [InvalidToken] if route.who == "anyone" else [Unauthenticated, InvalidToken]
    if not _is_idempotent(route):
        return own or _USUAL[status]
    if status == 409:
        return [*own, InFlight]
    return [*(own or _USUAL[status]), *([KeyReused] if status == 422 else [])]


def _misread(route: Route) -> Iterable[str]:
    yield "unknown_include"
    if route.shows.endswith("[]") and route.is_paged:
        yield from ("bad_page", "unknown_sort", "unknown_filter")
    elif route.is_kept:
        # The catalog refuses filters that it does not know on single records too.
        yield "unknown_filter"
    if route.filters:
        yield "bad_filter"


def description(doors: Iterable[Door]) -> Handler:
    """Worked out for whoever asks first: no start waits for it, nor any other request."""

    @cache
    def content() -> StaticContent:
        return static_content(msgspec.json.encode(describe(doors)))

    async def answer(request: Request, _ctx: Context) -> Reply:
        return static_reply(request, await asyncio.to_thread(content), JSON)

    return answer
