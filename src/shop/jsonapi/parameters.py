"""The parameters of an operation in the description: one for each filter, with its type."""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, get_origin

from shop.base.kinds import split_kind
from shop.base.listing import DEFAULT_SIZE
from shop.jsonapi.filtering import ASKING, COMPARING, LISTING, PREDICATES, TEXTUAL, YES_OR_NO, Filterable
from shop.jsonapi.paging import LARGEST_SIZE, LAST_PAGE
from shop.jsonapi.resource import Money, Resource
from shop.jsonapi.schema import Schema, query_schema

Parameter = dict[str, Any]

_ORDERED = ("gt", "gteq", "lt", "lteq")
_EQUAL = tuple(name for name in COMPARING if name not in _ORDERED)
_MISSING = tuple(name for name in ASKING if name not in YES_OR_NO)
_ORDERED_KINDS = frozenset({int, float, Money, Decimal, datetime})
# All predicates of related fields would make 20,000 parameters of 8,000, and tools that read the description several
# times slower. Those that are used most are declared; the operation's description lists all.
_OF_RELATED: Mapping[Any, Sequence[str]] = {
    str: ("eq", "in", "cont"),
    bool: ("eq",),
    **dict.fromkeys(_ORDERED_KINDS, ("eq", "gteq", "lteq")),
}

IDEMPOTENCY_KEY: Parameter = {
    "name": "Idempotency-Key",
    "in": "header",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255},
    "description": "A repetition within 24 hours is answered with the first one's result. "
    "Without a credential it must be a UUID of version 4 or 7.",
}
PAGES: Sequence[Parameter] = (
    {
        "name": "page",
        "in": "query",
        "schema": {"type": "integer", "minimum": 1, "maximum": LAST_PAGE, "default": 1},
        "description": "Which page of the list.",
    },
    {
        "name": "per_page",
        "in": "query",
        "schema": {"type": "integer", "minimum": 1, "maximum": LARGEST_SIZE, "default": DEFAULT_SIZE},
        "description": f"How many records a page has; out of range it is {DEFAULT_SIZE}.",
    },
)
AFTER: Parameter = {
    "name": "page[after]",
    "in": "query",
    "schema": {"type": "string"},
    "description": "Pages by place instead of by number: empty for the first, then what `links.next` has. As quick at "
    "the end of a long list as at its beginning; without totals.",
}
_EITHER: Parameter = {
    "name": "filter[m]",
    "in": "query",
    "schema": {"type": "string", "enum": ["and", "or"], "default": "and"},
    "description": "Whether all filters must fit, or one is enough.",
}


def path_parameters(path: str, sentences: Mapping[str, str]) -> Iterable[Parameter]:
    for name in re.findall(r"{([a-z_]+)}", path):
        described = {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        yield described | ({"description": sentences[name]} if name in sentences else {})


def filter_parameters(filters: Mapping[str, Any]) -> Iterable[Parameter]:
    """A filter of the platform is a field and a predicate; one of the storefront is a name."""
    if any(isinstance(kind, Filterable) for kind in filters.values()):
        yield _EITHER
    for name, kind in filters.items():
        if isinstance(kind, Filterable):
            yield from _predicates(name, kind)
        else:
            yield _filter(name, kind)


def filter_fields(filters: Mapping[str, Any]) -> str:
    return (
        f"Predicates: {', '.join(PREDICATES)}. Fields: {', '.join(filters)}; two are joined by `_or_`, like "
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
        return (*_EQUAL, *TEXTUAL, *LISTING, *missing)
    return (*_EQUAL, *(_ORDERED if plain in _ORDERED_KINDS else ()), *LISTING, *missing)


def _value_schema(predicate: str, plain: Any) -> Schema:
    if predicate in ASKING:
        return {"type": "boolean"}
    # Several have commas between them: a text, for clients disagree how a list is sent.
    return {"type": "string"} if predicate in LISTING else query_schema(plain)


def _filter(name: str, kind: Any) -> Parameter:
    described: Parameter = {"name": f"filter[{name}]", "in": "query"}
    if get_origin(kind) is dict:
        # `filter[options][size]=xl`: the names are the shop's own.
        schema = {"type": "object", "additionalProperties": {"type": "string"}}
        return {**described, "style": "deepObject", "explode": True, "schema": schema}
    if get_origin(kind) is list:
        return {**described, "schema": {"type": "string"}, "description": "One or several, with commas between them."}
    return {**described, "schema": query_schema(kind)}


def sort_parameter(names: Sequence[str]) -> Parameter:
    one = f"-?({'|'.join(names)})"
    return {
        "name": "sort",
        "in": "query",
        "schema": {"type": "string", "pattern": f"^({one}(,{one})*)?$"},
        "description": f"By what the list is ordered; a minus puts the largest first. One of {', '.join(names)}.",
    }


def document_parameters(shown: Resource) -> Iterable[Parameter]:
    if shown.relations:
        yield {
            "name": "include",
            "in": "query",
            "schema": {"type": "string", "pattern": _listing(shown.relations)},
            "description": "Relations to include, separated by commas; dots lead on to theirs. "
            f"Here: {', '.join(shown.relations)}.",
        }
    yield {
        "name": f"fields[{shown.type}]",
        "in": "query",
        "schema": {"type": "string"},
        "description": "Attributes and relations to show, separated by commas.",
    }


def _listing(names: Iterable[str]) -> str:
    """A pattern for some of the names with commas between them, each with a path behind it or none."""
    one = f"({'|'.join(names)})([.][a-z_.]+)?"
    return f"^({one}(,{one})*)?$"
