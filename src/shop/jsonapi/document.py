"""Renders records as a JSON:API document."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from shop.base.record import Record
from shop.jsonapi.encoder import ResourceObject, encoder, related_records
from shop.jsonapi.query import FULL, DocumentQuery, Resources, Tree
from shop.jsonapi.resource import RenderContext, Resource

_encode = msgspec.json.Encoder().encode


class RenderOptions(msgspec.Struct, frozen=True):
    """The options of a document: the wire types of the API, the client's query and the render context."""

    resources: Resources
    render_context: RenderContext
    query: DocumentQuery = FULL


class Extras(msgspec.Struct, frozen=True):
    """The top-level members of a document beside `data`."""

    meta: Mapping[str, Any] | None = None
    links: Mapping[str, str] | None = None
    error: Mapping[str, Any] = {}
    """The members of an error body, for an error that also shows the record."""


NO_EXTRAS = Extras()


class Rendering(msgspec.Struct, frozen=True):
    """A document, and a hash that differs for every other one."""

    body: bytes
    digest: bytes


def document(resource: Resource, record: Record, options: RenderOptions, extras: Extras = NO_EXTRAS) -> bytes:
    """Encodes the document of one record."""
    if options.query.include is None and extras is NO_EXTRAS:
        return _encode({"data": _object(resource, record, options)})
    return _encode(
        {
            "data": _object(resource, record, options),
            **_included(resource, [record], options),
            **_extra_members(extras),
        }
    )


def list_document(
    resource: Resource, records: Sequence[Record], options: RenderOptions, extras: Extras = NO_EXTRAS
) -> bytes:
    """Encodes the document of several records."""
    return _encode(
        {
            "data": [_object(resource, record, options) for record in records],
            **_included(resource, records, options),
            **_extra_members(extras),
        }
    )


def encode_extras(extras: Extras) -> bytes:
    """Returns the encoded top-level members beside `data` and `included`."""
    return _encode(_extra_members(extras))[1:-1]


def join_document(data: bytes, included: bytes | None = None, others: bytes = b"") -> bytes:
    """Returns the document of encoded `data`, of included records, separated by commas, and of its other members."""
    members = [b'"data":%b' % data]
    if included is not None:
        members.append(b'"included":[%b]' % included)
    if others:
        members.append(others)
    return b"{%b}" % b",".join(members)


def _extra_members(extras: Extras) -> dict[str, Any]:
    members = {"meta": extras.meta, "links": extras.links}
    return {**extras.error, **{name: value for name, value in members.items() if value is not None}}


def _included(resource: Resource, records: Sequence[Record], options: RenderOptions) -> dict[str, Any]:
    if options.query.include is None:
        return {}
    related = list_included(resource, records, options)
    return {"included": [_object(each, record, options) for each, record in related]}


def list_included(
    resource: Resource, records: Sequence[Record], options: RenderOptions
) -> Sequence[tuple[Resource, Record]]:
    """Returns the records of `included`, in order: each once, without those of `data`."""
    included: dict[tuple[str, Any], tuple[Resource, Record]] = {}
    visited_nodes: set[tuple[str, Any, int]] = set()
    for record in records:
        _collect(resource, record, options.query.include or {}, options.resources, (included, visited_nodes))
    for record in records:
        included.pop((resource.type, record.row.id), None)  # A record in `data` must not be repeated in `included`.
    return list(included.values())


def _object(resource: Resource, record: Record, options: RenderOptions) -> ResourceObject:
    return encoder(resource, options.query.fields.get(resource.type))(record, options.render_context)


def _collect(
    resource: Resource,
    record: Record,
    tree: Tree,
    resources: Resources,
    accumulators: tuple[dict[tuple[str, Any], tuple[Resource, Record]], set[tuple[str, Any, int]]],
) -> None:
    """Collects each related record once, after the records nested in it: Spree clients resolve them in one pass."""
    included, visited_nodes = accumulators
    for name, deeper in tree.items():
        relation = resource.relations.get(name)
        if relation is None:
            continue  # In a relation to several types, some may not have this relation.
        for item in related_records(record, relation):
            type_ = item.type or relation.type
            identifier = (type_, item.row.id)
            # Relations can be circular: a record is visited once per node of the include tree.
            if (*identifier, id(deeper)) in visited_nodes:
                continue
            visited_nodes.add((*identifier, id(deeper)))
            related = resources[type_]
            _collect(related, item, deeper, resources, accumulators)
            included.setdefault(identifier, (related, item))
