"""The OpenAPI description, built from the routes and resources."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import msgspec

from shop.actions.context import Context
from shop.base.errors import (
    Conflict,
    ExpiredLink,
    IdempotencyKeyConflict,
    InFlight,
    InsufficientScope,
    Invalid,
    InvalidToken,
    Malformed,
    NotFound,
    RateLimitError,
    ShopError,
    TooLarge,
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
from shop.web.endpoint import Handler, Route
from shop.web.input.request import LINES, PARAMETERS, Request
from shop.web.reply import JSON, Reply, oauth_error_code, oauth_error_reply
from shop.web.static_content import StaticContent, static_content, static_reply


class ApiDefinition(msgspec.Struct, frozen=True):
    """One API: its routes and resources."""

    name: str
    routes: Sequence[Route]
    resources: Resources
    webhooks: Mapping[str, str] = {}
    """The types of webhooks, each with what causes it."""
    webhook_body: Any = None
    """The struct of their body."""


CREDENTIALS: Mapping[str, Mapping[str, Any]] = {
    "order_token": {
        "type": "apiKey",
        "in": "header",
        "name": "X-Shop-Order-Token",
        "description": "Gives access to one cart: `data.attributes.token` of the cart.",
    },
    "user_token": {
        "type": "http",
        "scheme": "bearer",
        "description": "The `access_token` of a signed-in shopper.",
    },
    "platform_token": {
        "type": "http",
        "scheme": "bearer",
        "description": "The `access_token` of an application; its scope determines whether it can write.",
    },
    "client": {
        "type": "http",
        "scheme": "basic",
        "description": "An application's client id and client secret.",
    },
}
_Choices = Sequence[Mapping[str, Sequence[str]]]
# Accepted credentials with their required scopes, by the `who` of a route; any of them suffices.
_SECURITY: Mapping[str, _Choices] = {
    "anyone": (),
    "order token or user": ({"order_token": ()}, {"user_token": ()}),
    "user": ({"user_token": ()},),
    "application: read": ({"platform_token": ("read",)},),
    "application: write": ({"platform_token": ("write",)},),
}
# A public storefront endpoint still reads a credential and rejects an invalid one.
_OPTIONAL_CREDENTIALS: _Choices = ({}, {"order_token": ()}, {"user_token": ()})
# An application authenticates by HTTP Basic or in the body.
_CLIENT: _Choices = ({}, {"client": ()})

_DEFAULT_ERRORS: Mapping[int, tuple[type[ShopError], ...]] = {
    error.status: (error,)
    for error in (
        Malformed,
        InsufficientScope,
        NotFound,
        Conflict,
        ExpiredLink,
        TooLarge,
        UnsupportedMedia,
        Invalid,
        RateLimitError,
        Unavailable,
        UriTooLong,
    )
}


def build_openapi(apis: Iterable[ApiDefinition]) -> dict[str, Any]:
    """Builds the OpenAPI description as plain data."""
    apis = tuple(apis)
    operations: list[Operation] = []
    resources: dict[str, Any] = {}
    tags: dict[str, str] = {}
    for definition in apis:
        names = _names(definition, apis)
        resources |= {names[name]: resource for name, resource in definition.resources.items()}
        for route in definition.routes:
            topic, sentence = topics.topic_of(route.path)
            tag = f"{definition.name}: {topic}"
            tags[tag] = tags.get(tag) or sentence
            operations.append(_operation(route, tag, names, definition.resources))
    webhooks = next((each for each in apis if each.webhooks), ApiDefinition("", (), {}))
    api = Api(
        "Shop",
        "2",
        topics.ABOUT,
        tags,
        CREDENTIALS,
        topics.PARAMETERS,
        webhooks.webhooks,
        webhooks.webhook_body,
        f"{webhooks.name}: {topics.EVENTS}",
    )
    return openapi(api, operations, resources)


def _names(definition: ApiDefinition, apis: Sequence[ApiDefinition]) -> Mapping[str, str]:
    """Maps resource types to schema names. The last API, which has the most resources, uses plain names; in the others
    a name that the last API also has gets the API's name as a prefix.
    """
    other_resources = apis[-1].resources if definition is not apis[-1] else {}
    prefixes = {name: definition.name if name in other_resources else "" for name in definition.resources}
    return {name: prefix + class_name(name) for name, prefix in prefixes.items()}


def _error_codes(route: Route) -> dict[int, list[str]]:
    """Returns the error codes of a route by status."""
    errors = {
        status: [*(error.code for error in _failures(route, status)), *route.codes.get(status, ())]
        # Any request may hit the rate limit of its source or an unavailable database.
        for status in dict.fromkeys((*route.errors, *_too_long(route), 429, 503))
    }
    if isinstance(route.shows, str):
        errors.get(400, []).extend(_query_error_codes(route))
    if route.render_error is oauth_error_reply:
        errors = {
            status: sorted({oauth_error_code(status, code) for code in codes}) for status, codes in errors.items()
        }
    return errors


def _operation(route: Route, tag: str, names: Mapping[str, str], resources: Resources) -> Operation:
    return Operation(
        id=operation_id(route),
        method=route.method,
        # OpenAPI has no multi-segment path parameters; clients percent-encode the slashes.
        path=route.path.replace("*}", "}"),
        summary=route.summary,
        deprecated=route.deprecated.sentence if route.deprecated else None,
        tag=tag,
        security=_security(route),
        takes=route.takes,
        reads=BODY_MEDIA if route.reads is PARAMETERS else route.reads[:1],
        shows=_schema_name(route.shows, names),
        status=route.status,
        errors=_error_codes(route),
        error_body="OAuthErrorBody" if route.render_error is oauth_error_reply else "ErrorBody",
        media=route.media.decode().partition(";")[0],
        shows_lines=route.sends_ndjson,
        shows_events=route.sends_events,
        flags=route.flags,
        is_paged=route.is_paged,
        sorts=route.sorts,
        filters=_filters(route),
        has_predicates=route.who.startswith("application"),
        asks={name: topics.ASKS[name] for name in (*route.asks, *_image_parameters(route, resources))},
        is_cacheable=route.is_cacheable,
        is_idempotent=_is_idempotent(route),
        may_be_empty=route.may_be_empty,
    )


def _too_long(route: Route) -> tuple[int, ...]:
    """Returns 414 for lists with many filters, which together can exceed the URL limit."""
    return (UriTooLong.status,) if isinstance(route.filters, Mapping) and route.filters else ()


def _image_parameters(route: Route, resources: Resources) -> tuple[str, ...]:
    """Returns the image parameters, if any `include` of the route can reach images."""
    is_document = isinstance(route.shows, str)
    return ("image_transformation[size]",) if is_document and _reaches_images(route.shows, resources) else ()


def _reaches_images(shows: str, resources: Resources) -> bool:
    reachable, next_ones = set[str](), {shows.removesuffix("[]")}
    while next_ones - reachable:
        reachable |= next_ones
        relations = [
            relation for name in next_ones if name in resources for relation in resources[name].relations.values()
        ]
        next_ones = {type_ for relation in relations for type_ in relation.types}
    return "image" in reachable


def _schema_name(shows: Any, names: Mapping[str, str]) -> Any:
    if not isinstance(shows, str):
        return shows
    name = shows.removesuffix("[]")
    return names[name] + shows[len(name) :]


def _filters(route: Route) -> Mapping[str, Any]:
    if isinstance(route.filters, Mapping):
        return route.filters
    return {name: topics.FILTERS.get(name, str) for name in route.filters}


def _security(route: Route) -> _Choices:
    if route.render_error is oauth_error_reply:
        return _CLIENT
    return _OPTIONAL_CREDENTIALS if route.who == "anyone" and route.reads_claim else _SECURITY[route.who]


def _is_idempotent(route: Route) -> bool:
    return route.method in {"POST", "PATCH", "PUT"} and route.reads_claim and route.reads is not LINES


def _failures(route: Route, status: int) -> Iterable[type[ShopError]]:
    """Returns the errors that a status of this route may represent."""
    own = [error for error in route.fails if error.status == status]
    if status == 401 and not own:
        return [InvalidToken] if route.who == "anyone" else [Unauthenticated, InvalidToken]
    if not _is_idempotent(route):
        return own or _DEFAULT_ERRORS[status]
    if status == 409:
        return [*own, InFlight]
    return [*(own or _DEFAULT_ERRORS[status]), *([IdempotencyKeyConflict] if status == 422 else [])]


def _query_error_codes(route: Route) -> Iterable[str]:
    yield "unknown_include"
    if route.shows.endswith("[]") and route.is_paged:
        yield from ("bad_page", "unknown_sort", "unknown_filter")
    elif route.is_cacheable:
        # The catalog rejects unknown filters on single records too.
        yield "unknown_filter"
    if route.filters:
        yield "bad_filter"


def make_description_handler(load_apis: Callable[[], Iterable[ApiDefinition]]) -> Handler:
    """Returns the handler of the description, built in a thread on first use so that nothing waits for it."""

    @cache
    def content() -> StaticContent:
        return static_content(msgspec.json.encode(build_openapi(load_apis())))

    async def answer(request: Request, _ctx: Context) -> Reply:
        return static_reply(request, await asyncio.to_thread(content), JSON)

    return answer
