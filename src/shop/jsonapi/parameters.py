"""The OpenAPI parameters of an operation, with a typed parameter for each filter."""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, get_origin

from shop.base.input_types import split_kind
from shop.base.listing import DEFAULT_SIZE
from shop.jsonapi.filtering import (
    COMPARISONS,
    LIST_PREDICATES,
    PREDICATES,
    TEXT_PREDICATES,
    UNARY,
    YES_OR_NO,
    Filterable,
)
from shop.jsonapi.paging import LAST_PAGE, MAX_SIZE
from shop.jsonapi.resource import Money, Resource
from shop.jsonapi.schema import Schema, query_schema

Parameter = dict[str, Any]

_ORDERING = ("gt", "gteq", "lt", "lteq")
_EQUAL = tuple(name for name in COMPARISONS if name not in _ORDERING)
_MISSING = tuple(name for name in UNARY if name not in YES_OR_NO)
_ORDERED_KINDS = frozenset({int, float, Money, Decimal, datetime})
# Declaring all predicates of related fields would turn 8,000 parameters into 20,000 and make tools that read the
# description several times slower. Only common predicates are declared; the operation's description lists all.
_OF_RELATED: Mapping[Any, Sequence[str]] = {
    str: ("eq", "in", "cont"),
    bool: ("eq",),
    **dict.fromkeys(_ORDERED_KINDS, ("eq", "gteq", "lteq")),
}

IDEMPOTENCY_KEY: Parameter = {
    "name": "Idempotency-Key",
    "in": "header",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255},
    "description": "A retry with the same key within 24 hours returns the result of the first request. "
    "Without a credential, the key must be a UUID of version 4 or 7.",
}
PAGES: Sequence[Parameter] = (
    {
        "name": "page",
        "in": "query",
        "schema": {"type": "integer", "minimum": 1, "maximum": LAST_PAGE, "default": 1},
        "description": "The page number.",
    },
    {
        "name": "per_page",
        "in": "query",
        "schema": {"type": "integer", "minimum": 1, "maximum": MAX_SIZE, "default": DEFAULT_SIZE},
        "description": f"The number of records per page; {DEFAULT_SIZE} if the value is out of range.",
    },
)
AFTER: Parameter = {
    "name": "page[after]",
    "in": "query",
    "schema": {"type": "string"},
    "description": "A cursor for keyset pagination: empty for the first page, then the value in `links.next`. Fast on "
    "every page of a long list; totals are omitted.",
}
_EITHER: Parameter = {
    "name": "filter[m]",
    "in": "query",
    "schema": {"type": "string", "enum": ["and", "or"], "default": "and"},
    "description": "Whether all filters must match, or any one of them.",
}


def path_parameters(path: str, sentences: Mapping[str, str]) -> Iterable[Parameter]:
    for name in re.findall(r"{([a-z_]+)}", path):
        parameter = {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        yield parameter | ({"description": sentences[name]} if name in sentences else {})


def filter_parameters(filters: Mapping[str, Any]) -> Iterable[Parameter]:
    """Yields the filter parameters: a field and a predicate on the platform, a plain name in the storefront."""
    if any(isinstance(kind, Filterable) for kind in filters.values()):
        yield _EITHER
    for name, kind in filters.items():
        if isinstance(kind, Filterable):
            yield from _predicates(name, kind)
        else:
            yield _filter(name, kind)


def filter_fields(filters: Mapping[str, Any]) -> str:
    return (
        f"Predicates: {', '.join(PREDICATES)}. Fields: {', '.join(filters)}; `_or_` joins two, like "
        "`filter[email_or_number_cont]`."
    )


def _predicates(name: str, field: Filterable) -> Iterable[Parameter]:
    plain, may_be_null = split_kind(field.kind)
    is_related = len(field.path) > 1
    for predicate in (
        _OF_RELATED.get(plain, ("eq", "in")) if is_related else _applicable(plain, may_be_null=may_be_null)
    ):
        yield {"name": f"filter[{name}_{predicate}]", "in": "query", "schema": _value_schema(predicate, plain)}


def _applicable(plain: Any, *, may_be_null: bool) -> Sequence[str]:
    missing = _MISSING if may_be_null else ()
    if plain is bool:
        return ("eq", *YES_OR_NO, *missing)
    if plain is str:
        return (*_EQUAL, *TEXT_PREDICATES, *LIST_PREDICATES, *missing)
    return (*_EQUAL, *(_ORDERING if plain in _ORDERED_KINDS else ()), *LIST_PREDICATES, *missing)


def _value_schema(predicate: str, plain: Any) -> Schema:
    if predicate in UNARY:
        return {"type": "boolean"}
    # Several values are one comma-separated text, because clients disagree on how to send a list.
    return {"type": "string"} if predicate in LIST_PREDICATES else query_schema(plain)


def _filter(name: str, kind: Any) -> Parameter:
    parameter: Parameter = {"name": f"filter[{name}]", "in": "query"}
    if get_origin(kind) is dict:
        # `filter[options][size]=xl`: the shop defines the option names.
        schema = {"type": "object", "additionalProperties": {"type": "string"}}
        return {**parameter, "style": "deepObject", "explode": True, "schema": schema}
    if get_origin(kind) is list:
        return {**parameter, "schema": {"type": "string"}, "description": "One value, or several separated by commas."}
    return {**parameter, "schema": query_schema(kind)}


def sort_parameter(names: Sequence[str]) -> Parameter:
    one = f"-?({'|'.join(names)})"
    return {
        "name": "sort",
        "in": "query",
        "schema": {"type": "string", "pattern": f"^({one}(,{one})*)?$"},
        "description": f"The sort order; a leading minus sorts in descending order. One or more of {', '.join(names)}.",
    }


def document_parameters(resource: Resource) -> Iterable[Parameter]:
    if resource.relations:
        yield {
            "name": "include",
            "in": "query",
            "schema": {"type": "string", "pattern": _listing(resource.relations)},
            "description": "Relations to include, separated by commas; dots separate nested relations. "
            f"Available: {', '.join(resource.relations)}.",
        }
    yield {
        "name": f"fields[{resource.type}]",
        "in": "query",
        "schema": {"type": "string"},
        "description": "Attributes and relations to return, separated by commas.",
    }


def _listing(names: Iterable[str]) -> str:
    """Returns a pattern for a comma-separated list of the names, each optionally followed by a path."""
    one = f"({'|'.join(names)})([.][a-z_.]+)?"
    return f"^({one}(,{one})*)?$"
